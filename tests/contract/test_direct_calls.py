"""Tools called by a program: agent.tool.NAME(...)."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from tests.fakes.runs import calls, scripted, tool_texts
from xun import Agent, ToolBox, ToolCallContext, ToolCallFormatError, tool_attr


@tool_attr(name="math.add")
def add(ctx: ToolCallContext[Any], a: int, b: int) -> str:
    """Add."""
    return f"{ctx.tool_name} {a + b}"


@dataclasses.dataclass
class Place:
    city: str


def ship(ctx: ToolCallContext[Any], to: Place, express: bool = False) -> str:
    """Ship."""
    return f"{to.city} {express} {ctx.value}"


def test_direct_call_by_name():
    agent = Agent(toolbox=ToolBox(ship, add))
    assert agent.tool.ship(to={"city": "Oslo"}).unwrap() == "Oslo False None"
    assert agent.tool.ship(to=Place("Oslo"), express=True).unwrap() == "Oslo True None"
    assert agent.tool("value").ship(to=Place("Oslo")).unwrap() == "Oslo False value"
    assert agent.tool.math_add(a=1, b=2).unwrap() == agent.tool["math.add"](a=1, b=2).unwrap() == "math.add 3"
    assert agent.history == [] and dir(agent.tool) == ["math_add", "ship"]


def test_direct_call_is_checked_as_one_of_the_model():
    agent = Agent(toolbox=ToolBox(ship))
    with pytest.raises(ToolCallFormatError, match="to: required, but missing"):
        agent.tool.ship()
    with pytest.raises(ToolCallFormatError, match="no JSON values"):
        agent.tool.ship(to=object())
    with pytest.raises(AttributeError, match=r"no tool named 'sail'; the tools are: ship"):
        agent.tool.sail()
    agent.toolbox.disable("ship")
    with pytest.raises(ToolCallFormatError, match="disabled"):
        agent.tool.ship(to={"city": "Oslo"})


async def test_direct_call_from_async_code_and_of_an_async_tool():
    async def later(x: int) -> int:
        """Later."""
        await asyncio.sleep(0)
        return x

    assert Agent(toolbox=ToolBox(later)).tool.later(x=2).unwrap() == 2


def test_direct_call_from_a_tool():
    def outer(ctx: ToolCallContext[Any]) -> str:
        """Outer."""
        return "outer " + ctx.agent.tool.math_add(a=1, b=1).unwrap()

    agent = scripted(calls(("outer", {})), {"text": "done"}, tools=[outer, add])
    agent.instruct("go").execute().unwrap()
    assert tool_texts(agent) == ["outer math.add 2"]
