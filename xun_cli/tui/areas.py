"""Widgets that draw finished lines and nothing else: cheap to update, as they know what has changed."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from xun_cli.render.text import Line
from xun_cli.tui.paint import Painter


class LineArea(Widget):
    """As many rows as it has lines; none at all without any.

    Args:
        painter: Makes strips.
        id: The name in the style sheet.
    """

    ALLOW_SELECT = False

    class Pressed(Message):
        """A row was clicked."""

        def __init__(self, area: LineArea, row: int) -> None:
            super().__init__()
            self.area, self.row = area, row

    def __init__(self, painter: Painter, *, id: str) -> None:
        super().__init__(id=id)
        self._painter = painter
        self._lines: list[Line] = []
        self.styles.height = 0
        self.display = False

    @property
    def lines(self) -> list[Line]:
        """What is drawn."""
        return self._lines

    def set_lines(self, lines: Sequence[Line]) -> None:
        """Draw *lines*; the layout is made anew only when their number changes."""
        if self._lines == lines:
            return
        count, self._lines = len(self._lines), list(lines)
        if len(self._lines) != count:
            self.styles.height = len(self._lines)
            self.display = bool(self._lines)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return one row."""
        return self._painter.strip(self._lines[y] if y < len(self._lines) else [], self.size.width)

    def on_click(self, event: events.Click) -> None:
        """Tell which row was clicked."""
        event.stop()
        self.post_message(self.Pressed(self, event.y))


class FilledArea(LineArea):
    """As high as its place: the side panel, or a view over the whole screen."""

    def set_lines(self, lines: Sequence[Line]) -> None:
        """Draw *lines*."""
        if self._lines != lines:
            self._lines = list(lines)
            self.refresh()

    def __init__(self, painter: Painter, *, id: str) -> None:
        super().__init__(painter, id=id)
        self.styles.height = "1fr"
