"""What bounds a search: its time, the number of hits, the length of what is shown."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS = 20.0
"""How long a search may take before it ends with what it has."""
MAX_HITS = 20_000
"""After this many matches the scan stops."""
MAX_LINE = 500
"""Characters of a line that are shown; of a longer one the part around the match."""
MAX_BLOCK = 4_000
"""The same for a match over several lines."""
MAX_FILE = 100_000_000
"""Bytes of the largest file that is read whole, without ripgrep."""
SMALL_TREE = 300
"""Up to this many names, walking the tree takes less time than starting ripgrep."""
SMALL_BYTES = 10_000_000
"""The same for the bytes to be searched."""
SMALL_SECONDS = 0.025
"""The same for the time that the search has taken by then."""


class TimeUp(Exception):
    """The time of the search is over; what was found so far counts."""


class Enough(Exception):
    """The scan has found as much as anybody will look at."""


class TooLarge(Exception):
    """The tree is large enough for ripgrep to be worth its start."""


class Clock:
    """Ends a search at its time limit or when its run is cancelled."""

    __slots__ = ("_check_cancel", "_end", "seconds")

    def __init__(self, seconds: float, check_cancel: Callable[[], None]) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self._check_cancel = check_cancel

    def watching(self, check: Callable[[], None]) -> Clock:
        """Return a clock that ends with this one, and earlier when *check* raises."""

        def both() -> None:
            self._check_cancel()
            check()

        return Clock(self.left, both)

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(self._end - time.monotonic(), 0.0)

    @property
    def taken(self) -> float:
        """Seconds since the search began."""
        return self.seconds - (self._end - time.monotonic())

    def tick(self) -> None:
        """Return while the search may go on.

        Raises:
            TimeUp: The limit is reached.
            CancelledError: The run was cancelled.
        """
        self._check_cancel()
        if time.monotonic() > self._end:
            raise TimeUp
