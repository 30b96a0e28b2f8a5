"""read_file."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any

from xun.errors import EditError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun_builtin_tools.byte_marks import mark_of
from xun_builtin_tools.edit.changes import State, raise_os_error, read_state
from xun_builtin_tools.edit.document import RAW, Document
from xun_builtin_tools.edit.messages import edit_error
from xun_builtin_tools.edit.state import EditState
from xun_builtin_tools.edit.writing import missing

if TYPE_CHECKING:
    from xun_policies.workspace import ResolvedPath

READ_LIMIT = 10_000_000
"""Bytes of a file that can be read as text."""

LINE_LIMIT = 2_000
"""Characters of one line that are shown."""

PAGE_LIMIT = 200_000
"""Characters that one call gives back."""


@tool_attr(expose="direct")
def read_file(
    ctx: ToolCallContext[Any], path: str, offset: int = 1, limit: int = 2000, line_numbers: bool = False
) -> dict[str, Any]:
    """Read a text file, or a part of it.

    path is relative to the working folder or absolute. offset is the first line, from 1, and limit the number of lines.
    line_numbers puts a number and a tab before each line. Returns text, total_lines and next_offset: where to go on,
    null at the end. Lines over 2,000 characters are cut and say so; binary files and files over 10 MB are refused."""
    if offset < 1 or limit < 1:
        raise ValueError(f"offset and limit start at 1, got offset={offset} and limit={limit}")
    resolved, doc = read_document(ctx, path)
    lines = doc.source.split("\n")
    if lines[-1] == "":
        lines.pop()
        ends = [*["\n"] * len(lines)]
    else:
        ends = [*["\n"] * (len(lines) - 1), ""]
    if offset > max(1, len(lines)):
        held = f"has {len(lines)} line{'s' * (len(lines) != 1)}" if lines else "is empty"
        raise edit_error("missing", f"{resolved.display} {held}, so offset can't be {offset}.")
    shown: list[str] = []
    size = 0
    at = offset - 1
    while at < min(len(lines), offset - 1 + limit):
        text = cut_line(lines[at]) + ends[at]
        size += len(text)
        if shown and size > PAGE_LIMIT:
            break
        shown.append(f"{at + 1:>6}\t{text}" if line_numbers else text)
        at += 1
    return {
        "path": resolved.shown,
        "text": "".join(shown),
        "total_lines": len(lines),
        "next_offset": at + 1 if at < len(lines) else None,
    }


def read_document(ctx: ToolCallContext[Any], path: str) -> tuple[ResolvedPath, Document]:
    """Return the text of a file as a model may see it, and remember that it was read.

    Raises:
        EditError: kinds ``missing``, ``is_dir``, ``not_regular``, ``binary``, ``io``.
        PathOutsideWorkspace: It leads out of the workspace.
    """
    workspace = ctx.agent.workspace
    resolved = workspace.resolve(path)
    found = _state(ctx, resolved, path)
    data = found.data or b""
    doc = _readable(resolved.display, data)
    EditState.of(ctx.agent).note(str(resolved.path), found)
    return resolved, doc


def _readable(display: str, data: bytes) -> Document:
    """Return the text of a file, with a replacement character for each byte that has no meaning."""
    try:
        doc = Document.load(display, data)
    except EditError as exc:
        if exc.kind == "binary":
            picture = display.lower().endswith((".png", ".jpg", ".jpeg", ".gif", ".webp"))
            told = "request_image shows pictures" if picture else "a command such as xxd shows its bytes"
            raise edit_error("binary", f"{display} is a binary file (it holds NUL bytes), no text; {told}.") from None
        mark, codec = mark_of(data)
        return Document(display, data[len(mark) :].decode(codec or "utf-8", "replace"), "utf-8")
    return doc if doc.codec != RAW else Document(display, data.decode("utf-8", "replace"), "utf-8")


def _state(ctx: ToolCallContext[Any], resolved: ResolvedPath, path: str) -> State:
    workspace = ctx.agent.workspace
    found = workspace.stat(resolved)
    if found is not None and found.st_size > READ_LIMIT and stat.S_ISREG(found.st_mode):
        size = f"{found.st_size:,} bytes; {READ_LIMIT:,} is the limit"
        raise edit_error("io", f"{resolved.display} has {size}. Search it with grep instead.")
    try:
        state = read_state(workspace, resolved, keep=READ_LIMIT)
    except OSError as exc:
        raise_os_error(exc, resolved.display, "read")
    if state.kind == "absent":
        raise missing(workspace, resolved, path)
    if state.kind == "dir":
        raise edit_error("is_dir", f"{resolved.display} is a folder; list it with list_dir.")
    if state.kind == "link":
        raise edit_error("outside", f"Path {resolved.display} is not within the agent's workspace: it became a link.")
    if state.data is None:
        raise edit_error("io", f"{resolved.display} grew beyond {READ_LIMIT:,} bytes, the limit, while it was read.")
    return state


def cut_line(line: str) -> str:
    """Return *line*, cut to what a model is shown of one, and saying so."""
    if len(line) <= LINE_LIMIT:
        return line
    return f"{line[:LINE_LIMIT]}... (line cut: {len(line) - LINE_LIMIT:,} more characters)"
