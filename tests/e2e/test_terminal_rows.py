"""The process rows of the security corpus that need a terminal in front: stopping and resizing, in both front ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.terminal import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")]

DEMO = str(Path(__file__).resolve().parents[1] / "fakes" / "repl_demo.py")
ROOT = Path(__file__).resolve().parents[2]
KINDS = ("inline", "full")
Start = Callable[[list[str]], Terminal]


@pytest.fixture
def start(project: Path, environment: dict[str, str]) -> Iterator[Start]:
    started: list[Terminal] = []

    def begin(command: list[str]) -> Terminal:
        env = {**environment, "PYTHONPATH": str(ROOT)}
        terminal = Terminal(command, env=env, cwd=project, columns=80, rows=24)
        started.append(terminal)
        terminal.wait("scripted · ask")
        return terminal

    yield begin
    for terminal in started:
        terminal.__exit__()


@pytest.mark.row("sec-proc-013")
@pytest.mark.parametrize("kind", KINDS)
def test_sizes_of_every_kind_while_it_streams(start: Start, project: Path, kind: str) -> None:
    terminal = start([sys.executable, DEMO, str(project), "--tui", kind])
    terminal.send("stream 30 0.03\r")
    terminal.wait("number 0005")
    for columns, rows in ((20, 5), (400, 100), (0, 0), (1, 1), (2, 1), (1, 50), (80, 24)):
        # Without the emulator's own screen, which knows no size of nothing.
        terminal._child.setwinsize(rows, columns)
        terminal.read(0.05)
    terminal.resize(80, 24)
    shown = terminal.wait("number 0030", 40)
    terminal.wait(lambda text: "answering" not in text)
    assert "Traceback" not in terminal.raw.decode("utf-8", "replace") and "Error" not in shown
    terminal.send("\x04")
    assert terminal.end() == 0
    assert terminal.modes_left_on() == set()


@pytest.mark.row("sec-proc-012")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("work", ["stream 30 0.03", "slow"])
def test_stopped_and_brought_back_at_work(start: Start, project: Path, kind: str, work: str) -> None:
    script = project / "shell.sh"
    script.write_text(f"set -m\n{sys.executable} {DEMO} {project} --tui {kind}\necho STOPPED\nread x\nfg\n")
    terminal = start(["bash", str(script)])
    terminal.send(f"{work}\r")
    terminal.wait("number 0005" if work.startswith("stream") else "tick")
    terminal.send("\x1a")
    terminal.wait("STOPPED")
    time.sleep(0.3)
    terminal.send("\r")
    terminal.wait("number 0030" if work.startswith("stream") else "scripted · ask", 40)
    terminal.send("still here")
    terminal.wait("still here")
    assert "Traceback" not in terminal.raw.decode("utf-8", "replace")
