"""The inline front end against its aims: start, a long stream, key echo, idle, memory.

Run it from the checkout: ``python benchmarks/bench_repl.py``. Ratios within one run carry over to
other machines, the milliseconds do not.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.fakes.scripted_session import bulk_text  # noqa: E402
from tests.fakes.terminal import Terminal  # noqa: E402

DEMO = [sys.executable, str(ROOT / "tests" / "fakes" / "repl_demo.py")]
KEYS = "αβγδεζηθικλμνξοπρστυφχψωбвгджзийклмнптфцчшщыэюя"
BARE = [sys.executable, "-c", "from prompt_toolkit import PromptSession; PromptSession().prompt('bare> ')"]
RICH = """
import sys
from rich.console import Console
from rich.markdown import Markdown
from tests.fakes.scripted_session import bulk_text
from xun_cli.render.blocks import BlockSplitter
console = Console(width=80, force_terminal=True, file=open("/dev/null", "w"))
splitter = BlockSplitter()
text = bulk_text(int(sys.argv[1]))
for at in range(0, len(text), 24):
    for block in splitter.feed(text[at:at + 24]):
        console.print(Markdown(block.text))
"""


def open_terminal(command: list[str], folder: Path) -> Terminal:
    env = {
        **os.environ,
        "XUN_HOME": str(folder / "home"),
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
        "PROMPT_TOOLKIT_NO_CPR": "1",
    }
    return Terminal(command, env=env, cwd=folder)


def typed_after(command: list[str], ready: str, folder: Path) -> float:
    """Return the seconds from the start until a typed key is on the screen."""
    start = time.monotonic()
    with open_terminal(command, folder) as terminal:
        while ready not in terminal.text():
            terminal.read(0.004)
        terminal.send("zq")
        while "zq" not in terminal.text():
            terminal.read(0.004)
        return time.monotonic() - start


def stream(size: int, folder: Path) -> tuple[float, float, list[float], float]:
    """Return wall and CPU seconds of a long answer, the echo times of keys meanwhile, and the memory after it."""
    with open_terminal([*DEMO, str(folder)], folder) as terminal:
        terminal.wait("scripted · ask")
        terminal.read(1.0)
        cpu, start, echoes, typed = terminal.cpu_seconds(), time.monotonic(), [], 0
        terminal.send(f"bulk {size}\r")
        terminal.drawn = False  # the screen of the test is slower than the program
        while b"end of bulk" not in terminal.raw[-4_000:]:
            terminal.read(0.1)
            if typed < len(KEYS):
                echoes.append(echo(terminal, KEYS[typed]))
                typed += 1
        wall = time.monotonic() - start
        terminal.read(0.5)
        return wall, terminal.cpu_seconds() - cpu, echoes, terminal.memory()


def echo(terminal: Terminal, key: str) -> float:
    """Return the seconds until *key*, which is nowhere else, is written back."""
    sent, wanted, seen = time.monotonic(), key.encode(), len(terminal.raw)
    terminal.send(key)
    while wanted not in terminal.raw[seen:] and time.monotonic() - sent < 5:
        terminal.read(0.002)
    return time.monotonic() - sent


def rich_cpu(size: int) -> float:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    before = os.times()
    subprocess.run([sys.executable, "-c", RICH, str(size)], env=env, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare = statistics.median(typed_after(BARE, "bare>", folder) for _ in range(5))
        ours = statistics.median(typed_after([*DEMO, str(folder)], "Ask for", folder) for _ in range(5))
        print(
            f"typed: {ours * 1000:.0f} ms, bare prompt_toolkit {bare * 1000:.0f} ms, ratio {ours / bare:.2f} (<= 1.6)"
        )
        wall, cpu, echoes, memory = stream(size, folder)
        by_rich = rich_cpu(size)
        print(f"stream of {len(bulk_text(size)):,} characters: {wall:.1f} s wall, {cpu:.1f} s CPU; "
              f"rich by the block {by_rich:.1f} s CPU, ratio {cpu / by_rich:.2f} (<= 1.4)")  # fmt: skip
        median, worst = statistics.median(echoes) * 1000, max(echoes) * 1000
        print(f"key echo meanwhile: median {median:.0f} ms (<= 50), worst {worst:.0f} ms (<= 250), {len(echoes)} keys")
        print(f"memory after: {memory:.0f} MB")


if __name__ == "__main__":
    main()
