"""A view to read in: long text in sections, with a search; sections are drawn when they are looked at."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xun_cli.frontend.full_screen import filled, footer_line, title_line
from xun_cli.render.text import PLAIN, SELECTED, Line, cut_line, plain

KEPT = 40
"""Sections that are kept as drawn: a long session has many, and each costs time to draw."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of what is read.

    Attributes:
        lines: Draws it for so many columns, side by side or not; the lines were made by ``safe()``.
        text: Gives its text as it came, for a search that should not draw everything; None: it is drawn.
        grows: It may be another one each time that the view is drawn.
    """

    lines: Callable[[int, bool], list[Line]]
    text: Callable[[], str] | None = None
    grows: bool = False


class Pager:
    """Reads sections one below the other.

    Args:
        title: The first row.
        sections: What is read; at least one.
        noun: What a section is called, such as turn; "" when they are not counted.
        at_end: Begin at the end.
        split_from: Columns from which ``s`` shows it side by side; 0 when it can't be.
        split: Begin side by side where the width allows it.
        renew: Gives the sections as they are now, for a text that grows: a view that is at the end stays there.
    """

    def __init__(
        self,
        title: Line,
        sections: Sequence[Section],
        *,
        noun: str = "",
        at_end: bool = False,
        split_from: int = 0,
        split: bool = False,
        renew: Callable[[], Sequence[Section]] | None = None,
    ) -> None:
        self.closed, self.note = False, ""
        self.result: Any = None
        self._title, self._sections, self._noun = title, sections, noun
        self._renew, self._at_end = renew, at_end
        self._split_from, self._split = split_from, split
        self._size = (80, 24)
        self._at = (len(self._sections) - 1, 1_000_000) if at_end else (0, 0)
        self._drawn: OrderedDict[tuple[int, int, bool], list[Line]] = OrderedDict()
        self._needle, self._typing, self._said = "", False, ""
        self._hit: tuple[int, int] | None = None

    # -- drawing ----------------------------------------------------------------------------

    def draw(self, columns: int, rows: int) -> list[Line]:
        """Return the whole view."""
        if self._renew is not None:
            self._renewed(self._renew())
        if (columns, rows) != self._size:
            self._resized(columns, rows)
        body = max(1, rows - 2)
        self._settle()
        self._at_end = self._at == self._last()
        shown = [self._marked(line) for line in self._visible(body)]
        return [title_line(self._title, columns), *filled(shown, body), self._footer(columns)][:rows]

    def _renewed(self, sections: Sequence[Section]) -> None:
        """Take what has changed since the view was drawn; who reads the end goes on there."""
        if sections is not self._sections:
            self._sections = sections
            self._drawn.clear()
        for key in [key for key in self._drawn if self._sections[key[0]].grows]:
            del self._drawn[key]
        if self._at_end and not self._typing:
            self._at = (len(self._sections) - 1, 1_000_000)

    def _resized(self, columns: int, rows: int) -> None:
        """Stay at the same part of the section: rows of another width are other rows."""
        section, row = self._at
        before = max(1, len(self._section(section)))
        share = min(1.0, row / before)
        at_end = row > before
        self._size, self._hit = (columns, rows), None
        if not at_end:
            self._at = (section, round(share * len(self._section(section))))

    def _section(self, index: int) -> list[Line]:
        columns, _ = self._size
        key = (index, columns, self._is_split)
        found = self._drawn.get(key)
        if found is None:
            found = self._sections[index].lines(columns, self._is_split)
            self._drawn[key] = found
            while len(self._drawn) > KEPT:
                self._drawn.popitem(last=False)
        else:
            self._drawn.move_to_end(key)
        return found

    @property
    def _is_split(self) -> bool:
        return self._split and 0 < self._split_from <= self._size[0]

    @property
    def _body(self) -> int:
        return max(1, self._size[1] - 2)

    def _visible(self, rows: int) -> list[Line]:
        section, row = self._at
        lines: list[Line] = []
        while len(lines) < rows and section < len(self._sections):
            lines += self._section(section)[row : row + rows - len(lines)]
            section, row = section + 1, 0
        return lines

    def _settle(self) -> None:
        """Bring the position into the text, and not below what fills the view."""
        section, row = self._at
        while row < 0 and section > 0:
            section -= 1
            row += len(self._section(section))
        row = max(0, row)
        while row >= len(self._section(section)) and section < len(self._sections) - 1:
            row -= len(self._section(section))
            section += 1
        self._at = min((section, row), self._last())

    def _last(self) -> tuple[int, int]:
        """Return the lowest position that still fills the view."""
        left, section = self._body, len(self._sections) - 1
        while section > 0 and len(self._section(section)) < left:
            left -= len(self._section(section))
            section -= 1
        return section, max(0, len(self._section(section)) - left)

    def _marked(self, line: Line) -> Line:
        columns, _ = self._size
        needle = self._needle.lower()
        text = plain(line)
        low = text.lower()
        if not needle or needle not in low or len(low) != len(text):
            return cut_line(line, columns)
        spans: list[tuple[int, int]] = []
        start = low.find(needle)
        while start >= 0:
            spans.append((start, start + len(needle)))
            start = low.find(needle, start + len(needle))
        return cut_line(_highlighted(line, spans), columns)

    def _footer(self, columns: int) -> Line:
        if self._typing:
            return cut_line([(PLAIN, f" /{self._needle}"), (SELECTED, " ")], columns)
        keys = ["↑↓ PgUp PgDn", "/ search"]
        if self._needle:
            keys.append("n N next, last")
        if len(self._sections) > 1 and self._noun:
            keys.append(f"[ ] {self._noun}s")
        if 0 < self._split_from <= columns:
            keys.append("s one column" if self._is_split else "s side by side")
        return footer_line(self._where(), [*keys, "q back"], columns, self._said or self.note)

    def _where(self) -> str:
        section, row = self._at
        if len(self._sections) > 1 and self._noun:
            return f"{self._noun} {section + 1} of {len(self._sections)}"
        if len(self._sections) > 1:
            return "all" if (section, row) == self._last() == (0, 0) else ""
        total = len(self._section(0))
        if total <= self._body:
            return "all"
        return f"{row + 1}–{min(total, row + self._body)} of {total} lines"

    # -- keys -------------------------------------------------------------------------------

    def key(self, name: str) -> None:
        """Take a key."""
        self._said = ""
        if self._typing:
            self._search_key(name)
            return
        handler = self._handlers().get(name)
        if handler is not None:
            handler()

    def typed(self, text: str) -> None:
        """Take pasted text into the search."""
        if self._typing:
            self._needle += " ".join(text.split())

    def _handlers(self) -> dict[str, Callable[[], None]]:
        page = max(1, self._body - 1)
        table: dict[str, Callable[[], None]] = {}
        groups: Sequence[tuple[tuple[str, ...], Callable[[], None]]] = (
            (("q", "escape", "c-c", "c-d"), self._close),
            (("up", "k"), lambda: self._scroll(-1)),
            (("down", "j", "enter"), lambda: self._scroll(1)),
            (("pageup", "b", "c-b"), lambda: self._scroll(-page)),
            (("pagedown", " ", "c-f"), lambda: self._scroll(page)),
            (("home", "g"), lambda: self._go(0, 0)),
            (("end", "G"), lambda: self._go(len(self._sections) - 1, 1_000_000)),
            (("/",), self._search),
            (("n",), lambda: self._find(1)),
            (("N",), lambda: self._find(-1)),
            (("[", "left"), lambda: self._jump(-1)),
            (("]", "right"), lambda: self._jump(1)),
            (("s",), self._toggle),
        )
        for names, handler in groups:
            table.update(dict.fromkeys(names, handler))
        return table

    def _close(self) -> None:
        self.closed = True

    def _scroll(self, by: int) -> None:
        section, row = self._at
        self._go(section, row + by)

    def _go(self, section: int, row: int) -> None:
        self._at, self._hit, self._at_end = (section, row), None, False
        if section == len(self._sections) - 1:
            self._at = min(self._at, self._last())

    def _jump(self, by: int) -> None:
        section, row = self._at
        back = by < 0 and row > 0
        wanted = section if back else section + by
        self._go(max(0, min(len(self._sections) - 1, wanted)), 0)

    def _toggle(self) -> None:
        if not self._split_from:
            return
        if self._size[0] < self._split_from:
            self._said = f"Side by side needs {self._split_from} columns"
            return
        section, row = self._at
        before = max(1, len(self._section(section)))
        self._split = not self._split
        self._go(section, round(row / before * len(self._section(section))))

    # -- search -----------------------------------------------------------------------------

    def _search(self) -> None:
        self._typing, self._needle, self._hit = True, "", None

    def _search_key(self, name: str) -> None:
        if name == "enter":
            self._typing = False
            self._find(1, here=True)
        elif name in ("escape", "c-c"):
            self._typing, self._needle = False, ""
        elif name == "backspace":
            self._needle = self._needle[:-1]
        elif name == "c-u":
            self._needle = ""
        elif len(name) == 1 and name.isprintable():
            self._needle += name

    def _find(self, step: int, *, here: bool = False) -> None:
        """Go to the next place of the needle, around the end if need be."""
        if not self._needle:
            self._said = "Nothing to look for: / begins a search"
            return
        start, row = self._hit or self._at
        count = len(self._sections)
        for turn in range(count + 1):
            index = (start + step * turn) % count
            rows = self._rows_with(index)
            if turn == 0:
                rows = [at for at in rows if (at > row if step > 0 else at < row) or (here and at == row)]
            if rows:
                found = rows[0] if step > 0 else rows[-1]
                wrapped = turn == count or (index < start if step > 0 else index > start)
                self._go(index, found)
                self._hit = (index, found)
                self._said = "went on from the other end" if wrapped and not here else ""
                return
        self._said = f"“{self._needle}” is not there"

    def _rows_with(self, index: int) -> list[int]:
        needle = self._needle.lower()
        text = self._sections[index].text
        if text is not None and needle not in text().lower():
            return []
        rows = [at for at, line in enumerate(self._section(index)) if needle in plain(line).lower()]
        # Broken over two rows, or folded away: the beginning of its section is near enough.
        return rows or ([0] if text is not None else [])


def _highlighted(line: Line, spans: Sequence[tuple[int, int]]) -> Line:
    """Return *line* with the characters of *spans* reversed."""
    result: Line = []
    at = 0
    for style, text in line:
        begin = 0
        for start, stop in spans:
            first, last = max(start - at, begin), min(stop - at, len(text))
            if first < last:
                result += [(style, text[begin:first]), (f"{style} {SELECTED}".strip(), text[first:last])]
                begin = last
        result.append((style, text[begin:]))
        at += len(text)
    return [fragment for fragment in result if fragment[1]]
