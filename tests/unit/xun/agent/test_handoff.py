"""A summary as the new beginning, and results that it replaced: row 54 of the table of capabilities."""

from __future__ import annotations

from typing import Any

from tests.fakes.runs import calls, of
from xun import Agent, AgentConfig, ToolBox
from xun.agent.handoff import RESULTS, compacted_results
from xun.agent.history import from_events
from xun.events import Compaction, Event
from xun.models import ScriptedModel


def report(lines: int = 1) -> str:
    """Write a report."""
    return "\n".join(f"line {number}" for number in range(lines))


def call(name: str, call_id: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments, "id": call_id}]}


def agent_of(*turns: dict[str, Any], **config: Any) -> Agent[Any]:
    box = ToolBox(report).with_defaults("history", "framework")
    return Agent(model=ScriptedModel(list(turns)), toolbox=box, config=AgentConfig(**config)).initialize()


async def run(agent: Agent[Any], text: str) -> list[Event]:
    return [event async for event in agent.instruct(text).events()]


async def test_row_54_a_handoff_replaces_what_was_before_the_last_turn():
    agent = agent_of(
        call("report", "r1", lines=2),
        {"text": "It has two lines."},
        call("handoff", "h1", name="reading", summary="The report has two lines."),
        {"text": "Handed off."},
    )
    events = await run(agent, "read the report") + await run(agent, "go on")
    assert [message.role for message in agent.history] == ["user", "user", "assistant", "tool", "assistant"]
    assert agent.history[0].text == (
        "[Handoff reading: a summary of the conversation before this point]\nThe report has two lines.\n\n"
        "Results of earlier calls, whole by extract_compacted_tool_result:\n- r1: report, 13 characters"
    )
    assert agent.history[1].text == "go on"
    sent = agent.model.requests[-1].messages
    assert "read the report" not in [message.text for message in sent]
    [event] = of(events, Compaction)
    assert event.summary == agent.history[0].text
    # What is stored of a session gives the same conversation again.
    assert from_events(events) == agent.history
    assert compacted_results(events)["r1"] == agent.state[RESULTS]["r1"] == "line 0\nline 1"
    assert "h1" not in agent.state[RESULTS]
    agent.finalize()


def test_row_54_a_replaced_result_is_read_by_its_id():
    agent = agent_of(
        call("report", "r1", lines=2),
        {"text": "done"},
        call("handoff", "h1", name="reading", summary="all read"),
        call("extract_compacted_tool_result", "x1", toolcall_id="r1"),
        {"text": "again"},
    )
    agent.instruct("read").execute()
    agent.instruct("go on").execute()
    assert [m.text for m in agent.history if m.tool_call_id == "x1"] == ["line 0\nline 1"]
    unknown = agent.toolbox.call_tool(agent, "extract_compacted_tool_result", {"toolcall_id": "r9"}).unwrap_err()
    assert unknown.error == "There is no result of a call 'r9'; the last that were replaced are: r1."
    later = Agent(toolbox=agent.toolbox).load_state(agent.save()).initialize()
    again = later.toolbox.call_tool(later, "extract_compacted_tool_result", {"toolcall_id": "r1"})
    assert again.unwrap() == "line 0\nline 1"
    later.finalize()
    agent.finalize()


def test_row_54_a_result_that_was_too_long_is_read_whole():
    agent = agent_of(call("report", "r1", lines=500), {"text": "long"}, max_output=2000)
    agent.instruct("read").execute()
    assert "is kept as out-" in agent.history[2].text
    found = agent.toolbox.call_tool(agent, "extract_compacted_tool_result", {"toolcall_id": "r1"})
    assert found.unwrap() == report(500)
    agent.finalize()


def test_the_first_turn_can_not_be_handed_off():
    agent = agent_of(calls(("handoff", {"name": "x", "summary": "y"})), {"text": "no"})
    agent.instruct("hi").execute()
    assert "nothing before the present turn" in agent.history[2].text
    assert [message.role for message in agent.history] == ["user", "assistant", "tool", "assistant"]
    empty = agent.toolbox.call_tool(agent, "handoff", {"name": " ", "summary": "y"}).unwrap_err()
    assert empty.error.startswith("name and summary must not be empty")
    agent.finalize()
