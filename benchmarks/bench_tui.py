"""The full-screen front end against its aims: start, key echo, spinner, focus, idle, a long stream, memory.

Run it from the checkout: ``python benchmarks/bench_tui.py [CHARACTERS]``; it exits 1 when a limit is missed. Ratios
within one run carry over to other machines, the milliseconds do not.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.bench_repl import DEMO, KEYS, Limits, echo, open_terminal, rich_cpu, typed_after  # noqa: E402
from tests.fakes.terminal import Terminal  # noqa: E402

FULL = ["--tui", "full"]
BARE = [
    sys.executable,
    "-c",
    "from textual.app import App\nfrom textual.widgets import Input\n"
    "class Bare(App):\n    def compose(self):\n        yield Input(placeholder='bare')\nBare(ansi_color=True).run()",
]


@contextmanager
def started(folder: Path, messages: int = 0) -> Iterator[Terminal]:
    """Give a terminal with xun on it, and so many messages in the transcript."""
    with open_terminal([*DEMO, str(folder), *FULL], folder) as terminal:
        terminal.wait("scripted · ask")
        if messages:
            terminal.send(f"flood {messages // 2}\r")
            terminal.wait("end of flood", 120)
        terminal.read(1.0)
        yield terminal


def spent(terminal: Terminal, seconds: float) -> float:
    """Return the CPU seconds of the next *seconds*."""
    before = terminal.cpu_seconds()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        terminal.read(0.2)
    return terminal.cpu_seconds() - before


def spinner(folder: Path, messages: int) -> float:
    """Return the CPU seconds of a spinner that runs for ten seconds."""
    with started(folder, messages) as terminal:
        terminal.send("wait 60\r")
        terminal.wait("thinking")
        return spent(terminal, 10)


def long_session(folder: Path, limits: Limits) -> None:
    """Measure keys, focus, rest and memory with 300 messages."""
    with started(folder, 300) as terminal:
        terminal.drawn = False
        before, echoes = terminal.cpu_seconds(), []
        for key in KEYS:
            echoes.append(echo(terminal, key) * 1000)
            terminal.read(0.05)
        each = (terminal.cpu_seconds() - before) / len(KEYS) * 1000
        limits.line("a key with 300 messages, CPU", each, 50, " ms")
        limits.line("key echo with 300 messages, 95 of 100", sorted(echoes)[int(len(echoes) * 0.95)], 100, " ms")
        before = terminal.cpu_seconds()
        for _ in range(10):
            terminal.send("\x1b[O\x1b[I")
            terminal.read(0.1)
        limits.line("focus out and in with 300 messages, CPU", (terminal.cpu_seconds() - before) / 10, 0.2, " s")
        terminal.read(3)
        limits.line("30 s at rest with 300 messages, CPU", spent(terminal, 30), 0.15, " s")
        limits.line("memory with 300 messages", terminal.memory(), 160, " MB")


def stream(size: int, folder: Path, limits: Limits) -> None:
    """Measure what a long answer costs, and how keys are echoed meanwhile."""
    with started(folder) as terminal:
        before, start, echoes, typed = terminal.cpu_seconds(), time.monotonic(), [], 0
        terminal.send(f"bulk {size}\r")
        terminal.drawn = False
        while b"end of bulk" not in terminal.raw[-8_000:] and time.monotonic() - start < 120:
            terminal.read(0.1)
            if typed < len(KEYS):
                echoes.append(echo(terminal, KEYS[typed]) * 1000)
                typed += 1
        wall, cpu = time.monotonic() - start, terminal.cpu_seconds() - before
    limits.line(f"{size:,} characters of markdown, wall", wall, 6 * size / 200_000, " s")
    limits.line("the same, CPU / rich by the block", cpu / rich_cpu(size), 1.4)
    limits.line("key echo meanwhile, median", statistics.median(echoes), 50, " ms")
    limits.line("key echo meanwhile, worst", max(echoes), 250, " ms")


def main() -> int:
    """Measure everything; 1 when a limit is missed."""
    limits = Limits()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare, ours = [], []
        for _ in range(5):
            bare.append(typed_after(BARE, "bare", folder))
            ours.append(typed_after([*DEMO, str(folder), *FULL], "Ask for", folder))
        limits.line("typed key seen / a bare Textual app", statistics.median(ours) / statistics.median(bare), 1.6)
        few, many = spinner(folder, 4), spinner(folder, 200)
        limits.line("spinner with 200 messages / with 4", many / max(few, 0.01), 1.5)
        long_session(folder, limits)
        stream(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000, folder, limits)
    return 1 if limits.missed else 0


if __name__ == "__main__":
    sys.exit(main())
