"""/undo, /redo and /diff over the real edit tools."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fakes.fake_session import FakeSession, places, run, shown
from tests.fakes.hostile_git import git
from xun.events import ApprovalResolved, ContextAdded, ToolStarted
from xun.tools.context import CallScope
from xun.tools.running import run_sync
from xun_builtin_tools.diffs import unified
from xun_cli.commands.changes import invert
from xun_cli.commands.registry import CommandContext, default_registry
from xun_cli.settings import Settings


@pytest.fixture
def session(tmp_path: Path) -> FakeSession:
    folder = tmp_path / "proj"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    made = FakeSession(folder)
    made.policy.mode = "auto-edit"
    made.agent.toolbox.with_defaults("fs", "patch")
    return made


@pytest.fixture
def ctx(session: FakeSession, tmp_path: Path) -> CommandContext:
    return CommandContext(session, places(tmp_path / "home"), Settings())  # type: ignore[arg-type]


def call(session: FakeSession, name: str, turn: int, **arguments: Any) -> None:
    scope = CallScope(turn=turn)
    agent: Any = session.agent
    tool, prepared = agent.toolbox.prepare(agent, name, arguments, None, scope=scope)
    result = run_sync(tool, prepared)
    assert result.is_ok(), result.value


async def test_undo_previews_asks_and_restores(ctx: CommandContext, session: FakeSession) -> None:
    call(session, "replace", 1, path="a.txt", old="two", new="TWO")
    call(session, "write_file", 1, path="new.txt", content="n\n")
    session.answers = [False, True]
    assert "Nothing was undone" in await shown(ctx, "/undo")
    assert (session.cwd / "a.txt").read_text() == "one\nTWO\nthree\n"
    request = session.asked[0]
    assert "M a.txt" in request.message and "+two" in request.message and "new.txt" in request.message
    assert "2 paths" in request.prompt
    text = await shown(ctx, "/undo")
    assert "Undone: a.txt" in text and "Undone: new.txt" in text
    assert (session.cwd / "a.txt").read_text() == "one\ntwo\nthree\n" and not (session.cwd / "new.txt").exists()
    assert isinstance(session.events[-1], ContextAdded) and "took back" in session.agent.history[-1].text


async def test_redo(ctx: CommandContext, session: FakeSession) -> None:
    assert "nothing to redo" in await shown(ctx, "/redo")
    call(session, "replace", 1, path="a.txt", old="two", new="TWO")
    session.answers = [True]
    await run(ctx, "/undo")
    assert "Done again: a.txt" in await shown(ctx, "/redo")
    assert (session.cwd / "a.txt").read_text() == "one\nTWO\nthree\n"


async def test_undo_of_several_turns(ctx: CommandContext, session: FakeSession) -> None:
    call(session, "replace", 1, path="a.txt", old="one", new="1")
    call(session, "replace", 2, path="a.txt", old="two", new="2")
    call(session, "replace", 4, path="a.txt", old="three", new="3")
    session.answers = [True, True]
    await run(ctx, "/undo")
    assert (session.cwd / "a.txt").read_text() == "1\n2\nthree\n"
    await run(ctx, "/undo 2")
    assert (session.cwd / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert "nothing to undo" in await shown(ctx, "/undo")
    assert not (await run(ctx, "/undo x")).ok and not (await run(ctx, "/undo 0")).ok


async def test_undo_refuses_without_a_question_when_a_file_changed_since(
    ctx: CommandContext, session: FakeSession
) -> None:
    call(session, "replace", 1, path="a.txt", old="two", new="TWO")
    call(session, "write_file", 1, path="b.txt", content="b\n")
    (session.cwd / "a.txt").write_text("my own work\n")
    result = await run(ctx, "/undo")
    assert [output.kind for output in result.outputs] == ["error"] and "a.txt" in result.outputs[0].text
    assert session.asked == [] and (session.cwd / "b.txt").exists()
    assert (session.cwd / "a.txt").read_text() == "my own work\n"


def decided(command: str, choice: str, source: str) -> ApprovalResolved:
    return ApprovalResolved(kind="command", subject=command, choice=choice, source=source)


async def test_commands_that_may_have_changed_something_are_named_as_not_undoable(
    ctx: CommandContext, session: FakeSession
) -> None:
    session.turn = 1
    session.emit(decided("ls -la", "allow", "allowlist"))
    session.emit(decided("rm -rf build", "deny", "user"))
    assert "What commands changed" not in await shown(ctx, "/undo")
    session.emit(decided("make  install", "once", "user"))
    session.emit(decided("npm ci", "allow", "risk"))
    session.emit(ToolStarted(call_id="1", tool="shell", args={"command": "touch mine"}))
    named = await shown(ctx, "/undo")
    assert "make install" in named and "npm ci" in named and "touch mine" in named
    assert "ls -la" not in named and "rm -rf" not in named
    call(session, "replace", 1, path="a.txt", old="two", new="TWO")
    session.answers = [True]
    assert "What commands changed is not undone" in await shown(ctx, "/undo")
    assert "make install" in session.asked[0].message


async def test_diff_of_the_session_reads_forward(ctx: CommandContext, session: FakeSession) -> None:
    call(session, "replace", 1, path="a.txt", old="two", new="TWO")
    call(session, "replace", 2, path="a.txt", old="TWO", new="Two")
    call(session, "write_file", 2, path="sub/new.txt", content="n\n")
    result = await run(ctx, "/diff")
    texts = [output.text for output in result.outputs]
    assert [output.kind for output in result.outputs] == ["text", "diff", "text", "diff"]
    assert texts[0] == "M a.txt  +1 −1" and texts[2] == "A sub/new.txt  +1 −0"
    assert "-two\n+Two\n" in texts[1] and "TWO" not in texts[1] and texts[3] == "@@ -0,0 +1 @@\n+n\n"
    assert [output.text for output in (await run(ctx, "/diff sub")).outputs] == texts[2:]
    assert "made no change to README" in await shown(ctx, "/diff README --session")
    assert not (await run(ctx, "/diff /etc --session")).ok


async def test_a_change_that_was_taken_back_by_hand_is_no_difference(ctx: CommandContext, session: FakeSession) -> None:
    call(session, "replace", 1, path="a.txt", old="two", new="TWO")
    (session.cwd / "a.txt").write_text("one\ntwo\nthree\n")
    assert "made no change" in await shown(ctx, "/diff")


async def test_binary_files_are_named_without_a_diff(ctx: CommandContext, session: FakeSession) -> None:
    (session.cwd / "b.bin").write_bytes(b"\0\1")
    call(session, "write_file", 1, path="b.bin", content="text now\n")
    assert await shown(ctx, "/diff") == "M b.bin  no text, or too large for a diff"


async def test_diff_without_changes_and_with_git(ctx: CommandContext, session: FakeSession) -> None:
    assert "no git repository" in await shown(ctx, "/diff")
    assert not (await run(ctx, "/diff --git")).ok
    git(session.cwd, "init", "-q", ".")
    git(session.cwd, "add", "-A")
    git(session.cwd, "commit", "-q", "-m", "first")
    assert "Nothing differs" in await shown(ctx, "/diff")
    (session.cwd / "a.txt").write_text("one\n2\nthree\n")
    (session.cwd / "u.txt").write_text("")
    text = await shown(ctx, "/diff")
    assert "-two" in text and "+2" in text and "u.txt" in text
    assert "+2" in await shown(ctx, "/diff a.txt --git")
    assert not (await run(ctx, "/diff --git --session")).ok


def test_completion_names_changed_files(ctx: CommandContext, session: FakeSession) -> None:
    call(session, "replace", 1, path="a.txt", old="two", new="TWO")
    values = [value for value, _ in default_registry().complete(ctx, "/diff a")]
    assert values == ["/diff a.txt"]


LINES = st.lists(st.sampled_from(["a", "b", "c", "-d", "+e", "\\f", "@@ x", ""]), max_size=8)


@example(["b", "b", "b", "a", "b", "b", "b", "a"], ["b", "b", "b", "b", "b", "b", "b", "a"], False, False)
@given(LINES, LINES, st.booleans(), st.booleans())
def test_an_inverted_diff_applies_the_other_way(old: list[str], new: list[str], cut_old: bool, cut_new: bool) -> None:
    before = "\n".join(old) + ("" if cut_old or not old else "\n")
    after = "\n".join(new) + ("" if cut_new or not new else "\n")
    there, added, removed = unified(before, after)
    back = invert(there)
    assert invert(back) == there or sorted(invert(back)) == sorted(there)
    if there:
        assert _apply(after, back) == before
    assert (added, removed) == (_count(back, "-"), _count(back, "+"))


def _count(diff: str, sign: str) -> int:
    return sum(line.startswith(sign) for line in diff.splitlines())


def _apply(text: str, hunks: str) -> str:
    patch = f"--- f\n+++ f\n{hunks}"
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f")
        path.write_text(text)
        subprocess.run(["patch", "-s", "-u", str(path)], input=patch, text=True, check=True, cwd=folder)
        return path.read_text() if path.exists() else ""
