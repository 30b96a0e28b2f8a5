"""A scrollbar as thin as a line."""

from __future__ import annotations

from rich.color import Color
from rich.segment import Segment, Segments
from rich.style import Style
from textual.scrollbar import ScrollBarRender

_THUMB = "┃"


class ThinScrollBar(ScrollBarRender):
    """Draws the thumb as a line on nothing; where the mouse may take hold of it stays as in Textual."""

    @classmethod
    def render_bar(
        cls,
        size: int = 25,
        virtual_size: float = 50,
        window_size: float = 20,
        position: float = 0,
        thickness: int = 1,
        vertical: bool = True,
        back_color: Color = Color.default(),  # noqa: B008 - the signature is Textual's
        bar_color: Color = Color.default(),  # noqa: B008
    ) -> Segments:
        """Return the bar, one segment for each of *size* rows."""
        up, down = {"@mouse.down": "scroll_up"}, {"@mouse.down": "scroll_down"}
        if not (window_size and size and virtual_size > window_size):
            return Segments([Segment(" ")] * size, new_lines=True)
        length = max(1, round(size * window_size / virtual_size))
        first = round((size - length) * min(1.0, position / (virtual_size - window_size)))
        rows = [
            Segment(_THUMB, Style(color=bar_color, meta={"@mouse.down": "grab"}))
            if first <= row < first + length
            else Segment(" ", Style(meta=up if row < first else down))
            for row in range(size)
        ]
        return Segments(rows, new_lines=True)
