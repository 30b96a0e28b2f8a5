"""What ripgrep does not tell of a tree, found out beside its search: how it reads ignore files, where links lead.

ripgrep can't be asked which ignore files it has read, nor which links it did not follow, and to list them costs half
of a search. So the folders are walked here, which from the second search on is one call per folder (see `Memory`).
"""

from __future__ import annotations

import threading

from xun_builtin_tools.search.limits import Clock
from xun_builtin_tools.search.memory import Memory
from xun_builtin_tools.search.request import NamePattern, Scope
from xun_builtin_tools.search.walk import Walk

_POLL_SECONDS = 0.02


class _Stopped(Exception):
    """Nobody waits for the answer any more."""


class Survey:
    """A look at all folders of a scope, on a thread of its own; a context manager, so that none stays behind.

    Args:
        scope: What is searched.
        memory: What earlier searches have seen.
        pattern: Which files are wanted; None for all.
    """

    def __init__(self, scope: Scope, memory: Memory, pattern: NamePattern | None = None) -> None:
        self._walk = Walk(scope, memory, self._tick, pattern)
        self._stopped = False
        self._plain = True
        self._failed: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="xun-survey", daemon=True)

    def __enter__(self) -> Survey:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped = True
        self._thread.join()

    @property
    def refused(self) -> bool:
        """Whether it is known by now that an ignore file is read otherwise."""
        return not self._plain

    @property
    def looked_into(self) -> int:
        """How many folders were read, and not just compared with what is remembered."""
        return self._walk.looked_into

    @property
    def skipped(self) -> list[str]:
        """What `Walk.skipped` holds."""
        return self._walk.skipped

    def plain(self, clock: Clock) -> bool:
        """Return whether all ignore files are read alike; waits for the end.

        Raises:
            TimeUp: The limit is reached.
            CancelledError: The run was cancelled.
        """
        while self._thread.is_alive():
            self._thread.join(_POLL_SECONDS)
            clock.tick()
        if self._failed is not None:
            raise self._failed
        return self._plain

    def _tick(self) -> None:
        if self._stopped:
            raise _Stopped

    def _run(self) -> None:
        try:
            for _, seen in self._walk.folders():
                if seen.odd:
                    self._plain = False
                    return
        except _Stopped:
            return
        except Exception as error:  # noqa: BLE001 - raised again where the answer is asked for
            self._failed = error
