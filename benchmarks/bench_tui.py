"""The full-screen front end against its aims: start, key echo, spinner, focus, idle, a long stream, memory.

Run it from the checkout: ``python benchmarks/bench_tui.py``. Ratios within one run carry over to other
machines, the milliseconds do not.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.bench_repl import DEMO, KEYS, echo, open_terminal, rich_cpu, typed_after  # noqa: E402
from tests.fakes.scripted_session import bulk_text  # noqa: E402
from tests.fakes.terminal import Terminal  # noqa: E402

BARE = [
    sys.executable,
    "-c",
    "from textual.app import App\nfrom textual.widgets import Input\n"
    "class Bare(App):\n    def compose(self):\n        yield Input(placeholder='bare')\nBare(ansi_color=True).run()",
]


def started(folder: Path, messages: int = 0) -> Terminal:
    """Return a terminal with xun on it, and so many messages in the transcript."""
    terminal = open_terminal([*DEMO, str(folder), "--tui", "full"], folder)
    terminal.__enter__()
    terminal.wait("scripted · ask")
    if messages:
        terminal.send(f"flood {messages // 2}\r")
        terminal.wait("end of flood", 120)
    terminal.read(1.0)
    return terminal


def spent(terminal: Terminal, seconds: float) -> float:
    """Return the CPU seconds of the next *seconds*."""
    before = terminal.cpu_seconds()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        terminal.read(0.2)
    return terminal.cpu_seconds() - before


def spinner(folder: Path, messages: int) -> float:
    terminal = started(folder, messages)
    terminal.send("wait 60\r")
    terminal.wait("thinking")
    cost = spent(terminal, 10)
    terminal.__exit__()
    return cost


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare = statistics.median(typed_after(BARE, "bare", folder) for _ in range(3))
        ours = statistics.median(
            typed_after([*DEMO, str(folder), "--tui", "full"], "Ask for", folder) for _ in range(3)
        )
        print(
            f"typed: {ours * 1000:.0f} ms, a bare Textual app {bare * 1000:.0f} ms, ratio {ours / bare:.2f} (<= 1.35)"
        )

        few, many = spinner(folder, 4), spinner(folder, 200)
        print(f"spinner for 10 s: {few:.2f} s CPU with 4 messages, {many:.2f} s with 200, "
              f"ratio {many / max(few, 0.01):.2f} (<= 1.5)")  # fmt: skip

        terminal = started(folder, 300)
        terminal.drawn = False
        before, echoes = terminal.cpu_seconds(), []
        for key in KEYS:
            echoes.append(echo(terminal, key) * 1000)
            terminal.read(0.05)
        cpu = (terminal.cpu_seconds() - before) / len(KEYS) * 1000
        worst = sorted(echoes)[int(len(echoes) * 0.95)]
        print(f"key with 300 messages: {cpu:.1f} ms CPU each (<= 50), seen after {worst:.0f} ms (95 of 100)")
        before = terminal.cpu_seconds()
        for _ in range(10):
            terminal.send("\x1b[O\x1b[I")
            terminal.read(0.1)
        print(f"focus out and in with 300 messages: {(terminal.cpu_seconds() - before) / 10:.3f} s CPU (<= 0.2)")
        terminal.read(3)
        print(f"idle for 30 s with 300 messages: {spent(terminal, 30):.2f} s CPU (<= 0.15)")
        print(f"memory with 300 messages: {terminal.memory():.0f} MB")
        terminal.__exit__()
        stream(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000, folder)


def stream(size: int, folder: Path) -> None:
    """Print what a long answer costs, and how keys are echoed meanwhile."""
    terminal = started(folder)
    before, start, echoes, typed = terminal.cpu_seconds(), time.monotonic(), [], 0
    terminal.send(f"bulk {size}\r")
    terminal.drawn = False
    while b"end of bulk" not in terminal.raw[-8_000:] and time.monotonic() - start < 120:
        terminal.read(0.1)
        if typed < len(KEYS):
            echoes.append(echo(terminal, KEYS[typed]) * 1000)
            typed += 1
    wall, cpu = time.monotonic() - start, terminal.cpu_seconds() - before
    print(f"stream of {len(bulk_text(size)):,} characters: {wall:.1f} s wall, {cpu:.1f} s CPU; "
          f"rich by the block {rich_cpu(size):.1f} s CPU")  # fmt: skip
    print(f"key echo meanwhile: median {statistics.median(echoes):.0f} ms, worst {max(echoes):.0f} ms")
    terminal.__exit__()


if __name__ == "__main__":
    main()
