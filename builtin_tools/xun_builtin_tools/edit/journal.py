"""The undo journal: for each call the old content of what it wrote, bounded and, if asked for, lasting."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xun_builtin_tools.edit.blobs import Blobs
from xun_builtin_tools.edit.changes import Change, Operation, State
from xun_builtin_tools.edit.commit import commit, missing_folders, new_token
from xun_builtin_tools.edit.disk import Disk
from xun_builtin_tools.edit.entries import Entry, going, stored
from xun_builtin_tools.edit.index import Index
from xun_builtin_tools.edit.messages import edit_error
from xun_builtin_tools.edit.undoing import (
    check_undo,
    redo_operations,
    remove_empty,
    undo_operations,
)

if TYPE_CHECKING:
    from pathlib import Path

    from xun.choice import FileDiff
    from xun_builtin_tools.gate import PlannedWrite
    from xun_policies.workspace import Workspace

MAX_ENTRIES = 500
"""Calls that are kept."""

MAX_BYTES = 50_000_000
"""Bytes of old content that are kept; the oldest calls go first."""

NOT_KEPT = "what writes replace is not kept here (session.snapshot = false)"
"""Why there is nothing to undo, where nothing is kept for it."""


class EditJournal:
    """What the calls of one agent wrote, so that it can be taken back. Safe to use from several threads.

    Args:
        workspace: Where the files are.
        disk: The operations that change the disk.
        max_entries: Calls that are kept.
        max_bytes: Bytes of old content that are kept; 0 keeps nothing once a call is through.
    """

    def __init__(
        self,
        workspace: Workspace,
        disk: Disk | None = None,
        *,
        max_entries: int = MAX_ENTRIES,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._workspace = workspace
        self.disk = disk or Disk()
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._blobs = Blobs()
        self._sizes: dict[str, int] = {}
        self._index: Index | None = None
        self._done: list[Entry] = []
        self._undone: list[list[Entry]] = []
        self._next = 1
        self._run = 1
        self._lock = threading.RLock()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The calls that can be undone, oldest first."""
        return tuple(self._done)

    @property
    def keeps(self) -> bool:
        """Whether calls can be undone at all."""
        return self._max_bytes > 0

    @property
    def can_redo(self) -> bool:
        """Whether something was undone and nothing written since."""
        return bool(self._undone)

    @property
    def redo_paths(self) -> tuple[str, ...]:
        """The paths that `redo` would write, each once."""
        group = self._undone[-1] if self._undone else []
        return tuple(dict.fromkeys(path for entry in group for path in entry.paths))

    # -- writing ------------------------------------------------------------------------------------

    def carry_out(self, turn: int, tool: str, operations: Sequence[Operation], token: str) -> None:
        """Commit *operations* and remember how to take them back; all or none.

        The entry is on disk before the first file changes, so that a process that dies in between
        leaves what the next one needs to put the files back.

        Raises:
            EditError: As `commit`; kind ``io`` also when the old content could not be kept.
        """
        with self._lock:
            entry = self._begin(turn, tool, operations, token)
            try:
                made = commit(self._workspace, operations, self.disk, token)
            except BaseException:
                self._note("abandon", number=entry.number)
                raise
            self._undone.clear()
            if not self._max_bytes:
                # Until here its old content was what another process would need, had this one died in the call.
                self._note("abandon", number=entry.number)
                self._forget()
                return
            entry = entry.with_folders(tuple(str(folder.path) for folder in made))
            self._done.append(entry)
            self._note("end", number=entry.number, folders=list(entry.folders))
            self._trim()

    def _begin(self, turn: int, tool: str, operations: Sequence[Operation], token: str) -> Entry:
        partial = False
        try:
            for op in operations:
                for state in (op.before,) if isinstance(op, Change) else (op.replaced,):
                    partial = not self._keep(state) or partial
            ops = tuple(stored(going(self._workspace, op)) for op in operations)
            folders = missing_folders(self._workspace, operations)
            entry = Entry(self._next, self._run, turn, tool, ops, folders, token, partial=partial)
            self._note("begin", entry=entry.to_json(), must=True)
        except OSError as exc:
            raise edit_error(
                "io", f"The old content could not be kept for undo ({exc.strerror}), so nothing was changed."
            ) from exc
        self._next += 1
        return entry

    def _keep(self, state: State) -> bool:
        if not state.digest:
            return True
        if state.data is None or len(state.data) > (self._max_bytes or MAX_BYTES):
            return False
        self._blobs.put(state.digest, state.data)
        self._sizes[state.digest] = len(state.data)
        return True

    def _note(self, op: str, *, must: bool = False, **values: object) -> None:
        if self._index is None:
            return
        # Mostly the files are written by now: an index that can't be is a lesser loss than a false error.
        with contextlib.nullcontext() if must else contextlib.suppress(OSError):
            self._index.append(op, **values)

    def _trim(self) -> None:
        dropped: list[int] = []
        while self._done and (len(self._done) > self._max_entries or self._bytes() > self._max_bytes):
            dropped.append(self._done.pop(0).number)
        if dropped:
            self._note("drop", numbers=dropped)
            self._forget()

    def _forget(self) -> None:
        with contextlib.suppress(OSError):
            self._blobs.keep_only(self._wanted())

    def _wanted(self) -> set[str]:
        entries = (*self._done, *(entry for group in self._undone for entry in group))
        return {digest for entry in entries for digest in entry.digests()}

    def _bytes(self) -> int:
        return sum(self._sizes.get(digest, 0) for digest in self._wanted())

    # -- lasting ------------------------------------------------------------------------------------

    def persist_to(self, folder: str | Path) -> list[str]:
        """Keep the journal in *folder* from now on, take over what is there, and finish what died.

        A call that was cut off by the end of its process is taken back as a whole.

        Returns:
            The paths that were put back because of that.

        Raises:
            OSError: The folder can't be made or written.
        """
        with self._lock:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            os.chmod(folder, 0o700)
            index = Index(os.fspath(folder))
            loaded = index.load()
            self._blobs.persist_to(os.path.join(folder, "blobs"))
            earlier = self._done
            for entry in (*loaded.done, *(entry for group in loaded.undone for entry in group), *loaded.pending):
                self._next = max(self._next, entry.number + 1)
            self._run = loaded.run + 1
            self._index = index
            index.append("run", run=self._run)
            self._done = _lasting(loaded.done)
            self._undone = [group for group in map(_lasting, loaded.undone) if group] if not earlier else []
            self._sizes.update(_sizes(os.path.join(folder, "blobs")))
            for entry in earlier:
                self._adopt(entry)
            return self._recover(loaded.pending)

    def _adopt(self, entry: Entry) -> None:
        """Take over a call that was made before the journal had a folder."""
        moved = replace(entry, number=self._next, run=self._run)
        self._next += 1
        self._done.append(moved)
        self._note("begin", entry=moved.to_json())
        self._note("end", number=moved.number, folders=list(moved.folders))

    def _recover(self, pending: Sequence[Entry]) -> list[str]:
        from xun_builtin_tools.edit.recovery import recover

        restored: list[str] = []
        for entry in pending:
            restored += recover(self._workspace, self._blobs, entry)
            self._note("abandon", number=entry.number)
        return restored

    # -- taking back --------------------------------------------------------------------------------

    def last_turns(self, n: int) -> list[Entry]:
        """Return the calls of the last *n* turns that wrote, the latest call first."""
        return _last_turns(self._done, n)

    def preview_last_turns(self, n: int = 1, workspace: Workspace | None = None) -> list[FileDiff]:
        """Return what `undo_last_turns` would change, one item per path, without changing anything."""
        return self.preview(self.last_turns(n), workspace)

    def since(self, turn: int) -> list[Entry]:
        """Return the calls from the first one of *turn*, or of a later turn, on, the latest call first."""
        first = next((at for at, entry in enumerate(self._done) if entry.turn >= turn), len(self._done))
        return list(reversed(self._done[first:]))

    def preview(self, entries: Sequence[Entry], workspace: Workspace | None = None) -> list[FileDiff]:
        """Return what taking back *entries*, the latest first, would change, one item per path."""
        from xun_builtin_tools.edit.preview import preview

        with self._lock:
            return preview(workspace or self._workspace, self._blobs, entries)

    def undo_last_turns(self, n: int = 1, workspace: Workspace | None = None) -> list[str]:
        """Take back all writes of the last *n* turns that wrote, and return the paths, each once.

        Raises:
            EditError: kind ``stale``: a file was changed since, and nothing was taken back; kind
                ``noop``: there is nothing to undo; kind ``io``.
        """
        return self.undo(self.last_turns(n), workspace)

    def undo(self, entries: Sequence[Entry], workspace: Workspace | None = None) -> list[str]:
        """Take back *entries*, the latest first, and return the paths, each once; raises as `undo_last_turns`."""
        with self._lock:
            return self._undo(list(entries), workspace or self._workspace)

    def last_call(self, path: str | None = None) -> Entry | None:
        """Return the last call, or the last that touched the absolute *path*."""
        return next((entry for entry in reversed(self._done) if path is None or path in entry.paths), None)

    def plan_undo(self, entry: Entry) -> list[PlannedWrite]:
        """Return what taking back *entry* would write, for the gate."""
        from xun_builtin_tools.edit.preview import planned_undo

        with self._lock:
            return planned_undo(self._workspace, self._blobs, entry)

    def undo_last_call(self, path: str | None = None) -> list[str]:
        """Take back the last call, or the last that touched the absolute *path*; returns and raises as above."""
        with self._lock:
            entry = self.last_call(path)
            return self._undo([] if entry is None else [entry], self._workspace)

    def _undo(self, entries: list[Entry], workspace: Workspace) -> list[str]:
        if not entries:
            why = "no edit history" if self._max_bytes else NOT_KEPT
            raise edit_error("noop", f"There is nothing to undo: {why}.")
        check_undo(workspace, entries)
        done: list[Entry] = []
        try:
            for entry in entries:
                self._commit_again(
                    workspace, entry, "undo", undo_operations(workspace, self._blobs, entry), join=bool(done)
                )
                done.append(entry)
        finally:
            if done:
                self._done = [entry for entry in self._done if entry not in done]
                self._undone.append(done)
        return list(dict.fromkeys(path for entry in done for path in entry.paths))

    def _commit_again(
        self, workspace: Workspace, entry: Entry, op: str, operations: Sequence[Operation], *, join: bool = False
    ) -> None:
        """Commit an undo or redo; when the process dies in it, the next one takes back what was done of it."""
        token = new_token()
        folders = missing_folders(workspace, operations)
        work = Entry(self._next, self._run, entry.turn, entry.tool, tuple(map(stored, operations)), folders, token)
        self._next += 1
        self._note("begin", entry=work.to_json())
        try:
            commit(workspace, operations, self.disk, token)
            if op == "undo":
                remove_empty(workspace, entry.folders)
        except BaseException:
            self._note("abandon", number=work.number)
            raise
        # One record, so that a process that dies has noted both or neither.
        self._note(op, numbers=[entry.number], ends=work.number, join=join)

    def redo(self, workspace: Workspace | None = None) -> list[str]:
        """Do again what was undone last, and return the paths.

        Raises:
            EditError: kind ``noop``: nothing was undone, or something was written since; ``stale``; ``io``.
        """
        workspace = workspace or self._workspace
        with self._lock:
            if not self._undone:
                raise edit_error("noop", "There is nothing to redo.")
            group = self._undone[-1]
            # A later call may need what an earlier one makes, so they are done one by one, in order.
            again: list[Entry] = []
            try:
                for entry in reversed(group):
                    self._commit_again(workspace, entry, "redo", redo_operations(workspace, self._blobs, entry))
                    again.append(entry)
            finally:
                self._redone(group, again)
            return list(dict.fromkeys(path for entry in again for path in entry.paths))

    def _redone(self, group: list[Entry], again: list[Entry]) -> None:
        if not again:
            return
        self._undone.pop()
        self._done += again
        left = [entry for entry in group if entry not in again]
        if left:
            # Stopped half way: the rest stays undone, and can be tried again.
            self._undone.append(left)


def _sizes(folder: str) -> dict[str, int]:
    with os.scandir(folder) as found:
        return {item.name: item.stat().st_size for item in found}


def _last_turns(entries: Sequence[Entry], n: int) -> list[Entry]:
    chosen: list[Entry] = []
    turns: list[tuple[int, int]] = []
    for entry in reversed(entries):
        # A call outside any turn, by the person, is one of its own.
        turn = (entry.run, entry.turn or -entry.number)
        if turn not in turns:
            if len(turns) == n:
                break
            turns.append(turn)
        chosen.append(entry)
    return chosen


def _lasting(entries: Sequence[Entry]) -> list[Entry]:
    """Return the calls of an earlier process that can still be taken back."""
    kept = [entry.without_temporary() for entry in entries]
    return [entry for entry in kept if entry.ops]
