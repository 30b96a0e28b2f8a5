"""A run that goes in circles is noticed, and a person decides: P11."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.runs import FakeChooser, of
from xun import Agent, AgentConfig, ToolBox
from xun.choice import ChoiceOutcome
from xun.errors import ToolError
from xun.events import Event, ToolCompleted, TurnCompleted
from xun.models import ScriptedModel


class Clock:
    """A tool whose result differs each time, and one that always fails."""

    def __init__(self) -> None:
        self.now = 0

    def tick(self, n: int = 0) -> dict[str, Any]:
        """Tick."""
        self.now += 1
        return {"now": self.now, "duration": self.now}

    def same(self, n: int = 0) -> dict[str, Any]:
        """Say the same."""
        self.now += 1
        return {"value": n, "duration": self.now * 1.5}

    def fail(self, n: int = 0) -> str:
        """Fail."""
        raise ToolError(f"no {n}")


def call(name: str, n: int = 0, *more: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": item, "arguments": {"n": n}} for item in (name, *more)]}


async def run(turns: list[dict[str, Any]], *answers: str, **config: Any) -> tuple[list[Event], Agent[Any]]:
    clock = Clock()
    chooser = FakeChooser(*(ChoiceOutcome(answer, "user") for answer in answers)) if answers else None
    agent = Agent(
        model=ScriptedModel([*turns, {"text": "done"}]),
        toolbox=ToolBox(clock.tick, clock.same, clock.fail),
        config=AgentConfig(**config),
        chooser=chooser,
    ).initialize()
    events = [event async for event in agent.instruct("go").events()]
    agent.finalize()
    return events, agent


def steps(events: list[Event]) -> int:
    return of(events, TurnCompleted)[-1].steps


@pytest.mark.parametrize(
    ("turns", "stopped_at", "words"),
    [
        ([call("same")] * 9, 3, "the same call of same 3 times"),
        ([call("fail")] * 9, 3, "the same call of fail 3 times"),
        ([call("same"), call("fail")] * 9, 6, "the same 2 steps"),
        ([call("same", 1), call("same", 2), call("fail")] * 9, 8, "the same 3 steps"),
        ([call("same", n) for n in (1, 2, 3, 4)] * 9, 8, "the same 4 steps"),
        ([call("fail", n) for n in range(9)], 5, "have failed in 5 steps in a row"),
        ([call("same", 1, "fail")] * 9, 3, "same and fail"),
        ([call("tick"), *([call("same", 5)] * 9)], 4, "3 times"),
    ],
)
async def test_a_circle_ends_the_run_where_nobody_can_be_asked(turns, stopped_at, words):
    events, agent = await run(turns)
    assert steps(events) == stopped_at
    error = agent.last_result.unwrap_err()
    assert error.kind == "loop" and words in error.error and events[-1].stop == "limit"
    assert all(message.tool_call_id for message in agent.history if message.role == "tool")


@pytest.mark.parametrize(
    "turns",
    [
        [call("tick")] * 20,
        [call("same", n) for n in range(20)],
        [call("same"), call("same"), call("tick")] * 5,
        [call("fail", 1), call("fail", 2), call("tick")] * 4,
        [call("fail", n, "tick") for n in range(12)],
    ],
)
async def test_work_that_gets_on_is_no_circle(turns):
    _, agent = await run(turns)
    assert agent.last_result.unwrap() == "done"


async def test_the_person_decides_and_is_asked_again_later():
    events, agent = await run([call("same")] * 9, "go on", "go on", "stop", auto_confirm=True)
    assert steps(events) == 9 and len(agent.chooser.requests) == 3
    assert "go in circles" in agent.chooser.requests[0].prompt
    assert agent.chooser.requests[0].default == "stop"
    events, agent = await run([call("same")] * 5, "go on")
    assert agent.last_result.unwrap() == "done" and steps(events) == 6


async def test_it_can_be_switched_off_and_set():
    events, agent = await run([call("fail")] * 12, max_equal_steps=0, max_failed_steps=0)
    assert agent.last_result.unwrap() == "done"
    events, agent = await run([call("same")] * 12, max_equal_steps=9)
    assert steps(events) == 9
    assert len(of(events, ToolCompleted)) == 9


async def test_what_a_person_says_meanwhile_begins_the_count_anew():
    agent_events: list[Event] = []
    clock = Clock()
    agent = Agent(
        model=ScriptedModel([*[call("same")] * 4, {"text": "done"}]), toolbox=ToolBox(clock.same)
    ).initialize()
    async for event in agent.instruct("go").events():
        agent_events.append(event)
        if len(of(agent_events, ToolCompleted)) == 2 and isinstance(event, ToolCompleted):
            agent.steer("try again")
    assert agent.last_result.unwrap() == "done"
    agent.finalize()
