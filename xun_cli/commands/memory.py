"""/memory: what the model is told to remember, from which files, and an editor for them."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from xun.errors import ConfigError
from xun_cli.commands.arguments import BadArguments
from xun_cli.commands.output import CommandResult, FileEdit, Output, said, table, text
from xun_cli.commands.registry import CommandContext, SlashCommand

if TYPE_CHECKING:
    from xun_cli.system_prompt import Instructions

LIMIT = 5_000_000
"""Bytes of a file that is edited."""

MAX_FACTS = 20
"""Facts of one file that /memory lists."""

_WORDS = ("show", "reload", "edit", "edit mine")


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "memory",
            "/memory [show|reload|edit [mine]]",
            "what is remembered and from which AGENTS.md files; edit them",
            _memory,
            while_running=True,
            complete=lambda ctx, typed: [word for word in _WORDS if word.startswith(typed)],
            details="edit opens the project's AGENTS.md in $EDITOR, edit mine your own for all projects. The model "
            "then has it as you left it.",
        )
    ]


async def _memory(ctx: CommandContext, rest: str) -> CommandResult:
    if rest not in ("", *_WORDS):
        raise BadArguments(f"/memory takes show, reload, edit or edit mine, not {rest!r}.")
    if rest.startswith("edit"):
        return await asyncio.to_thread(_edit, ctx, rest == "edit mine")
    from xun_cli.system_prompt import project_instructions, user_instructions

    if rest == "reload":
        await _reload(ctx)
    found = [("you", item) for item in user_instructions(ctx.places.config)]
    found += [("project", item) for item in project_instructions(ctx.session.cwd)]
    if not found:
        return said(
            f"No AGENTS.md. One in {ctx.session.cwd} tells the model how to work in this project (/memory edit); "
            f"one in {ctx.places.config} holds your own wishes for all projects (/memory edit mine)."
        )
    if rest == "show":
        return CommandResult(tuple(output for _, item in found for output in _whole(item)))
    rows = [(whose, str(item.path), f"{len(item.text.encode()):,}", f"{item.cut:,}") for whose, item in found]
    told = "The model has them as they are now" if rest == "reload" else "/memory reload reads them again"
    note = text(f"{told}. /memory show prints them, /memory edit changes them.")
    listed = table(("from", "file", "bytes given", "left out"), rows)
    return CommandResult((listed, *(facts for _, item in found for facts in _facts(item)), note))


async def _reload(ctx: CommandContext) -> bool:
    """Give the model the files as they are now; False where the session's instructions are not ours."""
    made = getattr(ctx.session, "instructions", None)
    if made is None:
        return False
    ctx.session.agent.reset_system(await asyncio.to_thread(made))
    return True


def _whole(item: Instructions) -> tuple[Output, Output]:
    more = f"  ({item.cut:,} more bytes are not given to the model)" if item.cut else ""
    return text(f"{item.path}{more}"), Output("markdown", item.text)


def _facts(item: Instructions) -> list[Output]:
    """Return the facts that were remembered one by one, as a piece, where there are any."""
    from xun_builtin_tools.memory import remembered

    facts = remembered(item.text)
    if not facts:
        return []
    lines = [f"Remembered in {item.path}:", *(f"- {fact}" for fact in facts[:MAX_FACTS])]
    if len(facts) > MAX_FACTS:
        lines.append(f"and {len(facts) - MAX_FACTS} more")
    return [text(*lines)]


# -- editing ------------------------------------------------------------------------------------------


def _edit(ctx: CommandContext, mine: bool) -> CommandResult:
    from xun_cli.system_prompt import FILE_NAME

    named = (ctx.places.config if mine else ctx.session.cwd) / FILE_NAME
    path = Path(os.path.realpath(named))
    if not mine and not path.is_relative_to(_root(ctx.session.cwd)):
        raise ConfigError(f"{named} is a link to {path}, which is outside of the project: edit that file itself.")
    before = _read(path)

    async def take(after: str) -> CommandResult:
        await asyncio.to_thread(_write, path, before, after)
        given = await _reload(ctx)
        return said(f"{named} is written{'; the model has it as it is now' if given else ''}.")

    edit = FileEdit(FILE_NAME, (before or b"").decode("utf-8", "surrogateescape"), take)
    return CommandResult((text(f"The file is {named}."),), "edit", edit)


def _root(cwd: Path) -> Path:
    from xun_cli.vcs import find_root

    real = Path(os.path.realpath(cwd))
    return find_root(real) or real


def _read(path: Path) -> bytes | None:
    """Return what is in *path*, None when there is no such file.

    Raises:
        ConfigError: It is no file that can be edited.
        OSError: It can't be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > LIMIT:
            raise ConfigError(f"{path} is no regular file of at most {LIMIT:,} bytes, so it is not edited.")
        return file.read()


def _write(path: Path, before: bytes | None, after: str) -> None:
    """Write *after* in the place of *before*, whole or not at all; the mode stays.

    Raises:
        ConfigError: The file changed meanwhile; what the person wrote is kept beside it.
        OSError: It can't be written.
    """
    from xun_policies.workspace import current_umask

    data = after.encode("utf-8")
    mode = 0o666 & ~current_umask() if before is None else stat.S_IMODE(path.stat().st_mode)
    changed = _read(path) != before
    target = path.with_name(f"{path.name}.mine-{os.urandom(3).hex()}") if changed else path
    path.parent.mkdir(parents=True, exist_ok=True)
    temp = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    try:
        with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
        temp.replace(target)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    if changed:
        raise ConfigError(f"{path} was changed by something else while you edited it; your text is in {target}.")
