"""Cancellation from another thread, in every place where a run may be; what is left can be sent."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from tests.fakes.runs import (
    FakeChooser,
    FakeModel,
    calls,
    drips,
    of,
    roles,
    scripted,
    sendable,
    stream,
    tool_texts,
)
from xun import Agent, AgentConfig, CancelledError, Result, ToolBox, ToolCallContext
from xun.agent.cancel import CancelToken, waking
from xun.agent.history import from_events, normalise
from xun.events import MessageCompleted, ToolCompleted, ToolStarted, TurnCompleted
from xun.messages import Message, ModelReply
from xun.models import ScriptedModel
from xun.models.base import TextDelta

FACES = pytest.mark.parametrize("face", ["execute", "aexecute"])


def run(agent: Agent[Any], face: str) -> Result[Any, Any]:
    """Run by one of the two faces."""
    agent.instruct("go")
    return agent.execute() if face == "execute" else asyncio.run(agent.aexecute())


def from_another_thread(agent: Agent[Any], reason: str = "enough") -> None:
    threading.Thread(target=agent.cancel, args=(reason,), daemon=True).start()


@FACES
def test_while_the_model_speaks(face: str):
    agent: Agent[Any] = Agent(model=FakeModel(drips("half ", "a text", begun=lambda: from_another_thread(agent))))
    result = run(agent, face)
    assert (result.status, result.unwrap_err().error) == ("cancelled", "Interrupted: enough")
    assert agent.history == [Message("user", "go"), Message("assistant", "half a text")]
    agent.finalize()


@FACES
def test_before_the_first_piece(face: str):
    agent: Agent[Any] = Agent(model=FakeModel(drips(begun=lambda: from_another_thread(agent))))
    assert run(agent, face).status == "cancelled" and roles(agent) == "u"
    assert run(agent, face) == Result.Ok("") and [message.text for message in agent.history] == ["go", "go", ""]
    agent.finalize()


def test_between_pieces_that_never_wait():
    async def endless():
        for number in range(100_000):
            if number == 10:
                agent.cancel("enough")
            yield TextDelta("x")
        yield ModelReply("x")

    agent: Agent[Any] = Agent(model=FakeModel(endless))
    assert run(agent, "aexecute").status == "cancelled" and agent.history[1].text == "x" * 11


def test_reply_that_is_complete_is_paid_for():
    async def whole():
        yield TextDelta("all")
        agent.cancel("enough")
        reply = ModelReply("all")
        reply.usage.input = 7
        yield reply

    agent: Agent[Any] = Agent(model=FakeModel(whole))
    assert run(agent, "aexecute").status == "cancelled"
    assert agent.history[-1].text == "all" and agent.usage.input == 7


@FACES
def test_sync_tool_that_checks(face: str):
    def tool(ctx: ToolCallContext[Any]) -> None:
        from_another_thread(ctx.agent)
        while True:
            ctx.check_cancel()
            time.sleep(0.001)

    agent = scripted(calls(("tool", {})), tools=[tool])
    assert run(agent, face).status == "cancelled"
    assert "stopped" in tool_texts(agent)[0] and sendable(agent.history)
    agent.finalize()


def test_sync_tool_that_ignores_it():
    release = threading.Event()

    def tool(ctx: ToolCallContext[Any]) -> str:
        from_another_thread(ctx.agent)
        release.wait(30)
        ctx.emit("too late")
        return "too late"

    agent = scripted(calls(("tool", {})), {"text": "next"}, tools=[tool], config=AgentConfig(cancel_grace=0.05))
    started = time.monotonic()
    assert run(agent, "aexecute").status == "cancelled" and time.monotonic() - started < 25
    assert "may still have effects" in tool_texts(agent)[0] and sendable(agent.history)
    release.set()
    assert run(agent, "aexecute") == Result.Ok("next") and roles(agent) == "uatua"


@FACES
def test_async_tool_is_cancelled_as_a_task(face: str):
    seen: list[str] = []

    async def tool(ctx: ToolCallContext[Any]) -> None:
        from_another_thread(ctx.agent)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            seen.append("cleaned up")
            raise

    agent = scripted(calls(("tool", {})), tools=[tool])
    assert run(agent, face).status == "cancelled" and seen == ["cleaned up"]
    assert "stopped" in tool_texts(agent)[0]
    agent.finalize()


@FACES
def test_open_question_is_withdrawn(face: str):
    chooser = FakeChooser(asked=lambda: from_another_thread(agent))

    def ask(ctx: ToolCallContext[Any]) -> str:
        return ctx.ask("Go on?")

    agent = scripted(calls(("ask", {})), tools=[ask], chooser=chooser)
    assert run(agent, face).status == "cancelled" and chooser.withdrawn == 1
    assert "stopped" in tool_texts(agent)[0] and sendable(agent.history)
    agent.finalize()


def test_open_question_of_an_async_tool_is_withdrawn():
    chooser = FakeChooser(asked=lambda: from_another_thread(agent))

    async def ask(ctx: ToolCallContext[Any]) -> bool:
        return (await ctx.agent.aget_confirm("Go on?")).choice

    agent = scripted(calls(("ask", {})), tools=[ask], chooser=chooser)
    assert run(agent, "aexecute").status == "cancelled" and chooser.withdrawn == 1


@FACES
def test_calls_that_did_not_run_say_so(face: str):
    ran: list[str] = []

    def first(ctx: ToolCallContext[Any]) -> str:
        ran.append("first")
        ctx.agent.cancel("enough")
        return "done"

    def second() -> None:
        ran.append("second")

    config = AgentConfig(max_parallel_calls=1)
    agent = scripted(calls(("first", {}), ("second", {})), tools=[first, second], config=config)
    assert run(agent, face).status == "cancelled" and ran == ["first"]
    assert "did not run" in tool_texts(agent)[1] and sendable(agent.history)
    agent.finalize()


def test_call_that_waits_for_the_callers_thread_did_not_run():
    def first(ctx: ToolCallContext[Any]) -> str:
        ctx.agent.cancel("enough")
        time.sleep(0.2)
        return "done"

    ran: list[int] = []

    def second() -> None:
        ran.append(1)

    agent = scripted(calls(("first", {}), ("second", {})), tools=[first, second])
    assert run(agent, "execute").status == "cancelled" and ran == []
    assert tool_texts(agent)[0] == "done" and "did not run" in tool_texts(agent)[1]
    agent.finalize()


@FACES
def test_sub_agent_ends_with_its_parent(face: str):
    def inner(ctx: ToolCallContext[Any]) -> None:
        from_another_thread(ctx.agent.parent)
        while True:
            ctx.check_cancel()
            time.sleep(0.001)

    model = ScriptedModel([calls(("agent_run", {"task": "t"})), calls(("inner", {})), {"text": "not asked"}])
    agent: Agent[Any] = Agent(model=model, toolbox=ToolBox(inner).with_subagent_provider()).initialize()
    assert run(agent, face).status == "cancelled" and len(model.requests) == 2
    assert sendable(agent.history) and roles(agent) == "uat"
    agent.finalize()


async def test_cancel_before_the_run_has_begun():
    agent = scripted({"text": "never"})
    agent.instruct("go")
    events = agent.events()
    first = await anext(events)
    agent.cancel("at once")
    rest = [event async for event in events]
    assert first.type == "turn.started" and rest[-1].stop == "interrupted" and roles(agent) == "u"
    agent.cancel("nothing runs")
    assert not agent.running


async def test_events_of_a_cancelled_run_are_complete():
    async def slow() -> None:
        await asyncio.sleep(3600)

    agent = scripted(calls(("slow", {}), ("slow", {})), tools=[slow])
    agent.instruct("go")
    events = []
    async for event in agent.events():
        events.append(event)
        if len(of(events, ToolStarted)) == 2:
            agent.cancel("enough")
    assert [event.status for event in of(events, ToolCompleted)] == ["cancelled"] * 2
    assert isinstance(events[-1], TurnCompleted) and from_events(events) == agent.history


async def test_partial_text_is_an_event_too():
    agent: Agent[Any] = Agent(model=FakeModel(drips("half", begun=lambda: agent.cancel("enough"))))
    events = await stream(agent)
    assert of(events, MessageCompleted) == [MessageCompleted(text="half", partial=True)]
    assert from_events(events) == agent.history


async def test_cancelled_task_of_the_caller_keeps_what_there_is():
    begun = asyncio.Event()
    agent: Agent[Any] = Agent(model=FakeModel(drips("half", begun=begun.set)))
    agent.instruct("go")
    task = asyncio.create_task(agent.aexecute())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert agent.history[-1] == Message("assistant", "half") and not agent.running
    assert (await agent.instruct("again").aexecute()).is_ok()


async def test_leaving_the_stream_early_ends_the_run():
    stopped = asyncio.Event()

    async def slow() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            stopped.set()

    async def quick() -> str:
        return "kept"

    agent = scripted(calls(("slow", {}), ("quick", {})), {"text": "next"}, tools=[slow, quick])
    agent.instruct("go")
    events = agent.events()
    async for event in events:
        if isinstance(event, ToolCompleted):
            break
    await events.aclose()
    await asyncio.wait_for(stopped.wait(), 5)
    assert not agent.running and tool_texts(agent) == ["kept"]
    assert sendable(normalise(agent.history))
    await stream(agent)
    assert agent.last_result == Result.Ok("next")


async def test_tool_that_cancels_by_itself():
    def tool() -> None:
        raise CancelledError("the tool wants no more")

    agent = scripted(calls(("tool", {})), tools=[tool])
    events = await stream(agent)
    assert events[-1].stop == "interrupted" and "wants no more" in agent.last_result.unwrap_err().error
    assert sendable(agent.history)


# -- the token --------------------------------------------------------------------------------------


def test_token_goes_from_parent_to_child_only():
    parent = CancelToken()
    child = CancelToken(parent)
    child.cancel("child")
    assert (parent.reason, child.reason) == (None, "child")
    other = CancelToken(parent)
    detached = CancelToken(parent)
    detached.detach()
    parent.cancel("parent")
    assert (other.reason, child.reason, detached.reason) == ("parent", "child", None)
    assert CancelToken(parent).reason == "parent"


def test_token_calls_back_once():
    token, seen = CancelToken(), []
    token.on_cancel(seen.append)
    forget = token.on_cancel(lambda reason: seen.append("forgotten"))
    forget()
    token.cancel("a")
    token.cancel("b")
    token.on_cancel(seen.append)
    assert seen == ["a", "a"] and token.reason == "a"


def test_token_from_many_threads_has_one_reason():
    for _ in range(20):
        token, seen = CancelToken(), []
        token.on_cancel(seen.append)
        threads = [threading.Thread(target=token.cancel, args=(str(number),)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [token.reason]


def test_late_call_back_finds_a_closed_loop():
    loop = asyncio.new_event_loop()
    loop.close()
    token, seen = CancelToken(), []
    token.on_cancel(waking(loop, lambda: seen.append("woken")))
    token.on_cancel(seen.append)
    token.cancel("a")
    assert seen == ["a"]
