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


class Bench:
    """An agent in a folder of its own, and what missed its limit."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.failed = False
        self.numbers = iter(range(1, 100_000))
        self.agent = Agent(
            toolbox=ToolBox().with_defaults("fs", "patch"),
            workspace=Workspace(root),
            config=AgentConfig(auto_confirm=True),
        ).initialize()

    def call(self, name: str, **args: Any) -> Any:
        return self.agent.toolbox.call_tool(self.agent, name, args, None)

    def report(self, name: str, value: float, limit: float, unit: str) -> None:
        self.failed = self.failed or value > limit
        print(f"{'ok  ' if value <= limit else 'FAIL'} {name}: {value:.2f} {unit} (limit {limit:g})")

    def large_file(self, name: str, end: str) -> None:
        path = self.root / f"{name}.txt"
        path.write_text(f"some line of text that is not long{end}" * (5_000_000 // 36) + f"<0>{end}", newline="")
        last = "<0>"

        def edit() -> None:
            nonlocal last
            new = f"<{next(self.numbers)}>"
            assert self.call("replace", path=path.name, old=last, new=new).is_ok()
            last = new

        # Turn by turn, so that a loaded machine slows both.
        edits, plain = [], []
        for _ in range(3 * ROUNDS):
            plain.append(timed(lambda: read_and_write(path)))
            edits.append(timed(edit))
        self.report(f"replace in 5 MB {name}, against reading and writing it", min(edits) / min(plain), 10, "x")

    def failed_match(self) -> None:
        text = "".join(f"    value_{n} = compute(value, other)\n" for n in range(20_000))
        (self.root / "lines.py").write_text(text)
        old = "".join(f"    value_{n} = compute(value, another)\n    return nothing\n" for n in range(40))
        took = best(lambda: self.call("replace", path="lines.py", old=old, new="x"))
        self.report("failed match on 20,000 lines", took, 1, "s")

    def long_patch(self) -> None:
        (self.root / "long.txt").write_text("row\n" * 200_000 + "0\n")
        last = "0"

        def patch() -> None:
            nonlocal last
            new = str(next(self.numbers))
            text = f"*** Begin Patch\n*** Update File: long.txt\n@@\n-{last}\n+{new}\n*** End Patch\n"
            assert self.call("apply_patch", patch=text).is_ok()
            last = new

        self.report("patch at the end of 200,000 lines", best(patch), 1, "s")

    def small_file(self) -> None:
        (self.root / "small.py").write_text("a = 1\n" * 50 + "b = 2\n")
        took = best(
            lambda: self.call("replace", path="small.py", old="b = ", new=f"# {next(self.numbers)}\nb = ").unwrap()
        )
        self.report("replace in a small file", took * 1000, 250, "ms")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(os.path.realpath(folder)))
        bench.large_file("LF", "\n")
        bench.large_file("CRLF", "\r\n")
        bench.failed_match()
        bench.long_patch()
        bench.small_file()
        return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
