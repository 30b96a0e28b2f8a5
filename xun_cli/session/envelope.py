"""What surrounds an event in a session file and in stream-json."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from xun.events import Event, from_json

VERSION = 1
"""Rises when a reader of the older form could no longer read."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """One event with its place in the session.

    Attributes:
        seq: Its number in the session, from 1, without gaps while nothing is lost.
        ts: UTC time in ISO 8601, for people; order goes by `seq`.
        session: The session's id.
        turn: The turn that it belongs to, from 1; None outside a turn.
        event: The event.
    """

    seq: int
    ts: str
    session: str
    turn: int | None
    event: Event

    @property
    def at(self) -> float:
        """`ts` in seconds since 1970, for how long something took; 0 for one that can't be read."""
        try:
            return datetime.fromisoformat(self.ts).timestamp()
        except (ValueError, OverflowError, OSError):
            return 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the flat JSON form: envelope fields, ``agent``, ``type``, then the event's own."""
        values = self.event.to_json()
        return {
            "v": VERSION,
            "seq": self.seq,
            "ts": self.ts,
            "session": self.session,
            "turn": self.turn,
            "agent": values.pop("agent"),
            "type": values.pop("type"),
            **values,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Envelope | None:
        """Build an envelope from its JSON form; None for an event type that this version does not know.

        Raises:
            ValueError: A field of the envelope is missing or of a wrong type.
        """
        event = from_json(data)
        if event is None:
            return None
        seq, turn = data.get("seq"), data.get("turn")
        if not isinstance(seq, int) or not (turn is None or isinstance(turn, int)):
            raise ValueError("seq and turn must be whole numbers")
        return cls(seq, str(data.get("ts", "")), str(data.get("session", "")), turn, event)


def never_started(code: int) -> dict[str, Any]:
    """Return the last record, ``session.ended`` with the exit code *code*, of a session that could not even start."""
    return {
        "v": VERSION,
        "seq": 1,
        "ts": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "session": "",
        "turn": None,
        "agent": "main",
        "type": "session.ended",
        "exit_code": code,
        "result": None,
        "usage": None,
        "denied": [],
    }
