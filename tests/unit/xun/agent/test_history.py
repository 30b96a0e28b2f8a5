"""The history: normalise by cases, and events that rebuild what was live."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.fakes.runs import calls, scripted, sendable, stream
from xun import Agent, AgentConfig, ToolBox, ToolCallContext, ToolOutput
from xun.agent.history import from_events, normalise
from xun.events import Event, from_json
from xun.messages import Image, Message, ToolCall
from xun.models import ChaosModel, ScriptedModel

GIF = b"GIF89a" + bytes(20) + b";"


def said(*made: tuple[str, str, str], text: str = "") -> Message:
    return Message("assistant", text, tool_calls=tuple(ToolCall(*item) for item in made))


def result(call_id: str, text: str, tool: str = "t") -> Message:
    return Message("tool", text, tool_call_id=call_id, tool_name=tool)


USER = Message("user", "go")
UNANSWERED = "This call has no result: the run ended before the tool came back. It may have run."


@pytest.mark.parametrize(
    ("history", "messages"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([USER, Message("assistant", "a")], [USER, Message("assistant", "a")], id="as it is"),
        pytest.param([USER, Message("assistant")], [USER], id="empty answer"),
        pytest.param([USER, result("x", "r")], [USER], id="result of nothing"),
        pytest.param(
            [said(("1", "t", "{}"), ("2", "t", "{}")), result("2", "b"), result("1", "a"), result("9", "c")],
            [said(("1", "t", "{}"), ("2", "t", "{}")), result("1", "a"), result("2", "b")],
            id="order, and a result of an unknown call",
        ),
        pytest.param(
            [said(("1", "t", "{}")), USER], [said(("1", "t", "{}")), result("1", UNANSWERED), USER], id="unanswered"
        ),
        pytest.param(
            [said(("1", "t", "{}")), USER, result("1", "a")],
            [said(("1", "t", "{}")), result("1", "a"), USER],
            id="something between a call and its result",
        ),
        pytest.param(
            [said(("1", "t", "{}")), result("1", "a"), result("1", "again")],
            [said(("1", "t", "{}")), result("1", "a")],
            id="two results",
        ),
        pytest.param(
            [said(("1", "t", "{}"), ("1", "t", "{}")), result("1", "a"), result("1", "b")],
            [said(("1", "t", "{}"), ("1_2", "t", "{}")), result("1", "a"), result("1_2", "b")],
            id="two calls of one id",
        ),
        pytest.param(
            [said(("", "t", "{}")), result("", "a"), said(("", "t", "{}")), result("", "b")],
            [said(("call", "t", "{}")), result("call", "a"), said(("call_2", "t", "{}")), result("call_2", "b")],
            id="no ids",
        ),
        pytest.param(
            [said(("1", "a.b c", "")), result("1", "a")],
            [said(("1", "a_b_c", "{}")), result("1", "a", "a_b_c")],
            id="name and empty arguments",
        ),
        pytest.param(
            [said(("1", "x" * 70, '{"a": ')), result("1", "a")],
            [said(("1", "x" * 64, '{"malformed_arguments": "{\\"a\\": "}')), result("1", "a", "x" * 64)],
            id="long name and broken arguments",
        ),
        pytest.param(
            [Message("user", "a\ud800b"), Message("assistant", "\udfff")],
            [Message("user", "a?b"), Message("assistant", "?")],
            id="lone surrogates",
        ),
        pytest.param(
            [
                Message(
                    "user", "see", images=(Image(b"1", "image/png"), Image(b"2", "image/\ud800"), Image(b"3", "a,b"))
                )
            ],
            [Message("user", "see\n[2 image(s) of no known type left out]", images=(Image(b"1", "image/png"),))],
            id="media types that are none",
        ),
    ],
)
def test_normalise(history: list[Message], messages: list[Message]):
    before = list(history)
    assert normalise(history) == messages and history == before
    assert normalise(messages) == messages and sendable(messages)


# -- events rebuild the history ---------------------------------------------------------------------


def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


def fails() -> None:
    raise LookupError("no row")


def picture() -> ToolOutput:
    return ToolOutput("see", images=[GIF], msg="a picture")


def odd() -> str:
    return "lone \ud800 surrogate " + "x" * 300


def steers(ctx: ToolCallContext[Any]) -> None:
    ctx.agent.steer("and be quick")


def stops(ctx: ToolCallContext[Any]) -> None:
    ctx.agent.cancel("enough")


async def slow() -> str:
    await asyncio.sleep(0.05)
    return "slow"


TOOLS = (add, fails, picture, odd, steers, stops, slow)
RUNS: dict[str, list[Any]] = {
    "no calls": [{"text": "hi"}],
    "several steps": [calls(("add", {"a": 1}), text="x", reasoning="r"), calls(("add", {"a": 2})), {"text": "y"}],
    "side by side": [calls(("slow", {}), ("add", {"a": 1}), ("fails", {}), ("nothing", "{")), {"text": "y"}],
    "images": [calls(("picture", {}), ("picture", {})), {"text": "y"}],
    "odd text": [calls(("odd", {})), {"text": "\udc00"}],
    "steered": [calls(("steers", {})), {"text": "y"}],
    "cut": [calls(("add", {"a": 1}), finish_reason="length"), {"text": "y", "finish_reason": "length"}],
    "interrupted": [calls(("add", {"a": 1}), ("stops", {}), ("slow", {})), {"text": "never"}],
    "steered and interrupted": [calls(("steers", {}), ("stops", {}))],
    "step limit": [calls(("add", {"a": 1}))] * 5,
    "malformed": [calls(("add", "{"))] * 5,
    "empty": [{"text": ""}],
}


def stored(events: list[Event]) -> list[Event]:
    """Return the events as a session file gives them back."""
    lines = [json.dumps(event.to_json()) for event in events]
    return [event for line in lines if (event := from_json(json.loads(line))) is not None]


@pytest.mark.parametrize("name", RUNS)
async def test_events_rebuild_the_history(name: str):
    agent = scripted(*RUNS[name], tools=TOOLS, config=AgentConfig(max_output=200))
    events = await stream(agent, max_iterations=3)
    events += await stream(agent, "once more", max_iterations=1)
    assert normalise(from_events(events)) == normalise(agent.history)
    assert normalise(from_events(stored(events))) == normalise(agent.history)
    assert sendable(normalise(agent.history))


@pytest.mark.parametrize("fault", ["bad_json", "unknown_tool", "duplicate_id", "empty", "bad_utf8"])
async def test_events_rebuild_the_history_of_a_bad_model(fault: Any):
    inner = ScriptedModel([calls(("add", {"a": 1}), ("slow", {}), text="so"), {"text": "end"}])
    agent: Agent[Any] = Agent(model=ChaosModel(inner, [fault]), toolbox=ToolBox(*TOOLS))
    events = await stream(agent)
    messages = normalise(agent.history)
    assert normalise(from_events(events)) == messages and sendable(messages)
    json.dumps([message.text for message in messages], ensure_ascii=False).encode()


async def test_schema_and_sub_agents_rebuild_too():
    turns = [calls(("agent_run", {"task": "t"})), calls(("add", {"a": 1})), {"text": "child"}, {"text": "x"}]
    agent: Agent[Any] = Agent(
        model=ScriptedModel([*turns, {"text": "5"}]), toolbox=ToolBox(add).with_subagent_provider()
    )
    events = await stream(agent, schema=int)
    assert from_events(events) == agent.history and len(agent.history) == 6
    names = {event.agent for event in events}
    assert len(names) == 2
    [child] = names - {"main"}
    assert [message.role for message in from_events(events, child)] == ["user", "assistant", "tool", "assistant"]


async def test_resumed_history_goes_on():
    agent = scripted(*RUNS["interrupted"], tools=TOOLS)
    events = await stream(agent)
    again = scripted({"text": "welcome back"})
    again.history = from_events(stored(events))
    await stream(again, "go on")
    assert again.last_result.unwrap() == "welcome back"
    assert again.model.requests[0].messages == [*normalise(agent.history), Message("user", "go on")]
