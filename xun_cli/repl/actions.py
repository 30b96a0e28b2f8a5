"""What the keys of the inline front end do beyond what every front end's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from xun_cli.frontend.actions import ConversationActions, DraftBox, Hint
from xun_cli.frontend.actions import Terminal as AnyTerminal
from xun_cli.render.text import BOLD

if TYPE_CHECKING:
    from xun_cli.frontend.conversation import Conversation
    from xun_cli.frontend.notify import Notifier
    from xun_cli.render.transcript import Transcript


class Terminal(AnyTerminal, Protocol):
    """What these actions need of the terminal."""

    def redraw_region(self) -> None:
        """Erase the live region and draw it again."""

    def stop_process(self) -> None:
        """Stop the process until it is continued."""


class KeyActions(ConversationActions):
    """The actions of `xun_cli.repl.keys.Actions`."""

    def __init__(
        self,
        terminal: Terminal,
        conversation: Conversation,
        composer: DraftBox,
        transcript: Transcript,
        notifier: Notifier,
        *,
        hint: Hint,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(terminal, conversation, composer, notifier, hint=hint, clock=clock)
        self._screen, self._transcript = terminal, transcript

    def expand(self) -> None:
        """Show the last folded output in full."""
        lines = self._transcript.expand()
        self._screen.show(lines) if lines else self._hint.say("Nothing is folded.")

    def show_todos(self) -> None:
        """Print the todo list."""
        lines = self._transcript.todo_lines()
        if lines:
            self._screen.show(self._transcript.say([[(BOLD, "Todo")], *lines], "block"))
        else:
            self._hint.say("There is no todo list.")

    def redraw(self) -> None:
        """Draw the live region again."""
        self._screen.redraw_region()

    def suspend(self) -> None:
        """Stop the process; the terminal gets its modes back until it is continued."""
        self._screen.stop_process()
