"""How long the command gate takes: the corpus, a long input, a long chain, and its import.

Figures of a shared machine mean little by themselves, so each is printed as a multiple of a fixed
pure-Python loop of the same run too. Run: python benchmarks/bench_gate.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 15


def loop() -> int:
    """Do the fixed work that everything is compared with."""
    value = 0
    for number in range(1000):
        value = (value * 31 + number) & 0xFFFF
    return value


def least(work: Callable[[], object], rounds: int) -> float:
    """Return the least time of *rounds* runs in microseconds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def import_time() -> float:
    """Return what importing the gate adds to dataclasses, re, pathlib and enum, in milliseconds."""
    base = "import dataclasses, re, pathlib, enum, time; t = time.perf_counter(); "
    code = base + "import xun_policies.commands, xun_policies.store; print((time.perf_counter() - t) * 1e3)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(9)]
    return min(float(run.stdout) for run in runs)


def main() -> None:
    """Print the figures."""
    from xun_policies.commands import CommandScope, evaluate
    from xun_policies.store import PolicyState

    rows = [
        json.loads(line)["command"] for line in (ROOT / "tests/corpus/commands.jsonl").read_text("utf-8").splitlines()
    ]
    scope = CommandScope("/home/dev/proj", ("/home/dev/proj",), "/home/dev", None)
    policy = PolicyState()
    times = sorted(least(lambda row=row: evaluate(row, policy, scope), ROUNDS) for row in rows)
    unit = least(loop, 200)
    print(f"the fixed loop                 {unit:9.1f} us")

    def show(name: str, figure: float, limit: str) -> None:
        print(f"{name:30} {figure:9.1f} us   {figure / unit:7.2f} loops   (limit {limit})")

    show("corpus, mean", sum(times) / len(times), "60 us")
    show("corpus, 50 of 100", times[len(times) // 2], "")
    show("corpus, 99 of 100", times[int(len(times) * 0.99)], "250 us")
    long = "echo " + "word " * 1990
    show("10 KB input", least(lambda: evaluate(long, policy, scope), 7), "20 ms")
    quoted = 'echo "' + "\\$" * 4990 + '"'
    show("10 KB of escapes", least(lambda: evaluate(quoted, policy, scope), 7), "20 ms")
    chain = "; ".join(["git diff --stat | head -3"] * 100)
    show("200 commands", least(lambda: evaluate(chain, policy, scope), 7), "50 ms")
    show("200 commands, explained", least(lambda: evaluate(chain, policy, scope).explain(80), 7), "")
    print(f"{'import':30} {import_time():9.2f} ms   (limit 5 ms)")


if __name__ == "__main__":
    main()
