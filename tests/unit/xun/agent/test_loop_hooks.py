"""Hooks: what they may change, that a raising one is no veto, and their order."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.fakes.runs import calls, of, roles, scripted, stream, tool_texts
from xun import Agent, CancelledError, Hooks, Result, ToolError
from xun.errors import Denied
from xun.events import ToolCompleted, ToolStarted
from xun.messages import Message

ADD_ONE = calls(("add", {"a": 1}))


def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


def agent_of(*turns: Any) -> Agent[Any]:
    return scripted(*turns, {"text": "done"}, tools=[add])


async def test_before_hook_changes_answers_and_denies():
    agent = agent_of(calls(("add", {"a": 1}), ("add", {"a": 2}), ("add", {"a": 3}), ("sum", "{")))

    @agent.hooks.before_tool_call.add
    def change(batch: list[Any]) -> None:
        first, second, third, fourth = batch
        first.arguments = {"a": 10}
        second.result = Result.Ok("from a hook")
        third.deny("not on Sundays")
        fourth.name, fourth.arguments = "add", '{"a": 5}'

    events = await stream(agent)
    assert tool_texts(agent) == ["12", "from a hook", "A hook denied the call of add: not on Sundays", "7"]
    statuses = {event.call_id: event.status for event in of(events, ToolCompleted)}
    assert statuses == {"call_1": "ok", "call_2": "ok", "call_3": "denied", "call_4": "ok"}
    assert of(events, ToolStarted)[0].args == {"a": 10}


async def test_hook_may_not_lose_or_rename_a_call():
    agent = agent_of(calls(("add", {"a": 1}), ("add", {"a": 2})))

    @agent.hooks.before_tool_call.add
    def spoil(batch: list[Any]) -> None:
        batch[0].id = "other"
        batch.clear()

    await stream(agent)
    assert tool_texts(agent) == ["3", "4"]
    assert [message.tool_call_id for message in agent.history if message.role == "tool"] == ["call_1", "call_2"]


POINTS = ("before_execution", "before_model_call", "model_text_delta", "before_tool_call", "wrap_tool_call")
LATER = ("after_tool_call", "after_execution_step")


@pytest.mark.parametrize("point", POINTS + LATER)
async def test_raising_hook_is_logged_and_no_veto(point: str, caplog: pytest.LogCaptureFixture):
    agent = agent_of({**ADD_ONE, "text": "thinking"})

    def fails(*args: Any) -> None:
        raise LookupError("in a hook")

    getattr(agent.hooks, point).add(fails)
    with caplog.at_level(logging.ERROR, "xun.hooks"):
        await stream(agent)
    assert tool_texts(agent) == ["3"] and agent.last_result == Result.Ok("done")
    assert point in caplog.text and "in a hook" in caplog.text


@pytest.mark.parametrize("point", POINTS + LATER)
async def test_hook_may_cancel(point: str):
    agent = agent_of({**ADD_ONE, "text": "thinking"})

    def cancels(*args: Any) -> None:
        raise CancelledError("enough")

    getattr(agent.hooks, point).add(cancels)
    events = await stream(agent)
    error = agent.last_result.unwrap_err()
    assert (error.kind, error.error) == ("cancelled", "Interrupted: enough") and events[-1].stop == "interrupted"
    assert len(of(events, ToolStarted)) == len(of(events, ToolCompleted))
    if point == "after_tool_call":
        assert tool_texts(agent) == ["3"]
    if point == "model_text_delta":
        assert roles(agent) == "ua" and "thinking".startswith(agent.history[1].text) and agent.history[1].text


async def test_wrap_hooks_go_from_the_first_added_inwards():
    agent = agent_of(ADD_ONE)
    trace: list[str] = []

    def wrapper(name: str) -> Any:
        async def wrap(call: Any, go_on: Any) -> Any:
            trace.append(f"+{name}")
            result = await go_on(call)
            trace.append(f"-{name}")
            return Result.Ok(f"{name}({result.unwrap()})")

        return wrap

    for name in "ab":
        agent.hooks.wrap_tool_call.add(wrapper(name))
    agent.hooks.before_tool_call.add(lambda batch: trace.append("before"))
    agent.hooks.after_tool_call.add(lambda call, result: trace.append("after"))
    await stream(agent)
    assert trace == ["before", "+a", "+b", "-b", "-a", "after"] and tool_texts(agent) == ["a(b(3))"]


async def test_wrap_hook_that_fails_after_the_call_runs_it_once():
    ran = []
    agent = agent_of(calls(("tool", {})))
    agent.toolbox.tool(name="tool")(lambda: ran.append(1) or "value")

    @agent.hooks.wrap_tool_call.add
    async def wrap(call: Any, go_on: Any) -> None:
        await go_on(call)
        raise LookupError

    await stream(agent)
    assert ran == [1] and tool_texts(agent) == ["value"]


@pytest.mark.parametrize(
    ("exc", "status"), [(Denied("no", source="hook"), "denied"), (ToolError("not today"), "error")]
)
async def test_wrap_hook_may_refuse_by_an_error_of_its_own(exc: Exception, status: str):
    agent = agent_of(ADD_ONE)

    @agent.hooks.wrap_tool_call.add
    async def wrap(call: Any, go_on: Any) -> None:
        raise exc

    events = await stream(agent)
    assert tool_texts(agent) == [str(exc)] and of(events, ToolCompleted)[0].status == status


async def test_wrap_hook_may_be_plain_and_need_not_call():
    agent = agent_of(calls(("add", {"a": 1}), ("add", {"a": 2})))
    agent.hooks.wrap_tool_call.add(lambda call, go_on: go_on(call) if '"a": 1' in call.arguments else "never ran")
    await stream(agent)
    assert tool_texts(agent) == ["3", "never ran"]


async def test_after_hook_replaces():
    agent = agent_of(ADD_ONE)

    @agent.hooks.after_tool_call.add
    async def replace(call: Any, result: Any) -> Any:
        return Result.Ok({"was": result.unwrap(), "tool": call.name})

    await stream(agent)
    assert tool_texts(agent) == ['{"was": 3, "tool": "add"}']


async def test_model_call_hook_edits_one_request_only():
    agent = agent_of(ADD_ONE)

    def edit(draft: Any) -> None:
        draft.messages.append(Message("user", "remember"))
        draft.tools.clear()

    agent.hooks.before_model_call.add_once(edit)
    await stream(agent)
    first, second = agent.model.requests
    assert first.messages[-1].text == "remember" and first.tools == []
    assert [message.role for message in second.messages] == ["user", "assistant", "tool"] and second.tools


async def test_step_hook_adds_after_the_results():
    agent = agent_of(ADD_ONE)
    agent.hooks.after_execution_step.add_once(lambda end: end.add_user_message("noted"))
    await stream(agent)
    assert roles(agent) == "uatua" and agent.history[3].text == "noted"


async def test_life_hooks_once_each_and_removal():
    trace: list[str] = []
    hooks = Hooks()
    hooks.after_initialize.add(lambda agent: trace.append("init"))
    hooks.before_execution.add(lambda agent: trace.append("run"))
    removed = hooks.before_execution.add(lambda agent: trace.append("removed"))
    hooks.before_execution.remove(removed)
    hooks.before_execution.add(trace.append)
    # A method is another object each time that it is looked up.
    hooks.before_execution.remove(trace.append)
    hooks.before_finalize.add(lambda agent: trace.append("end"))
    agent = scripted({"text": ""}, hooks=hooks)
    agent.initialize()
    await stream(agent)
    agent.finalize()
    agent.finalize()
    assert trace == ["init", "run", "end"]


async def test_async_handler_at_a_plain_point_is_logged(caplog: pytest.LogCaptureFixture):
    async def handler(text: str) -> None: ...

    agent = scripted({"text": "hi"})
    agent.hooks.model_text_delta.add_once(handler)
    await stream(agent)
    assert "plain function" in caplog.text and agent.last_result == Result.Ok("hi")


async def test_one_time_handler_for_a_run_does_not_outlive_it():
    seen: list[str] = []
    agent = scripted({"text": "a"}, ADD_ONE, {"text": "b"}, tools=[add])

    @agent.hooks.before_execution.add_once
    def plant(running: Agent[Any]) -> None:
        running.hooks.after_execution_step.add_once(lambda end: seen.append("stale"), run=running.current_run())

    await stream(agent)
    await stream(agent)
    assert seen == [] and tool_texts(agent) == ["3"]
