"""Put back what a process left half done when it died in the middle of a commit."""

from __future__ import annotations

import contextlib
import os

from xun.errors import EditError
from xun_builtin_tools.edit.blobs import Blobs
from xun_builtin_tools.edit.changes import Rename, read_state, state_in
from xun_builtin_tools.edit.commit import commit, remove_temp, temp_name
from xun_builtin_tools.edit.disk import Disk
from xun_builtin_tools.edit.entries import Entry, StoredOp, change, located
from xun_builtin_tools.edit.undoing import remove_empty
from xun_policies.errors import PolicyError
from xun_policies.paths.held import TEMP_PREFIX, TEMP_SUFFIX
from xun_policies.workspace import Workspace


def recover(workspace: Workspace, blobs: Blobs, entry: Entry) -> list[str]:
    """Take back the part of *entry* that was done, remove its temporary files, and return the paths put back.

    A file that is neither in its old nor in its new state was changed by somebody else, and is left alone.
    """
    restored: list[str] = []
    for op in reversed(entry.ops):
        with contextlib.suppress(EditError, PolicyError, OSError):
            if op.kind == "change":
                restored += _put_back(workspace, blobs, op, _second_name(entry, op))
            else:
                restored += _move_back(workspace, op)
    for path in entry.paths:
        _remove_temps(workspace, path, entry.token)
    remove_empty(workspace, entry.folders)
    return restored


def _second_name(entry: Entry, op: StoredOp) -> str:
    changes = [other for other in entry.ops if other.kind == "change"]
    return temp_name(entry.token, changes.index(op), "o")


def _put_back(workspace: Workspace, blobs: Blobs, op: StoredOp, second_name: str) -> list[str]:
    present = read_state(workspace, located(workspace, op.path))
    if not present.same(op.after) or present.same(op.before):
        return []
    before = op.before
    if before.kind in ("file", "link"):
        data = blobs.get(before.digest)
        if data is None:
            return _rename_back(workspace, op, second_name)
        before = before.with_data(data)
    commit(workspace, [change(workspace, op.path, present, before)], Disk())
    return [op.path]


def _rename_back(workspace: Workspace, op: StoredOp, second_name: str) -> list[str]:
    """Put back a file that was too large for the journal, from the second name that the commit gave it."""
    resolved = located(workspace, op.path)
    with workspace.hold_parent(resolved) as parent:
        if not state_in(parent, second_name, op.path, keep=0).same(op.before):
            return []
        parent.replace(second_name, resolved.path.name)
    return [op.path]


def _move_back(workspace: Workspace, op: StoredOp) -> list[str]:
    source, target = located(workspace, op.path), located(workspace, op.target)
    moved = read_state(workspace, target).same(op.before) and read_state(workspace, source).kind == "absent"
    # What was at the target is gone from there: a move over it is kept rather than half taken back.
    if not moved or op.after.kind != "absent":
        return []
    commit(workspace, [Rename(target, source, op.before)], Disk())
    return [op.path]


def _remove_temps(workspace: Workspace, path: str, token: str) -> None:
    if not token:
        return
    with contextlib.suppress(OSError, PolicyError):
        folder = workspace.resolve(os.path.dirname(path), follow=False)
        with workspace.hold(folder) as held:
            for item in held.scan():
                if item.name.startswith(f"{TEMP_PREFIX}{token}-") and item.name.endswith(TEMP_SUFFIX):
                    remove_temp(held, item.name)
