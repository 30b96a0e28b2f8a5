"""move, copy, delete, mkdir and temp_dir."""

from __future__ import annotations

import dataclasses
import os
import stat
from typing import Any

from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun_builtin_tools import gate
from xun_builtin_tools.edit.changes import (
    ABSENT,
    Change,
    Operation,
    Rename,
    State,
    folder_state,
    read_state,
    with_facts,
)
from xun_builtin_tools.edit.messages import edit_error
from xun_builtin_tools.edit.writing import Touched, carry_out, count_bytes, existing_file, missing
from xun_builtin_tools.fs.trees import (
    TREE_BYTES,
    TREE_LIMIT,
    protected_below,
    remove_large_tree,
    require_removable,
    tree_states,
)
from xun_builtin_tools.gate import PlannedWrite
from xun_policies.workspace import ResolvedPath, Workspace

_COPY_LIMIT = 100_000_000


@tool_attr(sequential=True)
def move(ctx: ToolCallContext[Any], src: str, dst: str) -> str:
    """Move or rename a file, a link or a folder.

    dst is the new path, or an existing folder to move into; missing folders are made. A file at dst is replaced."""
    workspace = ctx.agent.workspace
    source = workspace.resolve(src, follow=False)
    _refuse_root(workspace, source)
    state = read_state(workspace, source, keep=0)
    if state.kind == "absent":
        raise missing(workspace, source, src)
    target = _destination(workspace, source, dst)
    replaced = _replaceable(workspace, source, target, state)
    planned = PlannedWrite(
        "move",
        _guarded(workspace, source, state),
        target=target,
        note="replaces what is there" if replaced.kind != "absent" else "",
    )
    operations: list[Operation] = [Rename(source, target, state, replaced)]
    if _device(source) != _device(target):
        operations = _across(workspace, source, target, replaced)
    carry_out(ctx, operations, [planned], [Touched(str(target.path), "move")])
    return "OK"


def _refuse_root(workspace: Workspace, path: ResolvedPath) -> None:
    if any(root == str(path.path) or root.startswith(f"{path.path}/") for root in workspace.roots):
        raise edit_error("denied", f"{path.display} is a root of the workspace, or holds one, so it stays where it is.")


def _destination(workspace: Workspace, source: ResolvedPath, dst: str) -> ResolvedPath:
    """Return where *source* goes: *dst*, or into it when it is another folder."""
    into = workspace.resolve(dst)
    found = workspace.stat(into)
    if found is not None and stat.S_ISDIR(found.st_mode) and into.path != source.path:
        target = workspace.resolve(into.path / source.path.name, follow=False)
    elif dst.endswith("/"):
        raise edit_error("missing", f"{into.display} is no folder; give the whole new path, or make it with mkdir.")
    else:
        target = workspace.resolve(dst, follow=False)
    if target.path == source.path:
        raise edit_error("noop", f"{source.display} is there already, so nothing was moved.")
    if target.path.is_relative_to(source.path):
        raise edit_error("overlap", f"{source.display} can't go into itself.")
    return target


def _replaceable(workspace: Workspace, source: ResolvedPath, target: ResolvedPath, state: State) -> State:
    """Return what is at the target, when a move or copy may take its place."""
    present = read_state(workspace, target)
    if present.kind == "absent":
        return ABSENT
    first, second = workspace.stat(source), workspace.stat(target)
    same = first is not None and second is not None and os.path.samestat(first, second)
    if same and str(source.path).casefold() == str(target.path).casefold():
        return ABSENT  # only upper and lower case change, on a file system that ignores them
    if "dir" in (present.kind, state.kind):
        raise edit_error("exists", f"{target.display} exists already; only a file can take the place of a file.")
    return present


def _guarded(workspace: Workspace, path: ResolvedPath, state: State) -> ResolvedPath:
    """Return *path*, as protected when anything in the folder is."""
    found = protected_below(workspace, path) if state.kind == "dir" and not path.protected else None
    return path if found is None else dataclasses.replace(path, protected=True, excluded=found.excluded)


def _device(path: ResolvedPath) -> int:
    folder = path.path.parent
    while folder != folder.parent and not folder.exists():
        folder = folder.parent
    return os.stat(folder).st_dev


def _across(workspace: Workspace, source: ResolvedPath, target: ResolvedPath, replaced: State) -> list[Operation]:
    """A move to another file system is a copy and a delete."""
    state = read_state(workspace, source, keep=_COPY_LIMIT)
    if state.kind == "dir" or state.data is None:
        raise edit_error("io", f"{source.display} would have to go to another disk: copy it, then delete it.")
    return [Change(target, replaced, with_facts(workspace, source, state)), Change(source, state, ABSENT)]


