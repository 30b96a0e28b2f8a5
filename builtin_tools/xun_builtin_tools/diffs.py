"""What a planned write changes, as a person reads it."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from xun.choice import FileDiff
from xun_builtin_tools.edit.linediff import line_opcodes

if TYPE_CHECKING:
    from xun_builtin_tools.gate import PlannedWrite

MAX_DIFF_BYTES = 1_000_000
"""Beyond this, sizes and hashes are shown instead of a diff."""
MAX_DIFF_LINES = 20_000
"""Beyond this many differing lines, too: the comparison would take seconds."""
_CONTEXT = 3


def file_diff(planned: PlannedWrite) -> FileDiff:
    """Return what *planned* changes."""
    target = "" if planned.target is None else str(planned.target.path)
    protected = planned.path.protected or (planned.target is not None and planned.target.protected)
    diff, added, removed, note = "", 0, 0, planned.note
    if planned.action in ("add", "update", "delete") or planned.new is not None:
        text = _texts(planned.old, planned.new)
        if text is None:
            note = "; ".join(part for part in (note, _sizes(planned.old, planned.new)) if part)
        else:
            diff, added, removed = unified(*text)
    return FileDiff(
        path=str(planned.path.path),
        action=planned.action,
        diff=diff,
        added=added,
        removed=removed,
        note=note,
        protected=protected,
        target=target,
    )


def _texts(old: bytes | None, new: bytes | None) -> tuple[str, str] | None:
    sides = [b"" if side is None else side for side in (old, new)]
    if any(len(side) > MAX_DIFF_BYTES or b"\0" in side[:8192] for side in sides):
        return None
    try:
        return sides[0].decode(), sides[1].decode()
    except UnicodeDecodeError:
        return sides[0].decode("latin-1"), sides[1].decode("latin-1")


def _sizes(old: bytes | None, new: bytes | None) -> str:
    parts = []
    for word, side in (("before", old), ("after", new)):
        if side is not None:
            parts.append(f"{word}: {len(side)} bytes, sha256 {hashlib.sha256(side).hexdigest()[:12]}")
    return "; ".join(parts)


def unified(old: str, new: str) -> tuple[str, int, int]:
    """Return the hunks between two texts without a file header, and the lines added and removed."""
    before, after = _lines(old), _lines(new)
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    left, right = before[head : len(before) - tail], after[head : len(after) - tail]
    if max(len(left), len(right)) > MAX_DIFF_LINES:
        return f"(more than {MAX_DIFF_LINES} lines differ)\n", len(right), len(left)
    hunks: list[str] = []
    added = removed = 0
    for group in _grouped(left, right, head, tail):
        _, first, _, first_after, _ = group[0]
        _, _, last, _, last_after = group[-1]
        hunks.append(f"@@ -{_range(first, last)} +{_range(first_after, last_after)} @@")
        for kind, start, stop, start_after, stop_after in group:
            if kind == "equal":
                hunks += [f" {line}" for line in before[start:stop]]
                continue
            hunks += [f"-{line}" for line in before[start:stop]]
            hunks += [f"+{line}" for line in after[start_after:stop_after]]
            removed += stop - start
            added += stop_after - start_after
    return "".join(f"{line}\n" for line in hunks), added, removed


def _grouped(left: list[str], right: list[str], head: int, tail: int) -> Iterable[list[tuple[str, int, int, int, int]]]:
    """Yield the hunks, as difflib's opcodes with context, of what stands between *head* and *tail* common lines.

    Only the middle is compared, and the context comes from the whole: a text that were cut near a change would
    let the change slide to its end, where no context follows.
    """
    codes = [(kind, a + head, b + head, c + head, d + head) for kind, a, b, c, d in line_opcodes(left, right)]
    ends = (len(left) + head, len(right) + head)
    whole = [("equal", 0, head, 0, head)] if head else []
    whole += codes
    whole += [("equal", ends[0], ends[0] + tail, ends[1], ends[1] + tail)] if tail else []
    matcher: difflib.SequenceMatcher[str] = difflib.SequenceMatcher(None, (), ())
    matcher.opcodes = whole  # type: ignore[attr-defined]  # what get_opcodes keeps
    return matcher.get_grouped_opcodes(_CONTEXT) if codes else ()


def _range(start: int, stop: int) -> str:
    """Return the lines of one side as the head of a hunk counts them."""
    size = stop - start
    first = start + 1 if size else start
    return str(first) if size == 1 else f"{first},{size}"


def _lines(text: str) -> list[str]:
    # A carriage return is kept: a change of line endings must be seen.
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    elif lines:
        lines[-1] += "\n\\ No newline at end of file"
    return lines


def _common(left: list[str], right: list[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
