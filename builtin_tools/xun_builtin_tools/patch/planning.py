"""A patch of many files, worked out in memory, so that later parts see earlier ones and nothing is written."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from xun.errors import EditError, ToolError
from xun_builtin_tools.edit.changes import (
    ABSENT,
    Change,
    Operation,
    Rename,
    State,
    file_state,
    read_state,
    with_facts,
)
from xun_builtin_tools.edit.document import Document
from xun_builtin_tools.edit.hunks import FilePatch, added_text
from xun_builtin_tools.edit.matching import LEVELS, Level
from xun_builtin_tools.edit.messages import edit_error
from xun_builtin_tools.edit.placing import apply_hunks
from xun_builtin_tools.edit.replacing import Replaced
from xun_builtin_tools.edit.state import EditState
from xun_builtin_tools.edit.writing import (
    EDIT_LIMIT,
    Touched,
    count_bytes,
    existing_file,
    hard_link_note,
    load_text,
    missing,
    planned_update,
    require_writable,
)
from xun_builtin_tools.gate import PlannedWrite, WriteAction
from xun_policies.workspace import ResolvedPath, current_umask

if TYPE_CHECKING:
    from xun.tools.context import ToolCallContext


@dataclass(slots=True)
class _File:
    """One file of the patch, as it will be."""

    action: WriteAction
    path: ResolvedPath
    before: State
    after: State
    target: ResolvedPath | None = None
    level: Level = "exact"
    added: int = 0
    removed: int = 0


class PatchPlan:
    """Collects what a patch does to each file."""

    def __init__(self, ctx: ToolCallContext[Any], base: str) -> None:
        self._ctx = ctx
        self._workspace = ctx.agent.workspace
        self._base = base
        self._files: dict[str, _File] = {}

    def add(self, item: FilePatch) -> None:
        """Take one part of the patch.

        Raises:
            EditError: It does not fit; ``file`` is the path as the patch has it.
        """
        try:
            {"add": self._add, "update": self._update, "delete": self._delete, "copy": self._copy}[item.action](item)
        except ToolError as exc:
            exc.facts.setdefault("file", item.path)
            exc.facts.setdefault("patch_line", item.line)
            raise

    def _resolve(self, path: str, *, follow: bool = True) -> ResolvedPath:
        # A leading ~ is the home folder, as for every tool: a patch must not mean another place by the same path.
        return self._workspace.resolve(os.path.join(self._base, os.path.expanduser(path)), follow=follow)

    def _add(self, item: FilePatch) -> None:
        resolved = self._vacant(item.path)
        if item.content:
            Document(resolved.display, "", "utf-8").check_new_text(item.content)
        data = item.content.encode("utf-8")
        earlier = self._files.get(str(resolved.path))
        if earlier is not None:
            # Deleted by an earlier part: the file is given new content.
            after = file_state(data, earlier.before.mode)
            added, removed = count_bytes(earlier.before.data or b"", data)
            made = _File("update", resolved, earlier.before, after, added=added, removed=removed)
        else:
            made = _File("add", resolved, ABSENT, file_state(data, _new_mode(item.executable)))
            made.added, _ = count_bytes(b"", data)
        self._files[str(resolved.path)] = made

    def _vacant(self, path: str) -> ResolvedPath:
        """Return a path at which nothing is, or where an earlier part deleted a file."""
        resolved = self._resolve(path, follow=False)
        if path.endswith("/"):
            self._resolve(path)  # where it leads is said first, as by every other tool
            raise edit_error("is_dir", f"{path} ends with a slash, so it names a folder; give the name of the file.")
        earlier = self._files.get(str(resolved.path))
        if earlier is not None:
            if earlier.action != "delete" or earlier.before.kind != "file":
                raise self._duplicate(resolved)
            return resolved
        if any(file.target is not None and file.target.path == resolved.path for file in self._files.values()):
            raise self._duplicate(resolved)
        present = read_state(self._workspace, resolved)
        if present.kind == "dir":
            raise edit_error("is_dir", f"{resolved.display} is a folder, so no file can be made there.")
        if present.kind == "link":
            self._resolve(path)  # a link that leads out of the workspace is refused as such
        if present.kind != "absent":
            raise edit_error("exists", f"{resolved.display} exists already; a patch updates it, or deletes it first.")
        return resolved

    def _duplicate(self, resolved: ResolvedPath) -> EditError:
        return edit_error(
            "duplicate_file",
            f"The patch names {resolved.display} more than once; give all changes of a file in one part.",
        )

    def _update(self, item: FilePatch) -> None:
        resolved = self._resolve(item.path)
        earlier = self._files.get(str(resolved.path))
        if earlier is not None:
            self._update_again(item, earlier)
            return
        if self._workspace.stat(resolved) is None and (item.other is not None or item.fills):
            self._update_absent(item)
            return
        moves = item.target is not None and self._resolve(item.target, follow=False).path != resolved.path
        if moves and read_state(self._workspace, self._resolve(item.path, follow=False)).kind == "link":
            raise edit_error("not_regular", f"{item.path} is a link; move it with the move tool.")
        before = self._existing(resolved, item)
        file = _File("update", resolved, before, before)
        self._change(file, item, moves)
        if moves:
            file.action, file.target = "move", self._move_target(resolved, item.target or "")
        self._files[str(resolved.path)] = file

    def _update_absent(self, item: FilePatch) -> None:
        """A file that is not there may have been named with git's prefix, or be made by the patch."""
        if item.other is not None and self._workspace.stat(self._resolve(item.other)) is not None:
            self._update(replace(item, path=item.other, other=None))
        elif item.fills and item.target is None:
            hunk = item.hunks[0]
            content = added_text(hunk.line, hunk.rows, closed=not hunk.new_open)
            self._add(replace(item, action="add", hunks=(), content=content))
        else:
            existing_file(self._workspace, self._resolve(item.path), item.path)

    def _existing(self, resolved: ResolvedPath, item: FilePatch) -> State:
        if any(file.target is not None and file.target.path == resolved.path for file in self._files.values()):
            raise self._duplicate(resolved)
        before = existing_file(self._workspace, resolved, item.path)
        if before.data is None and item.hunks:
            raise edit_error("io", f"{resolved.display} is larger than {EDIT_LIMIT:,} bytes, the limit for edits.")
        require_writable(resolved, before)
        if before.data is not None:
            EditState.of(self._ctx.agent).check(str(resolved.path), resolved.display, before)
        return before

    def _move_target(self, source: ResolvedPath, path: str) -> ResolvedPath:
        target = self._resolve(path, follow=False)
        first, second = self._workspace.stat(source), self._workspace.stat(target)
        same = first is not None and second is not None and os.path.samestat(first, second)
        if same and target.path != source.path and str(target.path).casefold() == str(source.path).casefold():
            return target  # only upper and lower case change, on a file system that ignores them
        return self._unnamed(path)

    def _unnamed(self, path: str) -> ResolvedPath:
        """Return a path at which nothing is, and nothing was before the patch."""
        vacant = self._vacant(path)
        if str(vacant.path) in self._files:
            raise self._duplicate(vacant)
        return vacant

    def _change(self, file: _File, item: FilePatch, moves: bool = False) -> None:
        """Carry out the hunks and the mode of *item* on the content so far."""
        mode = _with_execution(file.after.mode, item.executable)
        if not item.hunks:
            if mode == file.after.mode and not moves:
                raise edit_error("noop", f"The patch leaves {file.path.display} as it is, so nothing was changed.")
            file.after = State("file", file.after.data, mode, file.after.digest)
            return
        result = self._hunks(file, item)
        file.after = file_state(result.doc.to_bytes(), mode)
        file.level = max(file.level, result.level, key=LEVELS.index)
        file.added += result.added
        file.removed += result.removed

    def _hunks(self, file: _File, item: FilePatch) -> Replaced:
        doc = load_text(self._workspace, file.path, file.after.data or b"")
        return apply_hunks(doc, item.hunks, file=item.path)

    def _update_again(self, item: FilePatch, earlier: _File) -> None:
        """A file that an earlier part added or updated: its new content is what the hunks meet."""
        if earlier.action not in ("add", "update") or item.target is not None:
            raise self._duplicate(earlier.path)
        self._change(earlier, item)

    def _delete(self, item: FilePatch) -> None:
        resolved = self._resolve(item.path, follow=False)
        if str(resolved.path) in self._files:
            raise self._duplicate(resolved)
        before = read_state(self._workspace, resolved, keep=EDIT_LIMIT)
        if before.kind == "absent":
            raise missing(self._workspace, resolved, item.path)
        if before.kind == "dir":
            raise edit_error("is_dir", f"{resolved.display} is a folder; a patch deletes files only.")
        file = _File("delete", resolved, before, before)
        if before.kind == "file" and before.data is not None:
            EditState.of(self._ctx.agent).check(str(resolved.path), resolved.display, before)
            _, file.removed = count_bytes(before.data, b"")
        if item.verify and (self._hunks(file, item).doc.source if item.hunks else before.data):
            raise edit_error(
                "not_found",
                f"{resolved.display} has more lines than the patch deletes, so nothing was changed. A patch of the "
                "form '*** Begin Patch' deletes a whole file by its name.",
            )
        file.after = ABSENT
        self._files[str(resolved.path)] = file

    def _copy(self, item: FilePatch) -> None:
        source = self._resolve(item.path)
        before = existing_file(self._workspace, source, item.path)
        target = self._unnamed(item.target or "")
        if before.data is None:
            raise edit_error("io", f"{source.display} is larger than {EDIT_LIMIT:,} bytes, the limit for edits.")
        file = _File("add", target, ABSENT, before)
        if item.hunks:
            self._change(file, item)
        file.added, file.removed = count_bytes(b"", file.after.data or b"")
        self._files[str(target.path)] = file

    # -- the outcome --------------------------------------------------------------------------------

    def operations(self) -> list[Operation]:
        """Return what the commit does.

        Raises:
            EditError: kind ``noop``: the parts together change nothing.
        """
        operations: list[Operation] = []
        for file in self._files.values():
            if file.target is None:
                if not file.before.same(file.after) or file.before.mode != file.after.mode:
                    operations.append(Change(file.path, file.before, file.after))
            elif file.before.same(file.after) and file.before.mode == file.after.mode:
                operations.append(Rename(file.path, file.target, file.before))
            else:
                operations.append(Change(file.target, ABSENT, with_facts(self._workspace, file.path, file.after)))
                operations.append(Change(file.path, file.before, ABSENT))
        if not operations:
            raise edit_error("noop", "The patch leaves all files as they are, so nothing was changed.")
        return operations

    def planned(self) -> list[PlannedWrite]:
        """Return what the gate asks about."""
        planned = []
        for file in self._files.values():
            note = hard_link_note(self._workspace, file.path) if file.action == "update" else ""
            if file.before.kind == "file" and file.before.mode != file.after.mode and file.action == "update":
                note = "; ".join(filter(None, (note, f"mode {file.before.mode:04o} to {file.after.mode:04o}")))
            if file.action == "update":
                planned.append(planned_update(file.path, file.before, file.after, note))
                continue
            old = file.before.data if file.before.kind == "file" else None
            new = file.after.data if file.after.kind == "file" else None
            asks = file.action != "add"
            planned.append(PlannedWrite(file.action, file.path, old, new, file.target, note, asks))
        return planned

    def touched(self) -> list[Touched]:
        """Return what the front end hears."""
        touched = []
        for file in self._files.values():
            path = file.path if file.target is None else file.target
            touched.append(Touched(str(path.path), file.action, file.added, file.removed))
        return touched

    def results(self) -> list[dict[str, Any]]:
        """Return what the model hears."""
        results = []
        for file in self._files.values():
            value: dict[str, Any] = {
                "path": (file.path if file.target is None else file.target).shown,
                "action": file.action,
                "added": file.added,
                "removed": file.removed,
                "level": file.level,
            }
            if file.target is not None:
                value["from"] = file.path.shown
            results.append(value)
        return results


def _new_mode(executable: bool | None) -> int:
    return (0o777 if executable else 0o666) & ~current_umask()


def _with_execution(mode: int, executable: bool | None) -> int:
    if executable is None:
        return mode
    if not executable:
        return mode & ~0o111
    # Whoever may read it may run it, as git does it.
    return mode | (mode & 0o444) >> 2
