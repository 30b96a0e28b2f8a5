"""What a conversation needs of a front end, and the one that does nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from xun_cli.render.text import Line


class Host(Protocol):
    """What a conversation needs of the terminal."""

    def show(self, lines: Iterable[Line]) -> None:
        """Print finished lines above the live region; they are of the newest entry of the journal."""

    def opened(self, earlier: Callable[[], list[Line]]) -> None:
        """Show a session from its beginning; *earlier* draws its last turns, [] when there are none."""

    def refresh(self) -> None:
        """Draw the live region again, soon."""

    def questions_changed(self) -> None:
        """Look at the open questions again."""

    def finish(self, code: int) -> None:
        """Leave with an exit code."""

    def clear_screen(self) -> None:
        """Scroll everything up, out of sight."""

    def copy(self, text: str) -> None:
        """Put *text* into the clipboard and say how."""

    def put_draft(self, text: str) -> None:
        """Replace the draft, when it is empty."""

    def turn_ended(self) -> None:
        """A turn is over."""

    def switch(self, to: str) -> None:
        """Give way to another front end; "" says which one this is."""


class Nobody:
    """The host while no front end is attached: what it misses is in the journal."""

    code: int | None = None
    """The exit code when the conversation has ended meanwhile."""

    def show(self, lines: Iterable[Line]) -> None:
        """Do nothing."""

    def opened(self, earlier: Callable[[], list[Line]]) -> None:
        """Do nothing."""

    def refresh(self) -> None:
        """Do nothing."""

    def questions_changed(self) -> None:
        """Do nothing."""

    def finish(self, code: int) -> None:
        """Remember that the next front end need not begin."""
        self.code = code

    def clear_screen(self) -> None:
        """Do nothing."""

    def copy(self, text: str) -> None:
        """Do nothing."""

    def put_draft(self, text: str) -> None:
        """Do nothing."""

    def turn_ended(self) -> None:
        """Do nothing."""

    def switch(self, to: str) -> None:
        """Do nothing."""


def can_draw() -> bool:
    """Tell whether this terminal takes a front end that moves the cursor."""
    terminals = sys.stdin.isatty() and sys.stdout.isatty()
    return terminals and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
