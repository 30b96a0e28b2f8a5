"""What the pages of four other tool systems show, as a program for xun: one part per page."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest
from pydantic import BaseModel, Field

from tests.contract.test_tool_shell import Shell
from tests.fakes.runs import calls, of, scripted, stream, tool_texts
from xun import Agent, AgentConfig, ToolBox, ToolCallContext, ToolCallFormatError, ToolFailed, Workspace, tool_attr
from xun.events import ToolCompleted
from xun.tools import Function, StatefulTool, ToolRegistry

DONE = {"text": "done"}

# -- class tools, specifications, a shell that stays -------------------------------------------


class ReadTextArgs(BaseModel):
    path: str = Field(description="Path in the environment.")


class ReadText(StatefulTool):
    """Read a UTF-8 text file."""

    args_model = ReadTextArgs

    async def run(self, ctx: ToolCallContext[Any], args: ReadTextArgs) -> str:
        return await asyncio.to_thread(ctx.agent.environment.read_text, args.path)


async def test_toolbox_of_specifications_with_a_shell_that_stays(tmp_path: Path):
    registry = ToolRegistry()
    registry.register("stateful_shell", Shell)
    registry.register("read_text", ReadText)
    box = ToolBox.from_specs(
        [
            {"name": "stateful_shell", "command_timeout": 20, "env_vars": {"PAGER": "cat"}},
            {"name": "read_text"},
            {"name": "finish"},
        ],
        registry=registry,
    )
    with Agent(toolbox=box, workspace=Workspace(tmp_path), config=AgentConfig(auto_confirm=True)) as agent:
        async with box.entered(retry=3, timeout=60):
            schemas = {entry["function"]["name"]: entry["function"]["parameters"] for entry in box.list_tools_json()}
            assert list(schemas) == ["shell", "read_text", "finish"]
            assert schemas["read_text"]["properties"]["path"]["description"] == "Path in the environment."
            await box.acall_tool(agent, "shell", {"command": "mkdir sub && cd sub && export GREETING=hello"})
            result = await box.acall_tool(agent, "shell", {"command": 'printf %s "$GREETING" > note; cat note'})
            assert result.unwrap() == "hello\n[exit code] 0"
            assert (await box.acall_tool(agent, "read_text", {"path": "sub/note"})).unwrap() == "hello"
            assert (await box.acall_tool(agent, "read_text", {"path": "none"})).is_err()
            with pytest.raises(ToolCallFormatError):
                await box.acall_tool(agent, "read_text", {"file": "sub/note"})


def test_run_ends_with_its_finishing_tool():
    agent = scripted(calls(("finish", {"answer": "all is well"})), {"text": "never asked for"})
    agent.toolbox = ToolBox.from_specs([{"name": "finish"}])
    assert agent.instruct("go").execute().unwrap() == "all is well"


# -- functions, built arguments, a context with dependencies, tools for one run ----------------


@dataclass
class Address:
    city: str
    street: Annotated[str, "Street and number"] = ""


class Database:
    async def orders(self, user: str, status: str) -> list[str]:
        return [f"{user}: {status} order"]


async def search(query: Annotated[str, "What to look for"], order: Literal["new", "old"] = "new") -> list[str]:
    """Search the documents."""
    return [f"Result for {query}, {order} first"]


def ship(to: Address, express: bool = False) -> str:
    """Ship the parcel."""
    return f"Shipping to {to.city}"


async def my_orders(ctx: ToolCallContext[Database], status: str = "open") -> list[str]:
    """List the user's orders."""
    assert ctx.turn == 1 and ctx.call_id and ctx.usage.output == 5
    return await ctx.value.orders(ctx.agent.name, status)


def fails() -> None:
    """Fail in words of its own."""
    raise ToolFailed("Try again tomorrow.")


