"""What an undo would change, for a person to see first."""

from __future__ import annotations

from collections.abc import Sequence

from xun.choice import FileDiff
from xun.errors import EditError
from xun_builtin_tools.diffs import file_diff
from xun_builtin_tools.edit.blobs import Blobs
from xun_builtin_tools.edit.changes import State, read_state
from xun_builtin_tools.edit.entries import Entry, located
from xun_builtin_tools.edit.undoing import Expectation
from xun_builtin_tools.gate import PlannedWrite
from xun_policies.errors import PolicyError
from xun_policies.workspace import Workspace


def preview(workspace: Workspace, blobs: Blobs, entries: Sequence[Entry]) -> list[FileDiff]:
    """Return one item per path of *entries*, the latest first; a note says why one could not be undone."""
    notes: dict[str, str] = {}
    expectation = Expectation(workspace)
    for entry in entries:
        for op in reversed(entry.ops):
            try:
                expectation.take_back(op)
            except (EditError, PolicyError) as exc:
                notes[op.path] = str(exc)
            if entry.partial:
                notes[op.path] = "the old content was too large, so this can't be undone"
    return [_item(workspace, blobs, path, state, notes.get(path, "")) for path, state in _final(entries).items()]


def planned_undo(workspace: Workspace, blobs: Blobs, entry: Entry) -> list[PlannedWrite]:
    """Return what taking back *entry* asks about."""
    return [_planned(workspace, blobs, path, state, "undo") for path, state in _final([entry]).items()]


def _final(entries: Sequence[Entry]) -> dict[str, State]:
    """Return what is at each path when *entries*, the latest first, are taken back."""
    final: dict[str, State] = {}
    for entry in entries:
        for op in reversed(entry.ops):
            final[op.path] = op.before
            if op.target:
                final[op.target] = op.after
    return final


def _item(workspace: Workspace, blobs: Blobs, path: str, state: State, note: str) -> FileDiff:
    try:
        return file_diff(_planned(workspace, blobs, path, state, note))
    except (EditError, PolicyError) as exc:
        return FileDiff(path, "update", note=note or str(exc))


def _planned(workspace: Workspace, blobs: Blobs, path: str, state: State, note: str) -> PlannedWrite:
    resolved = located(workspace, path)
    present = read_state(workspace, resolved)
    old = present.data if present.kind == "file" else None
    new = blobs.get(state.digest) if state.kind == "file" else None
    if state.kind == "absent":
        return PlannedWrite("delete", resolved, old, None, note=note)
    return PlannedWrite("update" if present.kind != "absent" else "add", resolved, old, new, note=note)
