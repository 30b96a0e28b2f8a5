"""/memory: what is remembered, and an editor for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fake_session import FakeSession, run
from xun_cli.commands.output import FileEdit
from xun_cli.commands.registry import CommandContext
from xun_cli.places import Places
from xun_cli.settings import Settings


@pytest.fixture
def ctx(tmp_path: Path) -> CommandContext:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    return CommandContext(FakeSession(project), Places.from_environment(), Settings(), width=100)  # type: ignore[arg-type]


async def opened(ctx: CommandContext, line: str = "/memory edit") -> FileEdit:
    result = await run(ctx, line)
    assert result.action == "edit", result
    return result.data  # type: ignore[no-any-return]


def said(result: Any) -> str:
    return "\n".join(output.plain() for output in result.outputs)


async def test_what_is_remembered_and_from_where(ctx: CommandContext) -> None:
    (ctx.session.cwd / "AGENTS.md").write_text(
        "# P\n\n- no fact\n\n## Memory\n\n- tests: make t\n- tabs\n\n## More\n- x\n"
    )
    ctx.places.config.mkdir(parents=True, exist_ok=True)
    (ctx.places.config / "AGENTS.md").write_text("## Memory\n" + "".join(f"- fact {n}\n" for n in range(25)))
    text = said(await run(ctx, "/memory"))
    project, mine = f"Remembered in {ctx.session.cwd}/AGENTS.md:", f"Remembered in {ctx.places.config}/AGENTS.md:"
    assert f"{project}\n- tests: make t\n- tabs" in text and "no fact" not in text and "- x" not in text
    assert f"{mine}\n- fact 0" in text and "and 5 more" in text


async def test_edit_writes_the_file_and_the_model_has_it(ctx: CommandContext) -> None:
    path = ctx.session.cwd / "AGENTS.md"
    given: list[str] = []
    agent: Any = ctx.session.agent
    agent.reset_system = given.append
    ctx.session.instructions = lambda: path.read_text()  # type: ignore[method-assign]
    edit = await opened(ctx)
    assert (edit.name, edit.before) == ("AGENTS.md", "")
    assert said(await edit.taken("")) == said(await edit.taken(None)) == "Nothing was changed." and not path.exists()
    assert "is written; the model has it" in said(await edit.taken("Use tabs.\n"))
    assert path.read_text() == "Use tabs.\n" and given == ["Use tabs.\n"]
    path.chmod(0o640)
    path.write_bytes(b"one\r\ntwo\r\n")
    edit = await opened(ctx)
    assert edit.before == "one\r\ntwo\r\n"
    await edit.taken("one\r\nthree\r\n")
    assert path.read_bytes() == b"one\r\nthree\r\n" and path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(ctx.session.cwd) == [".git", "AGENTS.md"] or len(os.listdir(ctx.session.cwd)) == 2


async def test_edit_mine(ctx: CommandContext) -> None:
    await (await opened(ctx, "/memory edit mine")).taken("For all.\n")
    assert (ctx.places.config / "AGENTS.md").read_text() == "For all.\n"
    assert not (ctx.session.cwd / "AGENTS.md").exists()


async def test_a_file_that_changed_meanwhile_is_not_overwritten_and_nothing_is_lost(ctx: CommandContext) -> None:
    path = ctx.session.cwd / "AGENTS.md"
    path.write_text("old\n")
    edit = await opened(ctx)
    path.write_text("theirs\n")
    result = await edit.taken("mine\n")
    assert not result.ok and path.read_text() == "theirs\n"
    kept = Path(said(result).rpartition(" ")[2].rstrip("."))
    assert kept.read_text() == "mine\n" and kept.parent == path.parent


async def test_what_is_not_edited(ctx: CommandContext, tmp_path: Path) -> None:
    path = ctx.session.cwd / "AGENTS.md"
    outside = tmp_path / "elsewhere.md"
    outside.write_text("x")
    path.symlink_to(outside)
    assert "is a link to" in said(await run(ctx, "/memory edit"))
    path.unlink()
    os.mkfifo(path)
    assert "no regular file" in said(await run(ctx, "/memory edit"))
    path.unlink()
    path.symlink_to("CLAUDE.md")
    (ctx.session.cwd / "CLAUDE.md").write_text("x")
    await (await opened(ctx)).taken("y")
    assert path.is_symlink() and (ctx.session.cwd / "CLAUDE.md").read_text() == "y"
    assert "show, reload, edit or edit mine" in said(await run(ctx, "/memory forget"))
