"""What users of other agents complained about, each as a promise of ours on the real program."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
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
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


@pytest.fixture
def xun(project: Path, environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    started: list[Terminal] = []

    def start(turns: list[dict[str, Any]], *arguments: str, columns: int = 80) -> Terminal:
        script = tmp_path / "script.json"
        script.write_text(json.dumps({"turns": turns}))
        command = [sys.executable, "-m", "xun_cli", "--model", f"scripted:{script}", *arguments]
        terminal = Terminal(command, env=environment, cwd=project, columns=columns, rows=30)
        started.append(terminal)
        terminal.wait("· ask")
        return terminal

    yield start
    for terminal in started:
        terminal.__exit__()


def test_t04_no_mouse_is_captured_and_no_other_screen_is_taken(xun: Start) -> None:
    terminal = xun([call("bash", command="seq 1 200"), {"text": "Done with it."}])
    terminal.send("go\r")
    terminal.wait("Done with it.")
    terminal.send("/help\r")
    terminal.wait("/keys lists")
    terminal.send("/quit\r")
    assert terminal.end() == 0
    assert not re.search(rb"\x1b\[\?(9|100[0-3]|1005|1006|1015|47|1047|1049)h", terminal.raw)


def test_t17_the_draft_outlives_questions_the_end_of_a_turn_a_failure_and_a_resize(xun: Start) -> None:
    terminal = xun(
        [call("bash", command="touch made"), {"text": "All done."}, call("read_file", path="nope"), {"text": "Sorry."}]
    )
    terminal.send("go\r")
    terminal.wait("Allow this time only")
    terminal.send("half a thought")
    terminal.wait("Tab to answer")
    terminal.send("\t")
    terminal.wait("Allow this time only")
    terminal.read(GUARD)
    terminal.send("o")
    terminal.wait("All done.")
    terminal.resize(60, 20)
    terminal.wait(lambda shown: "› half a thought" in shown)
    terminal.send(" and more")
    terminal.wait("› half a thought and more")
    terminal.send("\r")
    terminal.wait("nope does not exist")
    terminal.wait("Sorry.")
    assert "> half a thought and more" in terminal.text()
    terminal.send("/compact\rkept meanwhile")
    terminal.wait("› kept meanwhile")
    terminal.wait(lambda shown: "/compact" in shown and "› kept meanwhile" in shown)
    terminal.read(1.0)
    assert "› kept meanwhile" in terminal.text()


def test_t27_auto_answers_so_many_questions_and_then_asks_again(xun: Start, project: Path) -> None:
    ask = {"name": "ask_preference", "arguments": {"question": "Which one?", "choices": ["left", "right"]}}
    made = [{"name": "bash", "arguments": {"command": f"touch made{number}"}} for number in range(3)]
    terminal = xun([{"tool_calls": [ask, *made]}, {"text": "All done."}])
    terminal.send("/auto 2\r")
    terminal.wait("auto 2")
    terminal.send("go\r")
    terminal.wait("Which one?")  # a choice is the person's, whatever /auto says
    terminal.read(GUARD)
    terminal.send("2")
    terminal.wait("Run this command?")
    assert (project / "made0").exists() and (project / "made1").exists() and not (project / "made2").exists()
    assert "→ right" in terminal.text() and "allowed by /auto" in terminal.text()
    terminal.read(GUARD)
    terminal.send("d")
    terminal.wait("All done.")
    assert not (project / "made2").exists()


def test_t14_redraw_takes_the_present_width(xun: Start) -> None:
    words = " ".join(f"word{number:02d}" for number in range(30))
    terminal = xun([{"text": words + "."}], columns=60)
    terminal.send("go\r")
    terminal.wait("word29.")
    terminal.resize(100, 30)
    terminal.send("/redraw\r")
    terminal.wait(lambda shown: any(len(row) > 80 and "word00" in row for row in shown.split("\n")))


def test_a_pasted_command_of_many_lines_sends_nothing(xun: Start, project: Path) -> None:
    terminal = xun([{"text": "Got it."}])
    terminal.send("\x1b[200~!touch made\r\n!touch more\r\n\x1b[201~")
    terminal.wait("!touch more")
    terminal.read(GUARD)
    assert "Got it." not in terminal.text()
    assert not (project / "made").exists() and not (project / "more").exists()


def test_t31_each_denial_names_its_real_source(headless: Any, project: Path, tmp_path: Path) -> None:
    script = tmp_path / "turns.json"
    turns = [
        call("bash", command="touch made"),
        call("write_file", path="../outside.txt", content="x"),
        call("write_file", path="notes.txt", content="x"),
        {"text": "no"},
    ]
    script.write_text(json.dumps({"turns": turns, "risk": [{"verdict": "reject", "reason": "it deletes"}]}))

    def told(*flags: str) -> list[str]:
        done = headless("-p", "go", "--output", "stream-json", "-m", f"scripted:{script}", *flags)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        done_calls = [event for event in events if event["type"] == "tool.completed"]
        return [(event["error"] or {}).get("error", "") for event in done_calls]

    alone = told()
    assert "no human present" in alone[0] and "workspace" in alone[1] and "no human present" in alone[2]
    planned = told("--mode", "plan")
    assert "plan mode" in planned[2] and "no human" not in planned[2]
    risky = told("--auto-confirm")
    assert "it deletes" in risky[0] and "risk" in risky[0].lower()
    assert "workspace" in risky[1] and risky[2] == ""


def test_t33_a_session_that_cannot_be_read_is_reported_and_left_as_it_is(headless: Any, tmp_path: Path) -> None:
    assert headless("-p", "hi", "--demo").returncode == 0
    path = next((tmp_path / "xun-home" / "data" / "sessions").rglob("*.jsonl"))
    newer = b'{"v":99,"seq":1,"ts":"2026-01-01T00:00:00Z","session":"x","turn":null,"type":"session.started"}\n'
    path.write_bytes(newer)
    done = headless("-p", "hi", "--demo", "-r", path.stem)
    assert done.returncode != 0 and done.stdout == "" and done.stderr.count("\n") == 1
    assert path.read_bytes() == newer


_WATCHED = """
import sys
def hook(name, args):
    if name in ("socket.connect", "socket.getaddrinfo", "socket.bind"):
        at = args[1] if name != "socket.getaddrinfo" else args[:2]
        open({log!r}, "a").write(name + " " + repr(at) + "\\n")
