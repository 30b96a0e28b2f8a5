"""diff_files."""

from __future__ import annotations

import difflib
from typing import Any

from xun.tools.context import ToolCallContext
from xun_builtin_tools.edit.document import Document
from xun_builtin_tools.edit.messages import edit_error
from xun_builtin_tools.edit.writing import existing_file
from xun_policies.workspace import ResolvedPath

_MAX_LINES = 20_000
_MAX_SHOWN = 2_000


def diff_files(ctx: ToolCallContext[Any], path_a: str, path_b: str) -> str:
    """Compare two text files: the unified diff from path_a to path_b, "" when their bytes are equal.

    A diff of more than 2,000 lines is cut and says so; files of more than 20,000 lines are refused."""
    workspace = ctx.agent.workspace
    first, second = workspace.resolve(path_a), workspace.resolve(path_b)
    a, b = existing_file(workspace, first, path_a), existing_file(workspace, second, path_b)
    if a.same(b):
        return ""
    left, right = _lines(first, a.data), _lines(second, b.data)
    out = list(difflib.unified_diff(left, right, first.shown, second.shown, lineterm=""))
    if not out:
        return "The files differ only in encoding or byte order mark."
    if len(out) > _MAX_SHOWN:
        out = [*out[:_MAX_SHOWN], f"({len(out) - _MAX_SHOWN} more lines of the diff were cut)"]
    return "\n".join(out) + "\n"


def _lines(path: ResolvedPath, data: bytes | None) -> list[str]:
    if data is None:
        raise edit_error("io", f"{path.display} is too large to compare.")
    doc = Document.load(path.display, data)
    lines = doc.source.split("\n")
    if lines[-1] == "":
        lines.pop()
    elif lines:
        lines[-1] += "\n\\ No newline at end of file"
    if len(lines) > _MAX_LINES:
        raise edit_error("io", f"{path.display} has {len(lines):,} lines; {_MAX_LINES:,} are the limit to compare.")
    return lines
