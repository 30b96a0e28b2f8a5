"""Threads: execute() on the caller's thread, aexecute() in worker threads, Ctrl-C, exits, finalize."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import signal
import threading
import time
import weakref
from typing import Any

import pytest

from tests.fakes.runs import FakeModel, calls, drips, roles, scripted, sendable, stream, tool_texts
from xun import Agent, AgentConfig, CancelledError, Result, ToolBox, ToolCallContext, tool_attr
from xun.agent.history import normalise
from xun.agent.runner import Portal

MARK: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="unset")


def engine_threads() -> int:
    return sum(thread.name == "xun-engine" for thread in threading.enumerate())


def where() -> int:
    """Tell the thread."""
    MARK.set("changed by the tool")
    return threading.get_ident()


async def where_async() -> int:
    """Tell the thread."""
    return threading.get_ident()


def test_execute_runs_sync_tools_on_the_callers_thread():
    agent = scripted(calls(("where", {}), ("where", {}), ("where_async", {})), {"text": ""}, tools=[where, where_async])
    agent.instruct("go").execute()
    here = str(threading.get_ident())
    first, second, third = tool_texts(agent)
    assert first == second == here != third
    agent.finalize()


def test_execute_passes_context_variables():
    async def look() -> str:
        return MARK.get()

    MARK.set("of the caller")
    agent = scripted(calls(("look", {})), {"text": ""}, tools=[look])
    agent.instruct("go").execute()
    assert tool_texts(agent) == ["of the caller"]
    agent.finalize()


async def test_aexecute_runs_sync_tools_in_workers_with_context_variables():
    def look() -> str:
        return f"{MARK.get()} {threading.get_ident()}"

    MARK.set("of the caller")
    agent = scripted(calls(("look", {}), ("where", {})), {"text": ""}, tools=[look, where])
    agent.instruct("go")
    await agent.aexecute()
    text, thread = tool_texts(agent)[0].rsplit(" ", 1)
    assert text == "of the caller" and thread != str(threading.get_ident())
    assert MARK.get() == "of the caller"


async def test_execute_inside_a_loop_is_refused():
    agent = scripted({"text": ""}).instruct("go")
    with pytest.raises(RuntimeError, match="aexecute"):
        agent.execute()
    assert (await agent.aexecute()).is_ok()


def test_several_runs_on_one_engine_thread_that_ends():
    before = engine_threads()
    agent = scripted({"text": "a"}, {"text": "b"})
    with agent:
        assert [agent.instruct("go").execute().unwrap() for _ in range(2)] == ["a", "b"]
        assert engine_threads() == before + 1
    assert engine_threads() == before


def test_forgotten_agent_leaves_no_thread():
    before = engine_threads()
    agent = scripted({"text": "a"})
    agent.instruct("go").execute()
    gone = weakref.ref(agent)
    del agent
    gc.collect()
    assert gone() is None and engine_threads() == before


def test_agent_can_be_used_again_after_finalize():
    model = FakeModel()
    agent: Agent[Any] = Agent(model=model)
    for times in (1, 2):
        with agent:
            assert agent.instruct("go").execute() == Result.Ok("")
        assert model.closed == times


def press_ctrl_c(after: float) -> None:
    def press() -> None:
        time.sleep(after)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()


def test_ctrl_c_lands_in_the_tool():
    seen: list[str] = []

    def slow() -> None:
        press_ctrl_c(0.05)
        try:
            time.sleep(30)
        except KeyboardInterrupt:
            seen.append("interrupted")
            raise

    agent = scripted(calls(("slow", {}), ("where", {})), {"text": "never"}, tools=[slow, where])
    agent.instruct("go")
    with pytest.raises(KeyboardInterrupt):
        agent.execute()
    assert seen == ["interrupted"] and not agent.running
    assert agent.last_result.status == "cancelled" and "Ctrl-C" in agent.last_result.value.error
    assert sendable(agent.history) and len(agent.model.requests) == 1
    assert agent.instruct("again").execute() == Result.Ok("never")
    agent.finalize()


def test_ctrl_c_while_the_model_speaks():
    agent: Agent[Any] = Agent(model=FakeModel(drips("some ", "text", begun=lambda: press_ctrl_c(0))))
    agent.instruct("go")
    with pytest.raises(KeyboardInterrupt):
        agent.execute()
    assert agent.history[-1].text == "some text" and sendable(normalise(agent.history))
    agent.finalize()


@pytest.mark.parametrize("kind", [SystemExit, GeneratorExit])
@pytest.mark.parametrize("is_async", [True, False])
def test_exit_of_a_tool_leaves_execute(kind: type[BaseException], is_async: bool):
    async def leave_async() -> None:
        raise kind(7)

    def leave() -> None:
        raise kind(7)

    func = leave_async if is_async else leave
    agent = scripted(calls((func.__name__, {})), {"text": "alive"}, tools=[func])
    with pytest.raises(kind):
        agent.instruct("go").execute()
    assert roles(agent) == "uat" and agent.last_result.status == "cancelled"
    assert agent.instruct("again").execute() == Result.Ok("alive")
    agent.finalize()


@pytest.mark.parametrize("is_async", [True, False])
async def test_exit_of_a_tool_leaves_aexecute(is_async: bool):
    async def leave_async() -> None:
        raise SystemExit(7)

    def leave() -> None:
        raise SystemExit(7)

    func = leave_async if is_async else leave
    agent = scripted(calls((func.__name__, {})), {"text": "alive"}, tools=[func])
    agent.instruct("go")
    with pytest.raises(SystemExit):
        await agent.aexecute()
    await stream(agent)
    assert agent.last_result == Result.Ok("alive")


def test_finalize_from_another_thread_ends_a_run():
    agent: Agent[Any] = Agent(config=AgentConfig(cancel_grace=0.1))
    agent.model = FakeModel(drips("half", begun=lambda: threading.Thread(target=agent.finalize, daemon=True).start()))
    result = agent.instruct("go").execute()
    assert result.status == "cancelled" and "finalized" in result.unwrap_err().error
    assert agent.history[-1].text == "half"


def test_execute_inside_a_tool_of_execute():
    child = scripted(calls(("where", {})), {"text": "child"}, tools=[where])

    def delegate() -> str:
        with child:
            return child.instruct("go").execute().unwrap()

    agent = scripted(calls(("delegate", {})), {"text": "parent"}, tools=[delegate])
    with agent:
        assert agent.instruct("go").execute() == Result.Ok("parent")
    assert tool_texts(agent) == ["child"] and tool_texts(child) == [str(threading.get_ident())]


@pytest.mark.parametrize("is_async", [True, False])
def test_call_tool_without_any_model(is_async: bool):
    box = ToolBox(where, where_async)
    name = "where_async" if is_async else "where"
    assert box.call_tool(Agent(), name, {}, None) == Result.Ok(threading.get_ident())


async def test_call_tool_inside_a_loop():
    assert ToolBox(where_async).call_tool(Agent(), "where_async", {}, None).is_ok()
    assert (await ToolBox(where).acall_tool(Agent(), "where", {}, None)).unwrap() != threading.get_ident()


@pytest.mark.parametrize("is_async", [True, False])
def test_call_tool_with_a_time_limit(is_async: bool):
    @tool_attr(name="stuck", timeout=0.05)
    async def stuck_async() -> None:
        await asyncio.sleep(60)

    @tool_attr(name="stuck", timeout=0.05)
    def stuck() -> None:
        time.sleep(0.3)

    result = ToolBox(stuck_async if is_async else stuck).call_tool(Agent(), "stuck", {}, None)
    assert result.status == "timeout" and "stuck" in result.unwrap_err().error


@pytest.mark.parametrize("kind", [CancelledError, SystemExit])
def test_call_tool_with_a_time_limit_lets_exits_pass(kind: type[BaseException]):
    @tool_attr(timeout=5)
    def leave(ctx: ToolCallContext[Any]) -> None:
        raise kind("x")

    with pytest.raises(kind):
        ToolBox(leave).call_tool(Agent(), "leave", {}, None)


def test_portal_closed_on_its_own_thread_ends_by_itself():
    """As the collector may do it, which comes by on any thread."""
    portal = Portal()
    before = engine_threads()

    async def close() -> str:
        portal.close()
        return "went on"

    assert portal.start(close()).result(timeout=5) == "went on"
    deadline = time.monotonic() + 5
    while engine_threads() == before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert engine_threads() == before - 1


def test_run_that_can_not_start_leaves_the_agent_free():
    agent = scripted({"text": "a"})
    closed = Portal()
    closed.close()
    agent._portal = closed
    with pytest.raises(RuntimeError, match="closed"):
        agent.instruct("go").execute()
    assert not agent.running
    agent._portal = None
    assert agent.instruct("go").execute() == Result.Ok("a")
    agent.finalize()
