"""Servers that do what no server should: no call waits for ever, nothing takes others with it or stays behind."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from xun import Agent, ToolBox
from xun.errors import ConfigError
from xun.events import ToolOutput
from xun.mcp import McpServer
from xun.mcp.lines import Lines, messages_of
from xun.mcp.listing import unbounded
from xun.mcp.results import value_of
from xun.mcp.tools import mcp_tools
from xun.models import ScriptedModel

HOSTILE = Path(__file__).with_name("mcp_hostile.py")


def hostile(mode: str = "", **changes: Any) -> McpServer:
    return McpServer("bad", command=[sys.executable, "-S", str(HOSTILE), mode], **{"timeout": 5.0, **changes})


@pytest.fixture(scope="module")
def box() -> ToolBox:
    return ToolBox().with_mcp(hostile())


@pytest.fixture
def agent(box: ToolBox) -> Iterator[Agent[Any]]:
    with Agent(toolbox=box) as agent:
        yield agent


def listed(mode: str) -> tuple[dict[str, Any], list[str]]:
    left_out: list[str] = []
    return {tool.name: tool for tool in mcp_tools([hostile(mode)], left_out)}, left_out


def test_what_is_no_answer_is_passed_over_and_a_broken_answer_is_an_error(
    box: ToolBox, agent: Agent[Any], capfd: pytest.CaptureFixture[str]
):
    for name, answer in (("twice", "one"), ("strange", "ok"), ("noise", "ok"), ("batch", "ok"), ("surrogate", "a�b")):
        assert box.call_tool(agent, f"bad__{name}", {}).unwrap() == answer
    for name, why in (
        ("nothing", "The MCP server bad gave no valid result for nothing: it is no answer of JSON-RPC"),
        ("deep", "The MCP server bad gave no valid result for deep: it is nested too deeply"),
        ("busy", "The MCP server bad refused the call of busy: the database is busy"),
    ):
        assert box.call_tool(agent, f"bad__{name}", {}).unwrap_err().error == why
    assert len(box.call_tool(agent, "bad__big", {}).unwrap()) == 3_000_000
    assert capfd.readouterr() == ("", "")
    # Without a handler Python itself writes to standard error, but not under pytest, which has one.
    assert all(logging.getLogger(name).handlers for name in ("mcp", "client"))


def test_what_the_content_of_an_answer_is_is_said(box: ToolBox, agent: Agent[Any]):
    link = box.call_tool(agent, "bad__link", {}).unwrap()
    assert link == "[A: file:///a (the first)]\n[Content of the kind audio (audio/wav), which can't be shown]"
    misfit = box.call_tool(agent, "bad__misfit", {}).unwrap()
    assert misfit["structured"] == {"degrees": "seven"} and misfit["text"] == "7 degrees"
    assert misfit["note"] == "It is not what the tool promises: 'seven' is not of type 'number'"


def test_a_text_of_brackets_beside_the_content_is_only_a_text():
    from mcp.types import CallToolResult, TextContent

    text = "[" * 100_000
    result = CallToolResult(content=[TextContent(type="text", text=text)], structured_content={"a": 1})
    assert value_of(result) == {"text": text, "structured": {"a": 1}}


def test_progress_is_shown(box: ToolBox):
    model = ScriptedModel([{"tool_calls": [{"name": "bad__progress", "arguments": {}}]}, {"text": "done"}])
    shown: list[str] = []

    async def run(agent: Agent[Any]) -> None:
        async for event in agent.instruct("go").events():
            if isinstance(event, ToolOutput):
                shown.append(event.text)

    with Agent(model=model, toolbox=box) as agent:
        asyncio.run(run(agent))
    assert "reading (1 of 3)" in "".join(shown)


def test_the_end_of_a_server_is_noticed_while_its_child_holds_the_output(box: ToolBox, agent: Agent[Any]):
    begun = time.monotonic()
    error = box.call_tool(agent, "bad__childish", {}).unwrap_err().error
    assert "ended during the call of childish" in error
    assert time.monotonic() - begun < 20, "the child holds it for a minute"
    assert box.call_tool(agent, "bad__noise", {}).unwrap() == "ok"


def over(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"  # nobody waits for orphans here


def test_nothing_that_a_server_started_outlives_it(box: ToolBox, agent: Agent[Any]):
    number = int(box.call_tool(agent, "bad__hold", {}).unwrap())
    os.kill(number, 0)
    agent.finalize()
    deadline = time.monotonic() + 10
    while not over(number):
        assert time.monotonic() < deadline, "it still runs"
        time.sleep(0.02)


def test_one_bad_tool_does_not_take_the_others_with_it():
    tools, left_out = listed("schemas")
    good = ["plain", "typeless", "either", "draft3", "ecma", "slow", "keys", "odd", "wordy"]
    assert list(tools) == [f"bad__{name}" for name in good]
    assert all(tool.tool_schema["type"] == "object" for tool in tools.values())
    assert tools["bad__draft3"].tool_schema["properties"]["a"] == {"type": "string"}
    assert tools["bad__ecma"].tool_schema["properties"]["a"] == {}
    assert tools["bad__wordy"].tool_schema["properties"]["a"] == {}
    assert tools["bad__odd"].output_schema is None
    assert [word for word in ("nowhere", "list", "5", "huge") if any(word in line for line in left_out)] == [
        "nowhere",
        "list",
        "5",
        "huge",
    ]
    assert len(left_out) == 4


def test_a_pattern_of_a_server_never_holds_up_a_call():
    tools, _ = listed("schemas")
    begun = time.monotonic()
    tools["bad__slow"]._signature.bind({"a": "a" * 60 + "!"})
    tools["bad__keys"]._signature.bind({"x1": 1})
    assert time.monotonic() - begun < 20


def test_items_are_not_compared_with_each_other_here():
    many = {"type": "array", "uniqueItems": True}
    schema = {"properties": {"a": many, "uniqueItems": {"type": "string"}}}
    assert unbounded(schema) == {"properties": {"a": {"type": "array"}, "uniqueItems": {"type": "string"}}}


def test_names_that_become_one_are_told_apart():
    tools, left_out = listed("names")
    assert len(tools) == 4 and len(left_out) == 2
    assert "bad__a_b" in tools and all(len(name) <= 64 for name in tools)


def test_a_description_fits_a_request_and_a_list_ends():
    tools, _ = listed("talk")
    assert len(tools["bad__talk"].description) == 2048
    with pytest.raises(ConfigError, match="lists its tools without end"):
        listed("endless")


def test_an_overlong_message_fails_its_call_only_and_is_not_kept():
    lines = Lines(limit=1000)
    found = list(lines.feed(b'{"jsonrpc":"2.0","id":7,"result":{"x":"' + b"x" * 5000))
    assert found == []
    ((line, whole),) = lines.feed(b'"}}\n{"jsonrpc"')
    assert not whole and len(line) <= 1000
    (message,) = messages_of(line, whole)
    assert getattr(message, "id", None) == 7 and "longer than" in message.model_dump()["error"]["message"]
    ((line, whole),) = lines.feed(b':"2.0","method":"x"}\n')
    assert whole and getattr(messages_of(line)[0], "method", None) == "x"


@pytest.mark.parametrize("path", [".", "", "bin:."])
def test_no_program_of_the_current_folder_is_started(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / "mcp-tool"
    program.write_text("#!/bin/sh\n: > started\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="mcp-tool"):
        mcp_tools([McpServer("here", command=["mcp-tool"], env={"PATH": path})])
    assert not (tmp_path / "started").exists()
