"""One session of an editor: its events go out in order, its questions come back answered."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from acp import helpers
from acp.exceptions import RequestError
from acp.schema import AvailableCommand, FileEditToolCallContent, PromptResponse

from xun.errors import XunError
from xun.events import (
    ApprovalRequested,
    ApprovalResolved,
    Error,
    Event,
    MessageDelta,
    TurnCompleted,
    UsageUpdated,
)
from xun_cli.acp.asking import options_of, outcome_of, tool_call_of
from xun_cli.acp.forms import form_of, outcome_of_form, wants_form
from xun_cli.acp.prompts import Message, read_prompt
from xun_cli.acp.updates import COLUMNS, Update, Updates
from xun_cli.commands.registry import CommandContext, is_command
from xun_cli.plain_questions import refusal

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

    from acp.interfaces import Client
    from acp.schema import StopReason

    from xun.choice import ChoiceRequest
    from xun_cli.commands.registry import Registry
    from xun_cli.places import Places
    from xun_cli.session.envelope import Envelope
    from xun_cli.session.session import Session
    from xun_cli.settings import Settings

_log = logging.getLogger(__name__)

STOPS: dict[str, StopReason] = {"done": "end_turn", "interrupted": "cancelled", "limit": "max_turn_requests"}
"""Why a turn ended, in the editor's words; any other way is the end of the turn."""

AUTH_REQUIRED = -32_000
"""The error code on which an editor asks its person to set a key up."""

_ELSEWHERE = frozenset({"quit", "exit", "tui", "new", "clear", "resume", "copy", "theme", "redraw", "transcript"})
"""Slash commands that are about a terminal, or that the editor has of its own."""


