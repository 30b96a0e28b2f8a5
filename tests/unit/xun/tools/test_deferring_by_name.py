from __future__ import annotations

from xun import Agent, ToolBox


def ping() -> str:
    """Answer."""
    return "pong"


def other() -> str:
    """Do something else."""
    return "x"


def test_a_toolbox_defers_tools_that_do_not_ask_for_it():
    box = ToolBox(ping, other).defer("ping", "not_there")
    assert [tool["function"]["name"] for tool in box.list_tools_json()] == ["other"]
    assert [tool.name for tool in box.list_tools()] == ["ping", "other"]
    assert [tool.name for tool in box.search("ping")] == ["ping"]
    assert [tool["function"]["name"] for tool in box.list_tools_json()] == ["ping", "other"]


def test_a_deferred_tool_called_by_name_runs_and_is_offered_then():
    box = ToolBox(ping, other).defer("ping")
    copy = box.clone()
    with Agent(toolbox=box) as agent:
        assert box.call_tool(agent, "ping", {}, None).unwrap() == "pong"
    assert box.loaded == {"ping"} and copy.loaded == frozenset()
    assert [tool["function"]["name"] for tool in copy.list_tools_json()] == ["other"]
