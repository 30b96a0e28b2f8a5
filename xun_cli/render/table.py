"""Tables of styled cells: columns set apart by blanks, cells wrapped when the terminal is narrow."""

from __future__ import annotations

from collections.abc import Sequence

from xun_cli.render.text import BOLD, DIM, PLAIN, Line, line_width, plain, width, wrap

_GAP = 2
_NARROWEST = 6
_KEPT = 24
"""Cells of the longest word that is kept whole."""
_WORDY = 16
"""Cells down to which columns of words give room to columns of single words."""


def table_lines(
    rows: Sequence[Sequence[Line]],
    columns: int,
    *,
    header: bool = False,
    aligns: Sequence[str] = (),
    whole: bool = False,
) -> list[Line]:
    """Return *rows* of cells drawn for *columns* cells of the terminal.

    Args:
        rows: Rows of cells; short rows are filled up.
        columns: The room there is.
        header: The first row is a header.
        aligns: left, center, right or "" per column.
        whole: No id, number or title of a column is broken: columns move together, or stand below each other.
    """
    if not rows:
        return []
    count = max(len(row) for row in rows)
    full = [[*row, *([] for _ in range(count - len(row)))] for row in rows]
    gap = _GAP
    sizes = _sizes(full, columns - gap * (count - 1))
    if whole and _breaks(full, sizes):
        gap = 1
        sizes = _sizes(full, columns - gap * (count - 1))
        if _breaks(full, sizes):
            return _records(full, columns, header)
    if min(sizes) < min(_NARROWEST, *(_natural(full, i) for i in range(count))) or (columns < 30 and count > 2):
        return _records(full, columns, header)
    lines: list[Line] = []
    for index, row in enumerate(full):
        styled = [_bold(cell) for cell in row] if header and index == 0 else row
        lines.extend(_row(styled, sizes, aligns, gap))
        if header and index == 0:
            lines.append([(DIM, (" " * gap).join("─" * size for size in sizes))])
    return lines


def _breaks(rows: Sequence[Sequence[Line]], sizes: Sequence[int]) -> bool:
    """Tell whether a word that could be kept whole is wider than its column; long paths can't."""
    words = (
        (size, width(word))
        for row in rows
        for size, cell in zip(sizes, row, strict=True)
        for word in plain(cell).split()
    )
    return any(size < wide <= _KEPT for size, wide in words)


def _natural(rows: Sequence[Sequence[Line]], column: int) -> int:
    return max(1, *(line_width(row[column]) for row in rows)) if rows else 1


def _sizes(rows: Sequence[Sequence[Line]], room: int) -> list[int]:
    """Give every column its natural width; when that is too much, take from the widest first.

    Columns with blanks in them give first: they can end a row between words, an id or a number can't.
    """
    sizes = [max(1, *(line_width(row[i]) for row in rows)) for i in range(len(rows[0]))]
    every = list(range(len(sizes)))
    wordy = [i for i in every if any(" " in plain(row[i]) for row in rows)]
    _narrow(sizes, wordy, room, _WORDY)
    _narrow(sizes, every, room, 1)
    return sizes


def _narrow(sizes: list[int], columns: Sequence[int], room: int, least: int) -> None:
    """Take from the widest of *columns* until *sizes* fit into *room* or these have come to *least*."""
    while sum(sizes) > room:
        widest = max((sizes[i] for i in columns), default=0)
        if widest <= least:
            return
        at = [i for i in columns if sizes[i] == widest]
        second = max((sizes[i] for i in columns if sizes[i] < widest), default=least)
        step = max(1, min(widest - max(second, least), -(-(sum(sizes) - room) // len(at))))
        for i in at:
            sizes[i] -= step


def _bold(cell: Line) -> Line:
    return [(f"{style} {BOLD}".strip(), text) for style, text in cell]


def _row(cells: Sequence[Line], sizes: Sequence[int], aligns: Sequence[str], gap: int) -> list[Line]:
    wrapped = [wrap(cell, size) for cell, size in zip(cells, sizes, strict=True)]
    lines: list[Line] = []
    for at in range(max(len(rows) for rows in wrapped)):
        line: Line = []
        for index, rows in enumerate(wrapped):
            content = rows[at] if at < len(rows) else []
            last = index == len(wrapped) - 1
            line += _aligned(content, sizes[index], aligns[index] if index < len(aligns) else "", last)
            if not last:
                line.append((PLAIN, " " * gap))
        lines.append(line)
    return lines


def _aligned(content: Line, size: int, align: str, last: bool) -> Line:
    free = max(0, size - line_width(content))
    before = free if align == "right" else free // 2 if align == "center" else 0
    after = 0 if last else free - before
    return [*([(PLAIN, " " * before)] if before else []), *content, *([(PLAIN, " " * after)] if after else [])]


def _records(rows: Sequence[Sequence[Line]], columns: int, header: bool) -> list[Line]:
    """One row below the other, for terminals too narrow for columns."""
    names = [plain(cell) for cell in rows[0]] if header else []
    lines: list[Line] = []
    for index, row in enumerate(rows[1:] if header else rows):
        if index:
            lines.append([(DIM, "─" * min(8, columns))])
        for at, cell in enumerate(row):
            if not line_width(cell):
                continue  # a name without a value, or an empty row, tells nothing
            # The name is wrapped too: one of a model's table may be wider than the terminal.
            name: Line = [(BOLD, f"{names[at]}: ")] if header and names[at] else []
            lines.extend(wrap([*name, *cell], columns, rest=[(PLAIN, "  ")]))
    return lines
