"""Calling tools, their results and their context: statements 57 to 91 of the tool contract."""

from __future__ import annotations

import asyncio
import datetime as dt
import enum
import json
import math
import pathlib
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from xun import (
    Agent,
    CancelledError,
    ErrorInfo,
    Result,
    ToolBox,
    ToolCallContext,
    ToolCallFormatError,
    ToolError,
    ToolFailed,
    ToolOutput,
)
from xun.events import ToolCompleted
from xun.models import ScriptedModel
from xun.tools.function import except_safe


def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


async def add_async(a: int, b: int = 2) -> int:
    """Add."""
    await asyncio.sleep(0)
    return a + b


def call(func: Any, arguments: Any = None, context: Any = None) -> Result[Any, Any]:
    box = ToolBox(func)
    return box.call_tool(Agent(), box.list_tools()[0].name, {} if arguments is None else arguments, context)


def play(*turns: Any, tools: Any = (), **options: Any) -> Agent[Any]:
    """Run the scripted *turns* to the end and return the agent."""
    agent: Agent[Any] = Agent(model=ScriptedModel(turns, **options), toolbox=ToolBox(*tools))
    with agent:
        agent.instruct("go").execute()
    return agent


def calls(*items: tuple[str, Any]) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments} for name, arguments in items]}


def tool_texts(agent: Agent[Any]) -> list[str]:
    return [message.text for message in agent.history if message.role == "tool"]


# -- call_tool --------------------------------------------------------------------------------------


@pytest.mark.parametrize("func", [add, add_async])
def test_057_call_returns_a_result(func: Any):
    assert call(func, {"a": 1, "b": 3}) == Result.Ok(4)
    assert asyncio.run(ToolBox(func).acall_tool(Agent(), func.__name__, {"a": 1, "b": 3}, None)) == Result.Ok(4)


def test_058_arguments_as_dict_or_text():
    def nothing() -> str:
        return "fine"

    assert call(add, '{"a": 1}').unwrap() == call(add, {"a": 1}).unwrap() == 3
    assert call(nothing, "").unwrap() == call(nothing, "  ").unwrap() == "fine"


def test_059_context_is_handed_through():
    value = object()

    def tool(ctx: ToolCallContext[Any]) -> bool:
        return ctx.value is value

    assert call(tool, context=value).unwrap() is True


def bad_call(name: str, arguments: Any, *, disabled: str = "") -> str:
    box = ToolBox(add, add_async).disable(disabled)
    with pytest.raises(ToolCallFormatError) as caught:
        box.call_tool(Agent(), name, arguments, None)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(ToolCallFormatError) as again:
        asyncio.run(box.acall_tool(Agent(), name, arguments, None))
    assert str(again.value) == str(caught.value)
    return str(caught.value)


def test_060_wrong_call_raises_and_the_tool_does_not_run():
    ran = []

    def tool(a: int) -> None:
        ran.append(a)

    box = ToolBox(tool)
    for name, arguments in (("other", {}), ("tool", "{"), ("tool", {"a": "x"})):
        with pytest.raises(ToolCallFormatError) as caught:
            box.call_tool(Agent(), name, arguments, None)
        assert isinstance(caught.value, ValueError) and caught.value.kind == "format_error"
    with pytest.raises(ToolCallFormatError):
        box.disable("tool").call_tool(Agent(), "tool", {"a": 1}, None)
    assert ran == []


def test_061_unknown_tool():
    text = bad_call("sub", {})
    assert "'sub'" in text and "add, add_async" in text


def test_062_disabled_tool():
    assert "disabled" in bad_call("add", {"a": 1}, disabled="add")


@pytest.mark.parametrize("text", ['{"a": ', "{'a': 1}", "a=1", "[" * 100_000, '{"a": 1} {"b": 2}'])
def test_063_bad_json(text: str):
    assert "valid JSON" in bad_call("add", text)


@pytest.mark.parametrize(
    ("given", "kind"), [("[1]", "list"), ('"a"', "str"), ("3", "int"), ("null", "NoneType"), ([1], "list"), (5, "int")]
)
def test_064_no_object(given: Any, kind: str):
    assert kind in bad_call("add", given)


def test_065_invalid_arguments():
    text = bad_call("add", {"a": "3", "c": 1})
    assert "add" in text and "a: " in text and "integer" in text and "c: " in text and "takes: a, b" in text
    assert "a: required" in bad_call("add", {})


@pytest.mark.parametrize("arguments", [{"a": object()}, {"a": 10**5000}, {"a": float("nan")}])
def test_065_values_that_are_no_json(arguments: Any):
    def tool(a: str): ...

    with pytest.raises(ToolCallFormatError, match="Tool tool"):
        call(tool, arguments)


def test_066_wrong_calls_do_not_end_a_run():
    agent = play(calls(("sub", {})), calls(("add", '{"a": ')), calls(("add", {"a": 1})), {"text": "three"}, tools=[add])
    texts = tool_texts(agent)
    assert "no tool named 'sub'" in texts[0] and "valid JSON" in texts[1] and texts[2] == "3"
    assert agent.last_result == Result.Ok("three")


