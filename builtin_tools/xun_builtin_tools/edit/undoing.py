"""Work out how calls are taken back: checked against the disk as a whole before anything is touched."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from xun_builtin_tools.edit.blobs import Blobs
from xun_builtin_tools.edit.changes import ABSENT, Change, Operation, Rename, State, read_state
from xun_builtin_tools.edit.entries import Entry, StoredOp, change, located
from xun_builtin_tools.edit.messages import edit_error
from xun_policies.workspace import PathInvalid, Workspace


class Expectation:
    """What the disk would be after some calls were taken back, without touching it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._view: dict[str, State] = {}
        self._moved: list[tuple[str, str]] = []

    def state(self, path: str) -> State:
        """Return what would be at *path*."""
        if path in self._view:
            return self._view[path]
        for source, target in reversed(self._moved):
            # Below a folder that was moved and not yet moved back.
            if path.startswith(source + "/"):
                path = target + path[len(source) :]
        return read_state(self._workspace, located(self._workspace, path))

    def take_back(self, op: StoredOp) -> None:
        """Note that *op* is taken back.

        Raises:
            EditError: kind ``stale``: what it wrote is not there any more.
        """
        if op.kind == "change":
            self._require(op.path, op.after)
            self._view[op.path] = op.before
            return
        self._require(op.path, ABSENT)
        self._require(op.target, op.before)
        self._view[op.path] = op.before
        self._view[op.target] = op.after
        self._moved.append((op.path, op.target))

    def _require(self, path: str, wanted: State) -> None:
        if not self.state(path).same(wanted):
            raise edit_error(
                "stale",
                f"{path} was changed by something else since, so nothing was undone. "
                "Undo would lose that change; take it back by hand if it is not wanted.",
                file=path,
            )


def check_undo(workspace: Workspace, entries: Sequence[Entry]) -> None:
    """Return when all of *entries*, the latest first, can be taken back.

    Raises:
        EditError: kinds ``stale`` and ``io``; the text names the file.
    """
    expectation = Expectation(workspace)
    for entry in entries:
        if entry.partial:
            raise edit_error(
                "io",
                f"The old content of {entry.paths[0]} was not kept (it is too large, or in a temporary folder "
                f"that is gone), so {entry.tool} can't be undone.",
            )
        for op in reversed(entry.ops):
            expectation.take_back(op)


def undo_operations(workspace: Workspace, blobs: Blobs, entry: Entry) -> list[Operation]:
    """Return what takes *entry* back, and keep what it would need to be done again.

    Raises:
        EditError: kind ``io``: an old content is gone from the journal.
    """
    operations: list[Operation] = []
    for op in reversed(entry.ops):
        if op.kind == "rename":
            operations.append(Rename(located(workspace, op.target), located(workspace, op.path), op.before))
            if op.after.kind != "absent":
                operations.append(change(workspace, op.target, ABSENT, _filled(blobs, op.target, op.after)))
            continue
        present = read_state(workspace, located(workspace, op.path))
        if present.data is not None and present.digest:
            blobs.put(present.digest, present.data)
        before = _filled(blobs, op.path, op.before)
        if before.kind == present.kind == "file" and op.before.mode == op.after.mode:
            before = replace(before, mode=present.mode)  # not what the call changed
        operations.append(change(workspace, op.path, present, before))
    return operations


def redo_operations(workspace: Workspace, blobs: Blobs, entry: Entry) -> list[Operation]:
    """Return what does *entry* again.

    Raises:
        EditError: kinds ``stale`` and ``io``.
    """
    operations: list[Operation] = []
    for op in entry.ops:
        if op.kind == "rename":
            source, target = located(workspace, op.path), located(workspace, op.target)
            operations.append(Rename(source, target, op.before, op.after))
        else:
            operations.append(change(workspace, op.path, op.before, _filled(blobs, op.path, op.after)))
    return operations


def _filled(blobs: Blobs, path: str, state: State) -> State:
    if state.kind not in ("file", "link"):
        return state
    data = blobs.get(state.digest)
    if data is None:
        raise edit_error("io", f"The content that {path} should get is not kept any more.", file=path)
    return state.with_data(data)


def remove_empty(workspace: Workspace, folders: Sequence[str]) -> None:
    """Remove folders that a call had made, where nothing else came into them."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError, PathInvalid):
            resolved = located(workspace, folder)
            with workspace.hold_parent(resolved) as parent:
                parent.rmdir(resolved.path.name)


def changed_paths(operations: Sequence[Operation]) -> dict[str, State]:
    """Return what is at each path after *operations*."""
    after: dict[str, State] = {}
    for op in operations:
        if isinstance(op, Change):
            after[str(op.path.path)] = op.after
        else:
            after[str(op.source.path)] = ABSENT
            after[str(op.target.path)] = op.state
    return after
