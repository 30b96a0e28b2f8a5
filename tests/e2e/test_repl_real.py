"""The inline front end with everything real behind it but the model, which is a script."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.terminal import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")]

GUARD = 0.7
READY = "· ask"
Start = Callable[..., Terminal]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": json.dumps(arguments)}


@pytest.fixture
def xun(project: Path, environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    started: list[Terminal] = []

    def start(turns: list[dict[str, Any]], *arguments: str) -> Terminal:
        script = tmp_path / f"script{len(started)}.json"
        script.write_text(json.dumps({"turns": turns}))
        command = [sys.executable, "-m", "xun_cli", "--model", f"scripted:{script}", *arguments]
        terminal = Terminal(command, env=environment, cwd=project, columns=100, rows=30)
        started.append(terminal)
        terminal.wait(READY)
        return terminal

    yield start
    for terminal in started:
        terminal.__exit__()


def stored(tmp_path: Path) -> list[dict[str, Any]]:
    files = sorted(
        (tmp_path / "xun-home" / "data" / "sessions").rglob("*.jsonl"), key=lambda path: path.stat().st_mtime
    )
    return [json.loads(line) for line in files[-1].read_text().splitlines() if line.strip()]


def test_t49_a_write_waits_for_the_answer_and_then_happens(xun: Start, project: Path) -> None:
    edit = call("replace", path="notes.txt", old="alpha", new="omega")
    terminal = xun([{"text": "I change it.", "tool_calls": [edit]}, {"text": "Changed."}])
    terminal.send("go\r")
    shown = terminal.wait("Allow this time only")
    assert "Write notes.txt?" in shown and "+omega beta" in shown
    assert (project / "notes.txt").read_text() == "alpha beta\nbeta gamma\n"
    terminal.read(GUARD)
    terminal.send("o")
    terminal.wait("Changed.")
    assert (project / "notes.txt").read_text() == "omega beta\nbeta gamma\n"


def test_t26_the_reason_of_a_denial_reaches_the_model(xun: Start, project: Path, tmp_path: Path) -> None:
    terminal = xun([{"tool_calls": [call("delete", path="notes.txt")]}, {"text": "Kept."}])
    terminal.send("go\r")
    terminal.wait("Allow this time only")
    terminal.read(GUARD)
    terminal.send("\x1b[B\t")
    terminal.wait("reason ›")
    terminal.send("it is still needed\r")
    terminal.wait("Kept.")
    done = [row for row in stored(tmp_path) if row["type"] == "tool.completed"]
    assert done[0]["status"] == "denied" and "it is still needed" in done[0]["error"]["error"]
    assert (project / "notes.txt").exists()


def test_t22_after_a_grant_the_same_command_runs_unasked(xun: Start, project: Path) -> None:
    command = call("bash", command="touch made.txt")
    turns = [{"tool_calls": [command]}, {"text": "First done."}, {"tool_calls": [command]}, {"text": "Second done."}]
    terminal = xun(turns)
    terminal.send("go\r")
    terminal.wait("Run this command?")
    terminal.read(GUARD)
    terminal.send("g")
    terminal.wait("First done.")
    assert (project / "made.txt").exists()
    terminal.send("/policy test touch made.txt\r")
    shown = terminal.wait("Nothing was run")
    assert 'ALLOW  granted prefix "touch"' in shown and "verdict: ALLOW" in shown
    terminal.send("again\r")
    shown = terminal.wait("Second done.")
    assert "Run this command?" not in shown


def test_an_edited_command_is_what_runs(xun: Start, project: Path) -> None:
    terminal = xun([{"tool_calls": [call("bash", command="touch one.txt")]}, {"text": "Done."}])
    terminal.send("go\r")
    terminal.wait("Run this command?")
    terminal.read(GUARD)
    terminal.send("e")
    terminal.wait("command › touch one.txt")
    terminal.send("\x7f" * 7 + "two.txt\r")
    terminal.wait(lambda shown: "Done." in shown or "Run this command?" in shown)
    terminal.wait("Done.")
    assert (project / "two.txt").exists() and not (project / "one.txt").exists()


def test_t36_escape_ends_the_command_and_all_that_it_started(xun: Start) -> None:
    terminal = xun([{"tool_calls": [call("bash", command="sleep 4711 & sleep 4711")]}, {"text": "No."}])
    terminal.send("go\r")
    terminal.wait("Run this command?")
    terminal.read(GUARD)
    terminal.send("o")
    until = time.monotonic() + 10
    while not sleeping() and time.monotonic() < until:
        terminal.read(0.05)
    assert sleeping()
    start = time.monotonic()
    terminal.send("\x1b")
    terminal.wait("What came so far is kept")
    while sleeping() and time.monotonic() < start + 5:
        terminal.read(0.05)
    assert not sleeping() and time.monotonic() - start < 2


def sleeping() -> bool:
    return subprocess.run(["pgrep", "-fx", "sleep 4711"], capture_output=True, check=False).returncode == 0


def test_t23_going_on_shows_the_conversation_and_keeps_the_grants(xun: Start, tmp_path: Path) -> None:
    command = call("bash", command="touch made.txt")
    terminal = xun([{"text": "Look at **this**.", "tool_calls": [command]}, {"text": "First done."}])
    terminal.send("a first request\r")
    terminal.wait("Run this command?")
    terminal.read(GUARD)
    terminal.send("g")
    terminal.wait("First done.")
    terminal.send("/policy show\r")
    before = permissions(terminal.wait("mode ask"))
    assert re.search(r"c1 +touch +and more +dialog", before)
    terminal.send("\x04")
    assert terminal.end() == 0
    assert "xun -r " in terminal.text()
    again = xun([{"tool_calls": [command]}, {"text": "Second done."}], "-c")
    shown = again.wait("resumed")
    assert "> a first request" in shown and "Look at this." in shown and "First done." in shown
    again.send("go on\r")
    shown = again.wait("Second done.")
    assert "Run this command?" not in shown
    again.send("/policy show\r")
    assert permissions(again.wait("mode ask")).replace("used 1x", "not used yet") == before


def permissions(shown: str) -> str:
    """Return the answer of the last /policy show on the screen."""
    return shown[shown.rindex("Commands that run unasked") : shown.rindex("mode ask")]


def test_commands_of_the_person(xun: Start, project: Path) -> None:
    terminal = xun([{"text": "Hello."}])
    terminal.send("/policy test git status && rm -rf x\r")
    terminal.wait("Nothing was run")
    terminal.send("!echo from the shell\r")
    terminal.wait("● shell  echo from the shell")
    terminal.send("/quit\r")
    assert terminal.end() == 0


def test_a_wrong_start_is_one_sentence(environment: dict[str, str], project: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "xun_cli", "--model", f"scripted:{tmp_path}/missing.json"]
    with Terminal(command, env=environment, cwd=project, columns=250) as terminal:
        assert terminal.end() == 3
        shown = terminal.text()
        assert "missing.json can't be read" in shown and "Traceback" not in shown
        assert terminal.modes_left_on() == set()
