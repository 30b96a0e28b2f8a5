"""Commands and code in an environment, as ratios against a bare process of the same run.

python benchmarks/bench_environment.py      # prints; exit 1 when a limit is missed
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.environment import BubblewrapEnvironment, EnvironmentUnusable

ROUNDS = 40

# What must not be exceeded, in multiples of the floor.
LIMITS = {"bash true": 4.0, "run_code, no call": 8.0, "run_code, 100 calls": 25.0}


def best(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def one(n: int) -> int:
    """Return it."""
    return n


def main() -> int:
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        config = AgentConfig(auto_confirm=True, risk_enabled=False)
        with Agent(
            toolbox=ToolBox(one).with_defaults("cmd", "code"), workspace=Workspace(folder), config=config
        ) as agent:

            def call(tool: str, **arguments: object) -> object:
                return agent.toolbox.call_tool(agent, tool, arguments, None).unwrap()

            bash = best(lambda: subprocess.run(["/bin/bash", "-c", "true"], capture_output=True, check=False))
            python = best(
                lambda: subprocess.run([sys.executable, "-I", "-c", ""], capture_output=True, check=False), 15
            )
            print(f"{'bare bash':<22}{bash * 1000:8.1f} ms\n{'bare python':<22}{python * 1000:8.1f} ms")
            many = "for n in range(100): await tools.one(n=n)"
            rows = [
                ("bash true", bash, best(lambda: call("bash", command="true"))),
                ("run_code, no call", python, best(lambda: call("run_code", code="print(1)"), 15)),
                ("run_code, 100 calls", python, best(lambda: call("run_code", code=many), 10)),
            ]
            for name, floor, taken in rows:
                missed |= taken / floor > LIMITS[name]
                print(f"{name:<22}{taken * 1000:8.1f} ms{taken / floor:7.1f} x  (limit {LIMITS[name]:g})")
            boxed = BubblewrapEnvironment(agent.workspace)
            try:

                def in_box() -> None:
                    process = boxed.spawn("true")
                    process.wait()
                    process.close()

                taken = best(in_box, 10)
                print(f"{'true under bubblewrap':<22}{taken * 1000:8.1f} ms{taken / bash:7.1f} x")
            except EnvironmentUnusable as exc:
                print(f"bubblewrap: {exc}")
            boxed.close()
            agent.workspace.close()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
