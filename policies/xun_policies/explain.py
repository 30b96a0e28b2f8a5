"""The explanation of a verdict as a table of plain text."""

from __future__ import annotations

import re

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from collections.abc import Sequence

    from xun_policies.verdicts import CommandVerdict, Segment

_NAMES = {
    "|": "pipe",
    "&&": "and",
    "!": "not",
    "||": "or",
    ";": "then",
    "(": "group",
    ")": "end",
    "\n": "line end",
    "&": "background",
}
_STATUS = {"allow": "ALLOW", "ask": "ASK", "ok": "ok"}
_MOST_ROWS = 60
"""More rows than these are shown without long runs of parts that are free."""
_LEFT = 3
"""Rows that stay at each end of such a run."""

Row = tuple[str, str, str, str]
"""Number or sign, text, status, reason."""


def visible(text: str) -> str:
    """Return *text* with every character that is not shown as it is written as ``\\uXXXX``; plain blanks stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    code = ord(char)
    hidden = (
        not char.isprintable() or code in (0x34F, 0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0) or 0xFE00 <= code <= 0xFE0F
    )
    if char == "\n":
        return "\\n"
    if char == "\t":
        return "\\t"
    if hidden or 0xE0100 <= code <= 0xE01EF:
        return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
    return char


def explain(verdict: CommandVerdict, width: int) -> str:
    """Return the table: one row a piece, then the verdict and whether a grant is possible; nothing of a text is cut."""
    width = max(width, 24)
    rows = _shortened(_rows(verdict))
    longest = max((columns_of(text) for _, text, _, _ in rows), default=0)
    column = min(longest, max(12, (width - 14) * 2 // 5))
    mark = max((len(number) for number, _, _, _ in rows), default=1)
    room = width - mark - column - 11
    stacked = room < 16 or (room < 24 and any(columns_of(reason) > room for _, _, _, reason in rows))
    lines: list[str] = []
    for number, text, status, reason in rows:
        lines += _row(number.rjust(mark), text, status, reason, 0 if stacked else column, width)
    for tail in _tail(verdict, width):
        lines += _wrapped(tail, width, "  ")
    return "\n".join(line.rstrip() for line in lines)


def _rows(verdict: CommandVerdict) -> list[Row]:
    rows = []
    number = 0
    for segment in verdict.segments:
        shown, label = _label(segment, number)
        number += segment.kind == "command" or (segment.kind == "other" and bool(segment.text))
        rows.append((shown, label, _STATUS[segment.status], visible(segment.reason)))
    return rows


def _label(segment: Segment, number: int) -> tuple[str, str]:
    if segment.kind == "operator":
        return visible(segment.text), _NAMES.get(segment.text, "operator")
    if segment.kind == "command" or (segment.kind == "other" and segment.text):
        return str(number + 1), visible(segment.text)
    return "", visible(segment.text) or "(whole text)"


def _shortened(rows: list[Row]) -> Sequence[Row]:
    """Leave out the middle of long runs of free parts where the table is long; what asks is always shown."""
    if len(rows) <= _MOST_ROWS:
        return rows
    shown: list[Row] = []
    run: list[Row] = []
    for row in [*rows, None]:
        if row is not None and row[2] != "ASK":
            run.append(row)
            continue
        if len(run) > 2 * _LEFT + 2:
            note = f"... {len(run) - 2 * _LEFT} more parts, all free"
            run[_LEFT:-_LEFT] = [("", note, "", "")]
        shown += run
        run = []
        if row is not None:
            shown.append(row)
    return shown


def _row(mark: str, text: str, status: str, reason: str, column: int, width: int) -> list[str]:
    """Lay one row out; long text and long reasons go on below. With *column* 0 the reason is below the text."""
    indent = len(mark) + 2
    if not status:
        return [f"{' ' * indent}{text}"]
    if not column:
        head = _wrapped(text, width - indent - 7)
        lines = [f"{mark}  {_padded(head[0], width - indent - 7)}  {status}"]
        lines += [" " * indent + rest for rest in head[1:]]
        # What the sign of an operator says already needs no line of its own.
        said = status == "ok" and mark.strip() and not mark.strip().isdigit()
        return lines if said else lines + [" " * (indent + 2) + rest for rest in _wrapped(reason, width - indent - 2)]
    left = _wrapped(text, column)
    right = _wrapped(reason, width - indent - column - 9)
    lines = []
    for index in range(max(len(left), len(right))):
        first = left[index] if index < len(left) else ""
        second = right[index] if index < len(right) else ""
        begin = f"{mark if index == 0 else ' ' * len(mark)}  {_padded(first, column)}"
        lines.append(f"{begin}  {(status if index == 0 else '').ljust(5)}  {second}")
    return lines


def columns_of(text: str) -> int:
    """Return how many columns *text* takes on a terminal."""
    return len(text) if text.isascii() else sum(map(_char_columns, text))


def _char_columns(char: str) -> int:
    import unicodedata

    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _padded(text: str, columns: int) -> str:
    return text + " " * (columns - columns_of(text))


def _wrapped(text: str, columns: int, later: str = "") -> list[str]:
    """Break *text* into lines of at most *columns*, at blanks where it can be; lines but the first begin with *later*.

    Nothing but blanks at the ends of lines is lost.
    """
    lines: list[str] = []
    line, used, gap, empty = "", 0, "", True
    for piece in re.findall(r" +|[^ ]+", text):
        if piece[0] == " ":
            gap = piece
            continue
        size = columns_of(piece)
        if not empty and used + len(gap) + size > columns:
            lines.append(line)
            line, used, gap, empty = later, len(later), "", True
        gap = gap[: max(0, columns - used - 1)]
        line, used, gap, empty = line + gap, used + len(gap), "", False
        for char in piece if used + size > columns else (piece,):
            size = columns_of(char)
            if used + size > columns and used > len(later):
                lines.append(line)
                line, used = later, len(later)
            line, used = line + char, used + size
    return [*lines, line]


def _tail(verdict: CommandVerdict, width: int) -> list[str]:
    if verdict.allowed:
        return ["verdict: ALLOW, every part is on the list", "Nothing was run."]
    lines = ['verdict: not allowed by list → risk assessor decides (allow / unsure / reject) → prompt unless "allow"']
    if verdict.grants:
        offered = (f'"{visible(grant.text)}"' + (" (exactly)" if grant.exact else "") for grant in verdict.grants)
        grant = f"grant possible: yes, {', '.join(offered)}."
    else:
        grant = f"grant possible: no ({_blocking(verdict) or verdict.grant_refused})."
    if columns_of(grant) + 19 <= width:
        return [*lines, f"{grant}   Nothing was run."]
    return [*lines, grant, "Nothing was run."]


def _blocking(verdict: CommandVerdict) -> str:
    """Return the numbers of the rows that no grant covers; a redirection counts for the command before it."""
    number = 0
    found: dict[int, None] = {}
    for segment in verdict.segments:
        number += segment.kind == "command" or (segment.kind == "other" and bool(segment.text))
        whole = segment.kind == "other" and not segment.text
        if segment.status == "ask" and segment.grant is None and number and not whole:
            found[number] = None
    if not found:
        return ""
    return f"segment{'s' if len(found) > 1 else ''} {_ranges(list(found))}"


def _ranges(numbers: list[int]) -> str:
    """Return ascending *numbers* as text, three and more in a row as ``4-9``."""
    parts: list[str] = []
    at = 0
    while at < len(numbers):
        end = at
        while end + 1 < len(numbers) and numbers[end + 1] == numbers[end] + 1:
            end += 1
        if end - at >= 2:
            parts.append(f"{numbers[at]}-{numbers[end]}")
        else:
            parts += [str(number) for number in numbers[at : end + 1]]
        at = end + 1
    return ", ".join(parts)
