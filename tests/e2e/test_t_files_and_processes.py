"""Sessions, undo, processes and configuration: statements T28, T30, T32, T34, T35, T37, T50 of the terminal page."""

from __future__ import annotations

import json
import os
import signal
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
Start = Callable[..., Terminal]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": json.dumps(arguments)}]}


@pytest.fixture
def xun(project: Path, environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    started: list[Terminal] = []

    def start(turns: list[dict[str, Any]], *arguments: str, ready: str = "· ask") -> Terminal:
        script = tmp_path / f"script{len(started)}.json"
        script.write_text(json.dumps({"turns": turns}))
        command = [sys.executable, "-m", "xun_cli", "--model", f"scripted:{script}", *arguments]
        terminal = Terminal(command, env=environment, cwd=project, columns=100, rows=30)
        started.append(terminal)
        terminal.wait(ready)
        return terminal

    yield start
    for terminal in started:
        terminal.__exit__()


def test_t28_without_a_person_a_question_is_denied_at_once_and_the_event_says_so(headless: Any, tmp_path: Path) -> None:
    script = tmp_path / "turns.json"
    script.write_text(json.dumps({"turns": [call("bash", command="touch made"), {"text": "no"}]}))
    done = headless("-p", "go", "-m", f"scripted:{script}", "--output", "stream-json")
    assert done.returncode == 4
    events = [json.loads(line) for line in done.stdout.splitlines()]
    asked = next(event for event in events if event["type"] == "approval.requested")
    resolved = next(event for event in events if event["type"] == "approval.resolved" and event["choice"] == "deny")
    assert resolved["source"] == "headless"
    assert _seconds(resolved["ts"]) - _seconds(asked["ts"]) < 1


def _seconds(stamp: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(stamp).timestamp()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["-m", "scripted:/nonexistent.json"], 3),
        (["-m", "no-such-model"], 3),
        (["--config", "mode=7"], 3),
        (["-r", "no-such-session", "--demo"], None),
        (["--schema", "/nonexistent.json", "--demo"], None),
        (["--demo"], 0),
    ],
)
@pytest.mark.parametrize("form", ["json", "stream-json"])
def test_t30_stdout_is_json_on_every_path(headless: Any, arguments: list[str], code: int | None, form: str) -> None:
    done = headless("-p", "hi", "--output", form, *arguments)
    for line in done.stdout.splitlines():
        json.loads(line)
    assert "Traceback" not in done.stderr
    if code is None:
        assert done.returncode != 0
    else:
        assert done.returncode == code, done.stderr


def test_t32_a_killed_session_goes_on_with_all_that_was_complete(xun: Start, tmp_path: Path) -> None:
    terminal = xun([{"text": "The first answer."}, call("bash", command="sleep 30"), {"text": "never"}])
    terminal.send("first\r")
    terminal.wait("The first answer.")
    terminal.send("second\r")
    terminal.wait("Run this command?")
    os.kill(terminal.pid, signal.SIGKILL)
    terminal.end()
    path = next((tmp_path / "xun-home" / "data" / "sessions").rglob("*.jsonl"))
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 1024 + b'{"v":1,"seq":99,"type":"message.comp')
    again = xun([{"text": "Going on."}], "-c")
    shown = again.wait("This session was damaged")
    assert "The first answer." in shown and "> second" in shown
    assert path.read_bytes().startswith(whole)
    again.send("third\r")
    again.wait("Going on.")


@pytest.mark.parametrize("git", [True, False], ids=["t34 in git", "t35 without git"])
def test_t34_t35_undo_touches_only_what_tools_wrote_and_refuses_what_changed_since(
    xun: Start, project: Path, git: bool
) -> None:
    if git:
        subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    other = (project / "test_calc.py").read_bytes()
    before = (project / "calc.py").read_bytes()
    edit = call("replace", path="calc.py", old="a - b", new="a + b")
    terminal = xun([edit, {"text": "Changed."}])
    terminal.send("go\r")
    terminal.wait("Write calc.py?")
    terminal.read(GUARD)
    terminal.send("o")
    terminal.wait("Changed.")
    (project / "test_calc.py").write_bytes(other + b"# mine\n")
    changed = (project / "calc.py").read_bytes()
    (project / "calc.py").write_bytes(changed + b"# somebody else\n")
    terminal.send("/undo\r")
    shown = terminal.wait(lambda shown: "calc.py" in shown.split("/undo")[-1] and "› Ask" in shown)
    assert "Undo" not in shown.split("/undo")[-1] or "changed" in shown
    assert (project / "calc.py").read_bytes() == changed + b"# somebody else\n"
    (project / "calc.py").write_bytes(changed)
    terminal.send("/undo\r")
    shown = terminal.wait("Yes")
    assert "-    return a + b" in shown and "+    return a - b" in shown, "the change is shown before it is made"
    assert (project / "calc.py").read_bytes() == changed
    terminal.read(GUARD)
    terminal.send("y")
    until = time.monotonic() + 10
    while (project / "calc.py").read_bytes() != before and time.monotonic() < until:
        terminal.read(0.05)
    assert (project / "calc.py").read_bytes() == before
    assert (project / "test_calc.py").read_bytes() == other + b"# mine\n"


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, None], ids=["hup", "term", "exit"])
def test_t37_no_child_outlives_the_process(xun: Start, number: signal.Signals | None) -> None:
    seconds = {signal.SIGHUP: 4801, signal.SIGTERM: 4802, None: 4803}[number]
    terminal = xun([call("bash", command=f"sleep {seconds} & sleep {seconds}"), {"text": "No."}])
    terminal.send("go\r")
    terminal.wait("Run this command?")
    terminal.read(GUARD)
    terminal.send("o")
    until = time.monotonic() + 10
    while not _alive(seconds) and time.monotonic() < until:
        terminal.read(0.05)
    assert _alive(seconds)
    if number is None:
        terminal.send("\x04")
        terminal.wait("Leave and end it?")
        terminal.read(GUARD)
        terminal.send("l")
    else:
        os.kill(terminal.pid, number)
    assert terminal.end() == (0 if number is None else 128 + number)
    until = time.monotonic() + 3
    while _alive(seconds) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _alive(seconds)


def _alive(seconds: int) -> bool:
    return subprocess.run(["pgrep", "-fx", f"sleep {seconds}"], capture_output=True, check=False).returncode == 0


def test_t50_an_unknown_key_is_named_with_its_file_line_and_the_nearest_key(
    headless: Any, environment: dict[str, str]
) -> None:
    home = Path(environment["XUN_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text('mode = "ask"\n\n[ui]\nanimatoins = false\n')
    done = headless("-p", "hi", "--demo")
    assert done.returncode == 0
    assert "config.toml" in done.stderr and "animatoins" in done.stderr and "ui.animations" in done.stderr
    assert any(mark in done.stderr for mark in (":4", "line 4")), done.stderr
