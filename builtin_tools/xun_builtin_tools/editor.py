"""The editor group: one tool with several commands, for models that were trained on such an editor."""

from __future__ import annotations

import stat
from collections.abc import Callable
from typing import Any, Literal

from xun.errors import ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext

Command = Literal["view", "create", "str_replace", "insert", "undo_edit"]


@tool_attr(expose="direct", sequential=True)
def str_replace_editor(
    ctx: ToolCallContext[Any],
    command: Command,
    path: str,
    file_text: str | None = None,
    old_str: str | None = None,
    new_str: str | None = None,
    insert_line: int | None = None,
    view_range: list[int] | None = None,
) -> dict[str, Any]:
    """View, create and edit files.

    view shows a file with line numbers, or what is in a folder; view_range [first, last] shows a part, last -1 means
    to the end. create writes a file with file_text. str_replace replaces old_str, which must be in the file exactly
    once, by new_str; without new_str it is deleted. insert puts new_str after the line insert_line, 0 for the top.
    undo_edit takes back the last edit of the file."""
    if command == "view":
        return _view(ctx, path, view_range)
    if command == "undo_edit":
        from xun_builtin_tools.patch.reverting import undo_edit

        return undo_edit(ctx, path)
    if command == "create":
        from xun_builtin_tools.fs.writing import write_file

        return write_file(ctx, path, _given(command, "file_text", file_text))
    from xun_builtin_tools.patch.editing import insert_lines, replace

    if command == "str_replace":
        return replace(ctx, path, _given(command, "old_str", old_str), new_str or "")
    if insert_line is None:
        raise ToolError("insert needs insert_line.")
    return insert_lines(ctx, path, insert_line, _given(command, "new_str", new_str))


def _view(ctx: ToolCallContext[Any], path: str, view_range: list[int] | None) -> dict[str, Any]:
    from xun_builtin_tools.fs.listing import list_dir
    from xun_builtin_tools.fs.reading import read_file

    found = ctx.agent.workspace.stat(ctx.agent.workspace.resolve(path))
    if found is not None and stat.S_ISDIR(found.st_mode):
        if view_range is not None:
            raise ToolError(f"{path} is a folder, which has no lines: leave view_range out.")
        return list_dir(ctx, path)
    if view_range is None:
        return read_file(ctx, path, line_numbers=True)
    if len(view_range) != 2 or view_range[0] < 1 or (view_range[1] != -1 and view_range[1] < view_range[0]):
        raise ToolError(f"view_range must be [first, last] with 1 <= first <= last, or last -1, got {view_range}.")
    first, last = view_range
    if last == -1:
        return read_file(ctx, path, first, line_numbers=True)
    return read_file(ctx, path, first, last - first + 1, line_numbers=True)


def _given(command: str, name: str, value: str | None) -> str:
    if value is None:
        raise ToolError(f"{command} needs {name}.")
    return value


def tools() -> list[Callable[..., Any]]:
    """Return the functions of the group."""
    return [str_replace_editor]