async def test_run_with_a_database_for_its_tools():
    agent = scripted(
        calls(
            ("search", {"query": "xun"}), ("ship", {"to": {"city": "Oslo"}}), ("my_orders", {}), ("fails", {}),
            usage={"input": 9, "output": 5},
        ),
        DONE,
        tools=[search, ship, my_orders, fails],
        name="ann",
    )  # fmt: skip
    parameters = agent.toolbox.list_tools_json()[0]["function"]["parameters"]
    assert parameters["properties"]["query"]["description"] == "What to look for"
    assert parameters["properties"]["order"]["enum"] == ["new", "old"]
    assert (await agent.instruct("What did I order?").aexecute(context=Database())).unwrap() == "done"
    assert tool_texts(agent) == [
        '["Result for xun, new first"]',
        "Shipping to Oslo",
        '["ann: open order"]',
        "Try again tomorrow.",
    ]


async def test_tools_of_one_user_for_one_run():
    def plan(ctx: ToolCallContext[Any]) -> str:
        """Tell the plan of the user."""
        return "gold"

    agent = scripted(calls(("plan", {})), DONE, calls(("plan", {})), DONE, tools=[search])
    await agent.instruct("My plan?").aexecute(tools=[plan])
    await agent.instruct("Again?").aexecute()
    assert tool_texts(agent)[0] == "gold" and "no tool named 'plan'" in tool_texts(agent)[1]


# -- YAML, presets, display text, deferred tools -----------------------------------------------

