"""Unified diffs as styled lines: every byte visible, long lines folded with a mark."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from xun_cli.render.safe import safe
from xun_cli.render.text import (
    ADDED,
    BOLD,
    DIM,
    HUNK,
    PLAIN,
    REMOVED,
    WARN,
    Line,
    cut,
    expand_tabs,
    hard_wrap,
    line_width,
)

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
# Only outside a hunk: inside one, "--- x" is the removed line "-- x".
_HEADERS = ("--- ", "+++ ", "*** ", "diff --git ", "index ")
_FOLD = "↪"
COUNT = "…"
"""Stands before the count of lines that are left out."""


def diff_rows(diff: str, columns: int, *, context: int | None = None, longest: int = 0) -> list[Line]:
    """Return a unified diff drawn for *columns* cells.

    Removed and added lines carry their line number, a folded line goes on after ``↪``, and
    characters that can't be seen are shown as ``<U+XXXX>``. With *context* only so many unchanged lines stay at each
    change, and the heads of hunks go: the line numbers tell where it is. With *longest* of more removed or added lines
    in a row than that the rest is counted in one row: what comes is then seen beside what goes.
    """
    numbers = _numbered(_rows(diff))
    if context is not None:
        numbers = _near_changes(numbers, context)
    if longest:
        numbers = _shortened(numbers, longest)
    size = max((len(row.number) for row in numbers), default=1)
    lines: list[Line] = []
    for row in numbers:
        lines.extend(_line(row.number.rjust(size), row.sign, row.text, columns))
    return lines


def side_by_side(diff: str, columns: int) -> list[Line]:
    """Return a unified diff as two columns with line numbers, old on the left, for wide terminals."""
    half = (columns - 3) // 2
    lines: list[Line] = []
    left: list[_Row] = []
    right: list[_Row] = []
    rows = _numbered(_rows(diff))
    size = max((len(number) for row in rows for number in (row.number, row.old)), default=1)

    def flush() -> None:
        for index in range(max(len(left), len(right))):
            old = _half(left[index], half, size) if index < len(left) else []
            new = _half(right[index], half, size) if index < len(right) else []
            lines.extend(_pair(old, new, half))
        left.clear()
        right.clear()

    for row in rows:
        if row.sign == "-":
            left.append(row)
        elif row.sign == "+":
            right.append(row)
        else:
            flush()
            if row.sign == " ":
                before = row._replace(number=row.old)
                lines.extend(_pair(_half(before, half, size), _half(row, half, size), half))
            else:
                lines.append([(HUNK if row.sign == "@" else WARN, cut(row.text, columns))])
    flush()
    return lines


def split_files(diff: str) -> list[tuple[str, str]]:
    """Return ``(path, diff)`` for each file of a diff in which a line ``--- path`` begins each file."""
    files: list[tuple[str, list[str]]] = []
    old_left = new_left = 0
    for row in _rows(diff):
        match = _HUNK.match(row)
        if old_left <= 0 and new_left <= 0:
            if row.startswith("--- "):
                files.append((row[4:], []))
                continue
            if match:
                old_left, new_left = int(match.group(2) or 1), int(match.group(4) or 1)
        else:
            old_left -= row[:1] in ("-", " ")
            new_left -= row[:1] in ("+", " ")
        if not files:
            files.append(("", []))
        files[-1][1].append(row)
    return [(path, "\n".join(rows)) for path, rows in files]


def made_diff(old: str, new: str, first: int = 1) -> str:
    """Return the unified diff of two texts whose first line has the number *first*, without a file header."""
    rows = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2))[2:]
    return "\n".join(_shifted(row, first - 1) for row in rows)


def count_changes(diff: str) -> tuple[int, int]:
    """Return how many lines a unified diff adds and removes."""
    rows = diff.split("\n")
    return sum(row.startswith("+") for row in rows), sum(row.startswith("-") for row in rows)


def _shifted(row: str, by: int) -> str:
    match = _HUNK.match(row)
    if match is None or by == 0:
        return row
    parts = re.sub(r"([-+])(\d+)", lambda m: f"{m.group(1)}{int(m.group(2)) + by}", match.group())
    return parts + row[match.end() :]


def _rows(diff: str) -> list[str]:
    # Only \n ends a row: a CR or U+2028 inside a line belongs to the line and must be seen.
    rows = diff.split("\n")
    if rows and rows[-1] == "":
        rows.pop()
    return rows


class _Row(NamedTuple):
    """A row of a diff; its sign is "@" for a hunk, "#" for a file header, "\\" for a remark, `COUNT` for a count."""

    number: str
    sign: str
    text: str
    old: str = ""


def _numbered(rows: Sequence[str]) -> list[_Row]:
    """Return *rows* with their line numbers: the old one of what goes, the new one of what comes or stays."""
    result: list[_Row] = []
    old = new = old_left = new_left = 0
    for row in rows:
        match = _HUNK.match(row)
        inside = old_left > 0 or new_left > 0
        if match and not inside:
            old, new = int(match.group(1)), int(match.group(3))
            old_left, new_left = int(match.group(2) or 1), int(match.group(4) or 1)
            result.append(_Row("", "@", row))
        elif row.startswith(_HEADERS) and not inside:
            result.append(_Row("", "#", row))
        elif row.startswith("-"):
            result.append(_Row(str(old or ""), "-", row[1:]))
            old, old_left = old + 1, old_left - 1
        elif row.startswith("+"):
            result.append(_Row(str(new or ""), "+", row[1:]))
            new, new_left = new + 1, new_left - 1
        elif row.startswith("\\"):
            result.append(_Row("", "\\", row[1:].strip()))
        else:
            result.append(_Row(str(new or ""), " ", row[1:], str(old or "")))
            old, new = old + 1, new + 1
            old_left, new_left = old_left - 1, new_left - 1
    return [row._replace(text=expand_tabs(safe(row.text))) for row in result]


def _near_changes(rows: Sequence[_Row], context: int) -> list[_Row]:
    changed = [at for at, row in enumerate(rows) if row.sign in "+-"]
    if not changed:
        return list(rows)
    near = {at + by for at in changed for by in range(-context, context + 1)}
    return [row for at, row in enumerate(rows) if row.sign != "@" and (row.sign != " " or at in near)]


def _shortened(rows: Sequence[_Row], longest: int) -> list[_Row]:
    result: list[_Row] = []
    for sign, group in itertools.groupby(rows, key=lambda row: row.sign):
        run = list(group)
        if sign not in "+-" or len(run) <= longest:
            result += run
            continue
        what = "added" if sign == "+" else "removed"
        left = len(run) - longest + 1
        result += [*run[: longest - 1], _Row("", COUNT, f"{left} more {what} line{'s' * (left > 1)}")]
    return result


def _line(number: str, sign: str, text: str, columns: int) -> list[Line]:
    if sign == "@":
        return [[(HUNK, cut(text, columns))]]
    if sign == COUNT:
        return [[(DIM, cut(f"{' ' * len(number)} {COUNT} {text}", columns))]]
    if sign == "#":
        return [[(BOLD, cut(text, columns))]]
    if sign == "\\":
        return [[(WARN, cut(f"{' ' * len(number)} ({text})", columns))]]
    style = {"+": ADDED, "-": REMOVED}.get(sign, PLAIN)
    pieces = hard_wrap(text, max(8, columns - len(number) - 2))
    lines: list[Line] = [[(DIM, number + " "), (style, sign + pieces[0])]]
    lines += [[(DIM, " " * len(number) + _FOLD), (style, " " + piece)] for piece in pieces[1:]]
    return lines


def _half(row: _Row, half: int, size: int) -> list[Line]:
    """Return one side of a row; its styles end within *half* cells, the rest is for `_pair` to fill."""
    return _line(row.number.rjust(size), row.sign, row.text, half)


def _pair(left: list[Line], right: list[Line], half: int) -> list[Line]:
    rows: list[Line] = []
    for index in range(max(len(left), len(right))):
        a = left[index] if index < len(left) else []
        b = right[index] if index < len(right) else []
        rows.append([*a, (PLAIN, " " * max(0, half - line_width(a))), (DIM, " │ "), *b])
    return rows
