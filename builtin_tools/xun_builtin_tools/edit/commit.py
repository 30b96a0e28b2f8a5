"""Carry out a plan: all of it, or none of it.

New content is first written beside its place and brought to the disk; then each file is swapped in
by one rename; what goes away goes last. Until the end every old file keeps a second name, so that
putting it back needs no space.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Sequence

from xun.errors import EditError
from xun_builtin_tools.edit.changes import (
    Change,
    Operation,
    Rename,
    State,
    os_error_kind,
    read_state,
)
from xun_builtin_tools.edit.disk import Disk
from xun_builtin_tools.edit.messages import edit_error, stale
from xun_policies.paths.held import TEMP_PREFIX, TEMP_SUFFIX, HeldFolder
from xun_policies.workspace import PathInvalid, ResolvedPath, Workspace


def new_token() -> str:
    """Return a name for one commit; its temporary files carry it."""
    return secrets.token_hex(8)


def temp_name(token: str, number: int, purpose: str) -> str:
    """Return the name of a temporary file of a commit; *purpose* is "n" for new content, "o" for old."""
    return f"{TEMP_PREFIX}{token}-{number}{purpose}{TEMP_SUFFIX}"


def commit(
    workspace: Workspace, operations: Sequence[Operation], disk: Disk, token: str | None = None
) -> list[ResolvedPath]:
    """Carry out *operations* and return the folders that were made for them, outermost first.

    Raises:
        EditError: kinds ``stale``, ``exists``, ``missing``, ``denied``, ``io``; then everything is as before.
    """
    work = _Commit(workspace, operations, disk, token or new_token())
    work.check()
    try:
        work.run()
    except BaseException as exc:
        left = work.roll_back()
        if isinstance(exc, OSError):
            raise _failed(exc, left) from exc
        raise
    work.finish()
    return work.made


def missing_folders(workspace: Workspace, operations: Sequence[Operation]) -> tuple[str, ...]:
    """Return the folders that a commit will have to make, outermost first."""
    missing: set[str] = set()
    for op in operations:
        if isinstance(op, Change) and op.after.kind == "absent":
            continue
        path = str((op.path if isinstance(op, Change) else op.target).path.parent)
        while path not in missing and path not in workspace.roots and not os.path.lexists(path):
            missing.add(path)
            path = os.path.dirname(path)
    return tuple(sorted(missing, key=len))


def _failed(exc: OSError, left: list[str]) -> EditError:
    kind = os_error_kind(exc)
    if kind not in ("denied", "io", "exists", "outside"):
        kind = "io"
    reason = exc.strerror or str(exc)
    if not left:
        return edit_error(kind, f"The files could not be written ({reason}); all of them are as they were.")
    return edit_error(
        kind,
        f"The files could not be written ({reason}), and these could not be put back: {', '.join(left)}.",
        left=left,
    )


class _Commit:
    def __init__(self, workspace: Workspace, operations: Sequence[Operation], disk: Disk, token: str) -> None:
        self.workspace = workspace
        self.operations = operations
        self.disk = disk
        self.token = token
        self.made: list[ResolvedPath] = []
        self.staged: list[tuple[ResolvedPath, str]] = []
        self.kept: list[tuple[ResolvedPath, str]] = []
        self.undo: list[tuple[str, Callable[[], None]]] = []
        self.renamed = {str(op.source.path) for op in operations if isinstance(op, Rename)}

    def check(self) -> None:
        """Compare every path with what the plan took it to be."""
        for op in self.operations:
            if isinstance(op, Change):
                if str(op.path.path) not in self.renamed:
                    self._expect(op.path, op.before)
            else:
                self._expect(op.source, op.state)
                if not self._same_entry(op):
                    self._expect(op.target, op.replaced)

    def _expect(self, path: ResolvedPath, expected: State) -> None:
        if self._unchanged(path, expected):
            return
        present = read_state(self.workspace, path)
        if present.same(expected):
            return
        if expected.kind == "absent":
            raise edit_error("exists", f"{path.display} exists now, so nothing was changed.")
        if present.kind == "absent":
            raise edit_error("stale", f"{path.display} is gone since it was looked at, so nothing was changed.")
        raise stale(path.display, expected.data, present.data or b"")

    def _unchanged(self, path: ResolvedPath, expected: State) -> bool:
        """Whether a file still has the bytes at hand: the same answer as by its hash, in a tenth of the time."""
        if expected.kind != "file" or expected.data is None:
            return False
        try:
            with self.workspace.hold_parent(path) as parent:
                found = parent.lstat(path.path.name)
                if found is None or not stat.S_ISREG(found.st_mode) or found.st_size != len(expected.data):
                    return False
                return parent.read(path.path.name) == expected.data
        except (OSError, PathInvalid):
            return False

    def _same_entry(self, op: Rename) -> bool:
        """Whether source and target are one entry of a folder that ignores case."""
        if op.source.path.parent != op.target.path.parent or op.source.path == op.target.path:
            return False
        if op.source.path.name.casefold() != op.target.path.name.casefold():
            return False
        first, second = self.workspace.stat(op.source), self.workspace.stat(op.target)
        return first is not None and second is not None and os.path.samestat(first, second)

    def run(self) -> None:
        """Change the disk; each step notes how to take it back."""
        changes = [op for op in self.operations if isinstance(op, Change)]
        renames = [op for op in self.operations if isinstance(op, Rename)]
        for op in changes:
            if op.after.kind == "dir" and op.before.kind == "absent":
                self._make_folders(op.path, op.after.mode)
            elif op.after.kind != "absent":
                self._make_parents(op.path)
        for rename in renames:
            self._make_parents(rename.target)
        staged = [self._stage(number, op) for number, op in enumerate(changes)]
        for rename in renames:
            self._rename(rename)
        for number, op in enumerate(changes):
            if staged[number] is not None:
                self._swap_in(number, op, staged[number] or "")
        self._dress_folders([op for op in changes if op.after.kind == "dir" and op.before.kind == "absent"])
        gone = {number: op for number, op in enumerate(changes) if op.after.kind == "absent"}
        folders = {number: op for number, op in gone.items() if op.before.kind == "dir"}
        for number, op in gone.items():
            if not any(folder.path.path in op.path.path.parents for folder in folders.values()):
                if number in folders:
                    self._remove_folder(number, op, {str(change.path.path) for change in gone.values()})
                else:
                    self._remove(number, op)

    def _dress_folders(self, changes: Sequence[Change]) -> None:
        """Give folders that come back what they had, the innermost first: from then on some can't be written."""
        for op in sorted(changes, key=lambda op: len(op.path.path.parts), reverse=True):
            if op.after.facts is not None:
                with self.workspace.hold_parent(op.path) as parent:
                    parent.dress(op.path.path.name, op.after.mode, op.after.facts.owner, op.after.facts.attributes)

    def _make_parents(self, path: ResolvedPath) -> None:
        parent = path.path.parent
        if str(parent) not in self.workspace.roots:
            self._make_folders(self.workspace.resolve(parent, follow=False))

    def _make_folders(self, path: ResolvedPath, mode: int = 0o777) -> None:
        wanted = path
        missing: list[ResolvedPath] = []
        while str(path.path) not in self.workspace.roots and self.workspace.stat(path) is None:
            missing.append(path)
            path = self.workspace.resolve(path.path.parent, follow=False)
        for folder in reversed(missing):
            with self.workspace.hold_parent(folder) as parent:
                self.disk.mkdir(parent, folder.path.name, mode if folder is wanted else 0o777)
            self.made.append(folder)
            self.undo.append((folder.display, lambda folder=folder: self._rmdir(folder)))  # type: ignore[misc]

    def _rmdir(self, folder: ResolvedPath) -> None:
        with self.workspace.hold_parent(folder) as parent:
            parent.rmdir(folder.path.name)

    def _stage(self, number: int, op: Change) -> str | None:
        """Write the new content beside its place."""
        if op.after.kind not in ("file", "link"):
            return None
        if op.after.data is None:
            raise edit_error("io", f"The content that {op.path.display} should get was not kept.")
        name, facts = temp_name(self.token, number, "n"), op.after.facts
        with self.workspace.hold_parent(op.path) as parent:
            self.staged.append((op.path, name))
            if op.after.kind == "link":
                self.disk.symlink(parent, name, os.fsdecode(op.after.data))
                if facts is not None:
                    parent.give_link(name, facts.owner)
                return name
            found = parent.lstat(op.path.path.name) if op.before.kind == "file" else None
            if found is None:
                self.disk.write(parent, name, op.after.data, op.after.mode, None if facts is None else facts.owner)
                if facts is not None:
                    parent.dress(name, op.after.mode, facts.owner, facts.attributes)
                return name
            # A mode that somebody changed since the file was read is theirs, unless this change is about it.
            mode = op.after.mode if op.after.mode != op.before.mode else stat.S_IMODE(found.st_mode)
            self.disk.write(parent, name, op.after.data, mode, (found.st_uid, found.st_gid))
            if parent.copy_attributes(op.path.path.name, name):
                parent.chmod(name, mode)  # an access list brings a mode with it
        return name

    def _swap_in(self, number: int, op: Change, staged: str) -> None:
        name = op.path.path.name
        with self.workspace.hold_parent(op.path) as parent:
            if op.before.kind == "absent":
                if parent.lstat(name) is not None:
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), op.path.display)
                self.disk.replace(parent, staged, name)
                self.undo.append((op.path.display, lambda: self._unlink(op.path)))
            elif len(self.operations) == 1:
                # One rename is all there is: nothing after it can fail.
                self.disk.replace(parent, staged, name)
            else:
                backup = self._keep(number, op)
                self.disk.replace(parent, staged, name)
                self.undo.append((op.path.display, lambda: self._put_back(op.path, backup)))
        self.staged.remove((op.path, staged))

    def _keep(self, number: int, op: Change) -> str:
        backup = temp_name(self.token, number, "o")
        with self.workspace.hold_parent(op.path) as parent:
            self.kept.append((op.path, backup))
            try:
                self.disk.keep(parent, op.path.path.name, backup)
            except OSError as exc:
                if exc.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV):
                    raise
                self._copy_old(op, backup)
        return backup

    def _copy_old(self, op: Change, backup: str) -> None:
        # A file system without hard links: a copy does, at the price of its size.
        with self.workspace.hold_parent(op.path) as parent:
            if op.before.kind == "link":
                parent.symlink(parent.readlink(op.path.path.name), backup)
            else:
                parent.write_temp(parent.read(op.path.path.name), op.before.mode, name=backup)

    def _remove(self, number: int, op: Change) -> None:
        if len(self.operations) == 1:
            with self.workspace.hold_parent(op.path) as parent:
                self.disk.unlink(parent, op.path.path.name)
            return
        backup = self._keep(number, op)
        with self.workspace.hold_parent(op.path) as parent:
            self.disk.unlink(parent, op.path.path.name)
        self.undo.append((op.path.display, lambda: self._put_back(op.path, backup)))

    def _remove_folder(self, number: int, op: Change, planned: set[str]) -> None:
        """Put a folder with all in it out of sight by one rename; it is taken apart at the very end."""
        backup = temp_name(self.token, number, "o")
        with self.workspace.hold_parent(op.path) as parent:
            self.disk.rename(parent, op.path.path.name, parent, backup)
            self.kept.append((op.path, backup))
            self.undo.append((op.path.display, lambda: self._put_back(op.path, backup)))
            with parent.enter(backup) as hidden:
                extra = _unplanned(hidden, str(op.path.path), planned)
        if extra:
            raise edit_error("stale", f"{extra} came into {op.path.display} meanwhile, so nothing was changed.")

    def _rename(self, op: Rename) -> None:
        with self.workspace.hold_parent(op.source) as source, self.workspace.hold_parent(op.target) as target:
            if (
                op.replaced.kind == "absent"
                and not self._same_entry(op)
                and target.lstat(op.target.path.name) is not None
            ):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), op.target.display)
            self.disk.rename(source, op.source.path.name, target, op.target.path.name)
        if op.replaced.kind == "absent":
            self.undo.append((op.source.display, lambda: self._rename_back(op)))

    def _rename_back(self, op: Rename) -> None:
        with self.workspace.hold_parent(op.source) as source, self.workspace.hold_parent(op.target) as target:
            target.move_to(op.target.path.name, source, op.source.path.name)

    def _unlink(self, path: ResolvedPath) -> None:
        with self.workspace.hold_parent(path) as parent:
            parent.unlink(path.path.name)

    def _put_back(self, path: ResolvedPath, backup: str) -> None:
        with self.workspace.hold_parent(path) as parent:
            parent.replace(backup, path.path.name)
        self.kept.remove((path, backup))

    def roll_back(self) -> list[str]:
        """Take the steps back, last first, and return what could not be."""
        left = []
        # First, since a folder that was made can only go when it is empty.
        self._clean(self.staged)
        for display, step in reversed(self.undo):
            try:
                step()
            except (OSError, PathInvalid):
                left.append(display)
        if not left:
            # What could not be put back is still under its second name.
            self._clean(self.kept)
        return left

    def finish(self) -> None:
        """Drop the old files' second names and bring the folders to the disk."""
        self._clean(self.kept)
        folders = {op.path.path.parent if isinstance(op, Change) else op.target.path.parent for op in self.operations}
        for folder in folders:
            # The change is done: a folder that can't be synchronised is no reason to say otherwise.
            with contextlib.suppress(OSError, PathInvalid), self.workspace.hold(self.workspace.resolve(folder)) as held:
                held.sync()

    def _clean(self, temps: list[tuple[ResolvedPath, str]]) -> None:
        for path, name in temps:
            for _ in range(2):
                try:
                    with self.workspace.hold_parent(path) as parent:
                        remove_temp(parent, name)
                except (OSError, PathInvalid):
                    continue
                break
        temps.clear()


def remove_temp(parent: HeldFolder, name: str) -> None:
    """Remove a temporary file or folder of a commit, never through a link; nothing there is no error."""
    found = parent.lstat(name)
    if found is None:
        return
    if stat.S_ISDIR(found.st_mode):
        shutil.rmtree(name, dir_fd=parent.fd)
    else:
        parent.unlink(name)


def _unplanned(folder: HeldFolder, path: str, planned: set[str]) -> str:
    """Return something in the folder, which was at *path*, that is not in the plan; "" when all is."""
    for item in folder.scan():
        below = f"{path}/{item.name}"
        if below not in planned:
            return below
        if item.is_dir(follow_symlinks=False):
            with folder.enter(item.name) as inner:
                extra = _unplanned(inner, below, planned)
            if extra:
                return extra
    return ""
