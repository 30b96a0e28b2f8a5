"""What is typed, pasted and printed: statements T05, T06, T15, T16, T21, T25, T40 of the terminal page."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import FakeModelServer
from tests.fakes.terminal import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")]

GUARD = 0.7
Start = Callable[..., Terminal]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": json.dumps(arguments)}]}


@pytest.fixture
def xun(project: Path, environment: dict[str, str]) -> Iterator[Callable[..., tuple[Terminal, FakeModelServer]]]:
    """Start xun against a local model server; its requests are kept."""
    opened: list[Any] = []

    def start(turns: list[dict[str, Any]], *arguments: str, ready: str = "· ask", **more: str):
        server = FakeModelServer(turns, risk=[{"verdict": "unsure", "reason": "it is unknown"}] * 3)
        server.__enter__()
        opened.append(server)
        env = environment | {"XUN_BASE_URL": server.base_url, "XUN_API_KEY": "sk-x", "XUN_MODEL": "fake-model"} | more
        terminal = Terminal([sys.executable, "-m", "xun_cli", *arguments], env=env, cwd=project, columns=80, rows=24)
        opened.append(terminal)
        terminal.wait(ready)
        return terminal, server

    yield start
    for item in reversed(opened):
        item.__exit__(None, None, None)


def sent(server: FakeModelServer) -> str:
    """Return the last user message that the server got."""
    turns = [request for request in server.requests if request.purpose == "turn"]
    content = [message for message in turns[-1].body["messages"] if message["role"] == "user"][-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def test_t05_t15_t16_pastes_arrive_whole_and_answers_carry_no_border(xun) -> None:
    answer = "A paragraph of plain words.\n\n- first\n- second\n\n```\ncode = 1\n```"
    terminal, server = xun([{"text": answer}, {"text": "Second."}])
    pasted = "one\r\ntwo\r\n\tthree – ä\r\n"
    terminal.send(f"\x1b[200~{pasted}\x1b[201~")
    terminal.wait("three")
    terminal.read(0.4)
    assert not server.requests, "a paste sends nothing"
    terminal.send("\r")
    shown = terminal.wait("code = 1")
    assert sent(server) == pasted.replace("\r\n", "\n")
    rows = shown.split("\n")
    block = rows[
        rows.index("A paragraph of plain words.") : next(i for i, row in enumerate(rows) if "code = 1" in row) + 1
    ]
    assert not re.search("[│┃║|╭╮╰╯┌┐└┘]", "\n".join(block)), block
    assert block[0].startswith("A paragraph")
    long = "x" * 4_990 + " the end"
    terminal.send(f"see \x1b[200~{long}\x1b[201~")
    terminal.wait("[pasted #1: 4,998 characters]")
    terminal.send("\r")
    terminal.wait("Second.")
    assert sent(server) == f"see {long}"
    assert "pasted #1" not in json.dumps(server.requests[-1].body)


def test_t06_copy_says_by_which_way_and_never_a_false_success(xun, tmp_path: Path) -> None:
    from xun_cli.settings import all_keys

    assert "ui.copy_on_select" in all_keys()
    programs = tmp_path / "programs"
    programs.mkdir()
    copier = programs / "wl-copy"
    copier.write_text("#!/bin/sh\ncat > /dev/null\nexit 1\n")
    copier.chmod(0o755)
    path = f"{programs}:{Path(sys.executable).parent}:/usr/bin:/bin"
    terminal, _ = xun([{"text": "The answer to copy."}], PATH=path, WAYLAND_DISPLAY="wayland-0")
    terminal.send("/copy\r")
    terminal.wait("there is none yet")
    terminal.send("go\r")
    terminal.wait("The answer to copy.")
    terminal.send("/copy\r")
    shown = terminal.wait("OSC 52")
    assert "not every terminal takes that" in " ".join(shown.split())
    assert base64.b64encode(b"The answer to copy.") in terminal.raw
    copier.write_text(f"#!/bin/sh\ncat > {tmp_path}/copied\n")
    terminal.send("/copy\r")
    terminal.wait("with wl-copy")
    assert (tmp_path / "copied").read_text() == "The answer to copy."


def test_t21_a_compound_of_listed_commands_is_neither_asked_about_nor_assessed(xun) -> None:
    terminal, server = xun([call("bash", command="git diff | grep x && ls"), {"text": "Looked."}])
    terminal.send("go\r")
    shown = terminal.wait("Looked.")
    assert "Run this command?" not in shown
    assert [request.purpose for request in server.requests] == ["turn", "turn"]


def test_t25_what_cannot_be_seen_is_shown_and_asked_about(xun) -> None:
    hidden = {
        "make\tall": "<U+0009>",  # between words of a listed command a tab is a blank, as the gate's page has it
        "ls \u202e gnp.txt": "<U+202E>",
        "ls\u200b": "<U+200B>",
        "ls \x1b[2K": "<U+001B>",
    }
    terminal, _ = xun([call("bash", command=command) for command in hidden] + [{"text": "All four."}])
    terminal.send("go\r")
    for command, mark in hidden.items():
        before = len(terminal.raw)
        shown = terminal.wait(lambda shown, mark=mark: "Run this command?" in shown and mark in shown)
        assert "▸d" in shown
        terminal.read(GUARD)
        terminal.send("g")
        assert "Run this command?" in terminal.wait("Not offered here")
        assert command.encode() not in terminal.raw[before:]
        terminal.send("d")
        terminal.wait(lambda shown: "Run this command?" not in shown or "Not offered here" not in shown)
    terminal.wait("All four.")


@pytest.mark.parametrize("how", ["--screen-reader", "ACCESSIBLE"])
def test_t40_for_a_screen_reader_the_cursor_never_moves_and_each_line_is_printed_once(xun, how: str) -> None:
    arguments, env = (["--screen-reader"], {}) if how.startswith("--") else ([], {how: "1"})
    turns = [{"text": "I look."} | call("bash", command="echo from the tool"), {"text": "All is well."}]
    terminal, _ = xun(turns, *arguments, ready="xun", **env)
    terminal.read(0.5)
    terminal.send("go\r")
    terminal.wait("All is well.")
    terminal.read(0.5)
    assert not re.search(rb"\x1b\[[\d;?]*[A-HJKSTfhlsu]", terminal.raw), "no cursor movement, no erasing, no modes"
    written = terminal.raw.decode()
    for once in ("I look.", "All is well."):
        assert written.count(once) == 1
