"""Finding a text in stored sessions, in what was asked, answered and run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xun.events import ContextAdded, Event, MessageCompleted, Steer, ToolStarted, TurnStarted
from xun_cli.places import open_plain
from xun_cli.session import lines
from xun_cli.session.listing import SessionInfo

MOST_HITS = 50
"""Places that one search returns."""

_PER_SESSION = 3
_AROUND = 60
_LONGEST_LINE = 4_000_000


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where a text was found.

    Attributes:
        info: The session.
        turn: The turn, 0 outside one.
        who: user, assistant, tool or context.
        text: The place with what stands around it, on one line.
    """

    info: SessionInfo
    turn: int
    who: str
    text: str


def search_sessions(sessions: Iterable[SessionInfo], wanted: str) -> list[Hit]:
    """Return where *wanted* stands in *sessions*, without regard to case; some places of each, `MOST_HITS` in all.

    A session whose name or folder holds it is found too. One that can't be read is passed over.
    """
    hits: list[Hit] = []
    text = " ".join(wanted.split()).casefold()
    for info in sessions if text else ():
        found = list(_in_session(info, text))
        if text in info.name.casefold() and not found:
            found = [Hit(info, 0, "name", info.name)]
        hits += found[: min(_PER_SESSION, MOST_HITS - len(hits))]
        if len(hits) >= MOST_HITS:
            break
    return hits


def _in_session(info: SessionInfo, text: str) -> Iterator[Hit]:
    # The words stand in the JSON as they are, whatever is escaped between them: most lines need no parsing.
    words = [word.encode() for word in re.findall(r"\w+", text)]
    count = 0
    try:
        with open_plain(info.path) as file:
            for line in iter(lambda: file.readline(_LONGEST_LINE), b""):
                folded = line if not words else line.decode("utf-8", "replace").casefold().encode()
                if not all(word in folded for word in words) or (hit := _in_line(info, line, text)) is None:
                    continue
                yield hit
                count += 1
                if count == _PER_SESSION:
                    return
    except OSError:
        return


def _in_line(info: SessionInfo, line: bytes, text: str) -> Hit | None:
    try:
        envelope = lines.from_bytes(line.strip(b"\0\n"))
    except ValueError:
        return None
    if envelope is None:
        return None
    who, said = _said(envelope.event)
    said = " ".join(said.split())
    at = said.casefold().find(text)
    if at < 0:
        return None
    start, end = max(0, at - _AROUND), at + len(text) + _AROUND
    shown = f"{'… ' if start else ''}{said[start:end]}{' …' if end < len(said) else ''}"
    return Hit(info, envelope.turn or 0, who, shown)


def _said(event: Event) -> tuple[str, str]:
    if isinstance(event, TurnStarted):
        return "user", event.shown or event.input
    if isinstance(event, Steer):
        return "user", event.text
    if isinstance(event, MessageCompleted):
        return "assistant", event.text
    if isinstance(event, ContextAdded):
        return "context", event.text
    if isinstance(event, ToolStarted):
        return "tool", f"{event.tool} {lines.to_line(event.args)}"
    return "", ""
