"""A view to choose in: rows that a typed text narrows down, and a preview of the chosen one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xun_cli.frontend.full_screen import filled, footer_line, title_line
from xun_cli.render.safe import safe
from xun_cli.render.text import ACCENT, BOLD, DIM, PLAIN, SELECTED, Line, cut, cut_line, width

PREVIEW_FROM = 16
"""Rows of a terminal from which the chosen row has a preview."""


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that can be chosen.

    Attributes:
        value: What the result holds.
        title: What it is; foreign text as it came.
        facts: Short texts before it, such as its age; the same number for each row.
        preview: More about it, drawn for so many columns by ``safe()``.
        search: Text beyond title and facts that a search finds it by.
    """

    value: Any
    title: str
    facts: tuple[str, ...] = ()
    preview: Callable[[int], list[Line]] = lambda columns: []
    search: str = ""


@dataclass(frozen=True, slots=True)
class Act:
    """A key of a picker that does something else than choose.

    Attributes:
        label: As the last row shows it, such as ``Del removes``.
        run: Does it for the chosen row; what it returns is said.
    """

    label: str
    run: Callable[[Row], str]


class Picker:
    """Chooses one of some rows.

    Args:
        title: The first row.
        rows: Gives the rows; asked again after an act.
        empty: What stands there when there is no row.
        choose: What Enter does, such as ``Enter goes on``; "" when nothing can be chosen.
        acts: Other keys by name.
        back: What Esc does.

    Attributes:
        cancelled: It was closed by Ctrl-C.
    """

    def __init__(
        self,
        title: str,
        rows: Callable[[], Sequence[Row]],
        *,
        empty: str,
        choose: str = "Enter chooses",
        acts: Mapping[str, Act] | None = None,
        back: str = "Esc back",
    ) -> None:
        self.closed, self.cancelled, self.note = False, False, ""
        self.result: Any = None
        self._title, self._give, self._empty, self._choose = title, rows, empty, choose
        self._acts, self._back = dict(acts or {}), back
        self._rows = list(rows())
        self._query, self._at, self._said = "", 0, ""
        self._page = 1

    def refresh(self) -> None:
        """Ask for the rows again."""
        self._rows = list(self._give())

    # -- drawing ----------------------------------------------------------------------------

    def draw(self, columns: int, rows: int) -> list[Line]:
        """Return the whole view."""
        found = self._found()
        self._at = max(0, min(self._at, len(found) - 1))
        body = max(1, rows - 3)
        preview = self._preview(found, columns, body) if rows >= PREVIEW_FROM else []
        room = max(1, body - len(preview))
        self._page = max(1, room - 1)
        head = [title_line([(PLAIN, self._title)], columns), self._search_line(columns)]
        return [*head, *filled(self._list(found, columns, room), room), *preview, self._footer(found, columns)][:rows]

    def _search_line(self, columns: int) -> Line:
        if not self._query:
            return cut_line([(DIM, " search: "), (SELECTED, " "), (DIM, " type to narrow down")], columns)
        return cut_line([(DIM, " search: "), (PLAIN, safe(self._query, multiline=False)), (SELECTED, " ")], columns)

    def _list(self, found: Sequence[Row], columns: int, room: int) -> list[Line]:
        if not found:
            return [
                cut_line([(DIM, "   " + (f"nothing fits “{self._query}”" if self._rows else self._empty))], columns)
            ]
        start = max(0, min(self._at - room // 2, len(found) - room))
        count = max((len(row.facts) for row in self._rows), default=0)
        widths = [max(width(row.facts[i]) for row in self._rows if i < len(row.facts)) for i in range(count)]
        while widths and sum(widths) + 2 * len(widths) > columns // 2:
            widths.pop()  # the last facts are the least
        shown = found[start : start + room]
        return [self._row(row, at == self._at, widths, columns) for at, row in enumerate(shown, start)]

    def _row(self, row: Row, chosen: bool, widths: Sequence[int], columns: int) -> Line:
        line: Line = [(ACCENT, " ▸ " if chosen else "   ")]
        for size, fact in zip(widths, row.facts, strict=False):
            shown = safe(fact, multiline=False)
            line.append((DIM, shown + " " * (size - width(shown) + 2)))
        room = max(4, columns - sum(widths) - 2 * len(widths) - 4)
        title = cut(safe(" ".join(row.title.split()), multiline=False), room)
        return cut_line([*line, (SELECTED if chosen else PLAIN, title)], columns)

    def _preview(self, found: Sequence[Row], columns: int, body: int) -> list[Line]:
        if not found:
            return []
        lines = found[self._at].preview(columns - 2)
        if not lines:
            return []
        room = max(3, body // 2)
        rule: Line = [(DIM, " " + "─" * max(0, columns - 2))]
        rows: list[Line] = [cut_line([(PLAIN, " "), *line], columns) for line in lines[: room - 1]]
        return [rule, *filled(rows, room - 1)]

    def _footer(self, found: Sequence[Row], columns: int) -> Line:
        where = f"{self._at + 1} of {len(found)}" if found else ""
        keys = ["↑↓", *([self._choose] if self._choose and found else [])]
        keys += [act.label for act in self._acts.values()] if found else []
        back = "Esc clears" if self._query else self._back
        return footer_line(where, [*keys, back], columns, self._said or self.note)

    # -- keys -------------------------------------------------------------------------------

    def key(self, name: str) -> None:
        """Take a key."""
        self._said = ""
        act = self._acts.get(name)
        found = self._found()
        self._at = max(0, min(self._at, len(found) - 1))
        if act is not None:
            if found:
                self._said = act.run(found[self._at])
                self.refresh()
            return
        if name == "enter":
            if found and self._choose:
                self.result, self.closed = found[self._at].value, True
        elif name in ("escape", "c-c", "c-d"):
            self._leave(name)
        elif name == "backspace":
            self._search(self._query[:-1])
        elif name == "c-u":
            self._search("")
        elif name in ("up", "down", "pageup", "pagedown", "home", "end", "c-p", "c-n"):
            self._move(name, len(found))
        elif len(name) == 1 and name.isprintable():
            self._search(self._query + name)

    def typed(self, text: str) -> None:
        """Take pasted text into the search."""
        self._search(self._query + " ".join(text.split()))

    def _leave(self, name: str) -> None:
        if name == "escape" and self._query:
            self._search("")
        else:
            self.closed, self.cancelled = True, name == "c-c"

    def _search(self, query: str) -> None:
        self._query, self._at = query, 0

    def _move(self, name: str, count: int) -> None:
        by = {"up": -1, "c-p": -1, "down": 1, "c-n": 1, "pageup": -self._page, "pagedown": self._page}
        wanted = 0 if name == "home" else count - 1 if name == "end" else self._at + by[name]
        self._at = max(0, min(count - 1, wanted))

    def _found(self) -> list[Row]:
        words = self._query.lower().split()
        if not words:
            return self._rows
        found = [row for row in self._rows if all(word in _haystack(row) for word in words)]
        # What is read in the list comes before what fits by an id or a date only; the order is kept else.
        return sorted(found, key=lambda row: not all(word in row.title.lower() for word in words))


def _haystack(row: Row) -> str:
    return " ".join((*row.facts, row.title, row.search)).lower()


def fact_lines(facts: Sequence[tuple[str, str]], columns: int) -> list[Line]:
    """Return ``name value`` rows for a preview."""
    size = max((width(name) for name, _ in facts), default=0)
    lines: list[Line] = []
    for name, value in facts:
        room = max(4, columns - size - 2)
        shown = cut(safe(" ".join(value.split()), multiline=False), room)
        lines.append([(DIM, name.ljust(size) + "  "), (BOLD if not lines else PLAIN, shown)])
    return lines