CALCULATOR = """
type: tool
name: SimpleCalculator
description: >-
  A tool for sums like "10 + 5".
input_schema:
  type: object
  properties:
    expression:
      type: string
      description: The sum.
  required:
    - expression
  additionalProperties: false
  $schema: "http://json-schema.org/draft-07/schema#"
"""
SLACK = """
type: tool
name: SlackSendMessage
description: "Send a message to a channel"
defer_loading: true
search_hint: "slack chat"
input_schema:
  type: object
  properties:
    channel: {type: string}
    message: {type: string}
  required: [channel, message]
  additionalProperties: false
"""
SEARCH = """
type: tool
name: WebSearch
description: Search the web.
input_schema:
  type: object
  properties:
    query: {type: string}
  required: [query]
  additionalProperties: false
"""
MODULE = """
import json

def my_search_tool(query: str) -> dict:
    results = [f"{query} 1", f"{query} 2"]
    return {"content": json.dumps(results), "returnDisplay": f"Found {len(results)} results"}

def simple_calculator(expression: str) -> str:
    return str(sum(int(part) for part in expression.split("+")))

def send_message(channel: str, message: str, key: str = "none") -> dict:
    return {"content": f"sent to {channel} with {key}", "returnDisplay": "Sent"}
"""
LISTING = """
tools:
  - name: calculator
    yaml_path: ./SimpleCalculator.tool.yaml
    binding: yaml_page_tools:simple_calculator
  - name: slack_send
    yaml_path: ./SlackSendMessage.tool.yaml
    binding: yaml_page_tools:send_message
    extra_kwargs: {key: secret}
  - name: web_search
    yaml_path: ./WebSearch.yaml
    binding: yaml_page_tools:my_search_tool
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (
        ("SimpleCalculator.tool.yaml", CALCULATOR),
        ("SlackSendMessage.tool.yaml", SLACK),
        ("WebSearch.yaml", SEARCH),
        ("yaml_page_tools.py", MODULE),
        ("agent.yaml", LISTING),
    ):
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_calculator_of_a_yaml_file(folder: Path):
    tool = Function.from_yaml(folder / "SimpleCalculator.tool.yaml", binding=lambda expression: expression.upper())
    assert tool.description == 'A tool for sums like "10 + 5".'
    agent = Agent(toolbox=ToolBox(tool))
    assert agent.tool.SimpleCalculator(expression="a + b").unwrap() == "A + B"
    with pytest.raises(ToolCallFormatError, match="extra: no such parameter"):
        agent.tool.SimpleCalculator(expression="1", extra=2)


async def test_deferred_tool_is_found_called_and_shown_in_other_words(folder: Path):
    agent = scripted(
        calls(("calculator", {"expression": "10 + 5"}), ("tool_search", {"query": "slack"})),
        calls(("slack_send", {"channel": "#a", "message": "hi"})),
        DONE,
    )
    agent.toolbox = ToolBox().with_yaml(folder / "agent.yaml").with_defaults("framework")
    events = await stream(agent)
    offered = [{entry["function"]["name"] for entry in request.tools} for request in agent.model.requests]
    assert "slack_send" not in offered[0] and "slack_send" in offered[1] and "tool_search" in offered[0]
    assert tool_texts(agent)[0] == "15"
    sent = of(events, ToolCompleted)[-1]
    assert sent.display == "Sent" and "secret" in sent.content and "Sent" not in json.loads(json.dumps(sent.content))


async def test_search_tool_of_a_yaml_file_shows_a_summary_to_the_person_only(folder: Path):
    agent = scripted(calls(("web_search", {"query": "xun"})), calls(("web_search", {"q": "xun"})), DONE)
    agent.toolbox = ToolBox().with_yaml(folder / "agent.yaml")
    events = await stream(agent)
    found, refused = of(events, ToolCompleted)
    assert found.display == "Found 2 results"
    assert tool_texts(agent)[0] == '["xun 1", "xun 2"]'
    assert refused.status == "format_error" and "query: required" in tool_texts(agent)[1]


# -- dotted names, renderers, code mode, tools by request --------------------------------------


class Order(TypedDict):
    id: str
    status: str


@tool_attr(name="orders.get", renderer=lambda order: f"order {order['id']}: {order['status']}")
def get_order(order_id: str) -> Order:
    """Look up an order by id."""
    return {"id": order_id, "status": "shipped"}


async def test_rendered_order_under_a_dotted_name():
    agent = scripted(calls(("orders_get", {"order_id": "7"})), DONE, tools=[get_order])
    read: list[str] = []
    agent.hooks.after_tool_call.add(lambda call, result: read.append(result.unwrap()))
    events = await stream(agent)
    assert tool_texts(agent) == read == ["order 7: shipped"]
    assert of(events, ToolCompleted)[0].result == {"id": "7", "status": "shipped"}
    assert agent.tool["orders.get"](order_id="8").unwrap() == {"id": "8", "status": "shipped"}


async def test_code_mode_gathers_calls_of_dotted_tools(tmp_path: Path):
    gather = "a, b = await asyncio.gather(*(tools.orders_get(order_id=i) for i in '12'))"
    code = f"import asyncio\n{gather}\nprint(a['id'] + b['id'])"
    agent = scripted(
        calls(("run_code", {"code": code})),
        DONE,
        tools=[get_order],
        workspace=Workspace(tmp_path),
        config=AgentConfig(code_mode=True, auto_confirm=True),
    )
    await stream(agent)
    agent.finalize()
    assert tool_texts(agent) == ["12\n"]
    request = agent.model.requests[0]
    assert "orders_get" not in {entry["function"]["name"] for entry in request.tools}


async def test_a_hook_chooses_the_tools_of_a_request():
    agent = scripted(calls(("search", {"query": "a"})), DONE, tools=[search, ship])

    @agent.hooks.before_model_call.add
    def provide(draft: Any) -> None:
        draft.tools[:] = [entry for entry in draft.tools if entry["function"]["name"] != "ship"]
        draft.tools[0]["function"]["parameters"]["properties"]["query"]["description"] += "!"

    await stream(agent)
    assert [[entry["function"]["name"] for entry in request.tools] for request in agent.model.requests] == [
        ["search"]
    ] * 2
    assert len(agent.toolbox.list_tools()) == 2
    # An edit is for one request, also deep inside.
    texts = [r.tools[0]["function"]["parameters"]["properties"]["query"]["description"] for r in agent.model.requests]
    assert texts == ["What to look for!"] * 2
