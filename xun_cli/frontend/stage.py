"""What is shown of a conversation, and by whom: front ends come and go, the journal stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from xun_cli.frontend.host import Host, Nobody
from xun_cli.frontend.journal import Journal, Make
from xun_cli.frontend.own_questions import OwnQuestions
from xun_cli.frontend.pump import EventPump
from xun_cli.render.text import WARN, Line
from xun_cli.render.transcript import Transcript

if TYPE_CHECKING:
    from xun.events import Event
    from xun_cli.session.envelope import Envelope
    from xun_cli.session.session import Session

ViewOf = Callable[[str], "Callable[[], Coroutine[Any, Any, None]] | None"]
"""Gives what shows the view that a typed command asks for; None when it has none."""

Edited = Callable[[str, str], Coroutine[Any, Any, "str | None"]]
"""Has the person change a text, the first argument; None when they could not."""

REPLAYED_TURNS = 10
"""Turns that are shown again after a resume or a redraw."""


def no_view(line: str) -> Callable[[], Coroutine[Any, Any, None]] | None:
    """Return None: a front end without views."""
    return None


async def no_editor(before: str, name: str) -> str | None:
    """Return None: a front end without a terminal to lend."""
    return None


class Stage:
    """Draws events for the front end that is attached, and keeps them for the next one.

    Args:
        clock: Gives seconds; that of the transcripts.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.session: Session | None = None
        self.journal = Journal()
        self.own = OwnQuestions(lambda: self._host.questions_changed())
        self.view_of: ViewOf = no_view
        """Gives what shows the view that a command without arguments asks for; set by a front end that has views."""
        self.edited: Edited = no_editor
        """Has the person change a text in their editor, given the name of its file; set as `view_of` is."""
        self.clock = self._clock = clock
        """Gives seconds, as the journal counts them."""
        self._host: Host = Nobody()
        self._columns: Callable[[], int] = lambda: 80
        self._transcript = Transcript(self._columns, clock=clock)
        self._pump = EventPump(self._draw, lambda: self._host.refresh())
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[Any]] = set()

    # -- front ends -------------------------------------------------------------------------

    def attach(self, host: Host, transcript: Transcript, columns: Callable[[], int], *, seen: int = 0) -> list[Line]:
        """Let *host* show what goes on from now on, and return what it has to show first.

        Args:
            host: The terminal.
            transcript: A fresh one; it is brought to where the conversation is.
            columns: Gives the width.
            seen: The last entry of the journal that stands there already; 0: the last turns are drawn.
        """
        self._host, self._transcript, self._columns = host, transcript, columns
        lines = self.catch_up(transcript, seen=seen)
        host.questions_changed()
        return lines

    def catch_up(self, transcript: Transcript, *, seen: int = 0) -> list[Line]:
        """Bring a fresh *transcript* to where the conversation is; returns what was not *seen* yet."""
        self._pump.flush()
        if self.session is not None:
            transcript.cwd, transcript.label = str(self.session.cwd), label_of(self.session)
        lines: list[Line] = []
        begin = self.journal.turn_start(seen) if seen else self.journal.newest(REPLAYED_TURNS)
        for entry in self.journal.entries[begin:]:
            drawn = entry.draw(transcript)
            if entry.number > seen:
                lines += drawn
        if self.session is not None:
            transcript.set_todos(self.session.todos)
            transcript.set_queue(tuple(self.session.queue))
            for request in self.session.pending():
                transcript.attach_files(request.agent, request.call_id, request.files)
        return lines

    def detach(self) -> int:
        """Let no front end show what goes on; returns the newest entry that was shown."""
        self._pump.flush()
        self._host, self.view_of, self.edited = Nobody(), no_view, no_editor
        return self.journal.mark()

    @property
    def ended(self) -> int | None:
        """The exit code when the conversation ended while nobody was attached."""
        return self._host.code if isinstance(self._host, Nobody) else None

    def finish(self, code: int) -> None:
        """End whatever front end is attached."""
        self._host.finish(code)

    def own_lines(self, make: Make) -> None:
        """Show something of ours, and keep it for the next front end."""
        self.journal.add_own(make, self._clock())
        self._host.show(make(self._transcript))
        self._host.refresh()

    def give_way(self) -> None:
        """Draw nothing for a moment: a key was pressed, and what it changes is to be seen first."""
        self._pump.give_way()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run *work* beside the rest; an error of ours ends the front end."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._loop.call_exception_handler({"message": "a task of the front end failed", "exception": error})

    def warn(self, text: str) -> None:
        """Show a warning of the front end."""
        self.own_lines(lambda transcript: transcript.note(text, WARN, "!"))

    # -- drawing ----------------------------------------------------------------------------

    def _draw(self, event: Event) -> None:
        """Draw one event of the session; a conversation adds what follows from it."""
        self._show(event)

    def _show(self, event: Event) -> None:
        now = self._clock()
        self.journal.add_event(event, now)
        self._host.show(self._transcript.feed(event, at=now))

    def _attach_files(self) -> None:
        for request in self.session.pending() if self.session is not None else []:
            self._transcript.attach_files(request.agent, request.call_id, request.files)

    def _keep(self, history: Sequence[Envelope]) -> None:
        """Put the turns of *history* into the journal; those that do not count any more may come back."""
        for item in history:
            if item.turn:
                self.journal.add_event(item.event, item.at)
        self.journal.recount(history)

    def _redrawn(self, history: Sequence[Envelope]) -> list[Line]:
        """Return the last turns drawn again for the present width, apart from what is open now."""
        from xun_cli.session.rewinding import live

        history = live(history)
        turns = [item.turn for item in history if item.turn]
        since = (turns[-1] if turns else 0) - REPLAYED_TURNS
        again = Transcript(self._columns, clock=lambda: 0.0)
        again.cwd, again.label = self._transcript.cwd, self._transcript.label
        shown = [item for item in history if item.turn and item.turn > since]
        lines = [line for item in shown for line in again.feed(item.event, at=item.at)]
        return self._transcript.say(lines, "block")

    def _drawn_again(self) -> list[Line]:
        """Return the last turns and what stands between them, drawn again; what is open now is left where it is."""
        again = Transcript(self._columns, clock=lambda: 0.0)
        again.cwd, again.label = self._transcript.cwd, self._transcript.label
        entries = self.journal.entries[self.journal.newest(REPLAYED_TURNS) :]
        lines = [line for entry in entries if not entry.is_piece for line in entry.draw(again)]
        return self._transcript.say(lines, "block")


def label_of(session: Session) -> str:
    """Return what stands under each answer of a model that is none; the model may change between turns."""
    return session.model_name if session.model_name.startswith("demo") else ""
