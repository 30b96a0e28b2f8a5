"""/image: an image that goes with a message."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from xun_cli.commands.arguments import BadArguments, file_argument, words
from xun_cli.commands.output import CommandResult, said
from xun_cli.commands.registry import CommandContext, SlashCommand

_USAGE = "/image FILE [message]"


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "image",
            _USAGE,
            "show the model an image, now or with your next message",
            _image,
            while_running=True,
            complete=_complete,
            topic="Conversation",
            details="PNG, JPEG, WebP or GIF, also by @name in a message. With a message it is sent at once. "
            "/image alone tells what waits, /image drop takes it back.",
        )
    ]


async def _image(ctx: CommandContext, rest: str) -> CommandResult:
    from xun_cli.attachments import read_image, refuse_without_vision

    session, given = ctx.session, words(rest, _USAGE)
    if not given:
        waiting = ", ".join(session.attached)
        return said(f"With your next message: {waiting}." if waiting else f"No image waits. {_USAGE} adds one.")
    if given == ["drop"]:
        names = session.detach_all()
        return said(f"Not sent: {', '.join(names)}." if names else "No image waits.")
    refuse_without_vision(session.agent.model)
    path = file_argument(session.cwd, given[0])
    if path.is_dir():
        raise BadArguments(f"{path} is a folder. Usage: {_USAGE}")
    session.attach(await asyncio.to_thread(read_image, path), path.name)
    if len(given) > 1:
        return CommandResult(action="submit", data=" ".join(given[1:]))
    return said(f"{path.name} goes with your next message.")


def _complete(ctx: CommandContext, typed: str) -> list[str]:
    from xun_cli.attachments import ENDINGS

    head, _, last = typed.rpartition("/")
    folder = Path(ctx.session.cwd) / os.path.expanduser(head or ("/" if typed.startswith("/") else "."))
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    prefix = f"{head}/" if "/" in typed else ""
    fitting = [item for item in entries if item.name.startswith(last) and (last or not item.name.startswith("."))]
    folders = [f"{prefix}{item.name}/" for item in fitting if item.is_dir()]
    return [*folders, *(f"{prefix}{item.name}" for item in fitting if item.name.lower().endswith(ENDINGS))][:50]
