"""A user's program, as mypy sees it: `# R:` a revealed type, `# E:` an error that must be found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, reveal_type

from pydantic import BaseModel

from xun import (
    Agent,
    AgentConfig,
    AgentGetterParam,
    ChoiceOutcome,
    ErrorInfo,
    Hooks,
    Result,
    ToolBox,
    ToolCallContext,
    Workspace,
    events,
    tool_attr,
)
from xun.choice import ChoiceRequest
from xun.models import OpenAIModel, ScriptedModel
from xun.tools import Function, StatefulTool


@dataclass
class City:
    name: str


@tool_attr(name="count", sequential=True)
def count(ctx: ToolCallContext[dict[str, int]], word: str, limit: int = 5) -> int:
    """Count a word."""
    ctx.value["n"] = 1
    ctx.value["n"] = "one"  # E: Incompatible types in assignment
    ctx.value = {}  # E: Property "value" defined in "ToolCallContext" is read-only
    reveal_type(ctx.value)  # R: dict[str, int]
    reveal_type(ctx.agent)  # R: Agent[Any]
    return limit


reveal_type(count)  # R: def (ctx: ToolCallContext[dict[str, int]], word: str, limit: int =) -> int

box = ToolBox(count).with_defaults("fs").disable("write_*")


@box.tool
def shout(text: str) -> str:
    """Shout."""
    return text.upper()


@box.tool(name="whisper")
def low(text: str) -> str:
    """Whisper."""
    return text.lower()


class Words:
    """Any object with these four is a tool."""

    name = "words"
    parameters: Mapping[str, Any] = {"type": "object"}

    @property
    def description(self) -> str:
        return "Count words."

    async def invoke(self, arguments: dict[str, Any]) -> int:
        return len(arguments)


class NoteArgs(BaseModel):
    text: str


class Note(StatefulTool):
    """Keep a note."""

    args_model = NoteArgs

    async def start(self) -> None:
        self.notes: list[str] = []

    def run(self, ctx: ToolCallContext[Any], args: NoteArgs) -> list[str]:
        return [*self.notes, args.text]


box.register(Words(), Note, count, Function.from_function(count, name="other", preset={"word": "x"}))
box.register(5)  # E: incompatible type "int"
reveal_type(ToolBox.from_specs([{"name": "note"}]))  # R: ToolBox
with box.entered(retry=2):
    pass

reveal_type(shout)  # R: def (text: str) -> str
reveal_type(low)  # R: def (text: str) -> str


class Chooser:
    async def choose(self, request: ChoiceRequest) -> ChoiceOutcome[Literal["once"]]:
        return ChoiceOutcome("once", "user")


def getter(param: AgentGetterParam) -> Agent[Agent.T.New]:
    return Agent(param.name, param.tool_context.agent.model)


made = Agent(
    "main",
    ScriptedModel([{"text": "hi"}]),
    box.with_subagent_provider(getter),
    Workspace("."),
    AgentConfig(auto_confirm=False),
    Chooser(),
    Hooks(),
    {"key": 1},
)
reveal_type(made)  # R: Agent[Agent.T.New]
made.execute()  # E: Invalid self argument
agent = made.system("Be kind.").initialize()
reveal_type(agent)  # R: Agent[Agent.T.Init]
reveal_type(agent.instruct("x"))  # R: Agent[Agent.T.Init]

reveal_type(agent.tool.count(word="a"))  # R: Result[Any, ErrorInfo]
answer = agent.instruct("Say it.").execute(context={"n": 0})
reveal_type(answer)  # R: Result[str, ErrorInfo]
reveal_type(answer.unwrap())  # R: str
reveal_type(answer.unwrap_err().error)  # R: str
reveal_type(agent.execute(City).unwrap())  # R: City
reveal_type(agent.execute({"type": "object"}).unwrap())  # R: Any
if agent.get_confirm("Proceed?").choice:
    reveal_type(agent.get_choice("Which?", ["a"]).choice)  # R: str

with Agent(model=OpenAIModel("gpt-5-mini")) as other:
    reveal_type(other)  # R: Agent[Agent.T.Init]
    reveal_type(other.toolbox.call_tool(other, "count", {"word": "a"}, None))  # R: Result[Any, Any]
    Agent(model="gpt")  # E: incompatible type "str"

ok: Result[int, ErrorInfo] = Result.Ok(1)
wrong: Result[int, ErrorInfo] = Result.Ok("1")  # E: incompatible type "str"
failed: Result[int, ErrorInfo] = Result.Err(ErrorInfo("no"), "denied")
odd: Result[int, ErrorInfo] = Result.Err(ErrorInfo("no"), "strange")  # E: incompatible type "Literal['strange']"


async def main() -> list[str]:
    reveal_type(await agent.aexecute(City))  # R: Result[City, ErrorInfo]
    texts: list[str] = []
    async for event in agent.events(context=3):
        reveal_type(event)  # R: Event
        if isinstance(event, events.ToolCompleted):
            texts.append(event.content)
    chosen: ChoiceOutcome[Any] = await agent.aget_choice("Which?", ["a", "b"])
    return [*texts, str(chosen.choice)]
