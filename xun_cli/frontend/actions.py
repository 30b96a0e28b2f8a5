"""What keys do in every interactive front end; what is special to one is in its own package."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from xun_cli.frontend.draft import Draft
from xun_cli.render.text import Line

if TYPE_CHECKING:
    from xun.choice import ChoiceOutcome
    from xun_cli.frontend.conversation import Conversation
    from xun_cli.frontend.notify import Notifier
    from xun_cli.session.session import Session

TWICE = 2.0
"""Seconds within which a second Ctrl-C leaves, and for which a passing remark stays."""

MOMENT = 0.3
"""Seconds for which leaving waits for the end of a turn before it asks."""

MODES = ("ask", "plan", "auto-edit")


class Terminal(Protocol):
    """What actions need of the terminal."""

    def show(self, lines: Iterable[Line]) -> None:
        """Print finished lines."""

    def finish(self, code: int) -> None:
        """Leave with an exit code."""


class DraftBox(Protocol):
    """What actions need of the composer."""

    @property
    def text(self) -> str:
        """The draft as it is shown."""

    @property
    def runs_unseen(self) -> bool:
        """Whether Enter would run a command that was pasted this very moment."""

    def take(self) -> Draft:
        """Return the draft, remember it in the history and empty the composer."""

    def put(self, text: str) -> None:
        """Replace the draft."""


class Hint:
    """A passing remark in the status line.

    Args:
        clock: Gives seconds.
        changed: Called when there is a new one.
    """

    def __init__(self, clock: Callable[[], float], changed: Callable[[], None]) -> None:
        self._clock, self._changed = clock, changed
        self._text, self._until = "", float("-inf")

    @property
    def text(self) -> str:
        """The remark, "" when its time is over."""
        return self._text if self._clock() < self._until else ""

    def say(self, text: str) -> None:
        """Show *text* for a moment."""
        self._text, self._until = text, self._clock() + TWICE
        self._changed()


class ConversationActions:
    """Sending, steering, stopping, leaving, modes: what needs the conversation and the draft alone."""

    def __init__(
        self,
        terminal: Terminal,
        conversation: Conversation,
        composer: DraftBox,
        notifier: Notifier,
        *,
        hint: Hint,
        clock: Callable[[], float],
    ) -> None:
        self._terminal, self._conversation, self._composer = terminal, conversation, composer
        self._notifier, self._hint, self._clock = notifier, hint, clock
        self._cancelled_at = self._escaped_at = float("-inf")

    def submit(self) -> None:
        """Send the draft, unless it is a command that was pasted this very moment."""
        if self._composer.runs_unseen:
            self._hint.say("Pasted: Enter runs it.")
            return
        draft = self._composer.take()
        self._conversation.spawn(self._conversation.send(draft))

    def steer(self) -> None:
        """Send the draft into the running turn, or start one."""
        if not self._composer.text.strip():
            return
        draft = self._composer.take()
        if not self._conversation.steer(draft):
            self._conversation.spawn(self._conversation.send(draft))

    def interrupt(self) -> None:
        """End the running turn."""
        self._conversation.interrupt()

    def interrupt_or(self, go_back: Callable[[], None]) -> None:
        """End the running turn; pressed twice when none runs: *go_back* to an earlier message."""
        now = self._clock()
        again = now - self._escaped_at < TWICE
        self._escaped_at = float("-inf")
        if self._conversation.interrupt():
            return
        if again:
            go_back()
        elif self._conversation.session is not None and self._conversation.session.turn:
            self._escaped_at = now
            self._hint.say("Esc again: back to an earlier message.")

    def cancel(self) -> None:
        """Interrupt a turn, else clear the input, else leave at the second time within two seconds."""
        now = self._clock()
        again = now - self._cancelled_at < TWICE
        self._cancelled_at = now
        if self._conversation.interrupt():
            self._cancelled_at = float("-inf")  # who stops a turn with two presses wants to stay
            self._hint.say("Interrupted.")
        elif self._composer.text:
            self._composer.take()  # into the history, where Up finds it
            self._hint.say("Cleared: Up brings it back. Ctrl-C again leaves.")
        elif again:
            self._terminal.finish(0)
        else:
            self._hint.say("Ctrl-C again leaves.")

    def leave(self) -> None:
        """Leave; while a turn runs, ask first."""
        session = self._conversation.session
        if session is None or not session.running:
            self._terminal.finish(0)
        else:
            self._conversation.spawn(self._ask_to_leave(session))

    async def _ask_to_leave(self, session: Session) -> None:
        """Ask, unless the turn is over in a moment; a turn that ends meanwhile leaves nothing to ask about."""
        from uuid import uuid4

        from xun.choice import ChoiceRequest, Option

        request = ChoiceRequest(
            id=uuid4().hex,
            kind="confirm",
            prompt="A turn is running. Leave and end it?",
            options=(Option(True, "Leave", "l"), Option(False, "Stay", "s")),
            default=False,
        )
        idle = asyncio.ensure_future(session.wait_idle())
        answer: asyncio.Future[ChoiceOutcome[Any] | None] | None = None
        try:
            if (await asyncio.wait([idle], timeout=MOMENT))[0]:
                self._conversation.finish(0)
                return
            answer = asyncio.ensure_future(self._conversation.own.ask(request))
            await asyncio.wait([idle, answer], return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and self._conversation.own.withdraw(request.id):
                self._hint.say("The turn is over. Ctrl-D leaves.")
            elif (outcome := await answer) is not None and outcome.choice is True:
                self._conversation.finish(0)
        finally:
            for waiting in (idle, answer):
                if waiting is not None:
                    waiting.cancel()

    def recall_queued(self) -> bool:
        """Take the last queued message back into the composer."""
        text = self._conversation.recall_queued()
        if text:
            self._composer.put(text)
        return bool(text)

    def cycle_mode(self) -> None:
        """Go to the next of ask, plan and auto-edit."""
        session = self._conversation.session
        if session is None:
            return
        mode = session.policy.mode
        following = MODES[(MODES.index(mode) + 1) % len(MODES)] if mode in MODES else MODES[0]
        self._conversation.spawn(self._set_mode(following))

    async def _set_mode(self, mode: str) -> None:
        result = await self._conversation.run_quietly(f"/mode {mode}")
        if result is not None and result.outputs:
            self._hint.say(result.outputs[0].text)

    def focus_changed(self, focused: bool) -> None:
        """Remember whether the person looks."""
        self._notifier.focused = focused
