"""vi's keys over the composer: what `xun_cli.tui.vi` says, done to the widget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from xun_cli.tui.vi import Step, ViKeys
from xun_cli.tui.vi_text import on_character

if TYPE_CHECKING:
    from xun_cli.tui.composer import Composer


class ViDraft:
    """Gives keys to vi first.

    Args:
        composer: The draft.
        asks: What goes through the history: earlier, later, search.
    """

    def __init__(self, composer: Composer, asks: Mapping[str, Callable[[], None]]) -> None:
        self._composer, self._asks = composer, asks
        self.keys = ViKeys()

    @property
    def normal(self) -> bool:
        """Whether letters are commands."""
        return self.keys.mode == "normal"

    def take(self, name: str) -> bool:
        """Take a key; False leaves it to the rest of the front end."""
        step = self.keys.key(name, self._text, self._offset)
        if step is None:
            return False
        if step.ask:
            self._ask(step)
        else:
            self._do(step)
        return True

    def settle(self) -> None:
        """Bring the cursor onto a character, where the normal mode wants it."""
        if self.normal:
            self._go(on_character(self._text, self._offset))

    @property
    def _text(self) -> str:
        return "\n".join(self._composer.document.lines)

    @property
    def _offset(self) -> int:
        row, column = self._composer.cursor_location
        return sum(len(line) + 1 for line in self._composer.document.lines[:row]) + column

    def _location(self, offset: int) -> tuple[int, int]:
        before = self._text[:offset]
        return before.count("\n"), offset - (before.rfind("\n") + 1)

    def _go(self, offset: int) -> None:
        if self._offset != offset or not self._composer.selection.is_empty:
            self._composer.move_cursor(self._location(offset))

    def _do(self, step: Step) -> None:
        composer = self._composer
        if step.change is not None:
            start, end, text = step.change
            composer.pasted = True  # what a command changes is completed no more than a paste
            composer.history.checkpoint()
            composer.replace(text, self._location(start), self._location(end), maintain_selection_offset=False)
            composer.history.checkpoint()
        self._go(step.at)

    def _ask(self, step: Step) -> None:
        composer = self._composer
        for _ in range(step.times):
            before = composer.text
            {"undo": composer.undo, "redo": composer.redo, **self._asks}[step.ask]()
            if composer.text == before:
                break
            composer.pasted = True
        self.settle()
