"""Whatever the order of answers, and however often a waiting agent moves to another process: nothing is done twice."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from xun import Agent, AgentConfig, ToolBox, ToolCallContext, tool_attr
from xun.messages import ModelReply, ToolCall
from xun.models import ScriptedModel
from xun.models.base import ModelEvent, ModelRequest

KINDS = ("look", "pay", "book", "close", "child")


class Payer:
    """The model of the sub-agents: it pays what its task says, once, in whichever process it is asked."""

    name = "payer"
    capabilities: frozenset[str] = frozenset()
    context_window: int | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        last = request.messages[-1]
        if last.role == "user":
            number = 100 + int(last.text.split()[1])
            yield ModelReply(tool_calls=(ToolCall("call_1", "pay", json.dumps({"n": number})),))
        else:
            yield ModelReply("child done")

    async def aclose(self) -> None:
        """Close nothing."""


class World:
    """Tools that count what they do; it outlives the processes that the test plays."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def do(self, text: str) -> str:
        self.done.append(text)
        return text

    def box(self) -> ToolBox:
        def look(n: int) -> str:
            """Look."""
            return self.do(f"look {n}")

        @tool_attr(approval=True)
        def pay(n: int) -> str:
            """Pay."""
            return self.do(f"pay {n}")

        def book(ctx: ToolCallContext[Any], n: int) -> str:
            """Book."""
            ctx.step("reserve", self.do, f"reserve {n}")
            first, second = ctx.ask("Sure?", ["yes", "no"]), ctx.ask("Sure?", ["yes", "no"])
            return self.do(f"book {n} {first} {second}")

        @tool_attr(approval=True, sequential=True)
        def close(n: int) -> str:
            """Close."""
            return self.do(f"close {n}")

        box = ToolBox(look, pay, book, close)
        worker = Agent("worker", Payer(), ToolBox(pay), config=AgentConfig(on_ask="suspend"))
        return box.register(worker.as_tool("child", "Give a task."))


def call(kind: str, number: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {"task": f"pay {number}"} if kind == "child" else {"n": number}
    return {"name": kind, "arguments": arguments}


def agent_of(world: World, *turns: Any) -> Agent[Any]:
    config = AgentConfig(on_ask="suspend")
    return Agent(model=ScriptedModel(turns), toolbox=world.box(), config=config).initialize()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=5), st.data())
def test_nothing_is_done_twice_or_without_its_answer(kinds: list[str], data: st.DataObject) -> None:
    world = World()
    turn = {"tool_calls": [call(kind, number) for number, kind in enumerate(kinds)]}
    agent = agent_of(world, turn, {"text": "the end"})
    result = agent.instruct("go").execute()
    answers: dict[str, list[Any]] = {}
    for _ in range(100):
        if not agent.pending:
            break
        asked = data.draw(st.lists(st.sampled_from(agent.pending), min_size=1, unique_by=lambda item: item.call_id))
        given_now = {}
        for item in asked:
            choices = ["yes", "no"] if item.question == "Sure?" else [True, False]
            given_now[item.call_id] = data.draw(st.sampled_from(choices))
            answers.setdefault(item.call_id, []).append(given_now[item.call_id])
        if data.draw(st.booleans()):
            saved = json.loads(json.dumps(agent.save()))
            agent.finalize()
            agent = agent_of(world, {"text": "the end"}).load_state(saved)
        result = agent.resume(given_now)
    agent.finalize()
    assert result.unwrap() == "the end"
    ids = next(message.tool_calls for message in agent.history if message.tool_calls)
    expected: list[str] = []
    for number, (kind, made) in enumerate(zip(kinds, ids, strict=True)):
        told = answers.get(made.id, [])
        if kind == "look":
            expected.append(f"look {number}")
        elif kind == "book":
            expected += [f"reserve {number}", f"book {number} {told[0]} {told[1]}"]
        elif told == [True]:
            expected.append(f"pay {100 + number}" if kind == "child" else f"{kind} {number}")
        else:
            assert told == [False]
    assert sorted(expected) == sorted(world.done)
