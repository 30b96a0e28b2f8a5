"""From events to what is on the screen: finished lines, printed once, and a few live ones.

A `Transcript` knows no terminal and no UI library. `feed` takes one event and returns the lines that
are final with it; `live` draws what is still open. Sub-agents' texts are not shown, their calls are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from xun import events as ev
from xun.choice import FileDiff
from xun_cli.render.calls import Call
from xun_cli.render.cards import card_lines, expanded_lines, has_more, live_card, live_output
from xun_cli.render.markdown import MarkdownStream
from xun_cli.render.safe import safe
from xun_cli.render.text import ACCENT, BAD, BOLD, DIM, GOOD, PLAIN, WARN, Line, cut, expand_tabs, wrap

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME = 0.12
"""Seconds of one frame of the spinner."""

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
    """

    def __init__(
        self, columns: Callable[[], int], *, clock: Callable[[], float] = time.monotonic, animated: bool = True
    ) -> None:
        self.cwd = ""
        self.label = ""
        """Said after each answer; for a model that is none."""
        self._columns = columns
        self._clock = clock
        self._animated = animated
        self._handlers: dict[type[ev.Event], Callable[[Any], list[Line]]] = self._table()
        self._last = ""
        self.reset()

    def reset(self) -> None:
        """Forget everything that was open; for a new session or a redraw."""
        self._stream: MarkdownStream | None = None
        self._calls: dict[str, Call] = {}
        self._expandable: Call | None = None
        self._running_since: float | None = None
        self._retry: tuple[float, ev.Retry] | None = None
        self._thinking = False
        self._answered = False
        self._subagents: list[str] = []
        self.todos: tuple[dict[str, Any], ...] = ()
        self.queue: tuple[str, ...] = ()

    @property
    def running(self) -> bool:
        """Whether a turn runs."""
        return self._running_since is not None

    def feed(self, event: ev.Event) -> list[Line]:
        """Take in one event and return the lines that are final with it."""
        handler = self._handlers.get(type(event))
        return handler(event) if handler is not None else []

    def say(self, lines: Iterable[Line], kind: str = "note") -> list[Line]:
        """Return *lines* with the blank line that stands between different kinds of things."""
        rows = list(lines)
        if not rows:
            return []
        gap = bool(self._last) and (self._last != kind or kind in ("user", "text", "block"))
        self._last = kind
        return [[], *rows] if gap else rows

    def note(self, text: str, style: str = DIM, mark: str = "·") -> list[Line]:
        """Return one remark of ours as lines."""
        rows: list[Line] = []
        for index, row in enumerate(safe(text).split("\n")):
            first = f"{mark} " if index == 0 else "  "
            rows += wrap([(style, row)], self._columns(), [(style, first)], [(style, "  ")])
        return self.say(rows)

    def expand(self) -> list[Line]:
        """Return the whole of the last folded card, [] when there is none."""
        if self._expandable is None:
            return []
        call, self._expandable = self._expandable, None
        return self.say(expanded_lines(call, self._columns(), self.cwd), "card")

    def live(self, rows: int) -> list[Line]:
        """Draw what is open in at most *rows* rows: the open block, running calls, the state of the turn."""
        if rows <= 0:
            return []
        columns, now = self._columns(), self._clock()
        status = self._status(columns, now)
        room = rows - len(status)
        top: list[Line] = []
        calls = self._open_calls()
        for call in calls:
            top.append(live_card(call, columns, self.cwd, now, self._spinner(now)))
            top += live_output(call, columns, min(3, (room - len(calls)) // len(calls)))
        if self._stream is not None and room - len(top) > 0:
            top = self._stream.live(columns, room - len(top)) + top
        return [*top[len(top) - room :], *status] if len(top) > room else [*top, *status]

    # -- events ---------------------------------------------------------------------------

    def _table(self) -> dict[type[ev.Event], Callable[[Any], list[Line]]]:
        return {
            ev.TurnStarted: self._turn_started,
            ev.MessageDelta: self._delta,
            ev.ReasoningDelta: self._reasoning,
            ev.MessageCompleted: self._message,
            ev.ToolStarted: self._tool_started,
            ev.ToolOutput: self._tool_output,
            ev.ToolCompleted: self._tool_completed,
            ev.RiskAssessed: self._risk,
            ev.ApprovalRequested: self._asked,
            ev.ApprovalResolved: self._resolved,
            ev.Steer: lambda event: self.say(self._typed(event.text, "» "), "user"),
            ev.QueueChanged: self._queued,
            ev.TodoUpdated: self._todo,
            ev.SubagentStarted: self._subagent_started,
            ev.SubagentCompleted: self._subagent_completed,
            ev.TaskStarted: lambda event: self.note(f"background command {event.id} started: {event.command}"),
            ev.TaskCompleted: lambda event: self.note(f"background command {event.id} ended: exit {event.exit}"),
            ev.Compaction: self._compacted,
            ev.Retry: self._retrying,
            ev.Notice: self._notice,
            ev.Error: lambda event: self._ended_text() + self.note(event.message, BAD, "✗"),
            ev.TurnCompleted: self._turn_completed,
        }

    def _turn_started(self, event: ev.TurnStarted) -> list[Line]:
        if event.agent != "main":
            return []
        self._running_since = self._clock()
        self._answered = False
        rows = self._typed(event.shown or event.input, "> ")
        if event.attachments:
            count = len(event.attachments)
            rows.append([(DIM, f"  + {count} image{'s' if count > 1 else ''}")])
        return self.say(rows, "user")

    def _typed(self, text: str, mark: str) -> list[Line]:
        rows: list[Line] = []
        for index, row in enumerate(expand_tabs(safe(text.rstrip("\n"))).split("\n")):
            first = (f"{BOLD} {ACCENT}", mark if index == 0 else "  ")
            rows += wrap([(BOLD, row)], self._columns(), [first], [(PLAIN, "  ")])
        return rows

    def _delta(self, event: ev.MessageDelta) -> list[Line]:
        if event.agent != "main":
            return []
        self._retry = None
        self._thinking = False
        if self._stream is None:
            self._stream = MarkdownStream()
        return self._text(self._stream.feed(event.text, self._columns()))

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

    def _reasoning(self, event: ev.ReasoningDelta) -> list[Line]:
        if event.agent == "main":
            self._thinking = True
        return []

    def _message(self, event: ev.MessageCompleted) -> list[Line]:
        if event.agent != "main":
            return []
        self._retry = None
        self._thinking = False
        if self._stream is None and event.text:
            self._stream = MarkdownStream()
            lines = self._text(self._stream.feed(event.text, self._columns()))
            return lines + self._ended_text()
        return self._ended_text()

    def _ended_text(self) -> list[Line]:
        """Finish the open text and return what was left of it."""
        if self._stream is None:
            return []
        stream, self._stream = self._stream, None
        lines = self._text(stream.close(self._columns()))
        if self._last == "text":
            self._last = "text-end"
        return lines

    def _tool_started(self, event: ev.ToolStarted) -> list[Line]:
        lines = self._ended_text() if event.agent == "main" else []
        self._calls[event.call_id] = Call(event.call_id, event.tool, event.args, event.agent, self._clock())
        return lines

    def _tool_output(self, event: ev.ToolOutput) -> list[Line]:
        call = self._calls.get(event.call_id)
        if call is not None:
            call.add_output(event.stream, event.text)
        return []

    def _tool_completed(self, event: ev.ToolCompleted) -> list[Line]:
        call = self._calls.pop(event.call_id, None) or Call(event.call_id, event.tool, {}, event.agent, self._clock())
        call.done = event
        columns = self._columns()
        lines = card_lines(call, columns, self.cwd)
        if event.agent != "main":
            return self.say(lines[:1], "card")
        if has_more(call, columns, self.cwd):
            self._expandable = call
        return self._ended_text() + self.say(lines, "card")

    def _risk(self, event: ev.RiskAssessed) -> list[Line]:
        call = self._calls.get(event.call_id)
        if call is not None:
            call.risk = event
        return []

    def _asked(self, event: ev.ApprovalRequested) -> list[Line]:
        call = self._calls.get(event.call_id)
        if call is None:
            return []
        call.waiting = True
        if event.diff and not call.files:
            call.files = (FileDiff(path="", action="update", diff=event.diff),)
        return []

    def attach_files(self, call_id: str, files: tuple[FileDiff, ...]) -> None:
        """Keep what a write question shows, file by file, for the card of its call."""
        if call_id in self._calls and files:
            self._calls[call_id].files = files

    def _resolved(self, event: ev.ApprovalResolved) -> list[Line]:
        call = self._calls.get(event.call_id)
        if call is not None:
            call.waiting = False
            call.resolved = event
        return []

    def _queued(self, event: ev.QueueChanged) -> list[Line]:
        self.queue = event.items
        return []

    def _todo(self, event: ev.TodoUpdated) -> list[Line]:
        self.todos = event.items
        return []

    def todo_lines(self) -> list[Line]:
        """Return the whole todo list."""
        marks = {"completed": ("✓", GOOD), "in_progress": ("▸", ACCENT)}
        rows: list[Line] = []
        for item in self.todos:
            mark, style = marks.get(str(item.get("status")), ("○", DIM))
            text = safe(str(item.get("description", "")), multiline=False)
            rows += wrap([(PLAIN, text)], self._columns(), [(style, f"  {mark} ")], [(PLAIN, "    ")])
        return rows

    def _subagent_started(self, event: ev.SubagentStarted) -> list[Line]:
        self._subagents.append(event.name)
        return []

    def _subagent_completed(self, event: ev.SubagentCompleted) -> list[Line]:
        if event.name in self._subagents:
            self._subagents.remove(event.name)
        words = "finished" if event.ok else "failed"
        return self.note(f"{event.name} {words}: {event.task}", PLAIN if event.ok else BAD, "◆")

    def _compacted(self, event: ev.Compaction) -> list[Line]:
        return self.note(f"older messages summarised: {event.before:,} → {event.after:,} tokens")

    def _retrying(self, event: ev.Retry) -> list[Line]:
        self._retry = (self._clock() + event.delay, event)
        stream, self._stream = self._stream, None
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
        for call in self._calls.values():
            call.done = ev.ToolCompleted(call_id=call.call_id, tool=call.tool, ok=False, status="cancelled")
            lines += self.say(card_lines(call, self._columns(), self.cwd), "card")
        self._calls.clear()
        self._subagents.clear()
        self._running_since, self._retry, self._thinking = None, None, False
        if event.stop in _STOPS:
            lines += self.note(_STOPS[event.stop], WARN, "■")
        if self.label and answered:
            lines += self.note(self.label)
        return lines

    # -- live -----------------------------------------------------------------------------

    def _open_calls(self) -> list[Call]:
        return list(self._calls.values())[:4]

    def _spinner(self, now: float) -> str:
        return SPINNER[int(now / FRAME) % len(SPINNER)] if self._animated else "●"

    def _status(self, columns: int, now: float) -> list[Line]:
        lines: list[Line] = []
        if self.running and any(item.get("status") != "completed" for item in self.todos):
            lines.append(self._todo_line(columns))
        for text in self.queue[:2]:
            lines.append([(DIM, cut("queued: " + safe(" ".join(text.split()), multiline=False), columns))])
        if self._running_since is None:
            return lines
        parts = [self._doing(now)]
        if len(self.queue) > 2:
            parts.append(f"{len(self.queue)} queued")
        text = " · ".join([*parts, "Esc interrupts"])
        lines.append([(ACCENT, f"{self._spinner(now)} "), (DIM, cut(text, columns - 2))])
        return lines

    def _doing(self, now: float) -> str:
        seconds = max(0, int(now - (self._running_since or now)))
        if self._retry is not None:
            until, retry = self._retry
            left = max(0, round(until - now))
            reason = safe(retry.reason, multiline=False).rstrip(".")
            return f"{reason}: try {retry.attempt} of {retry.attempts} in {left}s"
        if any(call.waiting for call in self._calls.values()):
            word = "waiting for your answer"
        elif self._calls:
            word = "running"
        elif self._subagents:
            word = f"{safe(self._subagents[-1], multiline=False)} works"
        elif self._stream is not None:
            word = "answering"
        else:
            word = "thinking"
        return f"{word} {seconds}s"

    def _todo_line(self, columns: int) -> Line:
        done = sum(item.get("status") == "completed" for item in self.todos)
        now = next((item for item in self.todos if item.get("status") == "in_progress"), None)
        now = now or next((item for item in self.todos if item.get("status") != "completed"), None)
        text = safe(str(now.get("description", "")), multiline=False) if now else "all done"
        head = f"todo {done}/{len(self.todos)} "
        return [(DIM, head), (PLAIN, cut(text, max(4, columns - len(head))))]
