"""Slash commands take whatever is typed: they answer or refuse, and nothing of it reaches the model."""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.fakes.fake_session import places
from tests.fakes.sizes import examples
from xun import Agent, ToolBox, Workspace
from xun.choice import ChoiceOutcome, ChoiceRequest
from xun.errors import XunError
from xun.messages import Image
from xun.models import ScriptedModel
from xun_cli.commands.policy_ops import parse_command
from xun_cli.commands.registry import CommandContext, default_registry, is_command, split_line
from xun_cli.session.session import Session
from xun_cli.settings import Settings
from xun_policies.store import PolicyState

NAMES = sorted(command.name for command in default_registry().all() if command.name != "doctor")
FORMS = [
    f"policy {form}"
    for form in (
        "show", "allow command", "allow write", "remove command", "remove write", "reset", "test", "test-write", "log",
        "undo", "export", "import", "cmd_allowlist_add", "path_allowlist_remove",
    )
]  # fmt: skip
PLAIN = "a --dir --all --yes c1 w1 * x.md x.toml .. / ~ on off 1 --git --format json 你好 git $(id) drop ' \\ \" \0"
WORDS = st.sampled_from([*PLAIN.split(" "), "\n", "9" * 30, "\x1b[31m", "\ud800", "npm test", "drop 1"])
TOKENS = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=8)
RESTS = st.one_of(st.lists(WORDS, max_size=4).map(" ".join), st.text(max_size=30))


class NoSayer(Session):
    """A session whose person answers no to everything."""

    def __init__(self, cwd: Path) -> None:
        agent: Agent[Any] = Agent(model=ScriptedModel([]), toolbox=ToolBox(), workspace=Workspace(cwd)).initialize()
        super().__init__(agent)
        self.submitted: list[str] = []
        self.start()

    async def choose(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
        return ChoiceOutcome(False, "user")

    async def submit(self, text: str, *, shown: str = "", images: Sequence[Image] = ()) -> None:
        self.submitted.append(text)


@contextmanager
def no_sayer(cwd: Path) -> Iterator[NoSayer]:
    session = NoSayer(cwd)
    yield session
    session.agent.finalize()
    session.agent.workspace.close()


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from([*NAMES, *FORMS]), RESTS)
@example("policy test-write", "a\0b")
@example("policy allow write", "\ud800")
@example("add-dir", "\0")
@example("export", "\0.md")
@example("diff", "a\0 --git")
def test_any_line_is_answered_and_never_sent(name: str, rest: str) -> None:
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base, "proj")
        folder.mkdir()
        with no_sayer(folder) as session:
            ctx = CommandContext(session, places(Path(base, "home")), Settings())
            result = asyncio.run(default_registry().run(ctx, f"/{name} {rest}"))
        assert result.outputs or result.action
        assert session.submitted == []
        for output in result.outputs:
            assert isinstance(output.plain(), str)
            if output.kind == "error":
                assert output.text.strip()
        PolicyState.from_json(session.policy.to_json())


@given(st.text(max_size=40))
def test_completion_never_fails_and_continues_what_is_typed(rest: str) -> None:
    with tempfile.TemporaryDirectory() as base, no_sayer(Path(base)) as session:
        session.policy.command_allowlist.add(("npm", "test"))
        ctx = CommandContext(session, places(Path(base, "home")), Settings())
        for head in ("/", "/policy ", "/policy remove command ", "/tool ", "/diff ", "/config ", "/resume "):
            for value, _ in default_registry().complete(ctx, head + rest):
                assert value.startswith("/") and "\n" not in value


@given(
    st.lists(
        st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=8), min_size=1, max_size=4
    )
)
def test_a_prefix_is_taken_word_by_word_or_refused(tokens: list[str]) -> None:
    try:
        parsed = parse_command(shlex.join(tokens), PolicyState())
    except XunError:
        return
    assert parsed == tuple(tokens)


@pytest.mark.parametrize("text", ["npm test", "cargo build --release", "make 'my target'", "git commit -m 'a b'"])
def test_ordinary_prefixes_are_taken(text: str) -> None:
    assert parse_command(text, PolicyState()) == tuple(shlex.split(text))


@given(st.text(max_size=60))
def test_the_parts_of_a_line_are_its_own(rest: str) -> None:
    line = "/" + rest
    name, argument = split_line(line)
    assert argument == argument.strip() and not any(char.isspace() for char in name)
    assert line.startswith("/" + name)
    assert is_command(line) is ("/" not in name)
