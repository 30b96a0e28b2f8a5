"""The code blocks of the specification, run as they are written."""

from __future__ import annotations

import datetime
import textwrap
from typing import Any

import pytest

from xun import Agent, ChoiceOutcome, ToolBox
from xun.models import ScriptedModel

FUNCTION_AS_TOOL = '''
from xun import ToolBox

def list_dir(path: str, details: bool = False) -> dict:
    """List the contents of a directory.
    Returns names of files and directories; with details also sizes."""
    ...

toolbox = ToolBox().register(list_dir)
'''

TOOL_ATTR = '''
from xun import tool_attr

@tool_attr(name="MultiplyTool")
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b
'''

CONTEXT = '''
from xun import ToolCallContext as Context
import datetime

def stamp(context: Context[dict]) -> str:
    """Record the call time into the shared context."""
    context.value["tool_call_time"] = datetime.datetime.now().isoformat()
    return context.value["tool_call_time"]

agent.instruct("Call your only tool.").execute(context={"tool_call_time": "?"})
'''

CONFIRM = """
if agent.get_confirm("Proceed?").choice: ...
"""

CONFIRM_WRONG = """
if agent.get_confirm("Proceed?"): ...
"""


def run(block: str, **names: Any) -> dict[str, Any]:
    exec(compile(textwrap.dedent(block), "specification", "exec"), names)
    return names


class Yes:
    async def choose(self, request: Any) -> ChoiceOutcome[Any]:
        return ChoiceOutcome(True)


def test_function_as_tool():
    toolbox = run(FUNCTION_AS_TOOL)["toolbox"]
    [entry] = toolbox.list_tools_json()
    assert entry["function"] == {
        "name": "list_dir",
        "description": "List the contents of a directory.\n"
        "    Returns names of files and directories; with details also sizes.",
        "parameters": {
            "type": "object",
            "properties": {
                "path": {"title": "Path", "type": "string"},
                "details": {"title": "Details", "type": "boolean", "default": False},
            },
            "required": ["path"],
            "additionalProperties": False,
        },
    }


def test_tool_attr():
    multiply = run(TOOL_ATTR)["multiply"]
    toolbox = ToolBox(multiply)
    assert multiply(2, 3) == 6
    assert [(tool.name, tool.description) for tool in toolbox.list_tools()] == [
        ("MultiplyTool", "Multiply two numbers.")
    ]
    assert toolbox.call_tool(Agent(), "MultiplyTool", {"a": 6, "b": 7}, None).unwrap() == 42


def test_context():
    model = ScriptedModel([{"tool_calls": [{"name": "stamp", "arguments": {}}]}, {"text": "called"}])
    with Agent(model=model) as agent:
        head, tail = CONTEXT.split("\nagent.")
        names = run(head)
        agent.toolbox.register(names["stamp"])
        run("agent." + tail, agent=agent)
        assert agent.last_result.unwrap() == "called"
        [answer] = [message.text for message in agent.history if message.role == "tool"]
        assert datetime.datetime.fromisoformat(answer) <= datetime.datetime.now()


def test_confirm():
    agent = Agent(chooser=Yes()).initialize()
    run(CONFIRM, agent=agent)
    with pytest.raises(TypeError):
        run(CONFIRM_WRONG, agent=agent)


def test_confirm_inside_a_tool():
    def tool() -> str:
        run(CONFIRM, agent=agent)
        return "fine"

    model = ScriptedModel([{"tool_calls": [{"name": "tool", "arguments": {}}]}, {"text": ""}])
    agent = Agent(model=model, toolbox=ToolBox(tool), chooser=Yes()).initialize()
    agent.instruct("go").execute()
    assert [message.text for message in agent.history if message.role == "tool"] == ["fine"]
    agent.finalize()