# -- except_safe and Result -------------------------------------------------------------------------


def test_067_plain_value():
    result = call(add, {"a": 1})
    assert result.is_ok() and not result.is_err() and result.unwrap() == 3 and result.status == "ok"


@pytest.mark.parametrize("given", [Result.Ok(1), Result.Err(ErrorInfo("e"))])
def test_068_result_is_not_wrapped_again(given: Any):
    def tool() -> Any:
        return given

    assert call(tool) is given


@pytest.mark.parametrize(
    ("exc", "kind"),
    [
        (KeyError("k"), "KeyError"),
        (ToolError("t", kind="stale", nearest_line=3), "stale"),
        (ToolFailed("f"), "failed"),
        (StopIteration(1), "StopIteration"),
        (RecursionError("deep"), "RecursionError"),
    ],
)
def test_069_exception(exc: Exception, kind: str):
    def tool() -> None:
        raise exc

    async def later() -> None:
        raise exc

    for func in (tool, later) if not isinstance(exc, StopIteration) else (tool,):
        error = call(func).unwrap_err()
        assert (error.error, error.details, error.kind) == (str(exc), repr(exc), kind)
    if kind == "stale":
        assert call(tool).unwrap_err().facts == {"nearest_line": 3}


def test_070_unwrapping_the_wrong_side_raises():
    with pytest.raises(ValueError, match="boom"):
        Result.Err(ErrorInfo("boom")).unwrap()
    with pytest.raises(ValueError, match="5"):
        Result.Ok(5).unwrap_err()
    assert Result.Err(ErrorInfo("e")).unwrap_or(1) == 1 and Result.Ok(2).unwrap_or(1) == 2


def test_071_value_json_and_value_str():
    assert Result.Ok({"a": "ä"}).value_json() == Result.Ok({"a": "ä"}).value_str() == '{"a": "ä"}'
    assert Result.Ok("ä").value_str() == "ä" and Result.Ok("ä").value_json() == '"ä"'
    error = ErrorInfo("e", "d")
    assert Result.Err(error).value is error and Result.Err(error).value_json() == '{"error": "e", "details": "d"}'


def test_071_value_json_is_json_for_every_reader():
    value = {"a": [math.nan, 1.5, math.inf], "b": (-math.inf,)}
    assert Result.Ok(value).value_json() == '{"a": [null, 1.5, null], "b": [null]}'
    assert Result.Ok(value).value_str() == '{"a": [NaN, 1.5, Infinity], "b": [-Infinity]}'


@pytest.mark.parametrize("kind", [KeyboardInterrupt, CancelledError, asyncio.CancelledError, SystemExit])
def test_072_what_passes_through(kind: Any):
    def tool() -> None:
        raise kind()

    with pytest.raises(kind):
        call(tool)


@pytest.mark.parametrize("kind", [CancelledError, asyncio.CancelledError])
async def test_072_async_passes_through_too(kind: Any):
    async def tool() -> None:
        raise kind()

    with pytest.raises(kind):
        await ToolBox(tool).acall_tool(Agent(), "tool", {}, None)


@pytest.mark.parametrize("func", [add, add_async])
def test_073_except_safe_twice(func: Any):
    once = except_safe(func)
    assert except_safe(once) is once and once.__doc__ == "Add." and once.__name__ == func.__name__


async def test_074_async_tools():
    async def broken() -> None:
        await asyncio.sleep(0)
        raise KeyError("k")

    assert await except_safe(add_async)(1) == Result.Ok(3)
    assert (await except_safe(broken)()).unwrap_err().kind == "KeyError"


def test_075_none():
    def tool() -> None: ...

    result = call(tool)
    assert result == Result.Ok(None) and result.value_str() == "null"


def test_076_json_forms():
    assert ErrorInfo("e", "d", "k").to_json() == {"error": "e", "details": "d"}
    assert Result.Ok([1]).to_json() == {"value": [1], "is_ok": True}
    assert Result.Err(ErrorInfo("e", "d")).to_json() == {"value": {"error": "e", "details": "d"}, "is_ok": False}


# -- serialisation ----------------------------------------------------------------------------------


class Both:
    def model_dump(self) -> Any:
        return {"from": "model_dump"}

    def to_json(self) -> Any:
        return {"from": "to_json"}


class OnlyToJson:
    def to_json(self) -> Any:
        return {"from": OnlyValueJson()}


class OnlyValueJson:
    def value_json(self) -> str:
        return '{"from": "value_json"}'


class Model(BaseModel):
    when: dt.datetime


@dataclass
class Data:
    path: pathlib.PurePosixPath
    color: Any


class Color(enum.Enum):
    RED = "red"


MOMENT = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


@pytest.mark.parametrize("value", ["a", 1, 1.5, True, None])
def test_077_plain_values_stay(value: Any):
    assert Result.Ok(value).to_json()["value"] is value


