"""What a conversation has shown, in a form that another front end, or another width, can draw again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xun.events import Event
    from xun_cli.render.text import Line
    from xun_cli.render.transcript import Transcript
    from xun_cli.session.envelope import Envelope

Make = Callable[["Transcript"], "list[Line]"]
"""Draws something of ours, such as the answer of a slash command."""

_UNDRAWN = frozenset({"reasoning.delta", "usage"})
_MESSAGE_BOUNDS = frozenset({"message.completed", "turn.started", "tool.started", "retry"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was shown.

    Attributes:
        number: Rises by one with each entry, over sessions too.
        at: When, by the clock of the front ends.
        event: The event; None for something of ours.
        make: Draws what is ours.
    """

    number: int
    at: float
    event: Event | None = None
    make: Make | None = None

    @property
    def begins_turn(self) -> bool:
        """Whether a turn of the main agent begins here."""
        return self.event is not None and self.event.type == "turn.started" and self.event.agent == "main"

    @property
    def is_piece(self) -> bool:
        """Whether this is a part of a message or an output that its end holds as a whole."""
        return self.event is not None and self.event.type in ("message.delta", "tool.output")

    def draw(self, transcript: Transcript) -> list[Line]:
        """Give this to *transcript* and return the lines that are final with it."""
        if self.event is not None:
            return transcript.feed(self.event, at=self.at)
        return self.make(transcript) if self.make is not None else []


class Journal:
    """The entries of one session, oldest first."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        """What counts."""
        self._left_out: list[Entry] = []
        self.last = 0
        """The number of the newest entry."""
        self._marked = 0

    def reset(self) -> None:
        """Begin anew, for another session; numbers go on."""
        self.entries, self._left_out = [], []

    def recount(self, history: Sequence[Envelope]) -> None:
        """Leave out what a conversation went back over, and take in again what counts again.

        Something of ours, and a piece that no record has, counts as the record before it does.
        """
        from xun_cli.session.rewinding import STAYS, live

        known = {id(item.event) for item in history}
        counted = {id(item.event) for item in live(history)}
        entries = sorted([*self.entries, *self._left_out], key=lambda entry: entry.number)
        self.entries, self._left_out = [], []
        counts = True
        for entry in entries:
            event = entry.event
            if event is not None and id(event) in known and (event.type not in STAYS or event.type == "rewound"):
                counts = id(event) in counted
            (self.entries if counts else self._left_out).append(entry)

    def mark(self) -> int:
        """Return the newest number; the pieces of a message that is open here are kept apart from now on."""
        self._marked = self.last
        return self.last

    def add_event(self, event: Event, at: float) -> None:
        """Take an event; pieces that its end makes superfluous are dropped."""
        if event.type in _UNDRAWN or (event.type == "message.delta" and event.agent != "main"):
            return
        self.last += 1
        entry = Entry(self.last, at, event)
        if event.type == "message.completed" and event.agent == "main":
            self._drop_pieces(getattr(event, "text", ""))
        elif event.type == "tool.completed":
            self._drop_output(event.agent, getattr(event, "call_id", ""))
        self.entries.append(entry)

    def add_own(self, make: Make, at: float) -> None:
        """Take something of ours."""
        self.last += 1
        self.entries.append(Entry(self.last, at, make=make))

    def turn_start(self, number: int) -> int:
        """Return where in `entries` the turn begins that entry *number* belongs to; 0 when before any."""
        found = 0
        for at in range(len(self.entries) - 1, -1, -1):
            if self.entries[at].number <= number and self.entries[at].begins_turn:
                found = at
                break
        return found

    def newest(self, turns: int) -> int:
        """Return where in `entries` the last *turns* turns begin."""
        begins = [at for at, entry in enumerate(self.entries) if entry.begins_turn]
        return begins[-turns] if turns and len(begins) > turns else 0

    def _drop_pieces(self, whole: str) -> None:
        """Drop the pieces of the message *whole*, unless some of them were drawn before a mark."""
        first, pieces = len(self.entries), []
        for at in range(len(self.entries) - 1, -1, -1):
            event = self.entries[at].event
            if event is None:
                continue
            if event.agent == "main" and event.type in _MESSAGE_BOUNDS:
                break
            if event.type == "message.delta":
                first = at
                pieces.append(getattr(event, "text", ""))
        if pieces and "".join(reversed(pieces)) == whole and self.entries[first].number > self._marked:
            self.entries[first:] = [item for item in self.entries[first:] if not _is(item, "message.delta")]

    def _drop_output(self, agent: str, call_id: str) -> None:
        for at in range(len(self.entries) - 1, -1, -1):
            event = self.entries[at].event
            if event is None or event.agent != agent or getattr(event, "call_id", "") != call_id:
                continue
            if event.type == "tool.started":
                return
            if event.type == "tool.output":
                del self.entries[at]


def _is(entry: Entry, kind: str) -> bool:
    return entry.event is not None and entry.event.type == kind
