"""Commands and code in an environment, as ratios against a bare process of the same run.

python benchmarks/bench_environment.py      # prints; exit 1 when a limit is missed
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.environment import EnvironmentUnusable, LocalEnvironment
from xun.environment.bwrap import Bubblewrap
from xun.environment.landlock import Landlock
from xun_policies.shell.environment import child_environment

ROUNDS = 40

# What must not be exceeded, in multiples of the floor.
LIMITS = {"bash true": 4.0, "run_code, no call": 8.0, "run_code, 100 calls": 25.0}

# What a wall may add to a command, in milliseconds.
ADDED = {"bubblewrap": 25.0, "landlock": 2.0}


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


def walls(workspace: Workspace) -> bool:
    """Print what each wall adds to a command, as the difference of minima; return whether a limit is missed."""
    env = child_environment(os.environ)
    folders = [str(workspace.workdir), str(workspace.tempdir.path)]
    bwrap, landlock = Bubblewrap(lambda: folders[:1], lambda: folders, lasting=True), Landlock(lambda: folders)
    local = LocalEnvironment(workspace)
    missed = False
    try:
        plain = best(lambda: ended(local.spawn(["/bin/true"], env=env)))
        print(f"{'true, no wall':<22}{plain * 1000:8.1f} ms")
        for name, wall in (("bubblewrap", bwrap), ("landlock", landlock)):
            for view in ("closed", "network", "machine"):
                try:
                    wall.test(env)
                except EnvironmentUnusable as exc:
                    print(f"{name}: {exc}")
                    break

                def once(wall: Any = wall, view: Any = view) -> None:
                    ended(wall.start(["/bin/true"], folders[0], env, stdin=False, view=view))

                added = (best(once) - plain) * 1000
                missed |= added > ADDED[name]
                print(f"{name + ', ' + view:<22}{added:+8.1f} ms            (limit {ADDED[name]:g})")
    finally:
        for one_of in (bwrap, landlock, local):
            one_of.close()
    return missed


def ended(process: Any) -> None:
    """Wait for a process, and close it."""
    process.wait()
    process.close()


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
            missed |= walls(agent.workspace)
            agent.workspace.close()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
