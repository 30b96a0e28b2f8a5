"""From a tool's arguments to a plan, and from a plan to the disk: what all writing tools share."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from xun.errors import EditError
from xun_builtin_tools import gate
from xun_builtin_tools.diffs import MAX_DIFF_BYTES, unified
from xun_builtin_tools.edit.broken import what_broke, written
from xun_builtin_tools.edit.changes import ABSENT, Change, Operation, State, file_state, read_state
from xun_builtin_tools.edit.charset import stated_charset
from xun_builtin_tools.edit.commit import new_token
from xun_builtin_tools.edit.document import RAW, Document, counted_text
from xun_builtin_tools.edit.messages import edit_error
from xun_builtin_tools.edit.replacing import Replaced, count_changes, snippet
from xun_builtin_tools.edit.state import EditState
from xun_builtin_tools.edit.undoing import changed_paths
from xun_builtin_tools.gate import PlannedWrite
from xun_policies.workspace import ResolvedPath, Workspace

if TYPE_CHECKING:
    from xun.tools.context import ToolCallContext

EDIT_LIMIT = 50_000_000
"""Bytes of a file that the edit tools take."""

_LISTED_RANGES = 100


@dataclass(frozen=True, slots=True)
class Opened:
    """A text file that is about to be edited.

    Attributes:
        path: Where it is.
        before: What is there.
        doc: Its text.
    """

    path: ResolvedPath
    before: State
    doc: Document


@dataclass(frozen=True, slots=True)
class Touched:
    """One file of a finished call, for the front end."""

    path: str
    action: str
    added: int = 0
    removed: int = 0


def open_text(ctx: ToolCallContext[Any], path: str, encoding: str | None = None, **facts: Any) -> Opened:
    """Return the text file at *path*, as a person or a model wrote it.

    Raises:
        EditError: kinds ``missing``, ``is_dir``, ``not_regular``, ``binary``, ``encoding``, ``stale``, ``denied``,
            ``io``.
        PathOutsideWorkspace: It leads out of the workspace.
    """
    workspace = ctx.agent.workspace
    resolved = workspace.resolve(path)
    before = existing_file(workspace, resolved, path, **facts)
    if before.data is None:
        raise edit_error("io", f"{resolved.display} is larger than {EDIT_LIMIT:,} bytes, the limit for edits.", **facts)
    require_writable(resolved, before, **facts)
    EditState.of(ctx.agent).check(str(resolved.path), resolved.display, before)
    return Opened(resolved, before, load_text(workspace, resolved, before.data, encoding))


def load_text(workspace: Workspace, resolved: ResolvedPath, data: bytes, encoding: str | None = None) -> Document:
    """Return the document; where its encoding can't be known, the project's own statement counts.

    Raises:
        EditError: kinds ``binary`` and ``encoding``.
    """
    doc = Document.load(resolved.display, data, encoding)
    if doc.codec != RAW:
        return doc
    charset = stated_charset(workspace, resolved)
    if charset is None:
        return doc
    try:
        return Document.load(resolved.display, data, charset)
    except EditError:
        # The statement is wrong for this file: its bytes stay opaque.
        return doc


def existing_file(workspace: Workspace, resolved: ResolvedPath, path: str, **facts: Any) -> State:
    """Return the state of the regular file at *resolved*.

    Raises:
        EditError: kinds ``missing`` (with near names as ``similar``), ``is_dir``, ``not_regular``.
    """
    before = read_state(workspace, resolved, keep=EDIT_LIMIT)
    if before.kind == "absent":
        raise missing(workspace, resolved, path, **facts)
    if before.kind == "dir":
        raise edit_error("is_dir", f"{resolved.display} is a folder, not a file.", **facts)
    if before.kind == "link":
        raise edit_error("outside", f"Path {resolved.display} is not within the agent's workspace: it became a link.")
    return before


def missing(workspace: Workspace, resolved: ResolvedPath, path: str, **facts: Any) -> Exception:
    """Return the error for a file that is not there, with the names near it."""
    names: list[str] = []
    try:
        with workspace.hold(workspace.resolve(resolved.path.parent)) as held:
            names = [item.name for item in held.scan()]
    except (OSError, ValueError):
        pass
    near = difflib.get_close_matches(resolved.path.name, sorted(names), 3, 0.6)
    folder = os.path.dirname(path)
    similar = [os.path.join(folder, name) for name in near]
    hint = f" Near names: {', '.join(similar)}." if similar else ""
    return edit_error("missing", f"{resolved.display} does not exist.{hint}", similar=similar or None, **facts)


def require_writable(resolved: ResolvedPath, before: State, **facts: Any) -> None:
    """Refuse to replace a read-only file, as opening it for writing would be refused.

    Raises:
        EditError: kind ``denied``.
    """
    if before.kind == "file" and (not before.mode & 0o222 or not os.access(resolved.path, os.W_OK)):
        raise edit_error(
            "denied", f"{resolved.display} is read-only (mode {before.mode:04o}), so it was not changed.", **facts
        )


def hard_link_note(workspace: Workspace, resolved: ResolvedPath) -> str:
    """Return a word about a file that has several names, or ""."""
    found = workspace.stat(resolved)
    if found is None or found.st_nlink < 2:
        return ""
    return f"has {found.st_nlink} hard links: only this name gets the new content"


def carry_out(
    ctx: ToolCallContext[Any],
    operations: Sequence[Operation],
    planned: Sequence[PlannedWrite],
    touched: Sequence[Touched],
    *,
    editable: bool = False,
    checked: bool = False,
) -> dict[str, Any]:
    """Ask, write all of it or nothing, remember how to undo it, and tell the front end.

    With *editable* the person may change the content of one file before allowing it. What the model has to be told of
    that is returned, and with *checked* what the new contents broke; `told` puts it together with the rest.

    Raises:
        Denied: The person or a rule refused.
        EditError: As `EditJournal.carry_out`.
    """
    state = EditState.of(ctx.agent)
    edited = gate.write(ctx, planned, editable=editable and _one_text(operations))
    ctx.check_cancel()
    facts: dict[str, Any] = {}
    if edited is not None and isinstance(operations[0], Change):
        change = operations[0]
        changed, facts = _as_edited(change, edited)
        operations, touched = [changed], [replace(item, **_counts(facts)) for item in touched]
        if changed.before.same(changed.after):
            state.note(str(change.path.path), change.before)
            return facts
    state.journal.carry_out(ctx.turn, ctx.tool_name, operations, new_token())
    for path, after in changed_paths(operations).items():
        state.note(path, after)
    for item in touched:
        ctx.changed_file(item.path, item.action, item.added, item.removed)
    return {**facts, **what_broke(ctx, written(operations))} if checked else facts


def told(facts: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """Return what a write says: *usual*, unless the person changed the text, with the *facts* of `carry_out`."""
    return facts if "edited_by_user" in facts else {**usual, **facts}


def _one_text(operations: Sequence[Operation]) -> bool:
    """Whether one file gets new content, and nothing else happens."""
    only = operations[0] if len(operations) == 1 else None
    return isinstance(only, Change) and only.after.kind == "file" and only.before.kind in ("absent", "file")


def _as_edited(change: Change, content: bytes) -> tuple[Change, dict[str, Any]]:
    """Return *change* with the content that the person made of it, and what the model is told."""
    added, removed = count_bytes(change.before.data or b"", content)
    asked = (change.after.data or b"").decode("utf-8", "replace")
    difference, _, _ = unified(asked, content.decode("utf-8", "replace"))
    said = f"The user changed your text before allowing it. From your text to what is in the file now:\n{difference}"
    after = file_state(content, change.after.mode)
    return Change(change.path, change.before, after), {"added": added, "removed": removed, "edited_by_user": said}


def _counts(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: facts[name] for name in ("added", "removed")}


def write_text(
    ctx: ToolCallContext[Any], opened: Opened, doc: Document, added: int, removed: int, *, editable: bool = True
) -> dict[str, Any]:
    """Write *doc* in the place of the file that it was opened from; returns and raises as `carry_out`."""
    data = doc.to_bytes()
    resolved = opened.path
    after = file_state(data, opened.before.mode)
    note = hard_link_note(ctx.agent.workspace, resolved)
    planned = planned_update(resolved, opened.before, after, note)
    touched = Touched(str(resolved.path), "update", added, removed)
    return carry_out(
        ctx, [Change(resolved, opened.before, after)], [planned], [touched], editable=editable, checked=True
    )


def planned_update(resolved: ResolvedPath, before: State, after: State, note: str = "") -> PlannedWrite:
    """Return what the gate asks about; of large contents it gets sizes and hashes, which are at hand."""
    old, new = before.data or b"", after.data or b""
    if max(len(old), len(new)) <= MAX_DIFF_BYTES:
        return PlannedWrite("update", resolved, before.data, after.data, note=note)
    sizes = (
        f"before: {len(old)} bytes, sha256 {before.digest[:12]}; after: {len(new)} bytes, sha256 {after.digest[:12]}"
    )
    return PlannedWrite("update", resolved, note="; ".join(filter(None, (note, sizes))))


def write_new(ctx: ToolCallContext[Any], resolved: ResolvedPath, data: bytes, mode: int) -> dict[str, Any]:
    """Write a new file, and return the lines added and removed, and what is wrong in it; raises as `carry_out`."""
    counts = count_bytes(b"", data)
    planned = PlannedWrite("add", resolved, None, data, asks=False)
    touched = Touched(str(resolved.path), "add", *counts)
    facts = carry_out(ctx, [Change(resolved, ABSENT, file_state(data, mode))], [planned], [touched], checked=True)
    return {"added": counts[0], "removed": counts[1], **facts}


def count_bytes(old: bytes, new: bytes) -> tuple[int, int]:
    """Return the lines added and removed between two contents; none for binary ones."""
    texts = [counted_text(side) for side in (old, new)]
    return (0, 0) if texts[0] is None or texts[1] is None else count_changes(texts[0], texts[1])


def describe(result: Replaced, lines: Sequence[list[int]] | None = None, doc: Document | None = None) -> dict[str, Any]:
    """Return what a tool says about one replacement; *lines* and *doc* are those after later edits of the call."""
    shown = list(result.lines if lines is None else lines)
    value: dict[str, Any] = {
        "level": result.level,
        "lines": shown[:_LISTED_RANGES],
        "added": result.added,
        "removed": result.removed,
        "snippet": snippet(result.doc, shown, result.at) if doc is None else snippet(doc, shown),
    }
    if len(shown) > _LISTED_RANGES:
        value["places"] = len(shown)
    return value
