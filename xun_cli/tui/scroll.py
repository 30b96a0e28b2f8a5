"""The transcript as rows of text: one widget however long the conversation is.

Only rows that are visible are drawn. The newest messages are held as rows; older ones are drawn again
from the journal when somebody scrolls up to them, and so is everything at another width.
"""

from __future__ import annotations

import asyncio
import re
import time
from bisect import bisect_left
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.geometry import Offset, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from xun_cli.frontend.pump import SLICE
from xun_cli.frontend.redrawing import Redrawing
from xun_cli.render.text import Line, line_width, plain, width, wrap
from xun_cli.render.transcript import Transcript
from xun_cli.tui.paint import Painter, row_text, selected
from xun_cli.tui.thumb import ThinScrollBar

if TYPE_CHECKING:
    from xun_cli.frontend.journal import Journal

MORE = 50
"""Messages that come back at once when somebody scrolls up."""

NEAR_TOP = 3
"""Rows below the top at which older messages are fetched."""

_WORDS = re.compile(r"[\w./~:@%+=-]+")
"""What two clicks select: names and paths as a whole."""

Block = tuple[int, int]
"""The number of an entry of the journal, and its rows."""


class Rows:
    """Rows of text, and where they come from; the newest are at the end."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.goes_on: list[bool] = []
        self.blocks: deque[Block] = deque()

    def add(self, number: int, lines: Iterable[Line], width: int) -> int:
        """Take the lines of an entry, wrapped to *width*; returns how many rows they are."""
        before = len(self.lines)
        for line in lines:
            rows = [line] if line_width(line) <= width else wrap(line, width)
            self.lines += rows
            self.goes_on += [False, *[True] * (len(rows) - 1)]
        count = len(self.lines) - before
        if count:
            self.blocks.append((number, count))
        return count

    def put_before(self, earlier: Rows) -> None:
        """Put the rows of *earlier* on top."""
        self.lines[:0], self.goes_on[:0] = earlier.lines, earlier.goes_on
        self.blocks.extendleft(reversed(earlier.blocks))

    def trim(self, blocks: int) -> int:
        """Keep the newest *blocks*; returns how many rows went."""
        rows = 0
        while len(self.blocks) > blocks:
            rows += self.blocks.popleft()[1]
        del self.lines[:rows], self.goes_on[:rows]
        return rows


class ScrollArea(ScrollView, can_focus=False):
    """The transcript.

    Args:
        painter: Makes strips.
        journal: What was shown so far.
        fresh: Gives a transcript that draws for so many columns.
        head: Gives the lines that stand above everything, for so many columns.
        mounted: How many messages are held.
    """

    def __init__(
        self,
        painter: Painter,
        journal: Journal,
        fresh: Callable[[int], Transcript],
        head: Callable[[int], list[Line]],
        *,
        mounted: int,
        id: str,
    ) -> None:
        super().__init__(id=id)
        self._painter, self._journal, self._fresh, self._head = painter, journal, fresh, head
        self._mounted = max(10, mounted)
        self._rows = Rows()
        self._live: list[Line] = []
        self._first = 1 << 62
        self._drawn_for = 0
        self._whole = False
        self._filling: asyncio.Task[None] | None = None
        self._moving = self._grown = self._anew = False
        self.follows = True
        """Whether new output moves the view."""
        self.on_follow: Callable[[], None] = lambda: None
        """Called when that changes."""

    def on_mount(self) -> None:
        """Draw a thin scrollbar."""
        self.vertical_scrollbar.renderer = ThinScrollBar  # type: ignore[misc]

    def on_resize(self) -> None:
        """Draw everything again for another width; stay at the end when rows are taken away from the view."""
        if self._drawn_for not in (0, self.columns):
            self.reload()
        if self.follows and self._rows.lines:
            self._changed()

    # -- content ----------------------------------------------------------------------------

    @property
    def columns(self) -> int:
        """Cells of a row."""
        return max(10, self.scrollable_content_region.width or self.size.width or 80)

    @property
    def messages(self) -> int:
        """How many messages are held."""
        return len(self._rows.blocks)

    def append(self, lines: Iterable[Line]) -> None:
        """Take the lines of the newest entry of the journal; they are to be seen with the next `set_live`."""
        if self._anew:
            return  # what is being loaded ends with them
        self._first = min(self._first, self._journal.last)
        if not self._rows.add(self._journal.last, lines, self.columns):
            return
        self._grown = True
        if self.follows and self.messages > self._mounted + self._mounted // 4:
            self._drop(self.messages - self._mounted)
            self._changed()

    def set_live(self, lines: Sequence[Line]) -> None:
        """Show what is open below everything that is final."""
        if lines == self._live and not self._grown:
            return
        same = len(lines) == len(self._live) and not self._grown
        self._live = list(lines)
        if same:
            self.refresh_lines(len(self._rows.lines), len(lines))
        else:
            self._changed()

    def open(self) -> None:
        """Show another session, or this one as it counts now; what stands there stays until that is drawn."""
        self.go_to_end()
        self._anew = True
        self.reload()

    def reload(self) -> None:
        """Draw everything again from the journal, as for another width."""
        self._drawn_for = self.columns
        if self._filling is not None:
            self._filling.cancel()
        self._filling = asyncio.get_running_loop().create_task(self._load())

    def forget(self) -> None:
        """Show nothing, until the next reload or line."""
        if self._filling is not None:
            self._filling.cancel()
        self._rows, self._first, self._whole, self._anew = Rows(), 1 << 62, False, False
        self._changed()

    async def _load(self) -> None:
        """Draw the newest turn, then older ones until enough is there."""
        rows, width = Rows(), self.columns
        entries = self._journal.entries
        begin = self._journal.turn_start(self._journal.last)
        first = entries[begin].number if begin < len(entries) else self._journal.last + 1
        async for number, lines in self._replayed(first, None):
            rows.add(number, lines, width)
        self._rows, self._first, self._whole, self._anew = rows, first, False, False
        self.screen.clear_selection()  # other rows stand where it was
        self._changed()
        await self._fill(self._mounted)

    async def _fill(self, wanted: int) -> None:
        while self.messages < wanted and await self._older():
            await asyncio.sleep(0)
        if not self._whole and not self._earlier():
            self._whole = True
            head = Rows()
            head.add(0, self._head(self.columns), self.columns)
            self._prepend(head)

    def _earlier(self) -> int:
        """Return how many entries of the journal come before those that are drawn."""
        entries = self._journal.entries
        return bisect_left(entries, self._first, key=lambda entry: entry.number)

    async def _older(self) -> bool:
        """Draw the turn before those that are there; False when there is none."""
        before = self._earlier()
        if not before:
            return False
        begin = self._journal.turn_start(self._journal.entries[before - 1].number)
        first, rows, width = self._journal.entries[begin].number, Rows(), self.columns
        async for number, lines in self._replayed(first, self._first):
            rows.add(number, lines, width)
        if rows.lines:
            rows.add(first, [[]], width)  # a turn begins after a blank row
        self._first = first
        self._prepend(rows)
        return True

    async def _replayed(self, first: int, end: int | None) -> AsyncIterator[tuple[int, list[Line]]]:
        """Yield entries from *first* to before *end*, drawn again in slices, so that keys never wait."""
        drawing = Redrawing(self._fresh(self.columns))
        until, at = time.monotonic() + SLICE, first
        while True:
            entries = self._journal.entries
            index = bisect_left(entries, at, key=lambda entry: entry.number)
            if index >= len(entries) or (end is not None and entries[index].number >= end):
                return
            entry = entries[index]
            yield entry.number, drawing.draw(entry)
            at = entry.number + 1
            if time.monotonic() > until:
                await asyncio.sleep(0.001)
                until = time.monotonic() + SLICE

    def _prepend(self, rows: Rows) -> None:
        if not rows.lines:
            return
        self._rows.put_before(rows)
        self.screen.clear_selection()
        self._changed(len(rows.lines))

    def _drop(self, blocks: int) -> None:
        keep = self.messages - blocks
        number = self._rows.blocks[blocks][0]
        self._rows.trim(keep)
        self._first, self._whole = number, False
        self.screen.clear_selection()

    def _changed(self, above: int = 0) -> None:
        """Take over the number of rows; the view stays where it is, or at the end when it follows."""
        self._moving, self._grown = True, False
        try:
            self.virtual_size = Size(self.columns, len(self._rows.lines) + len(self._live))
            if self.follows:
                self.scroll_to(y=self.max_scroll_y, animate=False, force=True)
            elif above:
                self.scroll_to(y=self.scroll_offset.y + above, animate=False, force=True)
        finally:
            self._moving = False
        self.refresh()

    # -- moving -------------------------------------------------------------------------------

    def page(self, pages: int) -> None:
        """Move by *pages* of the view."""
        self._go(self.scroll_offset.y + pages * max(1, self.scrollable_content_region.height - 1))

    def step(self, rows: int) -> None:
        """Move by *rows*."""
        self._go(self.scroll_offset.y + rows)

    def go_to_top(self) -> None:
        """Move to the oldest message that is held."""
        self._go(0)

    def go_to_end(self) -> None:
        """Move to the newest row, and follow again."""
        self.follows = True
        self._go(self.max_scroll_y)

    def _go(self, y: int) -> None:
        self.scroll_to(y=max(0, min(self.max_scroll_y, y)), animate=False, force=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow at the end only; fetch older messages near the top."""
        super().watch_scroll_y(old_value, new_value)
        if not self._moving and self.follows is not (follows := new_value >= self.max_scroll_y):
            self.follows = follows
            self.on_follow()
        idle = self._filling is None or self._filling.done()
        if new_value < NEAR_TOP and not self.follows and idle and self._earlier():
            self._filling = asyncio.get_running_loop().create_task(self._fill(self.messages + MORE))

    # -- drawing ------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Return one visible row."""
        row = self.scroll_offset.y + y
        line = self._row(row)
        strip = self._painter.strip(line, self.columns)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(row)) is not None:
            strip = selected(strip, span, row_text(line))
        return strip.apply_offsets(0, row)

    def _row(self, row: int) -> Line:
        count = len(self._rows.lines)
        if row < count:
            return self._rows.lines[row]
        return self._live[row - count] if row - count < len(self._live) else []

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text of *selection*; rows that we have wrapped are put together again."""
        count = len(self._rows.lines) + len(self._live)
        first = selection.start.y if selection.start is not None else 0
        last = min(selection.end.y if selection.end is not None else count - 1, count - 1)
        parts: list[str] = []
        for row in range(first, last + 1):
            text = plain(self._row(row))
            end = selection.end.x if selection.end is not None and row == selection.end.y else len(text)
            start = selection.start.x if selection.start is not None and row == first else 0
            goes_on = row > first and row < len(self._rows.goes_on) and self._rows.goes_on[row]
            parts.append((" " if goes_on else "\n" if parts else "") + text[start:end].rstrip())
        return "".join(parts), "\n"

    async def _on_click(self, event: events.Click) -> None:
        """Select a word by two clicks, a row by three; Textual would take everything."""
        if event.chain in (2, 3):
            event.prevent_default()
            row = self.scroll_offset.y + event.y
            start, end = _word(plain(self._row(row)), event.x - self.gutter.left) if event.chain == 2 else (0, 1 << 30)
            if start < end:
                self.screen.selections = {self: Selection(Offset(start, row), Offset(end, row))}
                self.post_message(events.TextSelected())

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self.refresh()


def _word(text: str, cell: int) -> tuple[int, int]:
    """Return where the word at *cell* begins and ends in *text*; two equal numbers when there is none."""
    at = used = 0
    while at < len(text) and used + width(text[at]) <= cell:
        used += width(text[at])
        at += 1
    match = next((found for found in _WORDS.finditer(text) if found.start() <= at < found.end()), None)
    return match.span() if match is not None else (0, 0)
