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

STAYS = frozenset({"usage", "policy.changed", "session.started", "session.ended", "rewound"})
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
    before: dict[int, list[Envelope]] = {}
    for item in envelopes:
        event = item.event
        if isinstance(event, Rewound) and not (event.restores and event.restores not in before):
            counted, before[item.seq] = kept, kept
            after = event.restores or event.after_seq
            base = before[event.restores] if event.restores else [old for old in counted if old.seq <= after]
            kept = [*base, *(old for old in counted if old.seq > after and old.event.type in STAYS)]
        kept.append(item)
    return kept


@dataclass(frozen=True, slots=True)
class Rewind:
    """The last going back of a conversation, which can be taken back.

    Attributes:
        seq: The number of its record.
        turns: The turns that count again then.
        since: The turns that were begun after it, which would not count any more.
        files: The paths that were put back with it.
        again: Whether these can be written again: nothing else was written since.
    """

    seq: int
    turns: tuple[int, ...]
    since: tuple[int, ...] = ()
    files: tuple[str, ...] = ()
    again: bool = False


def last_rewind(session: Session) -> Rewind | None:
    """Return the last going back that left turns out and still counts; None when there is none."""
    history = session.history()
    counted = live(history)
    found = next((item for item in reversed(counted) if isinstance(item.event, Rewound) and item.event.turn), None)
    if found is None or not isinstance(found.event, Rewound):
        return None
    earlier = _turns(session, live(item for item in history if item.seq < found.seq))
    now = _turns(session, counted)
    redone = set(_journal(session).redo_paths)
    files = found.event.files
    return Rewind(
        found.seq,
        tuple(turn for turn in earlier if turn not in now),
        tuple(turn for turn in now if turn not in earlier),
        files,
        bool(files) and redone == set(files),
    )


def _turns(session: Session, counted: Iterable[Envelope]) -> list[int]:
    name = session.agent.name
    return [item.turn for item in counted if item.turn and _is_turn(item, name)]


def _is_turn(item: Envelope, agent: str) -> bool:
    return isinstance(item.event, TurnStarted) and item.event.agent == agent


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


async def take_back(session: Session, *, files: bool) -> list[str]:
    """Take back the last going back: what counted before it counts again; with *files* they are written again, too.

    Returns:
        The paths that were written again.

    Raises:
        RuntimeError: A turn runs.
        SessionError: There is nothing to take back, or the files were written to since.
        EditError: A file was changed since; nothing was done.
    """
    if session.running:
        raise RuntimeError("The conversation can go forward again after this turn.")
    found = last_rewind(session)
    if found is None:
        raise SessionError("There is no rewind to take back.")
    if files and found.files and not found.again:
        raise SessionError("The files were written to since, so they can't come back: --keep-files leaves them.")
    paths: list[str] = []
    if files and found.files:
        paths = await asyncio.to_thread(_journal(session).redo, session.agent.workspace)
    last = session.history()[-1].seq
    session.emit(
        Rewound(
            agent=session.agent.name, turn=min(found.since, default=0), after_seq=last, files=(), restores=found.seq
        )
    )
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
