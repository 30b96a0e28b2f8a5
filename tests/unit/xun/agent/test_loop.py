"""The loop: steps, order, limits, malformed and cut replies, schemas, steering."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from pydantic import BaseModel

from tests.fakes.runs import FakeModel, calls, of, roles, scripted, stream, tool_texts
from xun import Agent, AgentConfig, Result, ToolBox, ToolCallContext, tool_attr
from xun.errors import ConfigError, ModelError, ToolConflict
from xun.events import (
    ContextAdded,
    Error,
    MessageCompleted,
    MessageDelta,
    Notice,
    ReasoningDelta,
    Steer,
    ToolCompleted,
    ToolOutput,
    ToolStarted,
    TurnCompleted,
    TurnStarted,
    UsageUpdated,
)
from xun.messages import Message, ModelReply, ToolCall
from xun.models import ChaosModel, ScriptedModel
from xun.models.base import COMPLETE


def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


async def nap(seconds: float, mark: str) -> str:
    """Sleep."""
    await asyncio.sleep(seconds)
    return mark


async def test_several_steps_and_their_events():
    turns = [
        calls(("add", {"a": 1}), text="first", reasoning="why", usage={"input": 10, "output": 5}),
        {"text": "three", "usage": {"input": 20, "output": 1}},
    ]
    agent = scripted(*turns, tools=[add])
    events = await stream(agent, "go", shown="short")
    deltas = [event for event in events if not isinstance(event, MessageDelta)]
    call = {"id": "call_1", "name": "add", "arguments": '{"a": 1}'}
    done = deltas[-1]
    assert deltas == [
        TurnStarted(input="go", shown="short"),
        ReasoningDelta(text="why"),
        MessageCompleted(text="first", calls=(call,), reasoning="why"),
        UsageUpdated(input=10, output=5),
        ToolStarted(call_id="call_1", tool="add", args={"a": 1}),
        ToolCompleted(call_id="call_1", tool="add", result=3, content="3", duration_ms=deltas[5].duration_ms),
        MessageCompleted(text="three"),
        UsageUpdated(input=20, output=1),
        TurnCompleted(stop="done", text="three", steps=2, duration_ms=done.duration_ms),
    ]
    assert "".join(event.text for event in of(events, MessageDelta)) == "firstthree"
    assert agent.history == [
        Message("user", "go"),
        Message("assistant", "first", tool_calls=(ToolCall("call_1", "add", '{"a": 1}'),), reasoning="why"),
        Message("tool", "3", tool_call_id="call_1", tool_name="add"),
        Message("assistant", "three"),
    ]
    assert (agent.usage.input, agent.usage.output, agent.usage.requests) == (30, 6, 2)
    assert agent.last_result == Result.Ok("three") and agent.turn == 1 and not agent.running


async def test_request_holds_system_history_and_tools():
    agent = scripted({"text": "a"}, {"text": "b"}, tools=[add]).system("Be short.").system("Be kind.")
    await stream(agent, "one")
    await stream(agent, "two")
    first, second = agent.model.requests
    assert first.messages == [Message("system", "Be short.\n\nBe kind."), Message("user", "one")]
    assert second.messages[1:] == [Message("user", "one"), Message("assistant", "a"), Message("user", "two")]
    [tool] = first.tools
    assert (tool["function"]["name"], tool["function"]["parameters"]["required"]) == ("add", ["a"])
    assert first.tools == second.tools and first.purpose == "turn"


async def test_results_come_in_call_order_while_calls_run_side_by_side():
    turn = calls(("nap", {"seconds": 0.2, "mark": "slow"}), ("nap", {"seconds": 0, "mark": "fast"}))
    agent = scripted(turn, {"text": ""}, tools=[nap])
    events = await stream(agent)
    assert [event.result for event in of(events, ToolCompleted)] == ["fast", "slow"]
    assert tool_texts(agent) == ["slow", "fast"]
    assert [message.tool_call_id for message in agent.history if message.role == "tool"] == ["call_1", "call_2"]


@pytest.mark.parametrize(("width", "most"), [(1, 1), (2, 2), (8, 5)])
async def test_no_more_calls_at_once_than_configured(width: int, most: int):
    now, seen = 0, 0

    async def busy() -> None:
        nonlocal now, seen
        now += 1
        seen = max(seen, now)
        await asyncio.sleep(0.02)
        now -= 1

    agent = scripted(
        calls(*[("busy", {})] * 5), {"text": ""}, tools=[busy], config=AgentConfig(max_parallel_calls=width)
    )
    await stream(agent)
    assert seen == most


async def test_sequential_tool_is_a_barrier():
    trace: list[str] = []

    async def free(mark: str) -> None:
        trace.append(f"+{mark}")
        await asyncio.sleep(0.03)
        trace.append(f"-{mark}")

    @tool_attr(sequential=True)
    async def alone(mark: str) -> None:
        await free(mark)

    marks = [("free", "a"), ("free", "b"), ("alone", "c"), ("free", "d")]
    agent = scripted(calls(*[(name, {"mark": mark}) for name, mark in marks]), {"text": ""}, tools=[free, alone])
    await stream(agent)
    assert sorted(trace[:4]) == ["+a", "+b", "-a", "-b"] and trace[4:] == ["+c", "-c", "+d", "-d"]


async def test_sync_tools_run_in_threads_side_by_side():
    barrier = threading.Barrier(2, timeout=10)

    def meet() -> str:
        barrier.wait()
        return "met"

    agent = scripted(calls(("meet", {}), ("meet", {})), {"text": ""}, tools=[meet])
    await stream(agent)
    assert tool_texts(agent) == ["met", "met"]


@pytest.mark.parametrize("is_async", [True, False])
async def test_time_limit_of_a_tool_stops_no_other(is_async: bool):
    release = threading.Event()

    @tool_attr(name="stuck", timeout=0.05)
    async def stuck_async() -> None:
        await asyncio.sleep(3600)

    @tool_attr(name="stuck", timeout=0.05)
    def stuck_sync() -> None:
        release.wait(60)

    tools = [stuck_async if is_async else stuck_sync, nap]
    agent = scripted(calls(("stuck", {}), ("nap", {"seconds": 0.1, "mark": "x"})), {"text": "done"}, tools=tools)
    events = await stream(agent)
    release.set()
    statuses = {event.tool: event.status for event in of(events, ToolCompleted)}
    assert statuses == {"stuck": "timeout", "nap": "ok"}
    assert "0.05 s" in tool_texts(agent)[0] and agent.last_result == Result.Ok("done")


def test_time_limit_holds_on_the_callers_thread_too():
    release, ended = threading.Event(), []

    @tool_attr(timeout=0.05)
    def stuck() -> None:
        ended.append(release.wait(60))

    agent = scripted(calls(("stuck", {}), ("add", {"a": 1})), {"text": "done"}, tools=[stuck, add])
    assert agent.instruct("go").execute() == Result.Ok("done")
    assert ended == [], "it is not waited for"
    release.set()
    assert "did not finish" in tool_texts(agent)[0] and tool_texts(agent)[1] == "3"
    agent.finalize()


def test_waiting_for_the_callers_thread_counts_for_no_limit():
    def slow() -> None:
        time.sleep(0.1)

    @tool_attr(timeout=0.15)
    def limited() -> str:
        return "in time"

    agent = scripted(calls(*[("slow", {})] * 3, ("limited", {})), {"text": ""}, tools=[slow, limited])
    agent.instruct("go").execute()
    assert tool_texts(agent)[-1] == "in time"
    agent.finalize()


# -- limits -----------------------------------------------------------------------------------------


async def test_step_limit():
    agent = scripted(*[calls(("add", {"a": 1}))] * 5, tools=[add])
    events = await stream(agent, max_iterations=2)
    error = agent.last_result.unwrap_err()
    assert (error.kind, len(agent.model.requests), roles(agent)) == ("step_limit", 2, "uatat")
    assert "2 steps" in error.error
    assert events[-1].stop == "limit" and of(events, Error)[0].kind == "step_limit"


@pytest.mark.parametrize(
    ("limits", "text"),
    [({"max_tokens": 100}, "120 tokens; its limit is 100"), ({"max_seconds": 0.001}, "time limit of 0.001 s")],
)
async def test_budget(limits: dict[str, Any], text: str):
    turn = calls(("nap", {"seconds": 0.01, "mark": ""}), usage={"input": 100, "output": 20})
    agent = scripted(turn, turn, tools=[nap], config=AgentConfig(**limits))
    await stream(agent)
    error = agent.last_result.unwrap_err()
    assert error.kind == "budget" and text in error.error and len(agent.model.requests) <= 1


async def test_budget_counts_one_run_only():
    turn = {"text": "a", "usage": {"input": 60, "output": 0}}
    agent = scripted(turn, turn, turn, config=AgentConfig(max_tokens=100))
    for _ in range(3):
        await stream(agent)
        assert agent.last_result.is_ok()
    assert agent.usage.input == 180


async def test_cost_limit():
    class Paid(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            async for item in super().stream(request):
                if isinstance(item, ModelReply):
                    item.usage.cost_usd = 0.6
                yield item

    turn = calls(("add", {"a": 1}))
    agent: Agent[Any] = Agent(model=Paid([turn] * 4), toolbox=ToolBox(add), config=AgentConfig(max_cost_usd=1.0))
    await stream(agent)
    assert "$1.2000; its limit is $1" in agent.last_result.unwrap_err().error
    assert len(agent.model.requests) == 2


async def test_sub_agents_draw_on_the_purse_of_their_parent():
    turns = [
        calls(("agent_run", {"task": "t"}), usage={"input": 50, "output": 0}),
        calls(("add", {"a": 1}), usage={"input": 60, "output": 0}),
        {"text": "never asked"},
    ]
    model = ScriptedModel(turns)
    box = ToolBox(add).with_subagent_provider()
    agent: Agent[Any] = Agent(model=model, toolbox=box, config=AgentConfig(max_tokens=100))
    await stream(agent)
    assert len(model.requests) == 2 and agent.last_result.unwrap_err().kind == "budget"
    assert "110 tokens" in tool_texts(agent)[0]


# -- replies that are wrong -------------------------------------------------------------------------


async def test_malformed_messages_in_a_row_end_the_run():
    bad = calls(("add", "{"), ("nothing", {}))
    agent = scripted(bad, bad, calls(("add", {"a": 1}), ("nothing", {})), bad, bad, bad, {"text": ""}, tools=[add])
    events = await stream(agent)
    assert len(agent.model.requests) == 6
    assert agent.last_result.unwrap_err().kind == "format_error" and "3 messages" in agent.last_result.value.error
    assert events[-1].stop == "error"
    assert [event.status for event in of(events, ToolCompleted)].count("format_error") == 11


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_call_of_a_cut_reply_never_runs(reason: str):
    ran = []
    agent = scripted(
        calls(("tool", {}), text="so", finish_reason=reason), {"text": "ok"}, tools=[lambda: ran.append(1)]
    )
    agent.toolbox = ToolBox()
    agent.toolbox.tool(name="tool")(lambda: ran.append(1))
    events = await stream(agent)
    assert ran == [] and "cut" in tool_texts(agent)[0] and agent.last_result == Result.Ok("ok")
    assert [event.text for event in of(events, Notice)] == [f"The reply was cut ({reason})."]


async def test_every_reason_that_ends_a_whole_reply_lets_its_calls_run():
    for reason in COMPLETE - {""}:
        agent = scripted(calls(("add", {"a": 1}), finish_reason=reason), {"text": "ok"}, tools=[add])
        events = await stream(agent)
        assert agent.last_result == Result.Ok("ok") and not of(events, Notice), reason
        assert [event.ok for event in of(events, ToolCompleted)] == [True], reason


async def test_no_reply_at_all_is_an_error_and_not_the_last_answer():
    async def nothing():
        return
        yield

    agent: Agent[Any] = Agent(model=FakeModel(nothing), config=AgentConfig(retry_attempts=1))
    await stream(agent)
    assert agent.last_result.unwrap_err().kind == "bad_reply" and roles(agent) == "u"


async def test_failing_model_gives_an_error_and_the_next_run_works():
    async def fails():
        raise ModelError("no such model", kind="missing", status=404)
        yield

    agent: Agent[Any] = Agent(model=FakeModel(fails))
    events = await stream(agent)
    assert of(events, Error) == [Error(kind="missing", message="no such model", status=404)]
    assert agent.last_result.unwrap_err().kind == "missing" and events[-1].stop == "error"
    await stream(agent)
    assert agent.last_result == Result.Ok("")


async def test_bug_of_a_model_is_raised_and_leaves_the_agent_usable():
    async def buggy():
        raise LookupError("bug")
        yield

    agent: Agent[Any] = Agent(model=FakeModel(buggy))
    with pytest.raises(LookupError):
        await stream(agent)
    assert not agent.running and agent.last_result.unwrap_err().kind == "LookupError"
    await stream(agent)
    assert agent.last_result.is_ok()


async def test_calls_that_share_an_id_are_told_apart():
    inner = ScriptedModel([calls(("add", {"a": 1}), ("add", {"a": 2})), calls(("add", {"a": 3})), {"text": ""}])
    agent: Agent[Any] = Agent(model=ChaosModel(inner, ["duplicate_id", "duplicate_id"]), toolbox=ToolBox(add))
    events = await stream(agent)
    ids = [event.call_id for event in of(events, ToolCompleted)]
    # A message of one call is sent twice by this fault.
    assert len(set(ids)) == 4 and tool_texts(agent) == ["3", "4", "5", "5"]


async def test_nothing_to_answer():
    agent = scripted({"text": "a"})
    assert (await agent.aexecute()).unwrap_err().kind == "no_input"
    agent.instruct("go")
    assert (await agent.aexecute()).is_ok()


async def test_tool_of_a_type_that_no_model_can_send_is_named():
    def tool(a): ...

    tool.__annotations__["a"] = threading.Event
    agent = scripted({"text": ""}, tools=[tool])
    await stream(agent)
    assert agent.last_result.unwrap_err().kind == "config" and "Tool tool" in agent.last_result.value.error


# -- schemas ----------------------------------------------------------------------------------------


class City(BaseModel):
    name: str
    people: int


async def test_schema_is_tried_again_with_the_error():
    agent = scripted({"text": "Rome"}, {"text": '{"name": "Rome"}'}, {"text": '```json\n{"name":"R","people":3}\n```'})
    events = await stream(agent, schema=City)
    assert agent.last_result == Result.Ok(City(name="R", people=3)) and roles(agent) == "uauaua"
    assert events[-1].value == {"name": "R", "people": 3} and events[-1].text == ""
    assert ["schema" in event.text for event in of(events, ContextAdded)] == [True, True]
    assert "people" in of(events, ContextAdded)[1].text
    assert agent.model.requests[0].schema == City.model_json_schema()


async def test_schema_not_met_ends_the_run():
    agent = scripted(*[{"text": "no"}] * 5, config=AgentConfig(schema_attempts=2))
    await stream(agent, schema=list[int])
    assert agent.last_result.unwrap_err().kind == "schema" and len(agent.model.requests) == 2


async def test_json_schema_as_a_dict():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    agent = scripted({"text": '{"n": "x"}'}, {"text": '{"n": 1}'})
    await stream(agent, schema=schema)
    assert agent.last_result == Result.Ok({"n": 1}) and "n: " in agent.history[2].text
    with pytest.raises(ConfigError, match="JSON schema"):
        await agent.aexecute(schema={"type": "nonsense"})
    assert not agent.running


# -- tools that end, tools of one run, output -------------------------------------------------------


async def test_tool_that_ends_the_run():
    @tool_attr(ends_run=True)
    def finish(answer: str) -> dict[str, str]:
        if not answer:
            raise ValueError("empty")
        return {"answer": answer}

    agent = scripted(calls(("finish", {"answer": ""})), calls(("finish", {"answer": "yes"})), tools=[finish])
    events = await stream(agent)
    assert agent.last_result == Result.Ok({"answer": "yes"}) and roles(agent) == "uatat"
    assert (events[-1].stop, events[-1].text) == ("done", '{"answer": "yes"}')


async def test_tool_that_ends_a_run_with_a_schema():
    @tool_attr(ends_run=True)
    def finish() -> Any:
        return {"name": "R", "people": len(agent.history)}

    agent = scripted(calls(("finish", {})), tools=[finish])
    events = await stream(agent, schema=City)
    assert agent.last_result == Result.Ok(City(name="R", people=2))
    assert events[-1].value == {"name": "R", "people": 2}


async def test_tools_for_one_run():
    agent = scripted(calls(("extra", {})), {"text": ""}, calls(("extra", {})), {"text": ""}, tools=[add])

    def extra() -> str:
        return "here"

    await stream(agent, tools=[extra])
    await stream(agent)
    assert tool_texts(agent)[0] == "here" and "no tool named 'extra'" in tool_texts(agent)[1]
    with pytest.raises(ToolConflict):
        await agent.aexecute(tools=[tool_attr(name="add", override=True)(extra)])


async def test_live_output_and_changed_files():
    def tool(ctx: ToolCallContext[Any]) -> str:
        ctx.emit("one")
        ctx.emit("two", "stdout")
        ctx.changed_file("/x", "update", 3, 1)
        return "done"

    agent = scripted(calls(("tool", {})), {"text": ""}, tools=[tool])
    events = await stream(agent)
    assert of(events, ToolOutput) == [
        ToolOutput(call_id="call_1", stream="progress", text="one"),
        ToolOutput(call_id="call_1", stream="stdout", text="two"),
    ]
    assert of(events, ToolCompleted)[0].files == ({"path": "/x", "action": "update", "added": 3, "removed": 1},)
    order = [type(event) for event in events if isinstance(event, ToolStarted | ToolOutput | ToolCompleted)]
    assert order == [ToolStarted, ToolOutput, ToolOutput, ToolCompleted]


async def test_long_result_is_cut_in_the_middle_for_the_model_only():
    agent = scripted(calls(("tool", {})), {"text": ""}, config=AgentConfig(max_output=100))
    agent.toolbox.tool(name="tool")(lambda: "a" * 500 + "b" * 500)
    events = await stream(agent)
    [text] = tool_texts(agent)
    assert text.startswith("a" * 50 + "\n") and text.endswith("\n" + "b" * 50) and "900 characters" in text
    assert of(events, ToolCompleted)[0].result == "a" * 500 + "b" * 500


# -- steering ---------------------------------------------------------------------------------------


async def test_steer_reaches_the_next_step():
    def tool(ctx: ToolCallContext[Any]) -> str:
        assert ctx.agent.steer("rather b")
        return "a"

    agent = scripted(calls(("tool", {})), {"text": "b"}, tools=[tool])
    events = await stream(agent)
    assert of(events, Steer) == [Steer(text="rather b")] and roles(agent) == "uatua"
    assert agent.model.requests[1].messages[-1] == Message("user", "rather b")


async def test_steer_at_the_end_keeps_the_run_going():
    agent = scripted({"text": "first", "pieces": 1}, {"text": "done again"})
    assert agent.steer("nobody runs") is False
    agent.instruct("go")
    async for event in agent.events():
        if isinstance(event, MessageDelta) and event.text == "first":
            agent.steer("one more thing")
    assert roles(agent) == "uaua" and agent.last_result == Result.Ok("done again")


async def test_steer_that_comes_too_late_stays_in_the_conversation():
    def tool(ctx: ToolCallContext[Any]) -> None:
        ctx.agent.steer("late")
        ctx.agent.cancel("stop")

    agent = scripted(calls(("tool", {})), tools=[tool])
    events = await stream(agent)
    assert events[-1].stop == "interrupted" and of(events, Steer) == [Steer(text="late")]
    assert agent.history[-1] == Message("user", "late")


async def test_second_run_at_the_same_time_is_refused():
    agent = scripted(calls(("tool", {})), {"text": ""})

    async def tool(ctx: ToolCallContext[Any]) -> None:
        await ctx.agent.aexecute()

    agent.toolbox.register(tool)
    await stream(agent)
    assert "running already" in tool_texts(agent)[0]
