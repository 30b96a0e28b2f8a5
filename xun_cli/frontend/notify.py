"""Tell a person who looks elsewhere that xun waits: once per wait, by bell or OSC 9."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xun_cli.render.safe import safe

if TYPE_CHECKING:
    from xun_cli.frontend.signs import Signs

_ON, _OFF = "\x1b[?1004h", "\x1b[?1004l"


class Notifier:
    """Asks the terminal for focus reports and rings when nobody looks.

    Args:
        how: auto, bell, osc9 or off; auto is the bell.
        when: unfocused or always.
        write: Writes to the terminal at once, as it is.
        reports: Switch the terminal's focus reports on and off here; False where the UI library does it.
        signs: Title and progress, which begin and end with the reports.
    """

    def __init__(
        self,
        how: str,
        when: str,
        write: Callable[[str], None],
        *,
        reports: bool = True,
        signs: Signs | None = None,
    ) -> None:
        self._how, self._when, self._write, self._reports, self._signs = how, when, write, reports, signs
        self._on = False
        self.focused: bool | None = None
        """None until the terminal has reported; then nobody is disturbed."""

    def start(self) -> None:
        """Switch focus reports on, and the signs."""
        if self._signs is not None:
            self._signs.start()
        if self._reports and self._how != "off" and not self._on:
            self._on = True
            self._write(_ON)

    def stop(self) -> None:
        """Switch focus reports off, and the signs."""
        if self._signs is not None:
            self._signs.stop()
        if self._on:
            self._on = False
            self._write(_OFF)

    def waiting(self, text: str) -> None:
        """Ring, or show a notification that holds *text*."""
        if self._how == "off" or (self._when == "unfocused" and self.focused is not False):
            return
        if self._how == "osc9":
            # Terminals take a number at the beginning for a command of theirs, in one of them to start a program.
            shown = safe(text, multiline=False, prompt=True)[:120]
            self._write(f"\x1b]9;{'' if shown[:1].isalpha() else 'xun: '}{shown}\x07")
        else:
            self._write("\x07")