sys.addaudithook(hook)
from xun_cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_t46_no_socket_is_opened_but_to_the_model(project: Path, environment: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "sockets.txt"
    turns = [call("read_file", path="notes.txt"), call("bash", command="touch made"), {"text": "Done."}]
    with FakeModelServer(turns, risk=[{"verdict": "unsure"}]) as server:
        environment |= {"XUN_BASE_URL": server.base_url, "XUN_API_KEY": "sk-x", "XUN_MODEL": "fake-model"}
        program = _WATCHED.format(log=str(log))
        command = [sys.executable, "-c", program, "-p", "go", "--allow-command", "touch"]
        done = subprocess.run(
            command, cwd=project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
        port = server.port
    assert (done.returncode, done.stdout) == (0, "Done.\n"), done.stderr
    rows = set(log.read_text().splitlines())
    assert f"socket.connect ('127.0.0.1', {port})" in rows
    assert all("127.0.0.1" in row and str(port) in row for row in rows), rows


def test_t43_a_start_is_quick(project: Path, environment: dict[str, str], xun: Start) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(3):
        subprocess.run([sys.executable, "-m", "xun_cli", "--version"], env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used / 3 < 0.15
    terminal = Terminal([sys.executable, "-m", "xun_cli", "--demo"], env=environment, cwd=project, columns=80, rows=24)
    with terminal:
        terminal.wait("Ask for something")
        assert terminal.cpu_seconds() < 0.9


@pytest.mark.parametrize("turns", [0, 1])
def test_a_closed_terminal_is_no_crash(project: Path, environment: dict[str, str], tmp_path: Path, turns: int) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "xun_cli", "--demo"]
    child = subprocess.Popen(
        command, cwd=project, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    seen = b""
    for typed, wanted in (("", b"rules answer"), ("hello\r", b"run the tests"))[: turns + 1]:
        os.write(ours, typed.encode())
        while wanted not in seen:
            seen += os.read(ours, 65_536)
    os.close(ours)
    child.send_signal(signal.SIGHUP)
    for _ in range(60):  # who closes a terminal wakes what is stopped in it, at any moment of its end
        time.sleep(0.01)
        if child.poll() is None:
            child.send_signal(signal.SIGCONT)
    assert child.wait(10) == 129
    assert not list((tmp_path / "xun-home" / "state").glob("crash/*"))
