"""Processes behind a wall."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable

from xun.environment.processes import LocalProcess, ProcessTable, descendants

_POLL = 0.02


class WalledProcess(LocalProcess):
    """A process behind a wall; *after* is called once it is over and closed."""

    def __init__(
        self, table: ProcessTable, popen: subprocess.Popen[bytes], tag: str, after: Callable[[], None] | None = None
    ) -> None:
        super().__init__(table, popen, tag)
        self._after = after

    def close(self) -> None:
        """Close the streams."""
        super().close()
        if self.poll() is not None:
            after, self._after = self._after, None
            if after is not None:
                after()


class BoxedProcess(WalledProcess):
    """A process of which only bwrap is in a group that this machine knows from the start."""

    def interrupt(self) -> None:
        """Interrupt what runs inside, as Ctrl-C does."""
        self._signal_inside(signal.SIGINT)

    def kill(self, grace: float = 0.0) -> None:
        """End it: what runs inside is asked first, since bwrap itself would end all of it at once."""
        if grace > 0 and self.poll() is None:
            self._signal_inside(signal.SIGTERM)
            deadline = time.monotonic() + grace
            while self.poll() is None and time.monotonic() < deadline:
                time.sleep(_POLL)
        super().kill(0.0)

    def _signal_inside(self, number: signal.Signals) -> None:
        groups = set()
        for pid, _ in descendants(self.pid):
            with contextlib.suppress(ProcessLookupError):
                groups.add(os.getpgid(pid))
        for group in groups - {self.pid, os.getpgrp()}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
