"""Going back in a conversation: what of the stored records counts, and how a record says that others do not.

Nothing is deleted. A ``rewound`` record names the last record before a turn; what came after that one is passed over
when the conversation is rebuilt, live and on resume by the same function.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xun.agent.handoff import RESULTS, compacted_results
from xun.agent.history import from_events
from xun.events import Rewound, TodoUpdated, TurnStarted
from xun_builtin_tools.edit.state import EditState
from xun_builtin_tools.framework import TODO_KEY
from xun_cli.session.envelope import Envelope
from xun_cli.session.lock import SessionError

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.choice import FileDiff
    from xun_builtin_tools.edit.entries import Entry
    from xun_builtin_tools.edit.journal import EditJournal
    from xun_cli.session.session import Session

_STAYS = frozenset({"usage", "policy.changed", "session.started", "session.ended", "rewound"})
"""Types that hold whatever the conversation goes back to: what was spent, what is allowed."""


@dataclass(frozen=True, slots=True)
class RewindPoint:
    """A turn that a conversation can go back before.

    Attributes:
        turn: Its number.
        text: What was asked, as it was typed.
        ts: When, in UTC.
        files: The paths that tools wrote since, which can be put back.
    """

    turn: int
    text: str
    ts: str
    files: tuple[str, ...] = ()


def live(envelopes: Iterable[Envelope]) -> list[Envelope]:
    """Return the records that count: without those that a later ``rewound`` record passes over."""
    kept: list[Envelope] = []
    for item in envelopes:
        if isinstance(item.event, Rewound):
            after = item.event.after_seq
            kept = [old for old in kept if old.seq <= after or old.event.type in _STAYS]
        kept.append(item)
    return kept


def rebuild(agent: Agent[Any], envelopes: Iterable[Envelope]) -> None:
    """Give *agent* the conversation that the stored *envelopes* hold."""
    events = [item.event for item in live(envelopes)]
    agent.history = from_events(events, agent.name)
    agent.measured = (0, 0)
    agent.compacted_to = 0
    agent.state.pop(RESULTS, None)
    if replaced := compacted_results(events, agent.name):
        agent.state[RESULTS] = replaced


def rewind_points(session: Session) -> list[RewindPoint]:
    """Return the turns that *session* can go back before, the oldest first."""
    journal = _journal(session)
    points = []
    for item in live(session.history()):
        event = item.event
        if isinstance(event, TurnStarted) and event.agent == session.agent.name and item.turn:
            paths = dict.fromkeys(path for entry in journal.since(item.turn) for path in entry.paths)
            points.append(RewindPoint(item.turn, event.shown or event.input, item.ts, tuple(paths)))
    return points


def preview(session: Session, turn: int) -> list[FileDiff]:
    """Return what putting the files back would change, without changing anything.

    Raises:
        EditError: A file was changed since by someone else, or can't be put back; the text names it.
    """
    from xun_builtin_tools.edit.undoing import check_undo

    journal, workspace = _journal(session), session.agent.workspace
    entries = journal.since(turn)
    check_undo(workspace, entries)
    return journal.preview(entries, workspace) if entries else []


async def rewind(session: Session, turn: int, *, files: bool) -> list[str]:
    """Go back to before *turn*; with *files* what tools wrote since is put back first, all of it or nothing.

    Returns:
        The paths that were put back.

    Raises:
        RuntimeError: A turn runs.
        SessionError: There is no such turn.
        EditError: A file was changed since; nothing was done.
    """
    if session.running:
        raise RuntimeError("The conversation can go back after this turn.")
    found = next((item for item in live(session.history()) if _begins(session, item, turn)), None)
    if found is None:
        turns = ", ".join(str(point.turn) for point in rewind_points(session)[-10:]) or "none"
        raise SessionError(f"There is no turn {turn} to go back before; the turns are: {turns}.")
    paths: list[str] = []
    if files and (entries := _journal(session).since(turn)):
        paths = await asyncio.to_thread(_put_back, session, entries)
    session.emit(Rewound(agent=session.agent.name, turn=turn, after_seq=found.seq - 1, files=tuple(paths)))
    rebuild(session.agent, session.history())
    _todos_of_then(session)
    session.context_pct = None
    return paths


def _begins(session: Session, item: Envelope, turn: int) -> bool:
    return isinstance(item.event, TurnStarted) and item.turn == turn and item.event.agent == session.agent.name


def _put_back(session: Session, entries: list[Entry]) -> list[str]:
    return _journal(session).undo(entries, session.agent.workspace)


def _todos_of_then(session: Session) -> None:
    events = [item.event for item in live(session.history())]
    lists = [event for event in events if isinstance(event, TodoUpdated) and event.agent == session.agent.name]
    items = lists[-1].items if lists else ()
    if items != session.todos:
        session.agent.state[TODO_KEY] = list(items)
        session.emit(TodoUpdated(agent=session.agent.name, items=items))


def _journal(session: Session) -> EditJournal:
    return EditState.of(session.agent).journal
