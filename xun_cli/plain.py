"""The line-based front end: for screen readers, dumb terminals and pipes.

Nothing ever moves: each line is printed once, questions are numbered, answers are lines. It is a
subscriber of the session like every front end.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from xun.choice import ChoiceRequest
from xun.errors import ConfigError, XunError
from xun.events import ApprovalRequested, TurnStarted
from xun_cli.frontend.host import can_draw
from xun_cli.frontend.outcome import Leave, Switch
from xun_cli.frontend.signals import handled
from xun_cli.line_reader import LineReader
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.plain_editing import edited_file, edited_reply, editor_works
from xun_cli.plain_output import PlainScreen, read_any_text
from xun_cli.plain_questions import question_text, read_reply, refusal
from xun_cli.settings import Settings

if TYPE_CHECKING:
    from xun_cli.commands.registry import CommandContext, Registry
    from xun_cli.frontend.conversation import Conversation
    from xun_cli.session.envelope import Envelope
    from xun_cli.session.session import Session

TWICE = 2.0
"""Seconds within which a second Ctrl-C on an idle session leaves."""

GUARD = 0.5
"""Seconds after a question appeared in which no line of a terminal answers it: it was typed before."""


class Plain(PlainScreen):
    """One run of the front end.

    Args:
        options, settings, places: As xun was started.
        conversation: Is told of each session, so that another front end can go on with it.
        seen: The last entry of its journal that stands on the screen.
    """

    def __init__(
        self, options: StartOptions, settings: Settings, places: Places, conversation: Conversation, *, seen: int = 0
    ) -> None:
        self._conversation, self._seen = conversation, seen
        self._switch = ""
        self._options, self._settings, self._places = options, settings, places
        super().__init__()
        self._session: Session | None = None
        self._question: ChoiceRequest | None = None
        self._asked_at = 0.0
        self._interrupted_at = float("-inf")
        self._changed = asyncio.Event()
        self._leaving = False
        self._code = 0
        self._registry: Registry | None = None
        self._command: asyncio.Task[None] | None = None
        self._line: asyncio.Future[str | None] | None = None

    async def run(self, build: Callable[[], Session]) -> Leave | Switch:
        """Talk until the end of input, /quit, a second Ctrl-C, or the wish for another front end.

        Args:
            build: Makes the session; not needed where the conversation has one.

        Raises:
            ConfigError: The session can't be built.
        """
        read_any_text()
        ends = {name: partial(self._terminate, int(getattr(signal, name, 0))) for name in ("SIGTERM", "SIGHUP")}
        with handled({"SIGINT": self._ctrl_c, **ends}):
            await self._talk(build)
        self._reader.close()
        if self._line is not None:
            self._line.cancel()
        if self._switch:
            self._unsubscribe()
            return Switch(self._switch)
        await self._close()
        return Leave(self._code)

    async def _talk(self, build: Callable[[], Session]) -> None:
        self._reader = LineReader(ahead=self._terminal)
        going = self._conversation.session
        if going is not None:
            self._go_on(going)
        else:
            await self._open(build)
            if self._options.prompt:
                await self._submit(self._options.prompt)
        while not self._leaving:
            await self._step()

    async def _open(self, build: Callable[[], Session]) -> None:
        from xun_cli.commands.builtin import build as build_registry
        from xun_cli.render.transcript import Transcript
        from xun_cli.session.rewinding import live

        session = await asyncio.to_thread(build)
        self._registry = build_registry()
        self._conversation.adopt(session, self._registry, self._options)
        self._transcript = Transcript(self._columns, animated=False)
        self._transcript.cwd = str(session.cwd)
        self._transcript.label = session.model_name if session.model_name.startswith("demo") else ""
        earlier = [item for item in live(session.history()) if item.turn is not None or item.event.type == "notice"]
        self._session = session
        self._welcome(session)
        for envelope in earlier:
            self._print(self._transcript.feed(envelope.event, at=envelope.at))
        self._unsubscribe = session.subscribe(self._on)

    def _go_on(self, session: Session) -> None:
        """Take over a session from another front end."""
        from xun_cli.render.transcript import Transcript

        self._session, self._registry = session, self._conversation.registry
        self._transcript = Transcript(self._columns, animated=False)
        lines = self._conversation.catch_up(self._transcript, seen=self._seen)
        self._say("Line by line from here on. /tui inline or /tui full goes back, /quit leaves.")
        self._print(lines)
        self._unsubscribe = session.subscribe(self._on)
        self._ask_next()

    async def _close(self) -> None:
        session = self._session
        if session is None:
            return
        self._session = None
        await session.close(self._code)
        if session.store is not None and session.turn:
            self._say(f"To go on with this session: xun -r {session.id}")

    async def _replace(self, options: StartOptions) -> None:
        from xun_cli.compose import build_session

        await self._close()
        self._options = options
        try:
            await self._open(lambda: build_session(options, self._settings, interactive=True))
        except XunError as error:
            if isinstance(error, ConfigError) or options.resume is None:
                raise
            self._say(f"error: {error}")
            await self._replace(replace(options, resume=None))

    # -- what the session says --------------------------------------------------------------------

    def _on(self, envelope: Envelope) -> None:
        event = envelope.event
        lines = self._transcript.feed(event)
        typed = isinstance(event, TurnStarted) and self._terminal and not self._options.prompt
        if not typed:
            self._print(lines)
        if isinstance(event, ApprovalRequested):
            asyncio.get_running_loop().call_soon(self._ask_next)
        self._changed.set()

    def _ask_next(self) -> None:
        if self._session is None or self._question is not None:
            return
        pending = self._session.pending()
        if pending:
            self._question = pending[0]
            self._asked_at = time.monotonic()
            self._say(question_text(pending[0], self._columns(), len(pending) - 1, edits=editor_works()))
            self._changed.set()

    # -- input ------------------------------------------------------------------------------------

    @property
    def _ready(self) -> bool:
        """Whether a line is wanted now; a terminal's lines are read at any time."""
        session = self._session
        busy = self._command is not None or (session is not None and session.running)
        return self._terminal or self._question is not None or not busy

    async def _step(self) -> None:
        """Take one line, or one change of state."""
        self._forget_settled()
        if self._line is None and self._ready:
            self._line = asyncio.ensure_future(self._reader.next())
        self._prompt()
        await self._change_or(self._line)
        if self._line is not None and self._line.done() and not self._leaving:
            line, self._line = self._line.result(), None
            await self._take(line)

    async def _change_or(self, line: asyncio.Future[str | None] | None = None) -> None:
        """Return when *line* is there, a turn or command is over, or something else changed."""
        passing: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._changed.wait())]
        if self._session is not None and self._session.running:
            passing.append(asyncio.ensure_future(self._session.wait_idle()))
        lasting = [item for item in (line, self._command) if item is not None]
        await asyncio.wait([*passing, *lasting], return_when=asyncio.FIRST_COMPLETED)
        self._changed.clear()
        for item in passing:
            item.cancel()

    def _forget_settled(self) -> None:
        if self._command is not None and self._command.done():
            task, self._command = self._command, None
            task.result()
        session = self._session
        question = self._question
        if question is not None and session is not None and question not in session.pending():
            self._question = None
        self._ask_next()

    def _prompt(self) -> None:
        idle = self._command is None and self._session and not self._session.running
        if self._terminal and (idle or self._question) and not self._prompted:
            sys.stdout.write("answer> " if self._question else "> ")
            sys.stdout.flush()
            self._prompted = True

    async def _take(self, line: str | None) -> None:
        self._prompted = False
        if line is None:
            await self._end_of_input()
        elif self._question is not None:
            await self._reply(self._question, line)
        elif line.strip():
            await self._obey(line.strip())

    async def _end_of_input(self) -> None:
        session = self._session
        while session is not None and (session.running or self._command is not None):
            for request in session.pending():
                session.answer(request.id, refusal(request))
            self._question = None
            await self._change_or()
            self._forget_settled()
        self._leaving = True

    async def _reply(self, request: ChoiceRequest, line: str) -> None:
        if self._terminal and time.monotonic() - self._asked_at < GUARD:
            self._say("That was typed before the question was there, so it is not taken as the answer. Type it again.")
            return
        reply = read_reply(request, line, edits=editor_works())
        if reply.edit:
            with self._lent():
                reply = await edited_reply(request, self._reader, lambda: self._leaving)
        if reply.text:
            self._say(reply.text)
        if reply.outcome is not None and self._session is not None:
            self._question = None
            if not self._session.answer(request.id, reply.outcome):
                self._say("The question was withdrawn meanwhile: nothing was done.")

    async def _obey(self, line: str) -> None:
        from xun_cli.commands.registry import is_command

        session = self._session
        if session is None:
            return
        if is_command(line):
            # A command may ask a question, so the loop goes on meanwhile.
            self._command = asyncio.ensure_future(self._run_command(line))
            self._command.add_done_callback(lambda _: self._changed.set())
        elif line.startswith("!") and line[1:].strip():
            await session.run_shell(line[1:].strip())
        else:
            await self._submit(line)

    async def _submit(self, text: str) -> None:
        from xun_cli.attachments import prepare

        session = self._session
        if session is None:
            return
        sent = await asyncio.to_thread(prepare, text, self._options.cwd, session.agent.model)
        for note in sent.notes:
            self._say(note)
        if session.running:
            self._say("(queued: it is sent after this turn)")
        await session.submit(sent.text, shown=text if sent.text != text else "", images=sent.images)

    async def _run_command(self, line: str) -> None:
        from xun_cli.render.outputs import output_lines

        if self._registry is None:
            return
        result = await self._registry.run(self._context(), line)
        if result.action == "edit":
            with self._lent():
                result = await edited_file(result.data, self._reader, lambda: self._leaving)
        self._print([row for output in result.outputs for row in output_lines(output, self._columns())])
        if result.action == "quit":
            self._leaving = True
        elif result.action == "submit":
            await self._submit(str(result.data))
        elif result.action == "copy":
            self._say(str(result.data))
        elif result.action == "switch":
            self._change_to(str(result.data))
        elif result.action in ("new_session", "resume"):
            which = result.data.id if result.action == "resume" else None
            await self._replace(replace(self._options, resume=which, continue_=False, fork=False, prompt=""))

    def _change_to(self, name: str) -> None:
        if name in ("", "plain"):
            self._say("This is the plain front end. /tui inline draws a prompt, /tui full takes the whole terminal.")
        elif not can_draw():
            self._say(f"This terminal can't show the {name} front end.")
        else:
            self._switch, self._leaving = name, True

    def _context(self) -> CommandContext:
        from xun_cli.commands.registry import CommandContext

        if self._session is None:
            raise RuntimeError("no session is open")
        return CommandContext(self._session, self._places, self._settings)

    # -- signals ----------------------------------------------------------------------------------

    def _ctrl_c(self) -> None:
        if self._held is not None:
            return  # it was for the editor
        session, now = self._session, time.monotonic()
        if session is not None:
            for request in session.pending():
                session.answer(request.id, refusal(request))
            self._question = None
            if session.interrupt():
                self._say("\n(interrupting)")
                self._interrupted_at = float("-inf")
                self._changed.set()
                return
        if now - self._interrupted_at <= TWICE:
            self._leaving = True
        else:
            self._interrupted_at = now
            self._say("\n(Ctrl-C again within 2 seconds leaves)")
        self._changed.set()

    def _terminate(self, number: int) -> None:
        self._leaving, self._code = True, 128 + number
        self._changed.set()
