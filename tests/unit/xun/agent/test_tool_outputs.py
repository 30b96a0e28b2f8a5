"""What becomes of a tool's value: rows 31 to 34 and 55 of the table of capabilities."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.fakes.runs import calls, of, scripted, stream, tool_texts
from xun import Agent, AgentConfig, Result, ToolBox, ToolError, ToolOutput, tool_attr
from xun.events import ContextAdded, ToolCompleted
from xun.messages import Image
from xun.models import ScriptedModel
from xun.tools.spill import CHUNK

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


def order() -> dict[str, Any]:
    """Return an order."""
    return {"id": 7, "status": "paid"}


def shown(value: dict[str, Any]) -> str:
    return f"order {value['id']}: {value['status']}"


async def test_row_32_the_model_and_hooks_read_the_rendered_text_and_events_keep_the_value() -> None:
    seen: list[Any] = []
    agent = scripted(calls(("order", {})), {"text": "x"}, tools=[tool_attr(renderer=shown)(lambda_free(order))])
    agent.hooks.after_tool_call.add(lambda call, result: seen.append(result.value))
    [done] = of(await stream(agent), ToolCompleted)
    assert tool_texts(agent) == ["order 7: paid"] == seen
    assert done.result == {"id": 7, "status": "paid"} and done.content == "order 7: paid"


def lambda_free(func: Any) -> Any:
    """Return a function of its own, so that metadata of one test does not reach another."""

    def order() -> Any:
        """Return an order."""
        return func()

    return order


@pytest.mark.parametrize("renderer", [lambda value: value["nothing"], lambda value: 5])
def test_row_32_a_renderer_that_fails_gives_json(renderer: Any) -> None:
    agent = scripted(calls(("order", {})), {"text": "x"}, tools=[tool_attr(renderer=renderer)(lambda_free(order))])
    agent.instruct("go").execute()
    assert json.loads(tool_texts(agent)[0]) == {"id": 7, "status": "paid"}


def test_row_32_a_direct_call_gets_the_raw_value() -> None:
    box = ToolBox(tool_attr(renderer=shown)(lambda_free(order)))
    assert box.call_tool(Agent(toolbox=box).initialize(), "order", {}).unwrap() == {"id": 7, "status": "paid"}


def test_row_32_a_hook_replaces_the_rendered_text() -> None:
    agent = scripted(calls(("order", {})), {"text": "x"}, tools=[tool_attr(renderer=shown)(lambda_free(order))])
    agent.hooks.after_tool_call.add(lambda call, result: Result.Ok({"hidden": True}))
    agent.instruct("go").execute()
    assert tool_texts(agent) == ['{"hidden": true}']


@pytest.mark.parametrize(
    ("value", "content", "display"),
    [
        ({"hits": [1], "returnDisplay": "1 hit"}, '{"hits": [1]}', "1 hit"),
        ({"returnDisplay": {"n": 1}}, "{}", '{"n": 1}'),
        ({"content": "x", "returnDisplay": "1"}, "x", "1"),
        ({"result": [1], "returnDisplay": "1"}, "[1]", "1"),
        ({"result": 1, "content": 2, "returnDisplay": "1"}, '{"result": 1, "content": 2}', "1"),
        ({"content": "x"}, '{"content": "x"}', ""),
        ({"result": "x"}, '{"result": "x"}', ""),
        (ToolOutput([1], display="one"), "[1]", "one"),
        (ToolOutput({"a": 1, "returnDisplay": "kept"}, display="one"), '{"a": 1, "returnDisplay": "kept"}', "one"),
    ],
)
async def test_row_33_display_text_is_for_the_person_only(value: Any, content: str, display: str) -> None:
    def look() -> Any:
        """Look."""
        return value

    agent = scripted(calls(("look", {})), {"text": "x"}, tools=[look])
    [done] = of(await stream(agent), ToolCompleted)
    assert (done.content, done.display) == (content, display)
    assert tool_texts(agent) == [content]


async def test_row_34_images_follow_the_results_in_the_order_of_the_calls() -> None:
    def photo(n: int) -> ToolOutput:
        """Take a photo."""
        return ToolOutput(f"photo {n}", images=[Image(PNG, "image/jpeg")], msg=f"this is {n}")

    agent = scripted(calls(("photo", {"n": 1}), ("photo", {"n": 2})), {"text": "x"}, tools=[photo])
    added = of(await stream(agent), ContextAdded)
    assert [event.text for event in added] == ["this is 1", "this is 2"]
    assert [message.images[0].media_type for message in agent.history if message.images] == ["image/png"] * 2
    assert all("base64" not in text and len(text) < 20 for text in tool_texts(agent))


async def test_row_34_an_image_as_the_value_follows_the_results_too() -> None:
    def photo() -> Image:
        """Take a photo."""
        return Image(PNG, "image/png")

    agent = scripted(calls(("photo", {})), {"text": "x"}, tools=[photo])
    await stream(agent)
    assert tool_texts(agent) == ["The image follows."]
    assert [message.images for message in agent.history if message.images] == [(Image(PNG, "image/png"),)]


async def test_row_34_a_damaged_image_is_an_error_of_the_call() -> None:
    def photo() -> ToolOutput:
        """Take a photo."""
        return ToolOutput("photo", images=[PNG[:40]])

    agent = scripted(calls(("photo", {})), {"text": "x"}, tools=[photo])
    [done] = of(await stream(agent), ToolCompleted)
    assert not done.ok and not of([], ContextAdded) and "image" in tool_texts(agent)[0]


# -- long outputs -----------------------------------------------------------------------------------


def long_text() -> str:
    return "".join(f"{number:07d} Größe\n" for number in range(4000))


def tell() -> str:
    """Tell a long story."""
    return long_text()


def spilling(*turns: Any, **config: Any) -> Agent[Any]:
    box = ToolBox(tell).with_defaults("framework")
    options = AgentConfig(max_output=1000, **config)
    return Agent(model=ScriptedModel(turns), toolbox=box, config=options).initialize()


def test_row_31_a_long_output_is_kept_and_read_by_its_handle() -> None:
    agent = spilling(calls(("tell", {})), {"text": "x"})
    agent.instruct("go").execute()
    [text] = tool_texts(agent)
    whole = long_text()
    assert str(len(whole)) in text and str(len(whole.encode())) in text
    assert whole[:300] in text and text.endswith(whole[-300:]) and len(text) < 1000
    handle = re.search(r"out-\w+", text)
    assert handle
    pieces, cursor = [], 0
    while cursor is not None:
        part = agent.toolbox.call_tool(agent, "read_output", {"handle": handle[0], "cursor": cursor}).unwrap()
        pieces.append(part["content"])
        assert len(part["content"].encode()) <= CHUNK + 3
        assert part["complete"] is (part["next_cursor"] is None)
        cursor = part["next_cursor"]
    assert "".join(pieces) == whole and len(pieces) == part["chunks"] and part["bytes"] == len(whole.encode())
    read = {"handle": handle[0], "count": 4, "from_end": True}
    assert agent.toolbox.call_tool(agent, "read_output", read).unwrap()["content"] == "".join(pieces[-4:])
    second = {"handle": handle[0], "cursor": 1, "from_end": True}
    assert agent.toolbox.call_tool(agent, "read_output", second).unwrap()["content"] == pieces[-2]
    agent.finalize()


def test_row_31_what_read_output_gives_is_not_kept_again() -> None:
    agent = spilling(calls(("tell", {})), {"text": "x"})
    agent.instruct("go").execute()
    handle = re.search(r"out-\w+", tool_texts(agent)[0])
    assert handle
    agent.model = ScriptedModel([calls(("read_output", {"handle": handle[0]})), {"text": "y"}])
    agent.instruct("go").execute()
    assert len(json.loads(tool_texts(agent)[1])["content"].encode()) >= CHUNK - 3
    agent.finalize()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"handle": "out-00000000"}, "not there any more"),
        ({"handle": "../../etc/passwd"}, "no handle"),
        ({"handle": "HANDLE", "count": 5}, "1 to 4"),
        ({"handle": "HANDLE", "cursor": -1}, "negative"),
        ({"handle": "HANDLE", "cursor": 99}, "past the end"),
    ],
)
def test_row_31_a_wrong_read_says_what_is_possible(arguments: dict[str, Any], error: str) -> None:
    agent = spilling(calls(("tell", {})), {"text": "x"})
    agent.instruct("go").execute()
    handle = re.search(r"out-\w+", tool_texts(agent)[0])
    assert handle
    arguments["handle"] = arguments["handle"].replace("HANDLE", handle[0])
    result = agent.toolbox.call_tool(agent, "read_output", arguments)
    assert error in result.unwrap_err().error
    agent.finalize()


def test_row_31_without_the_reading_tool_both_ends_stay() -> None:
    box = ToolBox(tell)
    model = ScriptedModel([calls(("tell", {})), {"text": "x"}])
    agent = Agent(model=model, toolbox=box, config=AgentConfig(max_output=1000)).initialize()
    agent.instruct("go").execute()
    assert "characters cut" in tool_texts(agent)[0] and len(tool_texts(agent)[0]) < 1100


# -- tools that end the run -------------------------------------------------------------------------


def test_row_55_finish_ends_the_run_with_its_answer() -> None:
    agent = scripted(calls(("finish", {"answer": "42"})), {"text": "never"})
    agent.toolbox.with_defaults("finish")
    assert agent.instruct("go").execute().unwrap() == "42"
    assert len(agent.model.requests) == 1


def test_row_55_an_empty_answer_is_refused_and_the_run_goes_on() -> None:
    agent = scripted(
        calls(("finish", {"answer": " "})), calls(("complete_task", {"result": "done"})), {"text": "never"}
    )
    agent.toolbox.with_defaults("finish")
    assert agent.instruct("go").execute().unwrap() == "done"
    assert "empty" in tool_texts(agent)[0]


def test_row_55_only_a_success_ends_the_run() -> None:
    @tool_attr(ends_run=True)
    def stop(really: bool) -> str:
        """Stop."""
        if not really:
            raise ToolError("not yet")
        return "stopped"

    agent = scripted(calls(("stop", {"really": False})), calls(("stop", {"really": True})), {"text": "x"}, tools=[stop])
    assert agent.instruct("go").execute().unwrap() == "stopped"


def test_row_54_the_history_can_be_counted_and_searched() -> None:
    agent = scripted(calls(("order", {})), {"text": "The ORDER is paid."}, tools=[lambda_free(order)])
    agent.toolbox.with_defaults("history")
    agent.instruct("where is my order?").execute()
    info = agent.toolbox.call_tool(agent, "history_info", {}).unwrap()
    assert info["messages"] == {"user": 1, "assistant": 2, "tool": 1} and info["tool_calls"] == {"order": 1}

    def search(**arguments: Any) -> list[tuple[int, str]]:
        found = agent.toolbox.call_tool(agent, "history_search", arguments).unwrap()
        return [(item["number"], item["kind"]) for item in found["matches"]]

    assert search(query="order") == [(3, "assistant"), (1, "assistant"), (0, "user")]
    assert search(query="paid", kinds=["tool"]) == [(2, "tool")]
    assert search(query="order", start=1, end=3) == [(1, "assistant")]
    assert search(query="order", limit=1) == [(3, "assistant")]
    assert agent.toolbox.call_tool(agent, "history_search", {"query": ""}).is_err()