class Conversation:
    """A session that an editor talks to.

    Args:
        session: The session.
        registry: Its slash commands.
        client: The editor.
        places, settings: As the session was built with.
        forms: The editor shows forms, in which a person can type an answer.
    """

    def __init__(
        self,
        session: Session,
        registry: Registry,
        client: Client,
        places: Places,
        settings: Settings,
        *,
        forms: bool = False,
    ) -> None:
        self.session = session
        self._registry, self._client, self._forms = registry, client, forms
        self._places, self._settings = places, settings
        self._updates = Updates(str(session.cwd), lambda: session.agent.context_window)
        self._waiting: deque[Event | asyncio.Future[None]] = deque()
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._beside: set[asyncio.Task[None]] = set()
        self._turn: TurnCompleted | None = None
        self._error: Error | None = None
        self._busy = self._cancelled = False
        self._unsubscribe = session.subscribe(self._on)
        self._pump = self._loop.create_task(self._run())

    # -- to the editor --------------------------------------------------------------------------

    def _on(self, envelope: Envelope) -> None:
        # Tools that run in threads emit, too.
        self._loop.call_soon_threadsafe(self._take, envelope.event)

    def _take(self, item: Event | asyncio.Future[None]) -> None:
        self._waiting.append(item)
        self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                item = self._waiting.popleft()
                if isinstance(item, asyncio.Future):
                    item.set_result(None)
                    continue
                try:
                    self._note(item)
                    await self._show(self._joined(item) if isinstance(item, MessageDelta) else item)
                except ConnectionError:
                    continue  # the editor is gone, and the server ends
                except Exception as error:  # noqa: BLE001 - a bug of ours must not leave the editor without an answer
                    _log.error("an event could not be shown", exc_info=error)

    def _joined(self, first: MessageDelta) -> MessageDelta:
        """Return *first* with the pieces that wait behind it: one message instead of many."""
        parts = [first.text]
        while self._waiting and isinstance(self._waiting[0], MessageDelta) and self._waiting[0].agent == first.agent:
            parts.append(self._waiting[0].text)
            self._waiting.popleft()
        return MessageDelta(agent=first.agent, text="".join(parts))

    async def _show(self, event: Event) -> None:
        for update in self._updates.of(event):
            await self._send(update)
        if isinstance(event, UsageUpdated) and event.agent == "main":
            usage = self._updates.usage(event.input + event.output, self.session.usage.cost_usd)
            if usage is not None:
                await self._send(usage)

    async def _send(self, update: Update) -> None:
        await self._client.session_update(session_id=self.session.id, update=update)

    async def drained(self) -> None:
        """Return when all that has happened was sent."""
        done: asyncio.Future[None] = self._loop.create_future()
        # Behind what other threads have on its way.
        self._loop.call_soon(self._take, done)
        await done

    async def replay(self) -> None:
        """Send what an earlier run has said."""
        from xun_cli.session.rewinding import live

        for envelope in live(self.session.history()):
            for update in self._updates.replayed(envelope.event):
                await self._send(update)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run *work* beside the rest; it ends with the session."""
        task = self._loop.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def offer_commands(self) -> None:
        """Tell the editor which slash commands there are."""
        self._registry.refresh(self._context())
        commands = [
            AvailableCommand(name=command.name, description=command.summary)
            for command in self._registry.all()
            if command.name not in _ELSEWHERE
        ]
        with suppress(ConnectionError):
            await self._send(helpers.update_available_commands(commands))

    # -- questions --------------------------------------------------------------------------------

    def _note(self, event: Event) -> None:
        if isinstance(event, TurnCompleted) and event.agent == "main":
            self._turn = event
        elif isinstance(event, Error) and event.agent == "main":
            self._error = event
        elif isinstance(event, ApprovalRequested):
            self._asking[event.request_id] = self._loop.create_task(self._ask(event.request_id))
        elif isinstance(event, ApprovalResolved) and (task := self._asking.pop(event.request_id, None)) is not None:
            # Answered: the task is at its end. Withdrawn: nobody waits for the answer any more.
            task.cancel()

    async def _ask(self, request_id: str) -> None:
        request = next((item for item in self.session.pending() if item.id == request_id), None)
        if request is None:
            return
        if self._forms and wants_form(request) and await self._answered_in_form(request):
            return
        options = options_of(request)
        chosen: str | None = None
        if options:
            # Without an answer that can be understood the question is refused.
            with suppress(ConnectionError, RequestError, ValueError):
                tool_call = await asyncio.to_thread(tool_call_of, request)
                shown = tool_call.content or []
                self._updates.asked(request, [item for item in shown if isinstance(item, FileEditToolCallContent)])
                answer = await self._client.request_permission(
                    session_id=self.session.id, tool_call=tool_call, options=options
                )
                chosen = getattr(answer.outcome, "option_id", None)
        if not options and request.allow_extra:
            self.session.answer(request_id, unanswerable())
        else:
            self.session.answer(request_id, outcome_of(request, chosen))

    async def _answered_in_form(self, request: ChoiceRequest) -> bool:
        """Ask by a form; False when the editor could not show it after all."""
        text, form = form_of(request, self.session.id)
        try:
            answer = await self._client.create_elicitation(message=text, mode=form)
        except (ConnectionError, RequestError, ValueError):
            return False
        self.session.answer(request.id, outcome_of_form(request, answer))
        return True

    # -- from the editor --------------------------------------------------------------------------

    async def prompt(self, blocks: Iterable[Any]) -> PromptResponse:
        """Take one message and return when its turn is over and all of it was sent.

        Raises:
            RequestError: A turn runs already, the message can't be used, or the turn failed; the text says why.
        """
        if self._busy or self.session.running:
            raise RequestError(
                RequestError.invalid_request().code, "A turn is running: wait for its end, or cancel it."
            )
        self._busy, self._cancelled = True, False
        try:
            message = await asyncio.to_thread(read_prompt, blocks, self.session.cwd, self.session.agent.model)
            if self._cancelled:
                return PromptResponse(stop_reason="cancelled")
            self._turn = self._error = None
            if is_command(message.text) and not message.images:
                return await self._command(message.text)
            return await self._say(message)
        except XunError as error:
            raise RequestError(RequestError.invalid_params().code, str(error)) from None
        finally:
            self._busy = False

    async def _say(self, message: Message) -> PromptResponse:
        shown = message.shown if message.shown != message.text else ""
        await self.session.submit(message.text, shown=shown, images=message.images)
        await self.session.wait_idle()
        await self.drained()
        turn, error = self._turn, self._error
        if turn is not None and turn.stop == "error":
            code = RequestError.internal_error().code
            if error is not None and error.kind in ("auth", "config"):
                code = AUTH_REQUIRED
            raise RequestError(code, error.message if error is not None else "The turn failed.")
        return PromptResponse(stop_reason=STOPS.get(turn.stop if turn is not None else "", "end_turn"))

    async def _command(self, line: str) -> PromptResponse:
        result = await self._registry.run(self._context(), line)
        text = "\n\n".join(output.plain() for output in result.outputs)
        if result.action == "submit":
            return await self._say(Message(str(result.data), line))
        if result.action == "copy":
            text = str(result.data)
        elif result.action:
            text = text or "This command is about a terminal; the editor has its own way."
        await self.drained()
        if text.strip():
            await self._send(self._updates.said(text))
        return PromptResponse(stop_reason="end_turn")

    def _context(self) -> CommandContext:
        return CommandContext(self.session, self._places, self._settings, COLUMNS)

    def cancel(self) -> None:
        """Interrupt the turn; its prompt ends with "cancelled"."""
        self._cancelled = True  # a message that is still being read has no turn yet
        self.session.interrupt("interrupted in the editor")
        for request in self.session.pending():
            self.session.answer(request.id, refusal(request))

    async def set_mode(self, name: str) -> None:
        """Change how much is asked.

        Raises:
            RequestError: There is no such mode.
        """
        from xun_cli.commands.modes import MODES

        if name not in MODES:
            raise RequestError(RequestError.invalid_params().code, f"No mode {name!r}: there are {', '.join(MODES)}.")
        await self._registry.run(self._context(), f"/mode {name}")

    async def close(self, code: int = 0) -> None:
        """End the session and everything that it started."""
        self.cancel()
        await self.session.close(code)
        self._unsubscribe()
        for task in (*self._asking.values(), *self._beside, self._pump):
            task.cancel()


def unanswerable() -> Any:
    """Return the answer to a question that takes only free text, for an editor that has no field for that."""
    from xun.choice import ChoiceOutcome

    return ChoiceOutcome(
        "(Nobody could type an answer here. Put the question to the person in your own words, and end your turn.)",
        "auto",
        decided_by="none",
    )
