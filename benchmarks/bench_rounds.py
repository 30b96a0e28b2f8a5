"""The time of a tool round, from the first to the last of a long turn: it must not grow with the history.

python benchmarks/bench_rounds.py [ROUNDS]  # prints; exit 1 when the last rounds take longer than the first ones
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from datetime import datetime
from itertools import pairwise
from pathlib import Path

GROWTH = 1.5
"""How much longer a round may take at the end than at the beginning."""

SHARE = 100
"""Rounds that are compared at each end."""


def echo(number: int) -> dict[str, object]:
    """Return a turn of one command; each is another one, or it would count as going in circles."""
    return {"tool_calls": [{"name": "bash", "arguments": json.dumps({"command": f"echo {number}"})}]}


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "turns.json"
        turns = [echo(number) for number in range(rounds)]
        script.write_text(json.dumps([*turns, {"text": "ok"}]))
        env = {name: value for name, value in os.environ.items() if not name.startswith(("XUN_", "OPENAI_"))}
        env["XUN_HOME"] = str(Path(folder) / "home")
        command = [str(Path(sys.executable).with_name("xun")), "-p", "--output", "stream-json"]
        command += ["--max-steps", str(rounds + 10), "--model", f"scripted:{script}", "go"]
        done = subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    starts = [datetime.fromisoformat(event["ts"]).timestamp() for event in events if event["type"] == "tool.started"]
    gaps = [(later - earlier) * 1000 for earlier, later in pairwise(starts)]
    share = min(SHARE, len(gaps) // 2)
    # The quick tenth: other work of the machine makes rounds longer, never shorter.
    first, last = (statistics.quantiles(part, n=10)[0] for part in (gaps[:share], gaps[-share:]))
    print(f"{len(starts)} rounds of echo: {statistics.median(gaps):.1f} ms each (median)")
    print(f"the first {share}: {first:.1f} ms, the last {share}: {last:.1f} ms, ratio {last / first:.2f} (<= {GROWTH})")
    return int(last > GROWTH * first)


if __name__ == "__main__":
    sys.exit(main())
