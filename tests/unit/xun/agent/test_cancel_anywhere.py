"""A cancellation at any moment: the run ends, the history can be sent, the events tell the same."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from typing import Any

import pytest

from tests.fakes.runs import calls, of, sendable
from xun import Agent, AgentConfig, ToolBox, ToolCallContext, tool_attr
from xun.agent.history import from_events, normalise
from xun.events import Event, ToolCompleted, ToolStarted, TurnCompleted
from xun.models import ScriptedModel


def checks(ctx: ToolCallContext[Any]) -> str:
    """Work and check."""
    for _ in range(3):
        time.sleep(0.001)
        ctx.check_cancel()
    return "checked"


async def naps() -> str:
    """Sleep."""
    await asyncio.sleep(0.003)
    return "napped"


@tool_attr(sequential=True, timeout=0.002)
def limited() -> str:
    """Work within a limit."""
    time.sleep(0.003)
    return "never in time"


TURNS = [
    calls(("checks", {}), ("naps", {}), ("checks", {}), text="one two three"),
    calls(("agent_run", {"task": "t"})),
    calls(("naps", {}), ("limited", {}), ("nothing", "{")),
    {"text": "child", "delay": 0.002},
    calls(("limited", {}), ("naps", {}), ("naps", {})),
    {"text": "the end"},
]


def make() -> Agent[Any]:
    box = ToolBox(checks, naps, limited).with_subagent_provider()
    return Agent(model=ScriptedModel(TURNS), toolbox=box, config=AgentConfig(cancel_grace=1.0)).initialize()


def cancel_later(agent: Agent[Any], delay: float) -> threading.Thread:
    def cancel() -> None:
        time.sleep(delay)
        agent.cancel("at random")

    thread = threading.Thread(target=cancel, daemon=True)
    thread.start()
    return thread


def check(agent: Agent[Any]) -> None:
    assert sendable(normalise(agent.history)) and not agent.running
    assert agent.last_result.is_ok() or agent.last_result.status == "cancelled"


@pytest.mark.parametrize("seed", range(4))
async def test_stream_of_events(seed: int):
    chance = random.Random(seed)
    for _ in range(8):
        agent = make()
        agent.instruct("go")
        thread = cancel_later(agent, chance.uniform(0, 0.05))
        events: list[Event] = [event async for event in agent.events()]
        thread.join()
        check(agent)
        assert isinstance(events[-1], TurnCompleted)
        assert normalise(from_events(events)) == normalise(agent.history)
        own = [event for event in events if event.agent == "main"]
        assert {e.call_id for e in of(own, ToolStarted)} == {e.call_id for e in of(own, ToolCompleted)}


@pytest.mark.parametrize("seed", range(4))
def test_blocking_face(seed: int):
    chance = random.Random(100 + seed)
    for _ in range(6):
        agent = make()
        thread = cancel_later(agent, chance.uniform(0, 0.05))
        agent.instruct("go").execute()
        thread.join()
        check(agent)
        agent.finalize()


@pytest.mark.parametrize("seed", range(3))
async def test_cancelled_task_of_the_caller(seed: int):
    chance = random.Random(200 + seed)
    for _ in range(6):
        agent = make()
        task = asyncio.create_task(agent.instruct("go").aexecute())
        await asyncio.sleep(chance.uniform(0, 0.05))
        task.cancel()
        await asyncio.wait({task})
        assert sendable(normalise(agent.history)) and not agent.running
        assert task.cancelled() or task.result().is_ok()
