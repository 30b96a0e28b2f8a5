"""From events to what is on the screen: finished lines, printed once, and a few live ones.

A `Transcript` knows no terminal and no UI library. `feed` takes one event and returns the lines that
are final with it; `live` draws what is still open. Sub-agents' texts are not shown, their calls are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from xun_cli.render.calls import Call
from xun_cli.render.cards import card_lines, expanded_lines, has_more, whole_card
from xun_cli.render.diff import split_files
from xun_cli.render.live import Frame, OpenTurn, gap_comes, live_lines, status_rows, todo_lines, work_rows
from xun_cli.render.markdown import MarkdownStream
from xun_cli.render.safe import safe
from xun_cli.render.text import ACCENT, BAD, BOLD, DIM, PLAIN, WARN, Line, expand_tabs, wrap

if TYPE_CHECKING:
    from xun import events as ev
    from xun.choice import FileDiff

_STOPS = {
    "interrupted": "Interrupted. What came so far is kept.",
    "limit": "Stopped at a limit. Say “go on” to continue.",
    "denied": "Stopped: something was denied.",
}


class Transcript:
    """What one session has shown.

    Args:
        columns: Gives the width of the terminal in cells.
        clock: Gives seconds; only differences count.
        animated: Whether the spinner moves.
        whole: Show of each call all that it gave back, folding nothing.
    """

    def __init__(
        self,
        columns: Callable[[], int],
        *,
        clock: Callable[[], float] = time.monotonic,
        animated: bool = True,
        whole: bool = False,
    ) -> None:
        self.cwd = ""
        self.label = ""
        """Said after each answer; for a model that is none."""
        self._columns = columns
        self._clock = clock
        self._animated, self._whole = animated, whole
        self._handlers: dict[type[ev.Event], Callable[[Any], list[Line]]] | None = None
        self._last = ""
        self._at: float | None = None
        self.reset()

    def reset(self) -> None:
        """Forget everything that was open; for a new session or a redraw."""
        self._open = OpenTurn()
        self.folded: Call | None = None
        self._answered = False

    @property
    def columns(self) -> int:
        """The width that is drawn for."""
        return self._columns()

    @property
    def running(self) -> bool:
        """Whether a turn runs."""
        return self._open.since is not None

    def feed(self, event: ev.Event, *, at: float | None = None) -> list[Line]:
        """Take in one event and return the lines that are final with it.

        Args:
            event: The event.
            at: When it came, by the clock, for one that is drawn again; None: now.
        """
        if self._handlers is None:
            self._handlers = self._table()
        handler = self._handlers.get(type(event))
        self._at = at
        try:
            return handler(event) if handler is not None else []
        finally:
            self._at = None

    def _now(self) -> float:
        return self._clock() if self._at is None else self._at

    def say(self, lines: Iterable[Line], kind: str = "note") -> list[Line]:
        """Return *lines* with the blank line that stands between different kinds of things."""
        rows = list(lines)
        if not rows:
            return []
        gap = bool(self._last) and (self._last != kind or kind in ("user", "text", "block"))
        self._last = kind
        return [[], *rows] if gap else rows

    def typed(self, text: str) -> list[Line]:
        """Return what the person typed, as it stands above what comes of it."""
        return self.say(typed_rows(text, "> ", self._columns()), "user")

    def note(self, text: str, style: str = DIM, mark: str = "·") -> list[Line]:
        """Return one remark of ours as lines."""
        rows: list[Line] = []
        words = PLAIN if style == WARN else style
        for index, row in enumerate(safe(text).split("\n")):
            first = f"{mark} " if index == 0 else "  "
            rows += wrap([(words, row)], self._columns(), [(style, first)], [(style, "  ")])
        return self.say(rows)

    def expand(self) -> list[Line]:
        """Return the whole of the last folded card, [] when there is none."""
        if self.folded is None:
            return []
        call, self.folded = self.folded, None
        return self.say(expanded_lines(call, self._columns(), self.cwd), "card")

    def live(self, rows: int) -> list[Line]:
        """Draw what is open in at most *rows* rows."""
        return live_lines(self._open, rows, self._frame())

    def live_parts(self, rows: int) -> tuple[list[Line], list[Line]]:
        """Draw what is open in at most *rows* rows, as it follows what is final, and apart from it the turn's state."""
        frame = self._frame()
        work = work_rows(self._open, rows - 1, frame)
        gap: list[Line] = [[]] if work and gap_comes(self._open, self._last) else []
        return [*gap, *work], status_rows(self._open, frame)

    def _frame(self) -> Frame:
        return Frame(self._columns(), self._clock(), self.cwd, self._animated)

    # -- events ---------------------------------------------------------------------------

    def _table(self) -> dict[type[ev.Event], Callable[[Any], list[Line]]]:
        from xun import events as ev  # the prompt is drawn before the first event is needed

        return {
            ev.TurnStarted: self._turn_started,
            ev.MessageDelta: self._delta,
            ev.MessageCompleted: self._message,
            ev.ToolStarted: self._tool_started,
            ev.ToolOutput: self._tool_output,
            ev.ToolCompleted: self._tool_completed,
            ev.RiskAssessed: self._risk,
            ev.ApprovalRequested: self._asked,
            ev.ApprovalResolved: self._resolved,
            ev.Steer: lambda event: self.say(typed_rows(event.text, "» ", self._columns()), "user"),
            ev.QueueChanged: lambda event: _taken(self.set_queue, event.items),
            ev.TodoUpdated: lambda event: _taken(self.set_todos, event.items),
            ev.SubagentStarted: self._subagent_started,
            ev.SubagentCompleted: self._subagent_completed,
            ev.TaskStarted: self._task_started,
            ev.TaskCompleted: lambda event: self.note(f"background command {event.id} ended: exit {event.exit}"),
            ev.Compaction: self._compacted,
            ev.Retry: self._retrying,
            ev.Notice: self._notice,
            ev.UsageUpdated: lambda event: _taken(self._open.tally.use, event),
            ev.Error: lambda event: self._ended_text() + self.note(event.message, BAD, "✗"),
            ev.TurnCompleted: self._turn_completed,
        }

    def _turn_started(self, event: ev.TurnStarted) -> list[Line]:
        if event.agent != "main":
            return []
        self._open.begin(self._now())
        self._answered = False
        return self.say(_turn_rows(event, self._columns()), "user")

    def _delta(self, event: ev.MessageDelta) -> list[Line]:
        if event.agent != "main":
            return []
        self._open.retry = None
        if self._open.stream is None:
            self._open.stream = MarkdownStream()
        return self._text(self._open.stream.feed(event.text, self._columns()))

    def _text(self, lines: list[Line]) -> list[Line]:
        if not lines:
            return []
        fresh = not self._answered or self._last != "text"
        self._answered = True
        if fresh and not lines[0]:
            lines = lines[1:]  # the stream's own gap: say() makes one
        return self.say(lines, "text") if fresh else self._go_on(lines)

    def _go_on(self, lines: list[Line]) -> list[Line]:
        self._last = "text"
        return lines

    def _message(self, event: ev.MessageCompleted) -> list[Line]:
        if event.agent != "main":
            return []
        self._open.retry = None
        if self._open.stream is None and event.text:
            self._open.stream = MarkdownStream()
            lines = self._text(self._open.stream.feed(event.text, self._columns()))
            return lines + self._ended_text()
        return self._ended_text()

    def _ended_text(self) -> list[Line]:
        """Finish the open text and return what was left of it."""
        if self._open.stream is None:
            return []
        stream, self._open.stream = self._open.stream, None
        lines = self._text(stream.close(self._columns()))
        if self._last == "text":
            self._last = "text-end"
        return lines

    def _tool_started(self, event: ev.ToolStarted) -> list[Line]:
        lines = self._ended_text() if event.agent == "main" else []
        call = Call(event.call_id, event.tool, event.args, event.agent, self._now())
        self._open.calls[event.agent, event.call_id] = call
        self._open.tally.calls += event.agent == "main"
        return lines

    def _tool_output(self, event: ev.ToolOutput) -> list[Line]:
        call = self._open.calls.get((event.agent, event.call_id))
        if call is not None:
            call.add_output(event.stream, event.text)
        return []

    def _tool_completed(self, event: ev.ToolCompleted) -> list[Line]:
        call = self._open.calls.pop((event.agent, event.call_id), None) or Call(
            event.call_id, event.tool, {}, event.agent, self._now()
        )
        call.finish(event, self._now())
        columns = self._columns()
        lines = (whole_card if self._whole else card_lines)(call, columns, self.cwd)
        if event.agent != "main":
            return self.say(lines[:1], "card")
        if has_more(call, columns, self.cwd):
            self.folded = call
        return self._ended_text() + self.say(lines, "card")

    def _risk(self, event: ev.RiskAssessed) -> list[Line]:
        call = self._open.calls.get((event.agent, event.call_id))
        if call is not None:
            call.risk = event
        return []

    def _asked(self, event: ev.ApprovalRequested) -> list[Line]:
        call = self._open.calls.get((event.agent, event.call_id))
        if call is None:
            return []
        self._open.ask(call, self._now())
        if event.diff:
            from xun.choice import FileDiff

            # A later question is about what the person made of the first one.
            call.files = tuple(FileDiff(path, "update", diff) for path, diff in split_files(event.diff))
        return []

    def set_todos(self, items: tuple[dict[str, Any], ...]) -> None:
        """Take over the todo list of a session that goes on."""
        self._open.todos = items

    def set_queue(self, items: tuple[str, ...]) -> None:
        """Take over the messages that wait."""
        self._open.queue = items

    def attach_files(self, agent: str, call_id: str, files: tuple[FileDiff, ...]) -> None:
        """Keep what a write question shows, file by file, for the card of its call."""
        call = self._open.calls.get((agent, call_id))
        if call is not None and files:
            call.files = files

    def _resolved(self, event: ev.ApprovalResolved) -> list[Line]:
        call = self._open.calls.get((event.agent, event.call_id))
        if call is not None:
            self._open.answer(call, event, self._now())
        return []

    def todo_lines(self) -> list[Line]:
        """Return the whole todo list."""
        return todo_lines(self._open.todos, self._columns())

    def _subagent_started(self, event: ev.SubagentStarted) -> list[Line]:
        self._open.subagents.append(event.name)
        return []

    def _subagent_completed(self, event: ev.SubagentCompleted) -> list[Line]:
        if event.name in self._open.subagents:
            self._open.subagents.remove(event.name)
        words = "finished" if event.ok else "failed"
        # The card of the call that waits for it names the task, and shows the answer.
        task = "" if self._open.names(event.task, ("agent_run", "agent_run_parallel")) else f": {event.task}"
        return self.note(f"{event.name} {words}{task}", PLAIN if event.ok else BAD, "◆")

    def _task_started(self, event: ev.TaskStarted) -> list[Line]:
        if self._open.names(event.command, ("bash_spawn",)):
            return []  # the card of its call says so
        return self.note(f"background command {event.id} started: {event.command}")

    def _compacted(self, event: ev.Compaction) -> list[Line]:
        return self.note(f"older messages summarised: {event.before:,} → {event.after:,} tokens")

    def _retrying(self, event: ev.Retry) -> list[Line]:
        self._open.retry = (self._now() + event.delay, event)
        stream, self._open.stream = self._open.stream, None
        if stream is not None and stream.started:
            return self.note(f"The answer broke off ({event.reason}); it begins again.", WARN, "!")
        return []

    def _notice(self, event: ev.Notice) -> list[Line]:
        warning = event.level == "warning"
        return self.note(event.text, WARN if warning else DIM, "!" if warning else "·")

    def _turn_completed(self, event: ev.TurnCompleted) -> list[Line]:
        if event.agent != "main":
            return []
        lines = self._ended_text()
        answered = self._answered
        from xun import events as ev

        for call in self._open.end():
            call.done = ev.ToolCompleted(call_id=call.call_id, tool=call.tool, ok=False, status="cancelled")
            lines += self.say(card_lines(call, self._columns(), self.cwd), "card")
        if event.stop in _STOPS:
            lines += self.note(_STOPS[event.stop], WARN, "■")
        if took := self._open.tally.words(event.duration_ms / 1000):
            lines += self.note(took)
        if self.label and answered:
            lines += self.note(self.label)
        return lines


def _taken(take: Callable[[Any], None], given: Any) -> list[Line]:
    take(given)
    return []


def _turn_rows(event: ev.TurnStarted, columns: int) -> list[Line]:
    rows = typed_rows(event.shown or event.input, "> ", columns)
    if event.attachments:
        count = len(event.attachments)
        rows.append([(DIM, f"  + {count} image{'s' if count > 1 else ''}")])
    return rows


def typed_rows(text: str, mark: str, columns: int) -> list[Line]:
    """Return what a person typed, with *mark* before it."""
    rows: list[Line] = []
    for index, row in enumerate(expand_tabs(safe(text.rstrip("\n"))).split("\n")):
        first = (f"{BOLD} {ACCENT}", mark if index == 0 else "  ")
        rows += wrap([(BOLD, row)], columns, [first], [(PLAIN, "  ")])
    return rows
