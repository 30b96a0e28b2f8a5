"""What the keys of the inline front end do beyond what every front end's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from xun_cli.frontend.actions import ConversationActions, Hint
from xun_cli.frontend.actions import Terminal as AnyTerminal
from xun_cli.frontend.viewing import fits
from xun_cli.render.text import BOLD

if TYPE_CHECKING:
    from xun_cli.frontend.conversation import Conversation
    from xun_cli.frontend.notify import Notifier
    from xun_cli.frontend.viewing import Viewing
    from xun_cli.render.transcript import Transcript
    from xun_cli.repl.composer import Composer


class Terminal(AnyTerminal, Protocol):
    """What these actions need of the terminal."""

    def redraw_region(self) -> None:
        """Erase the live region and draw it again."""

    def stop_process(self) -> None:
        """Stop the process until it is continued."""

    def rows(self) -> int:
        """Return the height of the terminal."""


class KeyActions(ConversationActions):
    """The actions of `xun_cli.repl.keys.Actions`."""

    def __init__(
        self,
        terminal: Terminal,
        conversation: Conversation,
        composer: Composer,
        transcript: Transcript,
        notifier: Notifier,
        *,
        views: Viewing,
        hint: Hint,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(terminal, conversation, composer, notifier, hint=hint, clock=clock)
        self._screen, self._transcript, self._views = terminal, transcript, views
        self._drafts = composer

    def interrupt(self) -> None:
        """End the running turn; pressed twice when none runs: go back to an earlier message."""
        self.interrupt_or(self._views.rewind)

    def expand(self) -> None:
        """Show the last folded output in full: what is short below, what is long on the whole screen."""
        call = self._transcript.folded
        if call is None:
            self._hint.say("Nothing is folded.")
            return
        lines = self._transcript.expand()
        if fits(lines, self._screen.rows()):
            self._screen.show(lines)
        else:
            self._transcript.folded = call
            self._views.output(call)

    def edit_draft(self) -> None:
        """Let the person write the draft in their editor; folded pastes are there in full."""
        self._conversation.spawn(self._edit_draft(self._drafts.peek().text))

    async def _edit_draft(self, before: str) -> None:
        text = await self._views.edited_draft(before)
        if text is not None:
            self._drafts.put(text)

    def show_transcript(self) -> None:
        """Open the whole session to read."""
        self._views.transcript()

    def show_work(self) -> None:
        """Open the list of sub-agents and background commands."""
        self._views.work()

    def show_todos(self) -> None:
        """Print the todo list."""
        lines = self._transcript.todo_lines()
        if lines:
            self._screen.show(self._transcript.say([[(BOLD, "Todo")], *lines], "block"))
        else:
            self._hint.say("There is no todo list.")

    def paste_image(self) -> None:
        """Take the image of the clipboard along with the next message."""
        self._views.image()

    def take_dropped(self, text: str) -> bool:
        """Take an image whose path was pasted with the next message; False when *text* is other text."""
        return self._views.dropped(text)

    def redraw(self) -> None:
        """Draw the live region again."""
        self._screen.redraw_region()

    def suspend(self) -> None:
        """Stop the process; the terminal gets its modes back until it is continued."""
        self._screen.stop_process()