@tool_attr(sequential=True)
def copy(ctx: ToolCallContext[Any], src: str, dst: str) -> str:
    """Copy a file or folder.

    dst is the new path, or an existing folder to copy into; missing folders are made. A file at dst is replaced, a
    folder is not. At most 5,000 files and 50 MB of a folder, and 100 MB of one file, are copied."""
    workspace = ctx.agent.workspace
    source = workspace.resolve(src)
    found = workspace.stat(source)
    if found is not None and stat.S_ISDIR(found.st_mode):
        return _copy_folder(ctx, source, dst)
    if found is not None and found.st_size > _COPY_LIMIT:
        raise edit_error("io", f"{source.display} has {found.st_size:,} bytes; {_COPY_LIMIT:,} is the limit to copy.")
    state = existing_file(workspace, source, src)
    if state.data is None:
        state = read_state(workspace, source, keep=_COPY_LIMIT)
    target = _destination(workspace, source, dst)
    replaced = _replaceable(workspace, source, target, state)
    counts = count_bytes(replaced.data or b"", state.data or b"")
    planned = PlannedWrite("copy", source, replaced.data, state.data, target, asks=replaced.kind != "absent")
    carry_out(ctx, [Change(target, replaced, state)], [planned], [Touched(str(target.path), "copy", *counts)])
    return "OK"


def _copy_folder(ctx: ToolCallContext[Any], source: ResolvedPath, dst: str) -> str:
    workspace = ctx.agent.workspace
    target = _destination(workspace, source, dst)
    _replaceable(workspace, source, target, folder_state())
    states = tree_states(workspace, source)
    if states is None:
        raise edit_error(
            "io",
            f"{source.display} has more than {TREE_LIMIT:,} entries or {TREE_BYTES // 1_000_000} MB, or holds "
            "something that is no file, folder or link; copy it with a command.",
        )
    operations: list[Change] = []
    for path, state in states:
        moved = workspace.resolve(target.path / path.path.relative_to(source.path), follow=False)
        operations.append(Change(moved, ABSENT, state))
    kept = [path for path in (target, *(op.path for op in operations)) if path.protected]
    excluded = bool(kept) and all(path.excluded for path in kept)
    shown = dataclasses.replace(target, protected=bool(kept), excluded=excluded)
    planned = PlannedWrite("copy", source, target=shown, note=f"a folder of {len(states)} entries", asks=False)
    carry_out(ctx, operations, [planned], [Touched(str(target.path), "copy")])
    return "OK"


@tool_attr(sequential=True)
def delete(ctx: ToolCallContext[Any], path: str) -> str:
    """Delete a file, a link (not what it points to), or a folder with all that is in it.

    undo_edit brings it back, unless it is a folder of more than 5,000 entries or 50 MB."""
    workspace = ctx.agent.workspace
    resolved = workspace.resolve(path, follow=False)
    _refuse_root(workspace, resolved)
    state = read_state(workspace, resolved)
    if state.kind == "absent":
        raise missing(workspace, resolved, path)
    if state.kind != "dir":
        note = "a link: what it points to stays" if state.kind == "link" else ""
        planned = PlannedWrite("delete", resolved, state.data if state.kind == "file" else None, None, note=note)
        removed = count_bytes(state.data or b"", b"")[1] if state.kind == "file" else 0
        carry_out(
            ctx, [Change(resolved, state, ABSENT)], [planned], [Touched(str(resolved.path), "delete", 0, removed)]
        )
        return "OK"
    shown = _guarded(workspace, resolved, state)
    states = tree_states(workspace, resolved)
    if states is None:
        note = "a folder too large to be brought back by undo"
        gate.write(ctx, [PlannedWrite("delete", shown, note=note)])
        remove_large_tree(workspace, resolved)
        ctx.changed_file(str(resolved.path), "delete")
        return "OK"
    require_removable(states)
    planned = PlannedWrite("delete", shown, note=f"a folder of {len(states) - 1} entries")
    operations = [Change(item, present, ABSENT) for item, present in states]
    carry_out(ctx, operations, [planned], [Touched(str(resolved.path), "delete")])
    return "OK"


@tool_attr(sequential=True)
def mkdir(ctx: ToolCallContext[Any], path: str) -> str:
    """Make a folder, and those above it that are missing; one that exists is left as it is."""
    workspace = ctx.agent.workspace
    resolved = workspace.resolve(path)
    state = read_state(workspace, resolved, keep=0)
    if state.kind == "dir":
        return "OK"
    if state.kind != "absent":
        raise edit_error("exists", f"{resolved.display} exists already, and is no folder.")
    planned = PlannedWrite("mkdir", resolved, asks=False)
    carry_out(ctx, [Change(resolved, ABSENT, folder_state())], [planned], [Touched(str(resolved.path), "mkdir")])
    return "OK"


def temp_dir(ctx: ToolCallContext[Any]) -> str:
    """Return the path of a private temporary folder; writes in it ask nobody, and it goes with the session."""
    return str(ctx.agent.workspace.tempdir.path)
