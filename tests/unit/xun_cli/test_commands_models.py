"""/model, /models, /tools and /tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fake_session import FakeSession, places, shown
from xun.errors import ToolError
from xun_cli.commands.registry import CommandContext, default_registry
from xun_cli.commands.tools import read_arguments
from xun_cli.settings import Settings


def add(a: int, b: int = 1) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


def echo(text: str, times: int | None = None) -> str:
    """Give the text back."""
    return text * (times or 1)


def broken() -> str:
    """Fail."""
    raise ToolError("It is broken.")


@pytest.fixture
def session(tmp_path: Path) -> FakeSession:
    made = FakeSession(tmp_path)
    made.agent.toolbox.register(add, echo, broken)
    return made


@pytest.fixture
def ctx(session: FakeSession, tmp_path: Path) -> CommandContext:
    return CommandContext(session, places(tmp_path / "home"), Settings())  # type: ignore[arg-type]


async def test_model_shows_and_switches(ctx: CommandContext, session: FakeSession) -> None:
    assert "100,000 tokens" in await shown(ctx, "/model")
    assert await shown(ctx, "/model other-model") == ""  # the session's own notice says it
    assert session.model_name == "other-model"
    assert [item.event.text for item in session.history() if item.event.type == "notice"] == [
        "The model is now other-model."
    ]
    assert "already" in await shown(ctx, "/model other-model")
    assert "no blanks" in await shown(ctx, "/model two words")


async def test_a_model_that_the_server_does_not_list_is_taken_with_a_warning(
    ctx: CommandContext, session: FakeSession
) -> None:
    said = await shown(ctx, "/model other-modle")
    assert "does not list other-modle" in said and "Did you mean other-model?" in said
    assert session.model_name == "other-modle"


async def test_models_are_listed_and_filtered(ctx: CommandContext) -> None:
    text = await shown(ctx, "/models")
    assert "▸  fake-model" in text and "big-model" in text
    assert "big-model" not in await shown(ctx, "/models OTHER")
    assert "None of 3" in await shown(ctx, "/models zzz")


async def test_tools_are_listed_switched_and_named(ctx: CommandContext, session: FakeSession) -> None:
    assert "Add two numbers." in await shown(ctx, "/tools")
    assert await shown(ctx, "/tools off e*") == "Switched off: echo. It holds from the next message on."
    assert session.agent.toolbox.is_disabled("echo")
    assert "echo    off" in await shown(ctx, "/tools")
    assert "No tool that is on matches" in await shown(ctx, "/tools off e*")
    assert "Switched on: echo" in await shown(ctx, "/tools on echo")
    assert "on GLOB" in await shown(ctx, "/tools off")
    assert [value for value, _ in default_registry().complete(ctx, "/tools off b")] == ["/tools off broken"]


async def test_tool_calls_go_through_the_toolbox(ctx: CommandContext) -> None:
    assert '"sum": 5' in await shown(ctx, "/tool add a=2 b=3")
    assert await shown(ctx, "/tool echo text=12 times=2") == "1212"
    assert await shown(ctx, "/tool echo text='two words'") == "two words"
    assert await shown(ctx, "/tool broken") == "It is broken."


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/tool", "name of a tool"),
        ("/tool nosuch", "no tool named"),
        ("/tool add a", "no key=value"),
        ("/tool add a=1 a=2", "given twice"),
        ("/tool add a=x", "a"),
        ("/tool echo text='open", "No closing quotation"),
    ],
)
async def test_wrong_calls_are_one_error(ctx: CommandContext, line: str, words: str) -> None:
    (output,) = (await default_registry().run(ctx, line)).outputs
    assert output.kind == "error" and words in output.text


def test_completion_of_a_tools_arguments(ctx: CommandContext) -> None:
    complete = default_registry().complete
    assert [value for value, _ in complete(ctx, "/tool ad")] == ["/tool add"]
    assert [value for value, _ in complete(ctx, "/tool add ")] == ["/tool add a=", "/tool add b="]
    assert [value for value, _ in complete(ctx, "/tool add a=1 ")] == ["/tool add a=1 b="]


def test_arguments_are_read_by_the_schema() -> None:
    properties: dict[str, Any] = {
        "text": {"type": "string"},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    }
    given = ["text=12", "maybe=null", "n=3", "flag=true", "list=[1,2]", "odd={", "eq=a=b"]
    assert read_arguments(given, properties) == {
        "text": "12",
        "maybe": "null",
        "n": 3,
        "flag": True,
        "list": [1, 2],
        "odd": "{",
        "eq": "a=b",
    }
