"""`e` at a write's question in the line-based front end: the person's editor on what would be written."""

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
    from xun_cli.frontend.editing import EditorError, edited_text, environment

    before = request.files[0].proposed or ""
    name = os.path.basename(request.files[0].path)
    editing = asyncio.ensure_future(edited_text(before, name, environment()))
    with reader.paused():
        while not editing.done() and not left():
            await asyncio.wait([editing], timeout=0.2)
        editing.cancel()
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await editing
        except EditorError as error:
            return Reply(text=f"error: {error} {STILL_OPEN}")
    if editing.cancelled() or editing.result() == before:
        return Reply(text=f"Nothing was changed. {STILL_OPEN}")
    return Reply(ChoiceOutcome(ONCE, edited=editing.result()))
