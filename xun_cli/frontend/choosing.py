"""What can be chosen on the whole screen: a session, a permission, a sub-agent or background command, a turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from xun_cli.frontend.picker import Act, Picker, Row, fact_lines
from xun_cli.render.calls import relative
from xun_cli.render.diff import diff_rows
from xun_cli.render.safe import safe
from xun_cli.render.text import DIM, NAME, PLAIN, Line, wrap

if TYPE_CHECKING:
    from xun.choice import FileDiff
    from xun_cli.session.envelope import Envelope
    from xun_cli.session.listing import SessionInfo
    from xun_policies.store import PolicyState


def age(stamp: str, now: float | None = None) -> str:
    """Return how long ago an ISO time was, such as ``5 min`` or ``3 d``; "" when it is none."""
    try:
        seconds = (time.time() if now is None else now) - datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return ""
    for size, unit in ((86_400 * 365, "y"), (86_400 * 30, "mo"), (86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"


# -- sessions ---------------------------------------------------------------------------------------


def session_picker(sessions: Sequence[SessionInfo], *, now: float | None = None, back: str = "Esc back") -> Picker:
    """Return the sessions to go on with, the last used first; the result is a `SessionInfo`."""
    rows = [_session_row(info, now) for info in sessions]
    return Picker(
        "Go on with which session?", lambda: rows, empty="There is no session yet.", choose="Enter goes on", back=back
    )


def _session_row(info: SessionInfo, now: float | None) -> Row:
    title = info.name or info.first_input or "(nothing typed)"
    turns = "1 turn" if info.turns == 1 else f"{info.turns} turns"
    return Row(
        info,
        title,
        (age(info.updated, now), turns, info.model),
        lambda columns: _session_preview(info, columns),
        f"{info.id} {info.first_input} {info.updated[:10]}",
    )


def _session_preview(info: SessionInfo, columns: int) -> list[Line]:
    when = f"{info.started[:16].replace('T', ' ')} – {info.updated[:16].replace('T', ' ')} UTC"
    lines = fact_lines((("id", info.id), ("used", when), ("folder", info.cwd)), columns)
    text = safe(info.first_input or "(nothing typed)", multiline=False)
    return [*lines, *wrap([(PLAIN, text)], columns)]


# -- permissions ------------------------------------------------------------------------------------


def policy_picker(policy: Callable[[], PolicyState], remove: Callable[[str], str]) -> Picker:
    """Return the permissions of a session; Del takes one back through *remove*, which gets c2, w1 or h3."""

    def removed(row: Row) -> str:
        return remove(str(row.value)) if row.value else "A built-in entry: /policy remove command leaves it out."

    return Picker(
        "Permissions of this session",
        lambda: _policy_rows(policy()),
        empty="Nothing is granted. /policy allow adds an entry, so does a dialog's “allow and grant”.",
        choose="",
        acts={"delete": Act("Del takes back", removed)},
    )


def _policy_rows(policy: PolicyState) -> list[Row]:
    rows: list[Row] = []
    commands, writes = policy.command_allowlist, policy.write_allowlist
    for at, entry in enumerate(commands, 1):
        how = "only exactly this" if entry.exact else "and whatever follows it"
        rows.append(_entry_row(f"c{at}", "command", entry.text, how, entry, commands.used(entry)))
    for at, path in enumerate(writes, 1):
        how = "everything below it" if path.directory else "only this file"
        rows.append(_entry_row(f"w{at}", "write", path.path, how, path, writes.used(path)))
    hosts = policy.host_allowlist
    for at, place in enumerate(hosts, 1):
        rows.append(_entry_row(f"h{at}", "host", place.host, "this host and port", place, hosts.used(place)))
    for name in sorted(policy.excluded):
        rows.append(Row("", f"{name}  (built in, left out)", ("–", "command", "")))
    return rows


def _entry_row(number: str, kind: str, text: str, how: str, entry: Any, used: int) -> Row:
    source = {"dialog": "a dialog", "user": "/policy or a start option"}.get(entry.source, entry.source)
    facts = (("allows", f"{text}: {how}"), ("from", source), ("since", entry.when[:16].replace("T", " ") or "unknown"))
    counted = f"{used} times" if used else "not yet"
    return Row(
        number,
        text,
        (number, kind, entry.source),
        lambda columns: fact_lines((*facts, ("used", counted)), columns),
        how,
    )


# -- work beside the turn ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Worker:
    """A sub-agent or a background command of a session.

    Attributes:
        kind: agent or command.
        name: Its name or id.
        task: What it does.
        state: works, finished, failed, running, exit 0, ...
    """

    kind: str
    name: str
    task: str
    state: str


def workers(history: Sequence[Envelope]) -> list[Worker]:
    """Return the sub-agents and background commands that *history* tells of, the newest first."""
    from xun import events as ev

    found: dict[tuple[str, str], Worker] = {}
    for item in history:
        event = item.event
        if isinstance(event, ev.SubagentStarted):
            found["agent", event.name] = Worker("agent", event.name, event.task, "works")
        elif isinstance(event, ev.SubagentCompleted):
            state = "finished" if event.ok else "failed"
            found["agent", event.name] = Worker("agent", event.name, event.task, state)
        elif isinstance(event, ev.TaskStarted):
            found["command", event.id] = Worker("command", event.id, event.command, "running")
        elif isinstance(event, ev.TaskCompleted):
            state = "ended" if event.exit is None else f"exit {event.exit}"
            found["command", event.id] = Worker("command", event.id, event.command, state)
    return list(found.values())[::-1]


def work_picker(give: Callable[[], Sequence[Worker]], stop: Callable[[Worker], str]) -> Picker:
    """Return the sub-agents and background commands; the result is the `Worker` to look at."""

    def rows() -> list[Row]:
        return [
            Row(item, item.task, (item.name, item.state), lambda columns, item=item: _worker_preview(item, columns))  # type: ignore[misc]
            for item in give()
        ]

    return Picker(
        "Sub-agents and background commands",
        rows,
        empty="No sub-agent and no background command in this session.",
        choose="Enter opens",
        acts={"delete": Act("Del stops a command", lambda row: stop(row.value))},
    )


def _worker_preview(item: Worker, columns: int) -> list[Line]:
    kind = "sub-agent" if item.kind == "agent" else "background command"
    lines = fact_lines(((kind, item.name), ("state", item.state)), columns)
    return [*lines, *wrap([(PLAIN, safe(" ".join(item.task.split()), multiline=False))], columns)]


# -- turns ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TurnPoint:
    """A turn that one can go back to.

    Attributes:
        turn: Its number.
        text: What was asked.
        when: ISO time.
        files: How many files the turns from it on have changed.
    """

    turn: int
    text: str
    when: str = ""
    files: int = 0


BACK = "back"
"""The row that takes the last going back back."""


def rewind_picker(points: Sequence[TurnPoint], *, now: float | None = None, back: str = "") -> Picker:
    """Return the turns to go back to, the newest first; the result is a `TurnPoint`, or `BACK` for the row *back*."""
    rows = [_turn_row(point, now) for point in reversed(points)]
    rows += [Row(BACK, back)] if back else []
    return Picker(
        "Go back to before which message?", lambda: rows, empty="There is no turn yet.", choose="Enter goes back"
    )


def rewind_kind_picker(point: TurnPoint, changes: Sequence[FileDiff], refused: str, cwd: str) -> Picker:
    """Return what can go back: the result is talk, both, or "" for nothing."""
    count = f"{point.files} file{'s' * (point.files != 1)}"
    rows = [Row("talk", "Only the conversation; the files stay as they are")]
    if refused:
        rows.append(Row("", f"The files can't be put back: {refused}", preview=lambda columns: _said(refused, columns)))
    else:
        rows.append(
            Row("both", f"The conversation and {count}", preview=lambda columns: _changes(changes, cwd, columns))
        )
    return Picker(f"Go back before turn {point.turn}: what?", lambda: rows, empty="", choose="Enter goes back")


def _said(text: str, columns: int) -> list[Line]:
    return wrap([(PLAIN, safe(text, multiline=False))], columns)


def _changes(changes: Sequence[FileDiff], cwd: str, columns: int) -> list[Line]:
    lines: list[Line] = []
    for item in changes:
        name = safe(relative(item.path, cwd), multiline=False)
        lines += [[(NAME, name), (DIM, f"  +{item.added} −{item.removed}")], *diff_rows(item.diff, columns)]
    return lines


def _turn_row(point: TurnPoint, now: float | None) -> Row:
    files = f"{point.files} file{'s' * (point.files != 1)}" if point.files else ""
    text = safe(point.text, multiline=True)

    def preview(columns: int) -> list[Line]:
        return [line for row in text.split("\n") for line in wrap([(PLAIN, row)], columns)]

    return Row(point, point.text, (str(point.turn), age(point.when, now), files), preview)
