"""Deferred tools: rows 16, 18 and 19 of the table of capabilities."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.runs import calls, scripted, tool_texts
from xun import Agent, ToolBox, ToolCallContext, ToolCallFormatError, tool_attr
from xun.models import ScriptedModel


@tool_attr(deferred=True, search_hint="slack chat")
def send_message(text: str) -> str:
    """Send a text to a channel of the company's messenger, which may be any of the several hundred that there are."""
    return f"sent {text}"


@tool_attr(deferred=True)
def sendPicture(path: str) -> str:
    """Post an image."""
    return path


@tool_attr(deferred=True)
def weather(city: str) -> str:
    """Tell the weather, to send by chat."""
    return city


def plain() -> str:
    """Do nothing."""
    return ""


def box() -> ToolBox:
    return ToolBox(plain, send_message, sendPicture, weather)


def names(entries: Any) -> list[str]:
    return [entry["function"]["name"] for entry in entries]


def test_row_18_a_deferred_tool_is_not_listed_until_it_is_loaded() -> None:
    tools = box()
    assert names(tools.list_tools_json()) == ["plain"]
    assert [tool.name for tool in tools.load("weather")] == ["weather"]
    assert names(tools.list_tools_json()) == ["plain", "weather"]
    with pytest.raises(ToolCallFormatError, match="nowhere"):
        tools.load("nowhere")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("chat", ["send_message", "weather"]),  # 4 in the hint before 2 in the description
        ("send", ["send_message", "sendPicture", "weather"]),  # a part of two names and of one description
        ("pic", ["sendPicture"]),  # a piece of the name
        ("+weather chat", ["weather"]),
        ("+send chat", ["send_message", "sendPicture"]),
        ("weather sendPicture", ["sendPicture", "weather"]),  # exact names load just those
        ("nothing", []),
        ("", []),
    ],
)
def test_row_18_search_scores_names_before_hints_before_descriptions(query: str, found: list[str]) -> None:
    tools = box()
    assert [tool.name for tool in tools.search(query)] == found
    assert tools.loaded == set(found)


def test_row_18_tools_are_described_without_being_loaded() -> None:
    tools = box().with_defaults("framework").disable("sendPicture")
    with Agent(toolbox=tools) as agent:
        told = agent.toolbox.call_tool(
            agent, "tool_describe", {"names": ["weather", "nowhere", "sendPicture", "weather"]}
        ).unwrap()
    assert told["unknown"] == ["nowhere", "sendPicture"]
    (only,) = told["tools"]
    assert (only["name"], only["description"]) == ("weather", "Tell the weather, to send by chat.")
    assert only["parameters"]["required"] == ["city"]
    assert tools.loaded == {"tool_describe"}


def test_row_18_search_gives_no_more_than_asked_for() -> None:
    assert [tool.name for tool in box().search("send", 1)] == ["send_message"]


def test_row_18_the_model_finds_a_tool_and_calls_it_in_the_next_request() -> None:
    tools = box().with_defaults("framework")
    turns = [
        calls(("tool_search", {"query": "slack"})),
        calls(("send_message", {"text": "hi"})),
        {"text": "done"},
    ]
    model = ScriptedModel(turns)
    agent = Agent(model=model, toolbox=tools).initialize()
    assert agent.instruct("go").execute().unwrap() == "done"
    before, after = names(model.requests[0].tools), names(model.requests[1].tools)
    assert "send_message" not in before and "send_message" in after
    assert tool_texts(agent)[1] == "sent hi"


def test_row_18_the_search_tool_lists_names_with_the_beginning_of_descriptions() -> None:
    model = ScriptedModel([{"text": "x"}])
    Agent(model=model, toolbox=box().with_defaults("framework")).initialize().instruct("go").execute()
    search = next(item for item in model.requests[0].tools if item["function"]["name"] == "tool_search")
    line = next(item for item in search["function"]["description"].splitlines() if "send_message:" in item)
    assert line.startswith("send_message: Send a text") and line.endswith("...")
    assert len(line) <= len("- send_message: ") + 80


def test_row_18_the_search_tool_is_offered_only_when_something_is_deferred() -> None:
    model = ScriptedModel([{"text": "x"}, {"text": "y"}])
    tools = ToolBox(plain).with_defaults("framework")
    agent = Agent(model=model, toolbox=tools).initialize()
    agent.instruct("go").execute()
    assert "tool_search" in names(model.requests[0].tools)
    tools.disable(*(tool.name for tool in tools.deferred()))
    agent.instruct("go").execute()
    assert "tool_search" not in names(model.requests[1].tools)


def test_row_18_what_a_run_loads_of_its_own_tools_does_not_get_lost_for_the_agents() -> None:
    agent = scripted(calls(("tool_search", {"query": "weather"})), {"text": "x"}, tools=[weather])
    agent.toolbox.with_defaults("framework")
    agent.instruct("go").execute(tools=[plain])
    assert agent.toolbox.loaded == {"weather"}


def test_row_19_a_deferred_tool_called_by_name_runs_and_is_loaded() -> None:
    tools = box()
    agent = Agent(toolbox=tools).initialize()
    assert tools.call_tool(agent, "weather", {"city": "Rome"}).unwrap() == "Rome"
    assert tools.loaded == {"weather"}


def test_a_clone_loads_for_itself() -> None:
    tools = box()
    copy = tools.clone()
    copy.load("weather")
    assert tools.loaded == frozenset()


def test_loaded_tools_survive_a_saved_agent() -> None:
    agent = Agent(toolbox=box()).initialize()
    agent.toolbox.load("weather")
    again = Agent(toolbox=box()).load_state(agent.save())
    assert again.toolbox.loaded == {"weather"}


def test_row_16_enabled_is_asked_before_each_request() -> None:
    def once(ctx: ToolCallContext[Any]) -> bool:
        return ctx.value["open"]

    def broken(ctx: ToolCallContext[Any]) -> bool:
        raise ValueError("no idea")

    def close(ctx: ToolCallContext[Any]) -> str:
        """Close."""
        ctx.value["open"] = False
        return "closed"

    def door() -> str:
        """Go."""
        return ""

    def window() -> str:
        """Look."""
        return ""

    model = ScriptedModel([calls(("close", {})), {"text": "x"}])
    tools = ToolBox(close, tool_attr(enabled=once)(door), tool_attr(enabled=broken)(window))
    Agent(model=model, toolbox=tools).initialize().instruct("go").execute(context={"open": True})
    assert [names(request.tools) for request in model.requests] == [["close", "door"], ["close"]]


def test_an_unknown_tool_is_told_the_nearest_name() -> None:
    agent = Agent(toolbox=box()).initialize()
    with pytest.raises(ToolCallFormatError, match="Did you mean weather"):
        agent.toolbox.call_tool(agent, "wether", {})
