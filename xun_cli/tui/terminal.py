"""Textual's driver for a terminal that may go away, or be continued without ever having been stopped."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import IO, Any

from textual.driver import Driver


class QuietFile:
    """A file that takes everything, also when nobody reads it any more.

    Textual writes in a thread of its own; an error would end that thread, and the next writes would wait for it
    without end.

    Args:
        file: The terminal.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write *text*, or drop it."""
        with suppress(OSError, ValueError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is left, or drop it."""
        with suppress(OSError, ValueError):
            self._file.flush()

    def fileno(self) -> int:
        """Return the number of the file."""
        return self._file.fileno()

    def isatty(self) -> bool:
        """Tell whether it is a terminal."""
        return self._file.isatty()


def driver_class() -> type[Driver] | None:
    """Return the driver for this system; None leaves it to Textual."""
    if sys.platform == "win32":
        return None
    from textual.drivers.linux_driver import LinuxDriver

    class TerminalDriver(LinuxDriver):
        """The driver of Linux and macOS."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._terminal = self._file
            self._file: Any = QuietFile(self._file)
            self._size = self._get_terminal_size()

        def _get_terminal_size(self) -> tuple[int, int]:
            """Ask the terminal: what the variables COLUMNS and LINES say may be of another one, or of another time."""
            try:
                size = os.get_terminal_size(self._terminal.fileno())
            except OSError:
                return super()._get_terminal_size()
            return (size.columns, size.lines) if size.columns and size.lines else super()._get_terminal_size()

        def _sigcont_application(self, *args: Any) -> None:
            # A hang-up comes with a SIGCONT: starting again what was never stopped would leave two writers.
            if self._must_signal_resume:
                super()._sigcont_application(*args)

    return TerminalDriver
