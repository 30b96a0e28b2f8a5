"""The sections of a session that goes on while it is read: finished turns, and the newest one as it grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xun_cli.frontend.pager import Pager, Section
from xun_cli.frontend.redrawing import Redrawing
from xun_cli.render.safe import safe
from xun_cli.render.text import BOLD, DIM, Line
from xun_cli.render.transcript import Transcript

if TYPE_CHECKING:
    from xun_cli.frontend.journal import Entry, Journal
    from xun_cli.session.envelope import Envelope

OPEN_ROWS = 200
"""Rows of what is open at the end of a view: a block that is being written, calls that run."""


class NewestTurn:
    """Draws the newest turn of a journal; what was drawn is kept, so that a long turn costs no more than what is new.

    Args:
        entries: Gives the entries of the turn, the first one being its beginning.
        cwd: The folder that paths are shown from.
        clock: Gives seconds, as in the journal.
    """

    def __init__(self, entries: Callable[[], Sequence[Entry]], cwd: str, clock: Callable[[], float]) -> None:
        self._entries, self._cwd, self._clock = entries, cwd, clock
        self._columns, self._fed = 0, 0
        self._lines: list[Line] = []
        self._drawing: Redrawing | None = None

    def lines(self, columns: int, split: bool) -> list[Line]:
        """Return the turn as it is now."""
        drawing = self._drawing
        if drawing is None or columns != self._columns:
            self._columns, self._fed, self._lines = columns, 0, []
            drawing = self._drawing = Redrawing(self._fresh())
        for entry in self._entries():
            if entry.number > self._fed:
                self._fed = entry.number
                self._lines += drawing.draw(entry) if entry.event is not None else []
        work = drawing.transcript.live_parts(OPEN_ROWS)[0] if drawing.transcript.running else []
        return [*self._lines, *work, []]

    def _fresh(self) -> Transcript:
        made = Transcript(lambda: self._columns, clock=self._clock, animated=False, whole=True)
        made.cwd = self._cwd
        return made


class Going:
    """The sections of a session at each moment.

    Args:
        history: Gives the stored events.
        journal: What was shown of them, with the pieces of what is being written.
        section: Makes the section of a finished group of events.
        cwd: The folder that paths are shown from.
        clock: Gives seconds, as in the journal.
    """

    def __init__(
        self,
        history: Callable[[], Sequence[Envelope]],
        journal: Journal,
        section: Callable[[Sequence[Envelope]], list[Section]],
        *,
        cwd: str,
        clock: Callable[[], float],
    ) -> None:
        self._history, self._journal, self._section = history, journal, section
        self._cwd, self._clock = cwd, clock
        self._begins: Entry | None = None
        self._sections: list[Section] = []

    def __call__(self) -> list[Section]:
        """Return them: the same list until another turn begins, or one is taken back."""
        begins = self._newest()
        if not self._sections or begins is not self._begins:
            self._begins = begins
            self._sections = self._made(begins)
        return self._sections

    def _newest(self) -> Entry | None:
        """Return where the newest turn begins."""
        entries = self._journal.entries
        at = self._journal.turn_start(self._journal.last)
        return entries[at] if at < len(entries) and entries[at].begins_turn else None

    def _made(self, begins: Entry | None) -> list[Section]:
        history = self._history()
        if begins is None:
            return self._section(history) or [Section(_nothing)]
        at = next((at for at, item in enumerate(history) if item.event is begins.event), len(history))
        turn = NewestTurn(self._entries, self._cwd, self._clock)
        return [*self._section(history[:at]), Section(turn.lines, self._text, grows=True)]

    def _entries(self) -> Sequence[Entry]:
        return self._journal.entries[self._journal.turn_start(self._journal.last) :]

    def _text(self) -> str:
        from xun_cli.frontend.readings import texts_of

        return "\n".join(texts_of(entry.event for entry in self._entries() if entry.event is not None))


def going_pager(going: Going, *, name: str) -> Pager:
    """Return the whole of a session, beginning at its end, where it goes on as the session does."""
    title: Line = [(BOLD, "Transcript "), (DIM, safe(name, multiline=False))]
    return Pager(title, going(), noun="turn", at_end=True, renew=going)


def _nothing(columns: int, split: bool) -> list[Line]:
    return [[(DIM, " Nothing was said yet.")]]