@pytest.mark.parametrize(
    ("value", "form"),
    [
        pytest.param(OnlyToJson(), {"from": {"from": "value_json"}}, id="078"),
        pytest.param(OnlyValueJson(), {"from": "value_json"}, id="078b"),
        pytest.param(Model(when=MOMENT), {"when": "2026-01-02T00:00:00Z"}, id="081"),
        pytest.param(Data(pathlib.PurePosixPath("/a"), Color.RED), {"path": "/a", "color": "red"}, id="081b"),
        pytest.param([MOMENT, MOMENT.date()], ["2026-01-02T00:00:00+00:00", "2026-01-02"], id="081c"),
        pytest.param(ToolOutput({"a": 1}, display="shown"), {"a": 1}, id="output"),
    ],
)
def test_078_serialisation(value: Any, form: Any):
    assert Result.Ok(value).to_json()["value"] == form
    assert json.loads(Result.Ok(value).value_json()) == form


def test_079_model_dump_comes_first():
    assert Result.Ok(Both()).to_json()["value"] == {"from": "model_dump"}


def test_080_containers():
    assert Result.Ok((1, [2, ("a",)])).to_json()["value"] == [1, [2, ["a"]]]
    keys = {1: "a", None: "b", False: "c", Color.RED: "d"}
    assert Result.Ok(keys).to_json()["value"] == {"1": "a", "null": "b", "false": "c", "red": "d"}
    assert Result.Ok([Result.Ok(1)]).to_json()["value"] == [{"value": 1, "is_ok": True}]


@pytest.mark.parametrize("value", [object(), {1}, b"x", [object()], {"a": {1}}, int])
def test_081_what_is_not_serialised(value: Any):
    with pytest.raises(TypeError, match=r"object|set|bytes|int"):
        Result.Ok(value).value_json()


def cyclic() -> Any:
    loop: list[Any] = []
    loop.append(loop)
    return loop


class Broken:
    def to_json(self) -> Any:
        raise LookupError("no row")


@pytest.mark.parametrize(
    ("value", "kind"), [(object(), "TypeError"), (cyclic(), "RecursionError"), (Broken(), "LookupError")]
)
async def test_082_in_a_run_it_is_an_error_of_that_call(value: Any, kind: str):
    def odd() -> Any:
        return value

    model = ScriptedModel([calls(("odd", {}), ("add", {"a": 1})), {"text": "done"}])
    agent: Agent[Any] = Agent(model=model, toolbox=ToolBox(odd, add))
    kinds = {}
    agent.instruct("go")
    async for event in agent.events():
        if isinstance(event, ToolCompleted):
            kinds[event.tool] = event.error and event.error["kind"]
    assert agent.last_result == Result.Ok("done")
    assert tool_texts(agent)[1] == "3" and tool_texts(agent)[0]
    assert kinds == {"odd": kind, "add": None}


# -- context ----------------------------------------------------------------------------------------


def test_083_context_is_read_only():
    def tool(ctx: ToolCallContext[Any]) -> Any:
        for name in ("agent", "tool_name", "value", "call_id", "usage", "turn", "other"):
            with pytest.raises(AttributeError):
                setattr(ctx, name, 1)
        return ctx.agent, ctx.tool_name, ctx.value

    agent: Agent[Any] = Agent()
    box = ToolBox()
    box.tool(name="registered")(tool)
    assert box.call_tool(agent, "registered", {}, 5).unwrap() == (agent, "registered", 5)


def test_084_with_and_without_a_type():
    def bare(ctx: ToolCallContext) -> Any:
        return ctx.value

    def typed(ctx: ToolCallContext[dict]) -> Any:
        return ctx.value

    assert call(bare, context=1).unwrap() == call(typed, context=1).unwrap() == 1


def test_085_example_of_the_page():
    def stamp(context: ToolCallContext[dict]) -> str:
        """Record the call time into the shared context."""
        context.value["tool_call_time"] = dt.datetime.now().isoformat()
        return context.value["tool_call_time"]

    shared = {"tool_call_time": "?"}
    agent: Agent[Any] = Agent(model=ScriptedModel([calls(("stamp", {})), {"text": "done"}]), toolbox=ToolBox(stamp))
    with agent:
        agent.instruct("Call your only tool.").execute(context=shared)
    assert shared["tool_call_time"] == tool_texts(agent)[0] != "?"


def test_086_sub_agents_see_the_same_object():
    seen = []

    def look(ctx: ToolCallContext[Any]) -> str:
        seen.append(ctx.value)
        return "seen"

    model = ScriptedModel(
        [calls(("agent_run", {"task": "look"})), calls(("look", {})), {"text": "child"}, {"text": "parent"}]
    )
    agent: Agent[Any] = Agent(model=model, toolbox=ToolBox(look).with_subagent_provider())
    shared: dict[str, Any] = {}
    with agent:
        assert agent.instruct("go").execute(context=shared) == Result.Ok("parent")
    assert len(seen) == 1 and seen[0] is shared


def test_087_no_context_is_none():
    def tool(ctx: ToolCallContext[Any]) -> bool:
        return ctx.value is None

    assert tool_texts(play(calls(("tool", {})), {"text": ""}, tools=[tool])) == ["true"]
