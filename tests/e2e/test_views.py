"""The full-screen views of the inline front end, on a real terminal with everything real behind them."""

from __future__ import annotations

import json
import os
import re
import signal
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
def xun(project: Path, environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    started: list[Terminal] = []

    def start(
        turns: list[dict[str, Any]],
        *arguments: str,
        columns: int = 100,
        rows: int = 30,
        ready: str = "· ask",
        **env: str,
    ) -> Terminal:
        script = tmp_path / f"script{len(started)}.json"
        script.write_text(json.dumps({"turns": turns}))
        command = [sys.executable, "-m", "xun_cli", "--model", f"scripted:{script}", *arguments]
        terminal = Terminal(command, env={**environment, **env}, cwd=project, columns=columns, rows=rows)
        started.append(terminal)
        terminal.wait(ready)
        return terminal

    yield start
    for terminal in started:
        terminal.__exit__()


def closed(terminal: Terminal) -> str:
    return terminal.wait(lambda shown: not terminal.screen.alternate and "· ask" in shown)


def test_t24_the_whole_of_a_write_is_read_and_nothing_is_lost_meanwhile(xun: Start, project: Path) -> None:
    (project / "long.txt").write_text("".join(f"old {number}\n" for number in range(200)))
    content = "".join(f"new {number}\n" for number in range(200))
    terminal = xun([call("write_file", path="long.txt", content=content), {"text": "All is written."}])
    terminal.send("rewrite it\r")
    shown = terminal.wait("Allow this time only")
    assert re.search(r"… \d+ of 401 lines hidden, Ctrl-E shows all", shown)
    assert "-old 0" in shown and "+new 0" in shown  # what goes, and what comes in its place
    before = terminal.lines()
    terminal.read(GUARD)
    terminal.send("\x05")
    terminal.wait("1–28 of 401 lines")
    assert terminal.screen.alternate
    terminal.send("G")
    terminal.wait("new 199")
    terminal.send("/new 42\r")
    shown = terminal.wait("new 42")
    assert "old 42\n" not in shown
    terminal.send("god")  # no key of a view answers
    terminal.send("q")
    closed(terminal)
    assert terminal.lines() == before
    terminal.send("o")
    terminal.wait("All is written.")
    assert (project / "long.txt").read_text() == content


def test_a_write_is_edited_in_the_editor_before_it_is_allowed(xun: Start, project: Path, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nexit 4\n")
    editor.chmod(0o755)
    terminal = xun([call("replace", path="calc.py", old="a - b", new="a * b"), {"text": "Ready."}], EDITOR=str(editor))
    terminal.send("fix it\r")
    terminal.wait("e edit")
    terminal.read(GUARD)
    terminal.send("e")
    terminal.wait("exit code 4: nothing was taken")
    editor.write_text("#!/bin/sh\nsed -i 's/a \\* b/a + b/' \"$1\"\n")
    terminal.send("e")
    shown = terminal.wait("You edited this")
    assert "return a + b" in shown and "a * b" not in shown and "not offered" in shown
    terminal.read(GUARD)
    terminal.send("o")
    shown = terminal.wait("Ready.")
    assert "edited by you" in shown and "return a + b" in (project / "calc.py").read_text()


def test_what_was_said_granted_and_done_can_be_looked_through(xun: Start, project: Path) -> None:
    turns = [
        {"text": "The first answer, with a needle in it."},
        call("bash", command="make nothing"),
        {"text": "The second answer."},
        call("replace", path="calc.py", old="a - b", new="a + b"),
        {"text": "The third answer."},
    ]
    terminal = xun(turns)
    terminal.send("one\r")
    terminal.wait("needle")
    terminal.send("two\r")
    terminal.wait("make nothing …")
    terminal.read(GUARD)
    terminal.send("g")
    terminal.wait("The second answer.")
    terminal.send("three\r")
    terminal.wait("Write calc.py?")
    terminal.read(GUARD)
    terminal.send("o")
    terminal.wait("The third answer.")
    _reads_the_transcript(terminal)
    _takes_a_permission_back(terminal)
    terminal.send("\x02")
    terminal.wait("No sub-agent and no background command")
    terminal.send("\x1b")
    closed(terminal)
    _goes_back(terminal, project)


def _reads_the_transcript(terminal: Terminal) -> None:
    terminal.send("\x1b[5~")
    terminal.wait("Transcript")
    terminal.send("/needle\r")
    terminal.wait("turn 1 of 3")
    terminal.send("]]")
    terminal.wait(lambda shown: "turn 1 of 3" not in shown or "The third answer." in shown)
    terminal.send("q")
    closed(terminal)


def _takes_a_permission_back(terminal: Terminal) -> None:
    terminal.send("/policy\r")
    terminal.wait("c1  command  dialog  make nothing")
    terminal.send("\x1b[3~")
    terminal.wait("Taken back: make nothing")
    terminal.wait("Nothing is granted")
    terminal.send("\x1b")
    closed(terminal)


def _goes_back(terminal: Terminal, project: Path) -> None:
    terminal.read(0.3)
    terminal.send("\x1b")
    terminal.wait("Esc again")
    terminal.send("\x1b")
    terminal.wait("Go back to before which message?")
    terminal.send("\r")
    terminal.wait("Go back before turn 3: what?")
    terminal.send("\x1b[B")
    terminal.wait("+    return a - b")
    terminal.send("\r")
    shown = closed(terminal)
    shown = terminal.wait("› three")
    assert "back before turn 3; 1 file put back" in shown
    assert "return a - b" in (project / "calc.py").read_text()


def test_a_session_is_chosen_before_the_start_and_in_the_middle(xun: Start) -> None:
    for words in ("alpha work", "beta work"):
        terminal = xun([{"text": f"About {words}."}])
        terminal.send(f"{words}\r")
        terminal.wait(f"About {words}.")
        terminal.send("\x04")
        assert terminal.end() == 0
    terminal = xun([{"text": "more"}], "-r", ready="Esc begins a new one")
    terminal.send("\x03")
    assert terminal.end() == 130
    assert terminal.modes_left_on() == set() and "Traceback" not in terminal.text()
    terminal = xun([{"text": "more"}], "-r", ready="Go on with which session?")
    shown = terminal.wait("alpha work")
    assert "1 turn" in shown and "scripted:" in shown and "Enter goes on" in shown
    terminal.send("alpha")
    terminal.wait(lambda shown: "beta" not in shown)
    terminal.send("\r")
    terminal.wait("About alpha work.")
    assert not terminal.screen.alternate
    terminal.send("/resume\r")
    terminal.wait("beta work")
    terminal.send("\r")
    terminal.wait("About beta work.")


@pytest.mark.parametrize("size", [(100, 30), (40, 10)])
def test_a_process_that_is_ended_in_a_view_leaves_the_terminal_clean(xun: Start, size: tuple[int, int]) -> None:
    terminal = xun([{"text": "hello"}], columns=size[0], rows=size[1])
    terminal.send("/transcript\r")
    terminal.wait("Nothing was said yet.")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.end() == 143
    assert terminal.modes_left_on() == set()
    assert re.search(rb"\x1b\[\?1049h.*\x1b\[\?1049l", terminal.raw, re.DOTALL)


def test_an_image_of_the_clipboard_goes_with_the_next_message(
    environment: dict[str, str], project: Path, tmp_path: Path
) -> None:
    from PIL import Image

    picture, programs = tmp_path / "picture.png", tmp_path / "programs"
    Image.new("RGB", (8, 8), "red").save(picture)
    programs.mkdir()
    (programs / "wl-paste").write_text(f'#!/bin/sh\ncase "$*" in *list*) echo image/png;; *) cat {picture};; esac\n')
    (programs / "wl-paste").chmod(0o755)
    with FakeModelServer([{"text": "It is red."}]) as server:
        env = environment | {"XUN_BASE_URL": server.base_url, "XUN_API_KEY": "sk-x", "XUN_MODEL": "gpt-4o"}
        env |= {"WAYLAND_DISPLAY": "wayland-0", "PATH": f"{programs}:{environment['PATH']}"}
        with Terminal([sys.executable, "-m", "xun_cli"], env=env, cwd=project, columns=100, rows=30) as terminal:
            terminal.wait("· ask")
            terminal.send("\x16")
            terminal.wait("+ image of the clipboard, sent with your next message")
            terminal.send(f"\x1b[200~'{picture}' \x1b[201~")  # a file that is dropped into the terminal
            terminal.wait("+ 2 images, sent with your next message")
            terminal.send("what colour?\r")
            shown = terminal.wait("It is red.")
            assert "+ 2 images" in shown and "sent with your next message" not in shown
        assert "data:image/png;base64," in json.dumps(server.requests[-1].body)
