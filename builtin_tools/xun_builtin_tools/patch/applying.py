"""apply_patch."""

from __future__ import annotations

from typing import Any

from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun_builtin_tools.edit.broken import BROKEN
from xun_builtin_tools.edit.messages import edit_error
from xun_builtin_tools.edit.patchtext import parse_patch
from xun_builtin_tools.edit.writing import carry_out
from xun_builtin_tools.patch.planning import PatchPlan


@tool_attr(expose="direct", sequential=True)
def apply_patch(ctx: ToolCallContext[Any], patch: str, directory: str = ".") -> dict[str, Any]:
    """Apply a patch to one or more files, all or none.

    patch is a unified diff, or unindented lines of this form: "*** Begin Patch"; for each file "*** Update File: path"
    (where it moves, then "*** Move to: new path") and its hunks, or "*** Add File: path" and its lines, each after a +,
    or "*** Delete File: path"; at the end "*** End Patch". A hunk is "@@", or "@@ " and a line of the file before the
    place, such as the first of its function; then lines that begin with a blank (context), - (goes) or + (comes); then
    "*** End of File" if they end the file. Context must be as in the file and fit in one place only; line numbers need
    not be right. What is added or moved to must not exist. Paths start at directory. Returns path, action, added,
    removed and level of each file. When any part does not fit, no file changes and the error names the file and the
    hunk."""
    workspace = ctx.agent.workspace
    base = workspace.resolve(directory)
    if not base.path.is_dir():
        raise edit_error("not_dir", f"{base.display}, where the patch starts, is no folder.")
    plan = PatchPlan(ctx, str(base.path))
    for item in parse_patch(patch):
        plan.add(item)
    operations = plan.operations()
    facts = carry_out(ctx, operations, plan.planned(), plan.touched(), editable=True, checked=True)
    files = plan.results()
    broken = {key: facts.pop(key) for key in BROKEN if key in facts}
    files[0].update(facts)
    return {"files": files, **broken}
