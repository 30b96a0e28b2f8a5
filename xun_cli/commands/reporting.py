"""/log, /bug and /init: what xun writes down for a person."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from xun_cli.commands.arguments import BadArguments, no_arguments
from xun_cli.commands.output import CommandResult, Output, failed, said, text
from xun_cli.commands.registry import CommandContext, SlashCommand

if TYPE_CHECKING:
    from xun_cli.settings import Settings

_TAIL_LINES = 40
_TAIL_BYTES = 64_000


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "log",
            "/log [path|tail]",
            "xun's own log: where it is, its last lines",
            _log,
            while_running=True,
            complete=lambda ctx, typed: [word for word in ("path", "tail") if word.startswith(typed)],
            topic="Settings",
            details="Warnings and errors of xun itself; with --debug or XUN_LOG every event.",
        ),
        SlashCommand(
            "bug",
            "/bug",
            "write a report about a problem to a file; sends nothing",
            _bug,
            while_running=True,
            topic="Settings",
            details="The report holds this session with what looks like a secret replaced, the checks of /doctor, the "
            "log, and your settings without values that may be secret. Look through it before you share it.",
        ),
        SlashCommand("init", "/init", "write a first AGENTS.md for this project", _init, topic="Session"),
    ]


async def _log(ctx: CommandContext, rest: str) -> CommandResult:
    path = ctx.places.log_file
    word = rest.strip()
    if word not in ("", "path", "tail"):
        raise BadArguments(f"/log takes path or tail, not {rest!r}.")
    if not path.is_file():
        return said(f"Nothing has been logged yet. The log will be {path}.")
    if word == "path":
        return said(str(path))
    lines = await asyncio.to_thread(_last_lines, path)
    return said(f"{path}, its last lines:", *lines)


def _last_lines(path: Path) -> list[str]:
    with path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
        return file.read().decode("utf-8", "replace").splitlines()[-_TAIL_LINES:]


async def _bug(ctx: CommandContext, rest: str) -> CommandResult:
    from xun_cli.places import write_private

    no_arguments(rest, "/bug")
    path = ctx.session.cwd / f"xun-bug-{ctx.session.id}.md"
    if path.exists() and not await ctx.confirm(f"Replace {path}?", "The file exists."):
        return said("Nothing written.")
    content = await asyncio.to_thread(_report, ctx)
    await asyncio.to_thread(write_private, path, content.encode("utf-8", "replace"))
    return said(f"Wrote {path}. Only you can read it, and nothing was sent; look through it before you share it.")


def _report(ctx: CommandContext) -> str:
    import platform

    from xun_cli._version import __version__
    from xun_cli.diagnosis import diagnose
    from xun_cli.event_log import masked
    from xun_cli.options import StartOptions
    from xun_cli.session.export import export
    from xun_cli.session.redaction import redact

    checks = diagnose(ctx.places, ctx.settings, StartOptions(cwd=ctx.session.cwd), online=False, terminal=False)
    parts = [
        f"xun {__version__}, Python {platform.python_version()}, {platform.platform()}, {ctx.session.model_name}",
        "## Checks\n" + "\n".join(f"- {check.name}: {check.status}, {check.text}" for check in checks),
        "## Settings that are not built in\n" + "\n".join(_settings(ctx.settings)),
    ]
    if ctx.places.log_file.is_file():
        parts.append("## Log\n" + "\n".join(_last_lines(ctx.places.log_file)))
    head = redact("\n\n".join(parts))
    text = f"{head}\n\n{export(ctx.session.history(), 'md', title='Session', redacted=True)}"
    return masked(text, ctx.settings)


def _settings(settings: Settings) -> list[str]:
    from xun_cli.settings import displayed

    keys = [key for key in settings.origins if not key.startswith(("provider.headers", "mcp.servers"))]
    return [f"- {key} = {displayed(key, settings.get(key))!r} ({settings.origins[key]})" for key in keys]


async def _init(ctx: CommandContext, rest: str) -> CommandResult:
    from xun_cli.agents_file import starter, write_new

    no_arguments(rest, "/init")
    path = ctx.session.cwd / "AGENTS.md"
    content = await asyncio.to_thread(starter, ctx.session.cwd)
    try:
        await asyncio.to_thread(write_new, path, content)
    except FileExistsError:
        return failed(f"{path} exists and stays as it is; /memory show prints it.")
    except OSError as error:
        return failed(f"{path} can't be written: {error.strerror}.")
    note = text(f"Wrote {path}; a new session (/clear) reads it. Change it to what a new colleague would need to know.")
    return CommandResult((note, Output("markdown", content)))
