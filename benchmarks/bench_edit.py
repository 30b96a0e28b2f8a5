"""Speed of edits, as ratios against plain reading and writing in the same run.

    python benchmarks/bench_edit.py            # prints; exit 1 when a limit is missed

Limits: replace in a 5 MB file at most 10x reading and writing it; a failed match on 20,000 lines at
most 1 s; a patch at the end of 200,000 lines at most 1 s.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xun import Agent, AgentConfig, ToolBox, Workspace

ROUNDS = 5


def timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def best(work: Callable[[], Any]) -> float:
    return min(timed(work) for _ in range(ROUNDS))


def read_and_write(path: Path) -> None:
    """What any safe tool has to do at least: read, write beside, bring to the disk, rename."""
    data = path.read_bytes()
    fresh = path.with_suffix(".new")
    with fresh.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        agent = Agent(
            toolbox=ToolBox().with_defaults("fs", "patch"),
            workspace=Workspace(root),
            config=AgentConfig(auto_confirm=True),
        ).initialize()

        def call(name: str, **args: Any) -> Any:
            return agent.toolbox.call_tool(agent, name, args, None)

        failed = False

        def report(name: str, value: float, limit: float, unit: str) -> None:
            nonlocal failed
            failed = failed or value > limit
            print(f"{'ok  ' if value <= limit else 'FAIL'} {name}: {value:.2f} {unit} (limit {limit:g})")

        for name, end in (("LF", "\n"), ("CRLF", "\r\n")):
            path = root / f"{name}.txt"
            path.write_text(f"some line of text that is not long{end}" * (5_000_000 // 36) + f"needle{end}", newline="")
            words = iter([f"needle{number}" for number in range(1000)])
            state = {"old": "needle"}

            def edit(name: str = name, words: Any = words, state: dict[str, str] = state) -> None:
                new = next(words)
                assert call("replace", path=f"{name}.txt", old=state["old"], new=new).is_ok()
                state["old"] = new

            # Turn by turn, so that a loaded machine slows both.
            edits, plain = [], []
            for _ in range(3 * ROUNDS):
                plain.append(timed(lambda path=path: read_and_write(path)))
                edits.append(timed(edit))
            report(f"replace in 5 MB {name}, against reading and writing it", min(edits) / min(plain), 10, "x")

        (root / "lines.py").write_text("".join(f"    value_{n} = compute(value, other)\n" for n in range(20_000)))
        old = "".join(f"    value_{n} = compute(value, another)\n    return nothing\n" for n in range(40))
        report("failed match on 20,000 lines", best(lambda: call("replace", path="lines.py", old=old, new="x")), 1, "s")

        (root / "long.txt").write_text("row\n" * 200_000 + "tail\n")
        tails = iter([f"tail{number}" for number in range(1000)])
        last = {"old": "tail"}

        def patch() -> None:
            new = next(tails)
            text = f"*** Begin Patch\n*** Update File: long.txt\n@@\n-{last['old']}\n+{new}\n*** End Patch\n"
            assert call("apply_patch", patch=text).is_ok()
            last["old"] = new

        report("patch at the end of 200,000 lines", best(patch), 1, "s")
        (root / "small.py").write_text("a = 1\n" * 50 + "b = 2\n")
        numbers = iter(range(3, 10_000))
        report(
            "replace in a small file",
            best(lambda: call("replace", path="small.py", old="b = ", new=f"# {next(numbers)}\nb = ")) * 1000,
            250,
            "ms",
        )
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
