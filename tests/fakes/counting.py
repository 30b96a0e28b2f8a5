"""A class tool that counts, and notes its life."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from xun import ToolBox, ToolCallContext
from xun.tools import StatefulTool, ToolRegistry


class CountArgs(BaseModel):
    """Not for the model."""

    by: int = Field(1, description="How much.")
    tags: list[str] = []


class CountConfig(BaseModel):
    first: int = 0
    log: list[str] = []


class Counter(StatefulTool):
    """Count on.
    Returns the sum so far."""

    name = "count"
    args_model = CountArgs
    config_model = CountConfig

    def start(self) -> None:
        self.total = self.config.first
        self.note("start")

    def run(self, ctx: ToolCallContext[Any], args: CountArgs) -> int:
        self.total += args.by
        return self.total

    def close(self) -> None:
        self.note("close")

    def note(self, what: str) -> None:
        self.config.log.append(f"{self.name} {what}")


def counting(**config: Any) -> ToolBox:
    registry = ToolRegistry()
    registry.register("slow_counter", Counter)
    return ToolBox.from_specs([{"name": "slow_counter", **config}], registry=registry)


def count(box: ToolBox, agent: Any, **arguments: Any) -> Any:
    return box.call_tool(agent, "count", arguments).unwrap()


def log_of(box: ToolBox) -> list[str]:
    instances = box.list_tools()[0].instances
    assert instances is not None
    return instances._config.log
