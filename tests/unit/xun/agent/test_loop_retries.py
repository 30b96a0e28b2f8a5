"""A model that fails on the way: tried again, seen, and ended by a cancellation at once."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.fakes.runs import FakeModel, calls, drips, of, roles, sendable, stream, tool_texts
from xun import Agent, AgentConfig, Result, ToolBox
from xun.agent.history import from_events, normalise
from xun.errors import ModelUnreachable
from xun.events import Error, Retry, TurnCompleted
from xun.models import ChaosModel, ScriptedModel
from xun.models.base import TextDelta


def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


def chaotic(faults: Any, *turns: Any, **config: Any) -> Agent[Any]:
    model = ChaosModel(ScriptedModel(turns), faults)
    return Agent(model=model, toolbox=ToolBox(add), config=AgentConfig(**config)).initialize()


@pytest.mark.parametrize("fault", ["cut", "http_500"])
async def test_failed_request_is_made_again_and_leaves_no_trace(fault: Any):
    agent = chaotic([fault], {"text": "the whole text"})
    events = await stream(agent)
    assert agent.last_result == Result.Ok("the whole text") and roles(agent) == "ua"
    [retry] = of(events, Retry)
    assert (retry.attempt, retry.attempts) == (2, 5) and retry.reason and 0 < retry.delay < 1
    assert from_events(events) == agent.history


async def test_tries_come_to_an_end():
    agent = chaotic(["http_500"] * 2, {"text": "never"}, retry_attempts=2)
    events = await stream(agent)
    [error] = of(events, Error)
    assert error.retryable and error.status == 500 and len(of(events, Retry)) == 1
    assert agent.last_result.status == "error" and roles(agent) == "u"


async def test_cancel_while_waiting_for_the_next_try():
    model = ChaosModel(ScriptedModel([{"text": "never"}]), ["http_429"], retry_after=60.0)
    agent: Agent[Any] = Agent(model=model)
    agent.instruct("go")
    started = time.monotonic()
    stop = ""
    async for event in agent.events():
        if isinstance(event, Retry):
            assert event.delay >= 60
            agent.cancel("enough")
        if isinstance(event, TurnCompleted):
            stop = event.stop
    assert stop == "interrupted" and time.monotonic() - started < 5


@pytest.mark.parametrize("fault", ["bad_json", "unknown_tool", "duplicate_id", "bad_utf8"])
def test_bad_answers_do_not_break_a_run(fault: Any):
    turns = calls(("add", {"a": 1}), ("add", {"a": 2}), text="so"), calls(("add", {"a": 3})), {"text": "end"}
    agent = chaotic([fault, None, None], *turns)
    with agent:
        assert agent.instruct("go").execute() == Result.Ok("end")
    assert sendable(normalise(agent.history)) and tool_texts(agent)[-1] == "5"


async def test_text_of_a_failed_try_is_not_kept():
    async def breaks():
        yield TextDelta("old text ")
        raise ModelUnreachable("the connection broke")

    agent: Agent[Any] = Agent(model=FakeModel(breaks, drips("new", begun=lambda: agent.cancel("enough"))))
    await stream(agent)
    assert agent.history[-1].text == "new" and roles(agent) == "ua"
