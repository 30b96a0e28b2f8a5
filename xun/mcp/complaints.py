"""What a server says beside its messages; the end of it is kept for error texts, nothing is printed."""

from __future__ import annotations

import asyncio
import os
from typing import IO

_KEPT = 4096
_SHOWN = 300


class Complaints:
    """The last words of a server: of its standard error, else of what it printed between its messages."""

    def __init__(self) -> None:
        self._text, self._printed = b"", ""
        self._number = -1
        self._loop = asyncio.get_running_loop()

    def watch(self, stream: IO[bytes]) -> None:
        """Read *stream* from now on."""
        self._number = stream.fileno()
        os.set_blocking(self._number, False)
        self._loop.add_reader(self._number, self._more)

    def heard(self, line: str) -> None:
        """Keep a line that the server printed where its messages go; "" for a message, after which it is old."""
        if line.strip() or not line:
            self._printed = line.strip()[-_SHOWN:]

    def _more(self) -> None:
        if self._number < 0:
            return
        try:
            data = os.read(self._number, 65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.stop(last=False)
        self._text = (self._text + data)[-_KEPT:]

    def last(self) -> str:
        """Return the last line, in parentheses; "" when there is none."""
        self._more()
        lines = self._text.decode("utf-8", "replace").split("\n")
        line = next((line.strip() for line in reversed(lines) if line.strip()), self._printed)
        return f" (its last words: {line[-_SHOWN:]})" if line else ""

    def stop(self, *, last: bool = True) -> None:
        """Read no more; what was read stays."""
        if last:
            self._more()
        if self._number >= 0:
            self._loop.remove_reader(self._number)
            self._number = -1
