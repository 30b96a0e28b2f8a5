"""Time limits, budgets, the cache, bugs that propagate, tapes: rows 25, 27, 30 and what none of the others has."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.runs import calls, scripted, tool_texts
from xun import Agent, Result, ToolBox, ToolError, tool_attr
from xun.errors import ConfigError, ToolCallFormatError


def test_row_25_the_toolbox_has_a_limit_for_tools_without_one() -> None:
    ended = threading.Event()

    def slow() -> str:
        """Wait."""
        ended.wait(5)
        return "late"

    @tool_attr(timeout=5)
    def patient() -> str:
        """Wait a little."""
        time.sleep(0.15)
        return "done"

    tools = ToolBox(slow, patient, timeout=0.1)
    agent = Agent(toolbox=tools).initialize()
    result = tools.call_tool(agent, "slow", {})
    assert result.status == "timeout" and "0.1 s" in result.unwrap_err().error
    assert tools.call_tool(agent, "patient", {}).unwrap() == "done"
    ended.set()


async def test_row_25_the_other_calls_of_the_turn_go_on() -> None:
    async def slow() -> str:
        """Wait."""
        await asyncio.sleep(5)
        return "late"

    async def quick() -> str:
        """Do not wait."""
        await asyncio.sleep(0.01)
        return "done"

    agent = scripted(calls(("slow", {}), ("quick", {})), {"text": "x"})
    agent.toolbox = ToolBox(slow, quick, timeout=0.5)
    await agent.instruct("go").aexecute()
    late, done = tool_texts(agent)
    assert "did not finish" in late and done == "done"


def broken(x: int) -> int:
    """Fail."""
    if x == 0:
        raise ToolError("zero is not allowed")
    raise KeyError("a bug")


async def abroken(x: int) -> int:
    """Fail."""
    return broken(x)


@pytest.mark.parametrize("name", ["broken", "abroken"])
def test_row_27_bugs_propagate_on_request_and_tool_errors_do_not(name: str) -> None:
    tools = ToolBox(broken, abroken, raise_unexpected=True)
    agent = Agent(toolbox=tools).initialize()
    assert tools.call_tool(agent, name, {"x": 0}).unwrap_err().error == "zero is not allowed"
    with pytest.raises(KeyError, match="a bug"):
        tools.call_tool(agent, name, {"x": 1})
    usual = ToolBox(broken, abroken)
    assert usual.call_tool(agent, name, {"x": 1}).unwrap_err().kind == "KeyError"


def test_row_27_a_bug_ends_the_run_that_wants_it() -> None:
    agent = scripted(calls(("broken", {"x": 1})), {"text": "x"})
    agent.toolbox = ToolBox(broken, raise_unexpected=True)
    with pytest.raises(KeyError):
        agent.instruct("go").execute()
    assert not agent.running


def test_row_30_bad_calls_in_a_row_end_the_run() -> None:
    @tool_attr(max_retries=2)
    def once(x: int) -> int:
        """Take a number."""
        return x

    def other() -> str:
        """Do nothing."""
        return ""

    bad, good = ("once", {"x": "1"}), ("once", {"x": 1})
    agent = scripted(calls(bad), calls(good), calls(bad), {"text": "x"}, tools=[once])
    assert agent.instruct("go").execute().unwrap() == "x"
    agent = scripted(calls(bad, ("other", {})), calls(bad, ("other", {})), {"text": "x"}, tools=[once, other])
    result = agent.instruct("go").execute()
    assert "once were malformed too often" in result.unwrap_err().error


def test_max_calls_is_a_budget_of_the_run() -> None:
    made: list[int] = []

    @tool_attr(max_calls=2)
    def count(x: int) -> int:
        """Count."""
        made.append(x)
        return x

    turn = calls(*(("count", {"x": n}) for n in range(3)))
    agent = scripted(turn, {"text": "x"}, turn, {"text": "y"}, tools=[count])
    agent.instruct("go").execute()
    assert made == [0, 1] and "its limit is 2" in tool_texts(agent)[2]
    agent.instruct("again").execute()
    assert made == [0, 1, 0, 1]


def test_max_seconds_ends_a_call_and_refuses_the_next() -> None:
    @tool_attr(max_seconds=0.5)
    async def wait(seconds: float) -> str:
        """Wait."""
        await asyncio.sleep(seconds)
        return "done"

    agent = scripted(
        calls(("wait", {"seconds": 0.01})),
        calls(("wait", {"seconds": 60.0})),
        calls(("wait", {"seconds": 0.0})),
        {"text": "x"},
        tools=[wait],
    )
    started = time.monotonic()
    agent.instruct("go").execute()
    first, second, third = tool_texts(agent)
    assert first == "done" and "did not finish" in second and "their limit is 0.5 s" in third
    assert time.monotonic() - started < 50


@pytest.mark.parametrize(("of_a_call", "of_all"), [(0.05, 60.0), (60.0, 0.05)])
def test_the_smaller_of_the_two_limits_counts(of_a_call: float, of_all: float) -> None:
    @tool_attr(timeout=of_a_call, max_seconds=of_all)
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(60)
        return "done"

    agent = scripted(calls(("wait", {})), {"text": "x"}, tools=[wait])
    started = time.monotonic()
    agent.instruct("go").execute()
    assert "did not finish" in tool_texts(agent)[0] and time.monotonic() - started < 50


def test_a_pure_tool_is_called_once_for_equal_arguments_of_a_run() -> None:
    made: list[tuple[int, int]] = []

    @tool_attr(pure=True)
    def add(a: int, b: int) -> int:
        """Add."""
        made.append((a, b))
        if a < 0:
            raise ToolError("negative")
        return a + b

    same = [
        ("add", '{"a": 1, "b": 2}'),
        ("add", '{"b": 2, "a": 1}'),
        ("add", {"a": -1, "b": 0}),
        ("add", {"a": -1, "b": 0}),
    ]
    agent = scripted(calls(*same), {"text": "x"}, calls(same[0]), {"text": "y"}, tools=[add])
    agent.instruct("go").execute()
    assert tool_texts(agent)[:2] == ["3", "3"]
    assert made == [(1, 2), (-1, 0), (-1, 0)]  # a failure is not remembered
    agent.instruct("go").execute()
    assert len(made) == 4  # another run


def test_recorded_calls_are_replayed_without_running(tmp_path: Path) -> None:
    made: list[int] = []

    def double(x: int) -> Any:
        """Double."""
        made.append(x)
        if x < 0:
            raise ToolError("negative", kind="below")
        return {"n": 2 * x + len(made)}

    tape = tmp_path / "tape.jsonl"
    tools = ToolBox(double).record(tape)
    agent = Agent(toolbox=tools).initialize()
    first = [tools.call_tool(agent, "double", {"x": x}) for x in (1, 1, -1)]
    assert len(tape.read_text().splitlines()) == 3
    tools.record(None).replay(tape)
    again = [tools.call_tool(agent, "double", {"x": x}) for x in (-1, 1, 1)]
    assert made == [1, 1, -1]
    assert [result.value for result in again] == [first[2].value, first[0].value, first[1].value]
    missing = tools.call_tool(agent, "double", {"x": 1})
    assert missing.unwrap_err().kind == "not_recorded"
    with pytest.raises(ToolCallFormatError):
        tools.call_tool(agent, "double", {"x": "1"})
    assert tools.replay(None).call_tool(agent, "double", {"x": 5}).is_ok()


@pytest.mark.parametrize("line", ["", "{", '{"tool": "a"}', "[1]", '{"tool": "a", "arguments": {}, "status": "fine"}'])
def test_a_damaged_tape_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    tape = tmp_path / "tape.jsonl"
    tape.write_text(json.dumps({"tool": "a", "arguments": {}, "status": "ok", "value": 1}) + f"\n{line}\n")
    with pytest.raises(ConfigError, match="Line 2"):
        ToolBox().replay(tape)
    with pytest.raises(ConfigError, match="can't be read"):
        ToolBox().replay(tmp_path / "none")
    with pytest.raises(ConfigError, match="can't be recorded"):
        ToolBox().record(tmp_path)


def test_a_dry_run_calls_only_what_changes_nothing() -> None:
    made: list[str] = []

    def write(text: str) -> str:
        """Write."""
        made.append(text)
        return text

    @tool_attr(read_only=True)
    def look() -> str:
        """Look."""
        return "seen"

    tools = ToolBox(write, look)
    agent = Agent(toolbox=tools).initialize()
    tools.dry_run = True
    would = {"dry_run": True, "would_call": "write", "arguments": {"text": "a"}}
    assert tools.call_tool(agent, "write", {"text": "a"}).unwrap() == would
    assert tools.call_tool(agent, "look", {}).unwrap() == "seen"
    assert made == [] and tools.clone().dry_run
    tools.dry_run = False
    assert tools.call_tool(agent, "write", {"text": "a"}).unwrap() == "a"


def test_a_returned_result_is_kept_by_the_cache_and_by_raise_unexpected() -> None:
    @tool_attr(pure=True)
    def given() -> Result[int, Any]:
        """Give a Result."""
        return Result.Ok(4)

    tools = ToolBox(given, raise_unexpected=True)
    assert tools.call_tool(Agent(toolbox=tools).initialize(), "given", {}).unwrap() == 4
