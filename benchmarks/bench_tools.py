"""Tool calls, schema derivation and import time, each as a ratio to bare pydantic in the same run.

Exit status 1 when an aim is missed. The least processor time of many rounds counts: other load makes a round
slower, never faster.
"""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from pydantic import ConfigDict, create_model

from xun import Agent, ToolBox

ARGUMENTS = '{"path": "src/main.py", "limit": 20, "details": true, "names": ["a", "b"]}'
ROUNDS = 25


def tool(path: str, limit: int = 10, details: bool = False, names: list[str] | None = None) -> int:
    """Look at a file."""
    return limit


async def atool(path: str, limit: int = 10, details: bool = False, names: list[str] | None = None) -> int:
    """Look at a file."""
    return limit


def bare_model() -> Any:
    """Return the model that a person would write by hand."""
    return create_model(
        "Arguments",
        __config__=ConfigDict(extra="forbid"),
        path=(str, ...),
        limit=(int, 10),
        details=(bool, False),
        names=(list[str] | None, None),
    )


def bare_derivation() -> None:
    """Do what every derivation has to do."""
    bare_model().model_json_schema()


def derivation() -> None:
    """Derive a tool with its schema."""
    ToolBox(tool).list_tools_json()


def compare(floor: Callable[[int], None], work: Callable[[int], None], times: int) -> tuple[float, float]:
    """Return the seconds of one of *times* for both, in their best rounds; the rounds alternate."""
    best = [float("inf"), float("inf")]
    gc.disable()
    for _ in range(ROUNDS):
        for index, run in enumerate((floor, work)):
            started = time.process_time()
            run(times)
            best[index] = min(best[index], time.process_time() - started)
        gc.collect()
    gc.enable()
    return best[0] / times, best[1] / times


def repeat(call: Callable[[], Any]) -> Callable[[int], None]:
    """Return a loop of *call*."""

    def work(times: int) -> None:
        for _ in range(times):
            call()

    return work


def in_one_loop(box: ToolBox, agent: Any) -> Callable[[int], None]:
    """Return a loop of async calls inside one event loop."""

    async def many(times: int) -> None:
        for _ in range(times):
            await box.acall_tool(agent, "atool", ARGUMENTS, None)

    return lambda times: asyncio.run(many(times))


def imports(code: str) -> tuple[float, float]:
    """Return the least time of importing pydantic, and of *code*, without that of an idle interpreter."""
    best = {"pass": float("inf"), "import pydantic; pydantic.create_model": float("inf"), code: float("inf")}
    for _ in range(9):
        for text in best:
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", text], check=True)
            best[text] = min(best[text], time.perf_counter() - started)
    idle, floor, seconds = best.values()
    return floor - idle, max(0.0, seconds - idle)


def main() -> int:
    """Measure, print and compare with the aims."""
    model = bare_model()
    box, agent = ToolBox(tool, atool), Agent().initialize()

    def bare_call() -> int:
        values = model.model_validate(json.loads(ARGUMENTS), strict=True)
        return tool(values.path, values.limit, values.details, values.names)

    def call() -> Any:
        return box.call_tool(agent, "tool", ARGUMENTS, None)

    rows = [
        ("call_tool", 1.5, compare(repeat(bare_call), repeat(call), 1000)),
        ("acall_tool", 3.0, compare(repeat(bare_call), in_one_loop(box, agent), 1000)),
        ("derivation", 1.2, compare(repeat(bare_derivation), repeat(derivation), 20)),
        ("import xun", 0.5, imports("import xun")),
        # The aim is pydantic and 100 ms; where pydantic takes about as long, that is twice its time.
        ("from xun import Agent, ToolBox", 2.0, imports("from xun import Agent, ToolBox")),
    ]
    missed = 0
    print(f"{'':32}{'floor':>12}{'xun':>12}{'ratio':>8}{'aim':>7}")
    for name, aim, (base, seconds) in rows:
        ratio = seconds / base
        missed += ratio > aim
        mark = "" if ratio <= aim else "  MISSED"
        print(f"{name:32}{base * 1e6:>10.1f}us{seconds * 1e6:>10.1f}us{ratio:>8.2f}{aim:>7.1f}{mark}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
