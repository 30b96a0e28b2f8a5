"""How long the command gate takes: the corpus, a long input, a long chain, and its import.

Figures of a shared machine mean little by themselves, so each is printed as a multiple of a fixed
pure-Python loop of the same run too, and held as that.

    python benchmarks/bench_gate.py            # prints; exit 1 when a limit is missed
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
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


class Figures:
    """Prints each figure in microseconds and in loops, and remembers which missed its limit."""

    def __init__(self, unit: float) -> None:
        self.unit = unit
        self.failed = False

    def show(self, name: str, figure: float, limit: float | None, said: str) -> None:
        """Print *figure* (microseconds); *limit* is in loops, *said* what that is on the machine of the limits."""
        loops = figure / self.unit
        missed = limit is not None and loops > limit
        self.failed = self.failed or missed
        held = "" if limit is None else f"limit {limit:g} loops = {said}"
        print(f"{name:28} {figure:9.1f} us  {loops:8.2f} loops   {held}{'   MISSED' if missed else ''}")


def main() -> int:
    """Print the figures; 1 when a limit is missed."""
    from xun_policies.audit import AuditTrail
    from xun_policies.commands import CommandScope, evaluate
    from xun_policies.shell.lookup import DEFAULT_PATH
    from xun_policies.store import DecisionRecord, PolicyState

    rows = [
        json.loads(line)["command"] for line in (ROOT / "tests/corpus/commands.jsonl").read_text("utf-8").splitlines()
    ]
    # Each folder of PATH is looked at in each evaluation, so that a longer one would be measured, not the gate.
    scope = CommandScope("/home/dev/proj", ("/home/dev/proj",), "/home/dev", DEFAULT_PATH)
    here = CommandScope("/home/dev/proj", ("/home/dev/proj",), "/home/dev", None)
    policy = PolicyState()
    figures = Figures(least(loop, 400))
    times = sorted(least(lambda row=row: evaluate(row, policy, scope), ROUNDS) for row in rows)
    with_path = [least(lambda row=row: evaluate(row, policy, here), ROUNDS) for row in rows]
    figures.unit = min(figures.unit, least(loop, 400))
    print(f"the fixed loop: {figures.unit:.1f} us here, 50 us on the machine of the limits")
    long = "echo " + "word " * 1990
    quoted = 'echo "' + "\\$" * 4990 + '"'
    chain = "; ".join(["git diff --stat | head -3"] * 100)
    figures.show("1 corpus, mean", sum(times) / len(times), 1.2, "60 us")
    figures.show("2 corpus, 99 of 100", times[int(len(times) * 0.99)], 5, "250 us")
    figures.show("3 10 KB input", least(lambda: evaluate(long, policy, scope), 25), 400, "20 ms")
    figures.show("4 10 KB of escapes", least(lambda: evaluate(quoted, policy, scope), 25), 400, "20 ms")
    figures.show(
        "5 200 commands, explained", least(lambda: evaluate(chain, policy, scope).explain(80), 25), 1000, "50 ms"
    )
    figures.show("6 import", import_time() * 1000, 100, "5 ms")
    figures.show("  corpus, 50 of 100", times[len(times) // 2], None, "")
    folders = os.environ.get("PATH", "").count(":") + 1
    figures.show(f"  mean with this PATH of {folders}", sum(with_path) / len(with_path), None, "")
    with tempfile.TemporaryDirectory() as folder:
        trail = AuditTrail(Path(folder) / "audit.jsonl", "bench")
        record = DecisionRecord("2026-11-29T12:00:00", "bash", "git status", "allow", "allowlist", "builtin")
        figures.show("  a line of the audit trail", least(lambda: trail.append(record), 200), None, "")
    return int(figures.failed)


if __name__ == "__main__":
    sys.exit(main())
