"""Lines of standard input for an event loop, read by a thread that never keeps the process alive."""

from __future__ import annotations

import asyncio
import sys
import threading


class LineReader:
    """Reads lines on demand or ahead.

    Args:
        ahead: Read as lines come, so that what is typed early is seen early (a terminal); else only
            when one is asked for, so that a prepared input is taken line by line.
    """

    def __init__(self, *, ahead: bool) -> None:
        self._ahead = ahead
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._wanted = threading.Semaphore(0)
        self._asked = False
        threading.Thread(target=self._work, daemon=True, name="lines").start()

    async def next(self) -> str | None:
        """Return the next line without its newline; None at the end. Cancelling loses no line."""
        if not self._ahead and not self._asked:
            self._asked = True
            self._wanted.release()
        line = await self._lines.get()
        self._asked = False
        return line

    def _work(self) -> None:
        while True:
            if not self._ahead:
                self._wanted.acquire()
            try:
                raw = sys.stdin.readline()
            except (OSError, ValueError):
                raw = ""
            line = raw.rstrip("\n").rstrip("\r") if raw else None
            try:
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            except RuntimeError:  # the loop is closed
                return
            if line is None:
                return
