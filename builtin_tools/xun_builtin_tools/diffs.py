"""What a planned write changes, as a person reads it."""

from __future__ import annotations

import difflib
import hashlib
from typing import TYPE_CHECKING

from xun.choice import FileDiff

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
    start = max(0, head - _CONTEXT)
    stop_before, stop_after = len(before) - max(0, tail - _CONTEXT), len(after) - max(0, tail - _CONTEXT)
    left, right = before[start:stop_before], after[start:stop_after]
    if max(len(left), len(right)) > MAX_DIFF_LINES:
        return f"(more than {MAX_DIFF_LINES} lines differ)\n", len(right), len(left)
    hunks: list[str] = []
    added = removed = 0
    for line in list(difflib.unified_diff(left, right, n=_CONTEXT, lineterm=""))[2:]:
        if line.startswith("@@"):
            hunks.append(_shifted(line, start))
            continue
        added += line.startswith("+")
        removed += line.startswith("-")
        hunks.append(line)
    return "".join(f"{line}\n" for line in hunks), added, removed


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


def _shifted(header: str, by: int) -> str:
    parts = header.split(" ")
    for index in (1, 2):
        sign, numbers = parts[index][0], parts[index][1:].split(",")
        first = int(numbers[0]) + by
        parts[index] = sign + ",".join([str(first), *numbers[1:]])
    return " ".join(parts)
