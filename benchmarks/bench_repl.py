"""The inline front end against its aims: start, a long stream, key echo, idle, memory.

Run it from the checkout: ``python benchmarks/bench_repl.py [CHARACTERS]``; it exits 1 when a limit is missed. Ratios
within one run carry over to other machines, the milliseconds do not; on a machine that does other work the key echo
is what that work leaves of it.
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

from tests.fakes.terminal import Terminal  # noqa: E402

XUN = [sys.executable, "-m", "xun_cli"]
MODEL = {"XUN_BASE_URL": "http://127.0.0.1:9/v1", "XUN_API_KEY": "sk-x", "XUN_MODEL": "nobody"}
"""A model by the openai package, which is imported behind the drawn prompt; nothing is sent."""
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


def open_terminal(command: list[str], folder: Path, **more: str) -> Terminal:
    env = {
        **os.environ,
        **more,
        "XUN_HOME": str(folder / "home"),
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
        "PROMPT_TOOLKIT_NO_CPR": "1",
    }
    return Terminal(command, env=env, cwd=folder)


def typed_after(command: list[str], ready: str, folder: Path, **env: str) -> float:
    """Return the seconds from the start until a typed key is on the screen."""
    start = time.monotonic()
    with open_terminal(command, folder, **env) as terminal:
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


def starts(folder: Path, rounds: int = 7) -> tuple[float, float, float]:
    """Return the typed times of a bare prompt, of the scripted session and of xun with openai; turn by turn."""
    kinds: list[tuple[list[str], str, dict[str, str]]] = [
        (BARE, "bare>", {}),
        ([*DEMO, str(folder)], "Ask for", {}),
        (XUN, "Ask for", MODEL),
    ]
    times: list[list[float]] = [[], [], []]
    for _ in range(rounds):
        for kind, (command, ready, env) in enumerate(kinds):
            times[kind].append(typed_after(command, ready, folder, **env))
    bare, demo, openai = (statistics.median(values) for values in times)
    return bare, demo, openai


def long_session(folder: Path) -> tuple[float, float, list[float], float]:
    """Return the CPU of 30 s at the prompt, the memory grown by 500 turns, and keys after them, and idle again."""
    with open_terminal([*DEMO, str(folder)], folder) as terminal:
        terminal.wait("scripted · ask")
        terminal.drawn = False
        flood(terminal, 5)
        memory = terminal.memory()
        flood(terminal, 500)
        grown = terminal.memory() - memory
        echoes = []
        for key in KEYS:
            echoes.append(echo(terminal, key))
            terminal.read(0.05)
        terminal.send("\x15")
        terminal.read(2.5)
        before = terminal.cpu_seconds()
        terminal.read(30.0)
        return terminal.cpu_seconds() - before, grown, echoes, terminal.memory()


def flood(terminal: Terminal, turns: int) -> None:
    terminal.send(f"flood {turns}\r")
    seen = len(terminal.raw)
    while b"end of flood" not in terminal.raw[max(seen, len(terminal.raw) - 3_000) :]:
        terminal.read(0.2)
    terminal.read(1.0)


class Limits:
    """Prints figures and remembers what missed its limit."""

    def __init__(self) -> None:
        self.missed = False

    def line(self, what: str, value: float, limit: float, unit: str = "") -> None:
        over = value > limit
        self.missed |= over
        print(f"{what:<58}{value:8.2f}{unit} (<= {limit:g}){'   MISSED' if over else ''}", flush=True)


def main() -> int:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    limits = Limits()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare, demo, openai = starts(folder)
        print(f"typed key: bare prompt {bare:.3f} s, scripted session {demo:.3f} s, with openai {openai:.3f} s")
        limits.line("typed key, a scripted session behind / bare prompt", demo / bare, 1.6)
        limits.line("typed key, openai imported behind / bare prompt", openai / bare, 1.6)
        wall, cpu, echoes, memory = stream(size, folder)
        by_rich = rich_cpu(size)
        print(f"a stream of {size:,} characters: {wall:.1f} s, {cpu:.1f} s CPU; rich {by_rich:.1f} s CPU")
        limits.line("stream / each finished block once with rich, CPU", cpu / by_rich, 1.4)
        limits.line("key echo while it streams, median", statistics.median(echoes) * 1000, 50, " ms")
        limits.line("key echo while it streams, worst", max(echoes) * 1000, 250, " ms")
        limits.line("memory after it", memory, 160, " MB")
        idle, grown, later, _ = long_session(folder)
        limits.line("30 s at the prompt after 500 turns, CPU", idle, 0.15, " s")
        limits.line("memory grown by 500 turns of 20 kB", grown, 60, " MB")
        limits.line("key echo after 500 turns, median", statistics.median(later) * 1000, 50, " ms")
    return int(limits.missed)


if __name__ == "__main__":
    sys.exit(main())
