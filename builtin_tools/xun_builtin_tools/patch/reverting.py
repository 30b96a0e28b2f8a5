"""undo_edit."""

from __future__ import annotations

from typing import Any

from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun_builtin_tools import gate
from xun_builtin_tools.edit.broken import Written, what_broke
from xun_builtin_tools.edit.changes import read_state
from xun_builtin_tools.edit.journal import NOT_KEPT
from xun_builtin_tools.edit.messages import edit_error
from xun_builtin_tools.edit.state import EditState
from xun_builtin_tools.edit.undoing import check_undo
from xun_policies.paths.names import shown_name


@tool_attr(sequential=True)
def undo_edit(ctx: ToolCallContext[Any], path: str | None = None) -> dict[str, Any]:
    """Take back the last call that wrote files, or with path the last one that wrote that file.

    Called again it takes back the one before. It refuses when a file was changed by something else since; changes by
    commands are not covered. Returns the paths that were restored."""
    workspace = ctx.agent.workspace
    state = EditState.of(ctx.agent)
    target = None if path is None else str(workspace.resolve(path).path)
    entry = state.journal.last_call(target)
    if entry is None and path is not None:
        target = str(workspace.resolve(path, follow=False).path)
        entry = state.journal.last_call(target)
    if entry is None:
        where = "" if path is None else f" for {path}"
        why = "" if state.journal.keeps else f"; {NOT_KEPT}"
        raise edit_error("noop", f"There is no edit history{where}, so nothing was undone{why}.")
    check_undo(workspace, [entry])
    planned = state.journal.plan_undo(entry)
    gate.write(ctx, planned)
    ctx.check_cancel()
    restored = state.journal.undo_last_call(target)
    for changed in restored:
        after = read_state(workspace, workspace.resolve(changed, follow=False))
        state.note(changed, after)
        ctx.changed_file(changed, "delete" if after.kind == "absent" else "update")
    back = [Written(item.path, item.old, item.new) for item in planned if item.new is not None]
    return {"restored": [shown_name(changed) for changed in restored], **what_broke(ctx, back)}
