"""Speed of the command line, as ratios against ``python -c pass`` of the same run.

python benchmarks/bench_start.py            # prints; exit 1 when a limit is missed
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 15
FLOOR = [sys.executable, "-c", "pass"]
XUN = [str(Path(sys.executable).with_name("xun"))]

# What must not be exceeded, in multiples of the floor.
LIMITS = {
    "--version": 1.7,
    "--help": 5.8,
    "policy test": 12.0,
    "sessions list": 15.0,
    "no model": 15.0,
    "headless answer": 60.0,
}


def best(commands: list[list[str]], cwd: str, env: dict[str, str]) -> list[float]:
    """Return the best time of each command; they take turns, so that other work of the machine hits all alike."""
    times: list[list[float]] = [[] for _ in commands]
    for _ in range(ROUNDS):
        for kept, command in zip(times, commands, strict=True):
            started = time.perf_counter()
            subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
            kept.append(time.perf_counter() - started)
    return [min(kept) for kept in times]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "turns.json"
        script.write_text(json.dumps([{"text": "ok"}] * 3))
        env = {name: value for name, value in os.environ.items() if not name.startswith(("XUN_", "OPENAI_"))}
        env["XUN_HOME"] = str(Path(folder) / "home")
        commands = {
            "--version": ["--version"],
            "--help": ["--help"],
            "policy test": ["policy", "test", "ls"],
            "sessions list": ["sessions", "list"],
            "no model": ["-p", "hello"],
            "headless answer": ["-p", "--no-session", "--model", f"scripted:{script}", "hello"],
        }
        floor, *times = best([FLOOR, *([*XUN, *arguments] for arguments in commands.values())], folder, env)
        print(f"{'python -c pass':<18}{floor * 1000:7.0f} ms")
        missed = False
        for name, taken in zip(commands, times, strict=True):
            ratio = taken / floor
            missed |= ratio > LIMITS[name]
            print(f"{name:<18}{taken * 1000:7.0f} ms {ratio:6.1f}x  (at most {LIMITS[name]:.1f}x)")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
