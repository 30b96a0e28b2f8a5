"""What is open in a turn, and the few rows that show it: the open block, running calls, the state."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xun_cli.render.calls import Call
from xun_cli.render.cards import live_card, live_output
from xun_cli.render.safe import safe
from xun_cli.render.tally import Tally, time_words
from xun_cli.render.text import ACCENT, DIM, GOOD, PLAIN, Line, cut, cut_line, width, wrap

if TYPE_CHECKING:
    from xun.events import ApprovalResolved, Retry
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
        tally: What the turn has taken so far.
    """

    stream: MarkdownStream | None = None
    calls: dict[tuple[str, str], Call] = field(default_factory=dict)
    since: float | None = None
    retry: tuple[float, Retry] | None = None
    subagents: list[str] = field(default_factory=list)
    todos: tuple[dict[str, Any], ...] = ()
    queue: tuple[str, ...] = ()
    tally: Tally = field(default_factory=Tally)

    def begin(self, now: float) -> None:
        """Note that a turn began."""
        self.since, self.tally = now, Tally()

    def ask(self, call: Call, now: float) -> None:
        """Note that a question about *call* is open."""
        if not call.waiting:
            self.tally.ask(now)
        call.waiting = True

    def answer(self, call: Call, event: ApprovalResolved, now: float) -> None:
        """Note how a question about *call* was answered."""
        if call.waiting:
            self.tally.answer(now)
        call.answer(event, now)

    def end(self) -> list[Call]:
        """Note that the turn is over, and return the calls that it left open."""
        left = list(self.calls.values())
        self.calls.clear()
        self.subagents.clear()
        self.since, self.retry = None, None
        return left

    def names(self, text: str, tools: Collection[str]) -> bool:
        """Tell whether a call of one of *tools* runs that has *text* as one of its arguments."""
        calls = [call.args for call in self.calls.values() if call.tool in tools and isinstance(call.args, dict)]
        given = [value for args in calls for value in args.values()]
        return any(text == value or (isinstance(value, list) and text in value) for value in given)


@dataclass(frozen=True, slots=True)
class Frame:
    """How a drawing of what is open is to look.

    Attributes:
        columns: Cells per row.
        now: The time by the clock of the transcript.
        cwd: The folder that paths are shown relative to.
        animated: Whether the spinner moves.
    """

    columns: int
    now: float
    cwd: str
    animated: bool

    @property
    def spinner(self) -> str:
        """The spinner at this moment."""
        return SPINNER[int(self.now / FRAME) % len(SPINNER)] if self.animated else "●"


def live_lines(turn: OpenTurn, rows: int, frame: Frame) -> list[Line]:
    """Draw *turn* in at most *rows* rows; the state of the turn comes first when there is little room."""
    if rows <= 0:
        return []
    status = status_rows(turn, frame)
    room = rows - len(status)
    top = work_rows(turn, room, frame) if room > 0 else []
    return [cut_line(line, frame.columns) for line in [*top, *status][-rows:]]


def work_rows(turn: OpenTurn, rows: int, frame: Frame) -> list[Line]:
    """Draw the open block and the running calls in at most *rows* rows."""
    top: list[Line] = []
    calls = list(turn.calls.values())[:_CALLS_SHOWN]
    for call in calls:
        top.append(live_card(call, frame.columns, frame.cwd, frame.now, frame.spinner))
        top += live_output(call, frame.columns, min(_OUTPUT_ROWS, (rows - len(calls)) // len(calls)))
    if turn.stream is not None and rows - len(top) > 0:
        top = turn.stream.live(frame.columns, rows - len(top)) + top
    return [cut_line(line, frame.columns) for line in top[-rows:]]


def gap_comes(turn: OpenTurn, last: str) -> bool:
    """Tell whether what is open will stand after a blank row when it is final: it should not move then.

    Args:
        turn: What is open.
        last: The kind of what is final above it, "" for nothing.
    """
    if turn.stream is None or not turn.stream.tail.strip():
        return last not in ("", "card")
    return turn.stream.gap if last == "text" else bool(last)


def status_rows(turn: OpenTurn, frame: Frame) -> list[Line]:
    """Draw the state of *turn*: the todo list in a line, what waits, what it does."""
    return _status(turn, frame.columns, frame.now, frame.spinner)


def todo_lines(items: tuple[dict[str, Any], ...], columns: int) -> list[Line]:
    """Return a whole todo list."""
    marks = {"completed": ("✓", GOOD), "in_progress": ("▸", ACCENT), "cancelled": ("–", DIM)}
    rows: list[Line] = []
    for item in items:
        mark, style = marks.get(str(item.get("status")), ("○", DIM))
        text = safe(str(item.get("description", "")), multiline=False)
        rows += wrap([(PLAIN, text)], columns, [(style, f"  {mark} ")], [(PLAIN, "    ")])
    return rows


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
        # The reason comes last: it is the longest, and what a narrow terminal may cut, but not to a letter or two.
        room = columns - 2 - width(" · ".join(parts)) - 3
        parts += [safe(turn.retry[1].reason, multiline=False).rstrip(".")] if room >= 12 else []
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
    return f"{word} {time_words(max(0.0, now - since))}"


def _todo_line(todos: tuple[dict[str, Any], ...], columns: int) -> Line:
    done = sum(item.get("status") in _SETTLED for item in todos)
    now = next((item for item in todos if item.get("status") == "in_progress"), None)
    now = now or next(item for item in todos if item.get("status") not in _SETTLED)
    text = safe(str(now.get("description", "")), multiline=False)
    head = f"todo {done}/{len(todos)} "
    return [(DIM, head), (PLAIN, cut(text, max(4, columns - len(head))))]
