"""A front end's side of a session: starts it behind the drawn prompt, feeds it, draws what it says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xun_cli.frontend.stage import Stage, label_of
from xun_cli.frontend.threads import in_thread
from xun_cli.render.outputs import output_lines
from xun_cli.render.text import BAD, Line
from xun_cli.render.transcript import Transcript

if TYPE_CHECKING:
    from xun.choice import ChoiceOutcome, ChoiceRequest
    from xun.events import Event
    from xun_cli.commands.output import CommandResult, FileEdit
    from xun_cli.commands.registry import CommandContext, Registry
    from xun_cli.frontend.draft import Draft
    from xun_cli.options import StartOptions
    from xun_cli.places import Places
    from xun_cli.session.session import Session
    from xun_cli.settings import Settings


class Conversation(Stage):
    """The sessions of one process, one after the other; front ends attach to it and detach from it.

    Args:
        options, settings, places: As xun was started.
        build: Makes the session; runs in a thread.
        rebuild: Makes another session of changed options; runs in a thread.
        clock: Gives seconds; that of the transcripts.
    """

    def __init__(
        self,
        *,
        options: StartOptions,
        settings: Settings,
        places: Places,
        build: Callable[[], Session],
        rebuild: Callable[[StartOptions], Session],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(clock)
        self.registry: Registry | None = None
        self.prepare: Callable[[str], None] = lambda name: None
        """Loads what a front end needs, before the present one gives way to it; called in a thread."""
        self._options, self._settings, self._places = options, settings, places
        self._build, self._rebuild = build, rebuild
        self._held: list[Draft] = []
        self._opening = True
        self._unsubscribe: Callable[[], None] = lambda: None
        self._started = False
        self._closing: list[asyncio.Task[None]] = []

    # -- life -----------------------------------------------------------------------------

    @property
    def held(self) -> int:
        """How many messages wait for the session to be ready."""
        return len(self._held)

    def start(self) -> None:
        """Build the session in a thread and go on when it is there; a second call does nothing."""
        if not self._started:
            self._started = True
            self.spawn(self._pump.run())
            self.spawn(self._begin(self._build))

    def adopt(self, session: Session, registry: Registry, options: StartOptions) -> None:
        """Take a session that a front end of another kind has opened; blocking nothing."""
        if not self._started:
            self._started = True
            self.spawn(self._pump.run())
        self._opening, self._options = False, options
        if session is not self.session:
            self._take(session, registry)

    async def close(self, code: int) -> None:
        """End the session and everything that runs."""
        for task in list(self._tasks):
            task.cancel()
        self.own.withdraw_all()
        self._unsubscribe()
        if self.session is not None:
            await self.session.close(code)
        await asyncio.gather(*self._closing)

    async def _begin(self, build: Callable[[], Session], *, first: bool = True) -> None:
        from xun.errors import XunError

        self._opening = True
        try:
            session = await in_thread(build)
            registry = self.registry or await in_thread(_registry)
        except (XunError, OSError) as error:
            text = str(error)
            self.own_lines(lambda transcript: transcript.note(text, BAD, "✗"))
            if first:
                self._host.finish(3)
                return
        else:
            self._take(session, registry)
            await in_thread(_preload)
        self._opening = False
        if first and self._options.prompt:
            await self._submit(self._options.prompt)
        while self._held:
            await self.send(self._held.pop(0))

    def _take(self, session: Session, registry: Registry) -> None:
        old, self.session, self.registry = self.session, session, registry
        self._unsubscribe()
        self._pump.clear()
        if old is not None:
            self.journal.reset()  # what was said before the first session stays: warnings of the start
        self._transcript.reset()
        self._transcript.cwd = str(session.cwd)
        self._transcript.label = label_of(session)
        self._unsubscribe = session.subscribe(self._pump.put)
        if old is not None:
            self._closing.append(self._loop.create_task(old.close()))
        self._replay(session)
        self._host.questions_changed()
        self._host.refresh()

    def _replay(self, session: Session) -> None:
        """Show the last turns of a resumed session, and what its start has to say."""
        history = session.history()
        starts = [at for at, item in enumerate(history) if item.event.type == "session.started"]
        begin = starts[-1] if starts else len(history)
        resumed = any(item.turn for item in history[:begin])
        if resumed:
            self._keep(history[:begin])
        self._host.opened(lambda: self._redrawn(history[:begin]) if resumed else [])
        if resumed:
            text = _resumed(session)
            self.own_lines(lambda transcript: _begun_anew(transcript, text))
        for envelope in history[begin:]:
            self._show(envelope.event)
        self._transcript.set_todos(session.todos)
        if self._transcript.label:
            said = "No model is connected: rules answer, not a model. `xun setup` or /model connects one."
            self.own_lines(lambda transcript: transcript.note(said))

    # -- what the session says --------------------------------------------------------------

    def _draw(self, event: Event) -> None:
        main = event.agent == "main"
        ended = main and event.type == "turn.completed"
        if ended and self.session is not None:
            self._transcript.label = label_of(self.session)
        self._show(event)
        if event.type in ("approval.requested", "approval.resolved"):
            self._attach_files()
            self._host.questions_changed()
        elif ended:
            self._host.turn_ended()

    # -- questions ----------------------------------------------------------------------------

    def pending(self) -> list[ChoiceRequest]:
        """Return the open questions, those of the front end itself first."""
        if self.session is None:
            return self.own.pending()
        cwd = str(self.session.cwd)
        asked = [item if item.cwd else replace(item, cwd=cwd) for item in self.session.pending()]
        return self.own.pending() + asked

    def answer(self, request_id: str, outcome: ChoiceOutcome[Any]) -> bool:
        """Give an answer to whoever asked."""
        taken = self.own.answer(request_id, outcome)
        if not taken and self.session is not None:
            taken = self.session.answer(request_id, outcome)
        self._host.questions_changed()
        return taken

    # -- input --------------------------------------------------------------------------------

    async def send(self, draft: Draft) -> None:
        """Do what *draft* says: a command, a shell command, or a message."""
        text = draft.text
        if not text.strip():
            return
        if self._opening or self.session is None or self.registry is None:
            self._held.append(draft)
            self._host.refresh()
            return
        try:
            await self._do(self.session, text, draft.shown)
        except Exception as error:  # noqa: BLE001 - the driver's edge: a bug in one command must not end the session
            self.session.report(error)

    async def _do(self, session: Session, text: str, shown: str) -> None:
        from xun_cli.commands.registry import is_command

        if is_command(text):
            await self.command(text)
        elif text.startswith("!") and text[1:].strip():
            await session.run_shell(text[1:].strip())
        else:
            await self._submit(text, shown)

    async def _submit(self, text: str, shown: str = "") -> None:
        if self.session is None:
            return
        from xun_cli.attachments import prepare

        session = self.session
        sent = await in_thread(lambda: prepare(text, self._options.cwd, session.agent.model))
        for note in sent.notes:
            self.warn(note)
        shown = shown or (text if sent.text != text else "")
        await session.submit(sent.text, shown=shown, images=sent.images)

    def context(self) -> CommandContext | None:
        """Return what slash commands work on, None while xun starts."""
        if self.session is None:
            return None
        from xun_cli.commands.registry import WIDEST, CommandContext

        return CommandContext(self.session, self._places, self._settings, min(self._columns(), WIDEST))

    async def command(self, line: str) -> None:
        """Do what a slash command says, and show it."""
        context = self.context()
        if context is None or self.registry is None:
            return
        if (view := self.view_of(line)) is not None:
            await view()
            return
        self.own_lines(lambda transcript: transcript.typed(line))
        result = await self.registry.run(context, line)
        if not context.session.running:
            self._pump.flush()  # its answer comes after the events that it caused
        if result.action in ("redraw", "rewound"):
            self._redraw()  # before its answer, which belongs below what is left
        self.own_lines(lambda transcript: transcript.say(_output_rows(result, transcript.columns)))
        if result.action != "redraw":
            await self.act(result)

    async def act(self, result: CommandResult) -> None:
        """Do what a command asks of its front end."""
        if result.action == "quit":
            self._host.finish(0)
        elif result.action == "submit":
            await self._submit(str(result.data))
        elif result.action == "redraw":
            self._redraw()
        elif result.action == "clear_screen":
            self._host.clear_screen()
        elif result.action == "switch":
            await in_thread(lambda: self.prepare(str(result.data)))
            self._host.switch(str(result.data))
        elif result.action == "copy":
            self._host.copy(str(result.data))
        elif result.action == "rewound":
            self._host.put_draft(str(result.data))
        elif result.action == "edit":
            await self._edit(result.data)
        elif result.action == "new_session":
            await self._change(replace(self._options, resume=None, continue_=False, fork=False, prompt=""))
        elif result.action == "resume":
            await self._change(replace(self._options, resume=result.data.id, continue_=False, fork=False, prompt=""))

    async def _edit(self, edit: FileEdit) -> None:
        """Let the person change a text, and show what came of it."""
        from xun_cli.commands.output import failed
        from xun_cli.frontend.editing import EditorError

        try:
            result = await edit.taken(await self.edited(edit.before, edit.name))
        except EditorError as error:
            result = failed(str(error))
        self.own_lines(lambda transcript: transcript.say(_output_rows(result, transcript.columns)))

    def _redraw(self) -> None:
        """Show the last turns again; what was gone back over is not among them."""
        self._pump.flush()
        if self.session is not None:
            self.journal.recount(self.session.history())
        self._host.opened(self._drawn_again)

    async def _change(self, options: StartOptions) -> None:
        """Go on with another session in the same process; the old one is kept."""
        self.own_lines(lambda transcript: transcript.note("opening the session …"))
        self._opening = True
        self._options = options
        before = self.session
        await self._begin(lambda: self._rebuild(options), first=False)
        if before is not None and before is not self.session and options.resume is None:
            back = f"; /resume {before.name or before.id} goes back" if before.store is not None and before.turn else ""
            self.own_lines(lambda transcript: transcript.note(f"a new session{back}"))

    def steer(self, draft: Draft) -> bool:
        """Send *draft* into the running turn; False when none runs."""
        return self.session is not None and self.session.running and self.session.steer(draft.text)

    def interrupt(self) -> bool:
        """End the running turn, keeping what came; False when none runs."""
        return self.session is not None and self.session.interrupt()

    def recall_queued(self) -> str:
        """Take the last queued message out of the queue; "" when none waits."""
        if self._held:
            return self._held.pop().text
        if self.session is None or not self.session.queue:
            return ""
        dropped = self.session.drop_queue(len(self.session.queue) - 1)
        return dropped[0] if dropped else ""

    async def run_quietly(self, line: str) -> CommandResult | None:
        """Run a slash command for a key; its texts are the caller's to show."""
        context = self.context()
        if context is None or self.registry is None:
            return None
        return await self.registry.run(context, line)


def _begun_anew(transcript: Transcript, text: str) -> list[Line]:
    """Say that a session goes on; what a process that was killed has left open is open no more."""
    transcript.reset()
    return transcript.note(text)


def _output_rows(result: CommandResult, columns: int) -> list[Line]:
    return [row for output in result.outputs for row in [*output_lines(output, columns), []]][:-1]


def _resumed(session: Session) -> str:
    """Say which session goes on; of a last turn without an end the session itself tells."""
    return f"resumed {session.name or session.id}: {session.turn} turn{'s' * (session.turn != 1)}"


def _registry() -> Registry:
    from xun_cli.commands.registry import default_registry

    return default_registry()


def _preload() -> None:
    from xun_cli.render import markdown

    markdown.preload()
