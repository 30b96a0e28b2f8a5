"""The person's editor in the line-based front end: on what would be written, and on files of theirs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from xun.choice import ONCE, ChoiceOutcome, ChoiceRequest
from xun_cli.plain_questions import Reply

if TYPE_CHECKING:
    from xun_cli.commands.output import CommandResult, FileEdit
    from xun_cli.line_reader import LineReader

STILL_OPEN = "The question is still open: type an answer."
"""What is said when an edit came to nothing."""


def editor_works() -> bool:
    """Tell whether an editor has a terminal to work on."""
    return sys.stdin.isatty() and sys.stdout.isatty()


async def edited_reply(request: ChoiceRequest, reader: LineReader, left: Callable[[], bool]) -> Reply:
    """Lend the terminal to the person's editor and return what their version means for *request*.

    Args:
        request: A write question of one file.
        reader: Takes no line meanwhile.
        left: Tells whether xun was told to end; then the editor is ended, too.
    """
    from xun_cli.frontend.editing import EditorError

    before = request.files[0].proposed or ""
    try:
        after = await lent(before, os.path.basename(request.files[0].path), reader, left)
    except EditorError as error:
        return Reply(text=f"error: {error} {STILL_OPEN}")
    if after is None or after == before:
        return Reply(text=f"Nothing was changed. {STILL_OPEN}")
    return Reply(ChoiceOutcome(ONCE, edited=after))


async def edited_file(edit: FileEdit, reader: LineReader, left: Callable[[], bool]) -> CommandResult:
    """Lend the terminal to the person's editor on the text of a command, and return what came of it."""
    from xun_cli.commands.output import failed
    from xun_cli.frontend.editing import EditorError

    if not editor_works():
        return failed("An editor needs a terminal, and here is none: nothing was changed.")
    try:
        return await edit.taken(await lent(edit.before, edit.name, reader, left))
    except EditorError as error:
        return failed(str(error))


async def lent(before: str, name: str, reader: LineReader, left: Callable[[], bool]) -> str | None:
    """Return what the person made of *before* in their editor; None when xun was told to end.

    Raises:
        EditorError: There is no editor, it failed, or it left nothing, or no text.
    """
    from xun_cli.frontend.editing import edited_text, environment

    editing = asyncio.ensure_future(edited_text(before, name, environment()))
    with reader.paused():
        while not editing.done() and not left():
            await asyncio.wait([editing], timeout=0.2)
        editing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await editing
    return None if editing.cancelled() else editing.result()
