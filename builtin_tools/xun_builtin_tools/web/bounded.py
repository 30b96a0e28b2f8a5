"""Network work within a time: what does not end by itself is cut off."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from xun.errors import ToolError

T = TypeVar("T")

_POLL_SECONDS = 0.05


class TimeLeft:
    """Seconds that are left for the network; time that a person takes to answer does not count."""

    def __init__(self, seconds: float) -> None:
        self.total = seconds
        self.left = seconds


class Line:
    """The socket of the exchange under way, so that another thread can cut it off."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._cut = False

    def use(self, sock: socket.socket) -> None:
        """Note the socket that is used from now on; one that comes too late is cut off at once."""
        with self._lock:
            self._socket = sock
            if self._cut:
                _shut(sock)

    def cut(self) -> None:
        """End whatever waits for the socket."""
        with self._lock:
            self._cut = True
            if self._socket is not None:
                _shut(self._socket)


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        # That of the plain socket: an encrypted one would drop its state under the thread that reads.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


class _Work(Generic[T]):
    def __init__(self, func: Callable[[], T]) -> None:
        self._func = func
        self.done = threading.Event()
        self.value: list[T] = []
        self.error: BaseException | None = None

    def __call__(self) -> None:
        try:
            self.value.append(self._func())
        except BaseException as exc:  # noqa: BLE001 - raised again by the thread that waits
            self.error = exc
        finally:
            self.done.set()


def run_within(time_left: TimeLeft, line: Line, check: Callable[[], None], func: Callable[[], T]) -> T:
    """Return what *func* gives, run in a thread of its own, and count its time.

    Args:
        time_left: How long it may take.
        line: What is cut off when it takes longer.
        check: Called often; raises when the run was cancelled.
        func: Blocks in the network; raises what this raises.

    Raises:
        ToolError: The time is over.
    """
    work = _Work(func)
    started = time.monotonic()
    threading.Thread(target=work, name="xun-web", daemon=True).start()
    try:
        while not work.done.wait(_POLL_SECONDS):
            check()
            if time.monotonic() - started > time_left.left:
                raise ToolError(f"The answer took more than {time_left.total:g} seconds, the time limit of this call.")
    finally:
        time_left.left -= time.monotonic() - started
        if not work.done.is_set():
            line.cut()
    if work.error is not None:
        raise work.error
    return work.value[0]
