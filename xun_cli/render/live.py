"""What is open in a turn, and the few rows that show it: the open block, running calls, the state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xun_cli.render.calls import Call
from xun_cli.render.cards import live_card, live_output
from xun_cli.render.safe import safe
from xun_cli.render.text import ACCENT, DIM, PLAIN, Line, cut, cut_line

if TYPE_CHECKING:
    from xun.events import Retry
    from xun_cli.render.markdown import MarkdownStream

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME = 0.12
"""Seconds of one frame of the spinner."""

_CALLS_SHOWN = 4
_OUTPUT_ROWS = 3
_QUEUE_SHOWN = 2
_SETTLED = ("completed", "cancelled")


@dataclass(slots=True)
class OpenTurn:
    """What has begun and is not finished.

    Attributes:
        stream: The message that is being written.
        calls: The calls that run, by agent and id: two agents may use one id.
        since: When the turn began, by the clock of the transcript; None when none runs.
        retry: When the next try begins, and the event that said so.
        subagents: The names of sub-agents at work.
        todos: The todo list.
        queue: The messages that wait for the turn to end.
    """

    stream: MarkdownStream | None = None
    calls: dict[tuple[str, str], Call] = field(default_factory=dict)
    since: float | None = None
    retry: tuple[float, Retry] | None = None
    subagents: list[str] = field(default_factory=list)
    todos: tuple[dict[str, Any], ...] = ()
    queue: tuple[str, ...] = ()


def live_lines(turn: OpenTurn, columns: int, rows: int, now: float, *, cwd: str, animated: bool) -> list[Line]:
    """Draw *turn* in at most *rows* rows; the state of the turn comes first when there is little room."""
    if rows <= 0:
        return []
    spinner = SPINNER[int(now / FRAME) % len(SPINNER)] if animated else "●"
    status = _status(turn, columns, now, spinner)
    room = rows - len(status)
    top: list[Line] = []
    calls = list(turn.calls.values())[:_CALLS_SHOWN]
    for call in calls:
        top.append(live_card(call, columns, cwd, now, spinner))
        top += live_output(call, columns, min(_OUTPUT_ROWS, (room - len(calls)) // len(calls)))
    if turn.stream is not None and room - len(top) > 0:
        top = turn.stream.live(columns, room - len(top)) + top
    lines = [*top[len(top) - room :], *status] if len(top) > room else [*top, *status]
    return [cut_line(line, columns) for line in lines[-rows:]]


def _status(turn: OpenTurn, columns: int, now: float, spinner: str) -> list[Line]:
    lines: list[Line] = []
    if turn.since is not None and any(item.get("status") not in _SETTLED for item in turn.todos):
        lines.append(_todo_line(turn.todos, columns))
    for text in turn.queue[:_QUEUE_SHOWN]:
        lines.append([(DIM, cut("queued: " + safe(" ".join(text.split()), multiline=False), columns))])
    if turn.since is None:
        return lines
    parts = [_doing(turn, now, turn.since)]
    if len(turn.queue) > _QUEUE_SHOWN:
        parts.append(f"{len(turn.queue)} queued")
    parts.append("Esc interrupts")
    if turn.retry is not None:
        # The reason comes last: it is the longest, and what a narrow terminal may cut.
        parts.append(safe(turn.retry[1].reason, multiline=False).rstrip("."))
    lines.append([(ACCENT, f"{spinner} "), (DIM, cut(" · ".join(parts), columns - 2))])
    return lines


def _doing(turn: OpenTurn, now: float, since: float) -> str:
    if turn.retry is not None:
        until, retry = turn.retry
        left = max(0, round(until - now))
        return f"try {retry.attempt} of {retry.attempts} " + (f"in {left}s" if left else "now")
    if any(call.waiting for call in turn.calls.values()):
        word = "waiting for your answer"
    elif turn.calls:
        word = "checking the command" if all(call.checking for call in turn.calls.values()) else "running"
    elif turn.subagents:
        word = f"{safe(turn.subagents[-1], multiline=False)} works"
    elif turn.stream is not None:
        word = "answering"
    else:
        word = "thinking"
    return f"{word} {max(0, int(now - since))}s"


def _todo_line(todos: tuple[dict[str, Any], ...], columns: int) -> Line:
    done = sum(item.get("status") in _SETTLED for item in todos)
    now = next((item for item in todos if item.get("status") == "in_progress"), None)
    now = now or next(item for item in todos if item.get("status") not in _SETTLED)
    text = safe(str(now.get("description", "")), multiline=False)
    head = f"todo {done}/{len(todos)} "
    return [(DIM, head), (PLAIN, cut(text, max(4, columns - len(head))))]
