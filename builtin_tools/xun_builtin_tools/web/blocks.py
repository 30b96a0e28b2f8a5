"""Blocks of text as Markdown: paragraphs, lists, quotations, code and tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_LANGUAGE = re.compile(r"(?:^|\s)(?:language-|lang-|highlight-source-)([A-Za-z0-9+#_-]{1,30})")
_SPACES = re.compile(r"[ \t\r\n\f\v\u00a0]+")
_MAX_DEPTH = 20
_HARD_BREAK = "\x00"


def code_span(text: str) -> str:
    """Return *text* as code within a line."""
    plain = _SPACES.sub(" ", text).strip()
    if not plain:
        return ""
    fence = "`" * (longest_run(plain) + 1)
    pad = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{pad}{plain}{pad}{fence}"


def longest_run(text: str) -> int:
    """Return the length of the longest run of backticks in *text*."""
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _common(one: str, other: str) -> str:
    """Return what two prefixes begin with alike."""
    count = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:count]


@dataclass(slots=True)
class _List:
    ordered: bool
    number: int


@dataclass(slots=True)
class _Table:
    rows: list[list[str]] = field(default_factory=list)
    depth: int = 1
    in_cell: bool = False


class Blocks:
    """Takes text and the ends of blocks in the order of a page, and gives the lines of a text."""

    def __init__(self, *, markdown: bool) -> None:
        self._markdown = markdown
        self._lines: list[str] = []
        self._inline: list[str] = []
        self._prefixes: list[str] = []
        self._last_prefix = ""
        self._lists: list[_List] = []
        self._marker = ""
        self._blank = False
        self._heading = 0
        self._pre: list[str] | None = None
        self._language = ""
        self._table: _Table | None = None
        self._depth = 0

    # -- text within a line

    @property
    def in_pre(self) -> bool:
        """Whether text is taken as it is."""
        return self._pre is not None

    def add(self, text: str) -> None:
        """Add text to the line."""
        if self._pre is not None:
            self._pre.append(text)
        elif text:
            self._inline.append(text)

    def mark(self) -> int:
        """Return the place that the line has reached, for `take`."""
        return len(self._inline)

    def take(self, mark: int) -> str:
        """Remove what came to the line since *mark*, and return it."""
        text = "".join(self._inline[mark:])
        del self._inline[mark:]
        return text

    def join_mark(self, sign: str, *, opens: bool) -> None:
        """Add a sign of emphasis, on the right side of the spaces; an empty pair disappears."""
        if self._pre is not None or not self._markdown:
            return
        if opens:
            self._inline.append(f"\x01{sign}")
            return
        at = next((at for at in range(len(self._inline) - 1, -1, -1) if self._inline[at] == f"\x01{sign}"), None)
        if at is None:
            return
        inner = "".join(self._inline[at + 1 :])
        del self._inline[at:]
        core = inner.strip()
        before, after = inner[: len(inner) - len(inner.lstrip())], inner[len(inner.rstrip()) :] if core else ""
        self._inline.append(f"{before}{sign}{core}{sign}{after}" if core else inner)

    def line_break(self) -> None:
        """End the line within its paragraph."""
        if self._pre is not None:
            self._pre.append("\n")
        else:
            self._inline.append(" " if self._table is not None else _HARD_BREAK)

    # -- ends of blocks

    def end_line(self) -> None:
        """End the line that is being written."""
        if self._pre is not None:
            return
        if self._table is not None:
            self._inline.append(" ")
            return
        text = _SPACES.sub(" ", "".join(piece for piece in self._inline if piece[:1] != "\x01"))
        self._inline.clear()
        rows = [row.strip() for row in text.split(_HARD_BREAK)]
        rows = [row for at, row in enumerate(rows) if row or 0 < at < len(rows) - 1]
        if not any(rows):
            return
        if self._heading:
            rows = ["#" * self._heading + " " + " ".join(filter(None, rows)) if self._markdown else " ".join(rows)]
            self._heading = 0
        self._emit(rows)

    def _emit(self, rows: list[str]) -> None:
        prefix = "".join(self._prefixes)
        if self._blank and self._lines:
            outer = "".join(self._prefixes[:-1]) if self._marker else prefix
            self._lines.append(_common(self._last_prefix, outer).rstrip())
        self._blank = False
        self._last_prefix = prefix
        first = prefix
        if self._marker:
            first = "".join(self._prefixes[:-1]) + self._marker
            self._marker = ""
        self._lines.append((first + rows[0]).rstrip())
        self._lines += [(prefix + row).rstrip() for row in rows[1:]]

    def paragraph(self) -> None:
        """End a paragraph, or begin one."""
        self.end_line()
        self._heading = 0
        if not self._marker:
            # The first paragraph of a list item stands beside its marker.
            self._blank = True

    def heading(self, level: int) -> None:
        """Begin a heading."""
        self.paragraph()
        self._heading = level

    def rule(self) -> None:
        """Draw a line across."""
        self.paragraph()
        if self._table is None and self._pre is None and self._markdown:
            self._emit(["---"])
            self._blank = True

    # -- lists and quotations

    def _push(self, prefix: str) -> None:
        self._depth += 1
        self._prefixes.append(prefix if self._depth <= _MAX_DEPTH else "")

    def _pop(self) -> None:
        self._depth -= 1
        self._prefixes.pop()

    def open_list(self, *, ordered: bool, start: str = "") -> None:
        """Begin a list; within another one it belongs to the item."""
        self.end_line()
        if not self._lists:
            self._blank = True
        number = int(start) if start.isascii() and start.isdigit() and len(start) < 9 else 1
        self._lists.append(_List(ordered, number))
        self._push("")

    def item(self) -> None:
        """Begin an item of the list."""
        self.end_line()
        if self._table is not None or self._pre is not None:
            return
        if not self._lists:
            return
        current = self._lists[-1]
        marker = f"{current.number}. " if current.ordered else "- "
        current.number += 1
        self._blank = self._blank and not self._lines_are_item()
        if self._depth <= _MAX_DEPTH:
            self._prefixes[-1] = " " * len(marker)
            self._marker = marker

    def _lines_are_item(self) -> bool:
        """Tell whether the list has items already, so that no blank line comes between."""
        return bool(self._lists and self._lists[-1].number > (2 if self._lists[-1].ordered else 1)) and bool(
            self._prefixes and self._prefixes[-1]
        )

    def close_list(self) -> None:
        """End a list."""
        self.end_line()
        if not self._lists:
            return
        self._lists.pop()
        self._pop()
        self._marker = ""
        self._blank = not self._lists

    def open_quote(self) -> None:
        """Begin a quotation."""
        self.paragraph()
        self._push("> ")

    def close_quote(self) -> None:
        """End a quotation."""
        self.paragraph()
        if self._prefixes and len(self._prefixes) > len(self._lists):
            self._pop()

    # -- code

    def open_pre(self, classes: str) -> None:
        """Begin a block of code."""
        self.paragraph()
        if self._pre is None and self._table is None:
            self._pre = []
            self._language = ""
            self.language(classes)

    def language(self, classes: str) -> None:
        """Note the language of the block of code, if its classes say one."""
        found = _LANGUAGE.search(classes)
        if found is not None and self._pre is not None and not self._language:
            self._language = found.group(1)

    def close_pre(self) -> None:
        """End a block of code."""
        if self._pre is None:
            self.paragraph()
            return
        text = "".join(self._pre).replace("\r\n", "\n").strip("\n")
        self._pre = None
        self._blank = True
        if not text.strip():
            return
        fence = "`" * max(3, longest_run(text) + 1)
        rows = text.split("\n")
        self._emit([f"{fence}{self._language}", *rows, fence] if self._markdown else rows)
        self._blank = True

    # -- tables

    def open_table(self) -> None:
        """Begin a table; one within another is text of its cell."""
        if self._pre is not None:
            return
        if self._table is not None:
            self._table.depth += 1
            return
        self.paragraph()
        self._table = _Table()

    def row(self) -> None:
        """Begin a row."""
        table = self._table
        if table is not None and table.depth == 1:
            self.end_cell()
            table.rows.append([])

    def end_row(self) -> None:
        """End a row."""
        self.end_cell()

    def cell(self) -> None:
        """Begin a cell."""
        table = self._table
        if table is None or table.depth > 1:
            self.add(" ")
            return
        self.end_cell()
        if not table.rows:
            table.rows.append([])
        self._inline.clear()
        table.in_cell = True

    def end_cell(self) -> None:
        """End a cell."""
        table = self._table
        if table is None or table.depth > 1 or not table.in_cell:
            return
        text = "".join(piece for piece in self._inline if piece[:1] != "\x01")
        self._inline.clear()
        table.in_cell = False
        table.rows[-1].append(_SPACES.sub(" ", text).strip())

    def close_table(self) -> None:
        """End a table."""
        table = self._table
        if table is None:
            return
        if table.depth > 1:
            table.depth -= 1
            return
        self.end_cell()
        self._table = None
        rows = [row for row in table.rows if any(row)]
        stray = _SPACES.sub(" ", "".join(self._inline)).strip()
        self._inline.clear()
        if stray:
            self._emit([stray])
        self._blank = True
        if rows:
            self._emit(self._table_rows(rows))
        self._blank = True

    def _table_rows(self, rows: list[list[str]]) -> list[str]:
        columns = max(map(len, rows))
        if not self._markdown or columns == 1:
            return ["\t".join(row) for row in rows]
        lines = []
        for row in rows:
            cells = [cell.replace("|", "\\|") for cell in row] + [""] * (columns - len(row))
            lines.append("| " + " | ".join(cells) + " |")
        lines.insert(1, "|" + " --- |" * columns)
        return lines

    def text(self) -> str:
        """Return the whole text; what is still open ends here."""
        if self._pre is not None:
            self.close_pre()
        if self._table is not None:
            self._table.depth = 1
            self.close_table()
        self.end_line()
        return "\n".join(self._lines).strip("\n")
