"""Lines of standard input for an event loop, read by a thread that never keeps the process alive."""

from __future__ import annotations

import asyncio
import os
import select
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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
        self._start()

    def _start(self) -> None:
        self._ends = os.pipe()
        self._thread = threading.Thread(target=self._work, args=(self._ends[0],), daemon=True, name="lines")
        self._thread.start()

    async def next(self) -> str | None:
        """Return the next line without its newline; None at the end. Cancelling loses no line."""
        if not self._ahead and not self._asked:
            self._asked = True
            self._wanted.release()
        line = await self._lines.get()
        self._asked = False
        return line

    def close(self) -> None:
        """Leave what is typed from now on to somebody else."""
        os.write(self._ends[1], b"x")
        self._wanted.release()
        self._thread.join(1)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave what is typed to somebody else for a while; lines that are there already stay."""
        self.close()
        try:
            yield
        finally:
            self._start()

    def _work(self, end: int) -> None:
        while True:
            if not self._ahead:
                self._wanted.acquire()
            if self._closed(end):
                return
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

    def _closed(self, end: int) -> bool:
        """Wait for a line of a terminal, whose lines come one by one, or for the end."""
        if sys.platform == "win32":
            return False
        files = [end, *([sys.stdin.fileno()] if self._ahead else [])]
        return end in select.select(files, [], [], None if self._ahead else 0)[0]
