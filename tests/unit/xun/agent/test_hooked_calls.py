"""Calls without a run, through the hooks of their agent."""

from __future__ import annotations

from typing import Any

import pytest

from xun import Agent, Result, ToolBox
from xun.agent.hooked import CallOutcome, call_through_hooks
from xun.errors import CancelledError


def double(n: int) -> int:
    """Double n."""
    return 2 * n


@pytest.fixture
def agent(tmp_path: Any) -> Any:
    with Agent(toolbox=ToolBox(double)) as made:
        yield made


async def called(agent: Agent[Any], name: str = "double", **arguments: Any) -> CallOutcome:
    return await call_through_hooks(agent, agent.toolbox, name, arguments or {"n": 2})


async def test_without_hooks_it_is_the_call(agent: Agent[Any]) -> None:
    assert await called(agent) == CallOutcome(Result.Ok(4))
    assert (await called(agent, n="two")).result.status == "format_error"
    assert "double" in (await called(agent, "duble")).result.unwrap_err().error


async def test_what_hooks_do(agent: Agent[Any]) -> None:
    seen: list[Any] = []

    async def before(calls: list[Any]) -> None:
        seen.append(calls[0].id)
        calls[0].arguments = {"n": 5}

    async def around(call: Any, go_on: Any) -> Any:
        return Result.Ok((await go_on(call)).unwrap() + 1)

    async def after(call: Any, result: Any) -> Any:
        call.add_note(f"got {result.unwrap()}")
        return Result.Ok("replaced")

    agent.hooks.before_tool_call.add(before)
    agent.hooks.wrap_tool_call.add(around)
    assert (await called(agent)).result.unwrap() == 11
    agent.hooks.after_tool_call.add(after)
    assert await called(agent) == CallOutcome(Result.Ok("replaced"), ("got 11",))
    assert len(set(seen)) == 2, "each call has an id of its own"


async def test_a_denied_call_does_not_run_and_is_on_record(agent: Agent[Any]) -> None:
    agent.hooks.before_tool_call.add(lambda calls: calls[0].deny("not today"))
    result = (await called(agent)).result
    assert result.status == "denied" and "A hook denied the call of double: not today" in result.unwrap_err().error
    assert [(row.tool, row.decision, row.source) for row in agent.policy.log] == [("double", "deny", "hook")]


async def test_an_answer_in_the_place_of_the_call_and_a_cancellation(agent: Agent[Any]) -> None:
    def answer(calls: list[Any]) -> None:
        calls[0].result = 7

    agent.hooks.before_tool_call.add_once(answer)
    assert (await called(agent)).result.unwrap() == 7

    def cancel(calls: list[Any]) -> None:
        raise CancelledError("enough")

    agent.hooks.before_tool_call.add_once(cancel)
    found = (await called(agent)).result
    assert found.status == "cancelled" and "enough" in found.unwrap_err().error
    assert (await called(agent)).result.unwrap() == 4
