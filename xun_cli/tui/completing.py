"""Completions while typing: slash commands at the start of the input, ``@`` paths anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xun_cli.frontend.threads import in_thread
from xun_cli.render.safe import safe
from xun_cli.render.text import DIM, PLAIN, SELECTED, Line, cut, width
from xun_cli.tui.composer import Composer

SHOWN = 50
"""Completions that are offered at once."""

MENU_ROWS = 6


@dataclass(frozen=True, slots=True)
class Offer:
    """One completion.

    Attributes:
        value: What it puts into the draft.
        meta: What it does, "" for paths.
    """

    value: str
    meta: str = ""


class Completing:
    """The menu of completions of a composer.

    Args:
        composer: The draft.
        slash: Gives ``(whole line, what it does)`` for a line that begins with a slash.
        paths: Gives, for the text before the cursor, where its open mention begins and what may stand there;
            called in a thread.
        changed: Called when there is another menu.
    """

    def __init__(
        self,
        composer: Composer,
        slash: Callable[[str], list[tuple[str, str]]],
        paths: Callable[[str], tuple[int, list[str]] | None],
        changed: Callable[[], None],
    ) -> None:
        self._composer, self._slash, self._paths, self._changed = composer, slash, paths, changed
        self._offers: Sequence[Offer] = ()
        self._start = 0
        self._typed = ""
        self._own = ""
        self._looking: asyncio.Task[None] | None = None
        self.chosen: int | None = None

    @property
    def open(self) -> bool:
        """Whether there is a menu."""
        return bool(self._offers)

    def edited(self) -> None:
        """Offer what fits at the cursor now; nothing for what was pasted or put there by the menu itself."""
        text = self._composer.text
        if self._composer.pasted:
            self._composer.pasted = False
            self.close()
        elif text != self._own:
            self._own = ""
            self.look()

    def look(self, *, choose: bool = False) -> None:
        """Look for completions; with *choose* the first is taken."""
        before = self._composer.before_cursor
        if before.startswith("/") and "\n" not in before:
            found = [Offer(value, meta) for value, meta in self._slash(before)[:SHOWN]]
            self._show(0, before, found, choose=choose)
        elif "@" in before:
            if self._looking is not None:
                self._looking.cancel()
            self._looking = asyncio.get_running_loop().create_task(self._look_for_paths(before, choose))
        else:
            self.close()

    async def _look_for_paths(self, before: str, choose: bool) -> None:
        found = await in_thread(lambda: self._paths(before))
        if self._composer.before_cursor != before:
            return
        start, values = found or (0, [])
        self._show(start, before, [Offer(value) for value in values[:SHOWN]], choose=choose)

    def _show(self, start: int, before: str, offers: list[Offer], *, choose: bool) -> None:
        if [offer.value for offer in offers] == [before[start:]]:
            offers = []  # it stands there already
        self._start, self._typed, self._offers, self.chosen = start, before[start:], offers, None
        if choose and offers:
            self.move(1)
        self._changed()

    def close(self) -> None:
        """Offer nothing."""
        if self._looking is not None:
            self._looking.cancel()
        if self._offers:
            self._offers, self.chosen = (), None
            self._changed()

    def cancel(self) -> None:
        """Offer nothing, and put back what was typed."""
        self._put(self._typed)
        self.close()

    def move(self, by: int) -> None:
        """Choose the next offer, or the one before; what was typed comes between the last and the first."""
        count = len(self._offers) + 1
        at = ((-1 if self.chosen is None else self.chosen) + 1 + by) % count - 1
        self.chosen = at if at >= 0 else None
        self._put(self._typed if self.chosen is None else self._offers[at].value)
        self._changed()

    def choose(self, index: int) -> None:
        """Take the offer *index* and close the menu."""
        if index < len(self._offers):
            self._put(self._offers[index].value)
            self.close()

    def _put(self, text: str) -> None:
        self._composer.change_before(self._start, text)
        self._own = self._composer.text

    # -- drawing ------------------------------------------------------------------------------

    def first_shown(self, rows: int) -> int:
        """Return the offer in the first of *rows* rows."""
        return max(0, min((self.chosen or 0) - rows // 2, len(self._offers) - rows))

    def lines(self, columns: int, rows: int) -> list[Line]:
        """Return the menu: at most *rows* offers around the chosen one."""
        if not self._offers or rows <= 0:
            return []
        first = self.first_shown(rows)
        shown = list(self._offers[first : first + rows])
        names = max(width(safe(item.value, multiline=False)) for item in shown)
        lines: list[Line] = []
        for index, item in enumerate(shown, first):
            style = SELECTED if index == self.chosen else PLAIN
            name = cut(safe(item.value, multiline=False), columns - 2)
            line: Line = [(PLAIN, "  "), (style, name)]
            room = columns - names - 6
            if item.meta and room >= 10:
                gap = " " * (names - width(name) + 2)
                line.append((DIM, gap + cut(safe(item.meta, multiline=False), room)))
            lines.append(line)
        return lines
