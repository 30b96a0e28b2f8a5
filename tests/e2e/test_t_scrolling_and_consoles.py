"""Scrolling in the full screen, and terminals that are none: statements T42 and T45 of the terminal page."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.demo_terminal import demo_terminals
from tests.fakes.terminal import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")]

Start = Callable[..., Terminal]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    yield from demo_terminals(tmp_path)


def numbers(shown: str) -> list[int]:
    return [int(number) for number in re.findall(r"number (\d{4})", shown)]


def test_t42_keys_scroll_with_the_composer_focused_and_new_output_does_not_pull(start: Start) -> None:
    terminal = start("--tui", "full")
    terminal.send("stream 300 0.01\r")
    terminal.wait(lambda shown: bool(numbers(shown)) and numbers(shown)[0] > 30)
    terminal.send("a draft")
    terminal.wait("a draft")
    terminal.send("\x1b[5~\x1b[5~")
    terminal.read(0.5)
    first = numbers(terminal.text())
    terminal.read(1.0)
    assert numbers(terminal.text()) == first, "what comes meanwhile moves nothing"
    assert "a draft" in terminal.text()
    terminal.send("\x1b[6~")
    terminal.wait(lambda shown: numbers(shown)[0] > first[0])
    terminal.send("\x1b[1;5H")  # Ctrl-Home: Home moves in the draft while there is one
    terminal.wait("> stream 300")
    terminal.send("\x1b[1;5F")
    terminal.wait(lambda shown: "number 0300" in shown, timeout=30)
    assert "a draft" in terminal.text()


@pytest.mark.parametrize("term", ["", "dumb", None], ids=["empty", "dumb", "unset"])
def test_t45_without_a_terminal_that_can_draw_xun_prints_line_by_line(
    environment: dict[str, str], project: Path, term: str | None
) -> None:
    env = {name: value for name, value in environment.items() if name != "TERM"} | (
        {} if term is None else {"TERM": term}
    )
    with Terminal([sys.executable, "-m", "xun_cli", "--demo"], env=env, cwd=project, columns=80, rows=24) as terminal:
        terminal.wait("Type a request")
        terminal.send("list the files\r")
        terminal.wait("calc.py")
        terminal.send("/quit\r")
        assert terminal.end() == 0
        assert b"\x1b" not in terminal.raw


@pytest.mark.parametrize("full", [False, True], ids=["inline", "full"])
def test_t45_where_the_output_is_no_console_nothing_fails(
    environment: dict[str, str], project: Path, full: bool
) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "xun_cli", "--demo", *(["--tui", "full"] if full else [])]
    child = subprocess.Popen(
        command, cwd=project, env=environment, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    os.close(theirs)
    os.write(ours, b"list the files\n")
    written = b""
    assert child.stdout is not None
    while b"calc.py" not in written and (piece := child.stdout.read1(4096)):
        written += piece
    time.sleep(0.3)
    os.write(ours, b"/quit\n")
    written += child.communicate(timeout=30)[0]
    os.close(ours)
    assert child.returncode == 0, written
    assert b"calc.py" in written and b"Traceback" not in written and b"NoConsole" not in written
    assert b"\x1b[?1049h" not in written
