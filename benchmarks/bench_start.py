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

ROUNDS = 7
FLOOR = [sys.executable, "-c", "pass"]
XUN = [str(Path(sys.executable).with_name("xun"))]

# What must not be exceeded, in multiples of the floor.
LIMITS = {
    "--version": 3.0,
    "--help": 5.8,
    "policy test": 12.0,
    "sessions list": 15.0,
    "no model": 15.0,
    "headless answer": 60.0,
}


def best(command: list[str], cwd: str, env: dict[str, str]) -> float:
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        times.append(time.perf_counter() - started)
    return min(times)


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
        floor = best(FLOOR, folder, env)
        print(f"{'python -c pass':<18}{floor * 1000:7.0f} ms")
        missed = False
        for name, arguments in commands.items():
            taken = best([*XUN, *arguments], folder, env)
            ratio = taken / floor
            missed |= ratio > LIMITS[name]
            print(f"{name:<18}{taken * 1000:7.0f} ms {ratio:6.1f}x  (at most {LIMITS[name]:.1f}x)")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
