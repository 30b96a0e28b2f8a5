"""Views that take the whole terminal for a short while: what they have in common.

A view knows no terminal. It draws itself into so many columns and rows and takes keys by name; a front
end shows it on the alternate screen until it is closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from xun_cli.render.text import BOLD, DIM, PLAIN, Line, cut, cut_line, line_width, width


class FullScreen(Protocol):
    """One view.

    Attributes:
        closed: Whether it is to go away.
        result: What was chosen; None when nothing was.
        note: A remark from outside, such as that an approval waits; "" for none.
    """

    closed: bool
    result: Any
    note: str

    def draw(self, columns: int, rows: int) -> list[Line]:
        """Return exactly *rows* lines of at most *columns* cells."""

    def key(self, name: str) -> None:
        """Take a key: a character, or enter, escape, up, pagedown, c-c, ..."""

    def typed(self, text: str) -> None:
        """Take pasted text."""


def title_line(title: Line, columns: int) -> Line:
    """Return the first row of a view."""
    fitted = cut_line([(BOLD, " "), *title], columns - 2)
    room = columns - line_width(fitted) - 1
    return [*fitted, (DIM, " " + "─" * room)] if room > 0 else fitted


def footer_line(where: str, keys: Sequence[str], columns: int, note: str = "") -> Line:
    """Return the last row: where one is, a remark, and as many of the keys as fit; the last key always does."""
    head = cut(note or where, max(0, columns - width(keys[-1]) - 4)) if keys else cut(note or where, columns)
    parts = list(keys)
    while len(parts) > 1 and width(" · ".join([head, *parts] if head else parts)) > columns - 1:
        parts.pop(-2)
    line: Line = [(PLAIN, " ")]
    if head:
        line += [(BOLD if note else DIM, head), (DIM, " · ")]
    return cut_line([*line, (DIM, " · ".join(parts))], columns)


def filled(lines: Sequence[Line], rows: int) -> list[Line]:
    """Return exactly *rows* lines: cut, or filled up with empty ones."""
    shown = list(lines[:rows])
    return shown + [[] for _ in range(rows - len(shown))]
