"""Outputs too long for the model: kept whole in the agent's folder, and read in pieces by a handle."""

from __future__ import annotations

import errno
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xun.errors import PolicyError, ToolError

if TYPE_CHECKING:
    from xun_policies.workspace import Workspace

CHUNK = 16_384
"""Bytes of one piece; a character on the border belongs to the piece in which it begins."""

MAX_CHUNKS = 4
"""Pieces that one read gives at most."""

MAX_KEPT = 64 * 1024 * 1024
"""Bytes of an output that can be kept; also what is read of a file that a command put in its place."""

SHOWN = 300
"""Characters of the beginning and of the end that the model gets at once."""

READ_OUTPUT = "read_output"
"""The tool that reads what is kept."""

_FOLDER = "outputs"
_HANDLE = re.compile(r"out-[0-9a-f]{8}\Z")
_KEPT = re.compile(r"\[The output has \d+ characters \(\d+ bytes\) and is kept as (out-[0-9a-f]{8});")


def spill(workspace: Workspace, text: str) -> str:
    """Keep *text* and return what the model gets instead: size, handle, beginning and end.

    Raises:
        OSError: The folder can't be written, or *text* is too large to be kept.
        PolicyError: A command put something else in its place.
    """
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_KEPT:
        raise OSError(errno.EFBIG, f"an output has {len(data)} bytes; {MAX_KEPT} is the most that is kept")
    handle = f"out-{secrets.token_hex(4)}"
    # Commands can write to this folder too: through the workspace no link of theirs is followed.
    workspace.write_bytes(_place(workspace, handle), data, mode=0o600)
    return (
        f"[The output has {len(text)} characters ({len(data)} bytes) and is kept as {handle}; these are its first and "
        f'last {SHOWN}. Read more with {READ_OUTPUT}(handle="{handle}").]\n'
        f"{text[:SHOWN]}\n[...]\n{text[-SHOWN:]}"
    )


def read_spilled(
    workspace: Workspace, handle: str, cursor: int = 0, count: int = 1, from_end: bool = False
) -> dict[str, Any]:
    """Return *count* pieces of a kept output from piece *cursor* on, counted from the end with *from_end*.

    Raises:
        ToolError: There is no such output (any more), or a number is out of range.
    """
    if not 1 <= count <= MAX_CHUNKS:
        raise ToolError(f"count must be 1 to {MAX_CHUNKS}, got {count}.")
    if cursor < 0:
        raise ToolError(f"cursor must not be negative, got {cursor}.")
    data = _load(workspace, handle)
    chunks = max(1, -(-len(data) // CHUNK))
    if cursor >= chunks:
        raise ToolError(f"cursor {cursor} is past the end: {handle} has {chunks} pieces, the last is {chunks - 1}.")
    stop = min(chunks, cursor + count)
    first, last = (chunks - stop, chunks - cursor) if from_end else (cursor, stop)
    part = data[_border(data, first * CHUNK) : _border(data, last * CHUNK)]
    return {
        "content": part.decode("utf-8"),
        "next_cursor": None if stop == chunks else stop,
        "complete": stop == chunks,
        "bytes": len(data),
        "chunks": chunks,
    }


def whole(workspace: Workspace, text: str) -> str:
    """Return the output that *text* stands for when `spill` made it, else *text* itself.

    Raises:
        ToolError: The output is not there any more.
    """
    kept = _KEPT.match(text)
    return text if kept is None else _load(workspace, kept[1]).decode("utf-8", "replace")


def _load(workspace: Workspace, handle: str) -> bytes:
    if not _HANDLE.match(handle):
        raise ToolError(f"{handle!r} is no handle of an output; use the one that was given, such as out-1a2b3c4d.")
    try:
        return workspace.read_bytes(_place(workspace, handle), MAX_KEPT)
    except (OSError, PolicyError):
        raise ToolError(
            f"The output {handle} is not there any more (outputs end with the agent that made them); "
            "make the call again."
        ) from None


def _place(workspace: Workspace, handle: str) -> Path:
    return Path(workspace.tempdir.path) / _FOLDER / handle


def _border(data: bytes, place: int) -> int:
    """Return *place*, or the next place at which a character begins."""
    while place < len(data) and data[place] & 0xC0 == 0x80:
        place += 1
    return min(place, len(data))
