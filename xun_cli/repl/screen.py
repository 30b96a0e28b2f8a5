"""The live region at the bottom of a normal screen buffer, and finished lines printed above it.

prompt_toolkit would print above its region by leaving raw mode and drawing everything again. This
renderer instead erases the region, writes what is finished and draws the region again, all in one
synchronized update, so that keys are never echoed and nothing flickers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from prompt_toolkit.data_structures import Point, Size
from prompt_toolkit.renderer import Renderer

from xun_cli.render.text import NO_THEME, Line, ansi
from xun_cli.render.theme import Theme

if TYPE_CHECKING:
    from prompt_toolkit.application import Application
    from prompt_toolkit.layout.layout import Layout
    from prompt_toolkit.layout.screen import Screen
    from prompt_toolkit.output import Output
    from prompt_toolkit.styles import BaseStyle

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"


class InlineRenderer(Renderer):
    """A renderer that prints above its region and shrinks with its content.

    Args:
        style: prompt_toolkit's style.
        output: Where to draw.
        color: Write colours.
        reflows: The terminal wraps lines anew when it gets narrower (nearly all do, xterm does not).
        theme: Gives the theme of what is printed above.
    """

    def __init__(
        self,
        style: BaseStyle,
        output: Output,
        *,
        color: bool,
        reflows: bool = True,
        theme: Callable[[], Theme] = lambda: NO_THEME,
    ) -> None:
        self._above: list[str] = []
        self._scroll_away = False
        self._color, self._theme = color, theme
        self._reflows = reflows
        super().__init__(style, output, full_screen=False, mouse_support=False)

    def print_above(self, lines: Iterable[Line]) -> None:
        """Take finished lines; they are written with the next drawing."""
        theme = self._theme()
        self._above.extend(ansi(line, self._color, theme) for line in lines)

    def scroll_away(self) -> None:
        """Move everything on the screen into the scrollback with the next drawing; nothing is erased."""
        self._scroll_away = True

    def take_above(self) -> str:
        """Return what is not written yet, for the time after the last drawing."""
        rows, self._above = self._above, []
        return "".join(row + "\r\n" for row in rows)

    def render(self, app: Application[Any], layout: Layout, is_done: bool = False) -> None:
        """Draw the region; before it whatever is to stand above it."""
        size = self.output.get_size()
        above = self.take_above()
        self.output.write_raw(_BEGIN)
        if self._last_screen is not None and (above or self._scroll_away or self._shrinks(layout, size)):
            self._erase_region(size)
        if self._scroll_away:
            self._scroll_away = False
            above = "\r\n" * size.rows + "\x1b[H" + above
        if above:
            self.output.write_raw(above)
        super().render(app, layout, is_done)
        self.output.write_raw(_END)
        self.output.flush()

    def erase(self, leave_alternate_screen: bool = True) -> None:
        """Erase the region, also when the terminal has just wrapped it anew for another width."""
        self._erase_region(self.output.get_size())
        self.reset(leave_alternate_screen=leave_alternate_screen)

    def _shrinks(self, layout: Layout, size: Size) -> bool:
        if self._last_screen is None:
            return False
        wanted = layout.container.preferred_height(size.columns, size.rows).preferred
        return wanted < self._last_screen.height

    def _erase_region(self, size: Size) -> None:
        up = self._cursor_pos.y
        if self._last_size is not None and self._last_screen is not None and size.columns < self._last_size.columns:
            up = min(size.rows - 1, self._rows_after_reflow(self._last_screen, size.columns))
        self.output.write_raw("\r")
        self.output.cursor_up(up)
        self.output.erase_down()
        self.output.reset_attributes()
        self.output.enable_autowrap()
        self._cursor_pos = Point(x=0, y=0)
        self._last_screen = None
        self._last_style = None

    def _rows_after_reflow(self, screen: Screen, columns: int) -> int:
        """Return how far above the cursor the region begins once its rows are wrapped to *columns*."""
        if not self._reflows:
            return self._cursor_pos.y
        rows = self._cursor_pos.x // columns
        for y in range(self._cursor_pos.y):
            used = [x for x, char in screen.data_buffer[y].items() if char.char.strip()]
            rows += max(1, -(-(max(used, default=0) + 1) // columns))
        return rows
