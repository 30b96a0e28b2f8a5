"""Following one command to its end: its output, its limit, the cancellation of its run."""

from __future__ import annotations

import math
import os
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from xun.environment.base import Process

GRACE = 2.0
"""Seconds between asking a command to end and killing it."""
DRAIN = 0.2
"""Seconds to read on after the command ended: what it started may hold its pipes open for ever."""
_POLL = 0.1


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended.

    Attributes:
        returncode: Its exit code; negative for a signal.
        seconds: How long it took.
        timed_out: It was ended because it passed its limit.
        cancelled: It was ended because the run was.
        left_running: Processes that it started still run.
        left: Those, as number and command line, where that can be told.
    """

    returncode: int
    seconds: float
    timed_out: bool = False
    cancelled: bool = False
    left_running: bool = False
    left: tuple[str, ...] = ()


class Sink(Protocol):
    """What takes one stream of a command."""

    def feed(self, data: bytes, final: bool = False) -> str:
        """Take *data* and return it as text."""
        ...


class Watch:
    """Follows one command to its end: reads its output, watches its limit and the run's cancellation."""

    def __init__(
        self,
        process: Process,
        captures: tuple[Sink, Sink],
        show: Callable[[str, str], None],
    ) -> None:
        self._process, self._show = process, show
        self._started = time.monotonic()
        self._selector = selectors.DefaultSelector()
        pipes = (process.stdout, process.stderr)
        for stream, capture, name in zip(pipes, captures, ("stdout", "stderr"), strict=True):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, (capture, name))
        self._exit_fd = _exit_descriptor(process.pid)
        if self._exit_fd is not None:
            self._selector.register(self._exit_fd, selectors.EVENT_READ, None)

    def run(self, limit: float, cancelled: Callable[[], bool]) -> Outcome:
        """Return when the command is over, was cancelled, or passed *limit* seconds."""
        timed_out, stopped = self._until(limit, cancelled)
        if timed_out or stopped:
            self._process.kill(GRACE)
        code = self._process.wait()
        self._drain()
        self._close()
        seconds = time.monotonic() - self._started
        left = self._process.left_running()
        return Outcome(code, seconds, timed_out, stopped, left, _named(self._process) if left else ())

    def try_run(self, limit: float, cancelled: Callable[[], bool]) -> Outcome | None:
        """As `run`, but a command that passes *limit* goes on: None is returned, and `run` may follow."""
        timed_out, _ = self._until(limit, cancelled)
        return None if timed_out else self.run(math.inf, cancelled)

    def stop_showing(self) -> None:
        """Show no more of the output."""
        self._show = lambda text, stream: None

    def _until(self, limit: float, cancelled: Callable[[], bool]) -> tuple[bool, bool]:
        """Follow the command while it runs; return whether it passed the limit, and whether it was cancelled."""
        started = time.monotonic()
        try:
            while self._process.poll() is None:
                timed_out = time.monotonic() - started > limit
                stopped = cancelled()
                if timed_out or stopped:
                    return timed_out and not stopped, stopped
                self._read(min(_POLL, max(0.0, limit - (time.monotonic() - started))) or 0.001)
        except BaseException:
            self._process.kill(GRACE)
            self._close()
            raise
        return False, False

    def _read(self, wait: float) -> bool:
        """Read what is there; return whether a pipe is still open."""
        for key, _ in self._selector.select(wait):
            if key.data is None:
                continue
            capture, name = key.data
            try:
                data = os.read(key.fd, 65536)
            except BlockingIOError:
                continue
            text = capture.feed(data, final=not data)
            if text:
                self._show(text, name)
            if not data:
                self._selector.unregister(key.fileobj)
        return any(key.data is not None for key in self._selector.get_map().values())

    def _drain(self) -> None:
        if self._exit_fd is not None:
            self._selector.unregister(self._exit_fd)
            os.close(self._exit_fd)
            self._exit_fd = None
        deadline = time.monotonic() + DRAIN
        while self._selector.get_map() and time.monotonic() < deadline:
            self._read(max(0.0, deadline - time.monotonic()))

    def _close(self) -> None:
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                key.data[0].feed(b"", final=True)
        self._selector.close()
        if self._exit_fd is not None:
            os.close(self._exit_fd)
            self._exit_fd = None
        self._process.close()


def _named(process: Process) -> tuple[str, ...]:
    remaining = getattr(process, "remaining", None)
    return tuple(remaining()) if remaining is not None else ()


def _exit_descriptor(pid: int | None) -> int | None:
    """Return a descriptor that is readable once *pid* is over, so that no poll delays the end; Linux only."""
    opener = getattr(os, "pidfd_open", None)
    if opener is None or pid is None:
        return None
    try:
        return int(opener(pid))
    except OSError:
        return None
