"""Cancellation: thread-safe, chained from parent to child, never back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable


def waking(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> Callable[[str], None]:
    """Return a callback for a token that makes *call* in *loop*."""

    def callback(_: str) -> None:
        try:
            loop.call_soon_threadsafe(call)
        except RuntimeError:
            # The loop is closed: the run ended while another callback was under way.
            return

    return callback


class CancelToken:
    """Says whether a run is to stop, and why.

    Args:
        parent: A token whose cancellation reaches this one too.
    """

    def __init__(self, parent: CancelToken | None = None) -> None:
        self._reason: str | None = None
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[str], object]] = []
        self._parent = parent
        if parent is not None:
            parent.on_cancel(self.cancel)

    @property
    def reason(self) -> str | None:
        """Why it was cancelled; None while it was not."""
        return self._reason

    def cancel(self, reason: str = "cancelled") -> None:
        """Cancel, from any thread; a second call changes nothing."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(reason)

    def on_cancel(self, callback: Callable[[str], object]) -> Callable[[], None]:
        """Call *callback* with the reason when cancelled, at once if it is already.

        It runs on the thread that cancels. Returns a function that takes it back.
        """
        with self._lock:
            reason = self._reason
            if reason is None:
                self._callbacks.append(callback)
        if reason is not None:
            callback(reason)
        return lambda: self._forget(callback)

    def _forget(self, callback: Callable[[str], object]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def detach(self) -> None:
        """Leave the parent: a finished child need not be remembered by it."""
        if self._parent is not None:
            self._parent._forget(self.cancel)
