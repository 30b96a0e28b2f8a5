"""Where the sync tools of a run are run: worker threads, or the thread that called ``execute``."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from typing import Any, Protocol, TypeVar

from xun.errors import CancelledError
from xun.tools.running import EXITS, ToolExit, in_thread, serve_loop

T = TypeVar("T")


def refuse_running_loop(blocking: str, awaitable: str) -> None:
    """Return when no event loop runs on this thread.

    Raises:
        RuntimeError: One does; the text names the method to await.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(f"{blocking}() can't block inside a running event loop: await {awaitable}() instead.")


class SyncRunner(Protocol):
    """Runs a sync call for the engine."""

    async def run(self, call: Callable[[], T]) -> T:
        """Return what *call* returns, without blocking the event loop."""
        ...


class ThreadRunner:
    """Each sync tool in a worker thread: the face of ``aexecute`` and ``events``."""

    async def run(self, call: Callable[[], T]) -> T:
        """Run *call* in a thread of its own."""
        return await in_thread(call)


class CallerRunner:
    """Sync tools one at a time on the thread that called ``execute``.

    So libraries that are bound to a thread work, and Ctrl-C lands in the tool.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()

    async def run(self, call: Callable[[], T]) -> T:
        """Hand *call* to the caller's thread."""
        future: Future[T] = Future()
        self._jobs.put((call, future))
        return await asyncio.wrap_future(future)

    def stop(self) -> None:
        """End `serve` once the jobs before are done."""
        self._jobs.put(None)

    def serve(self, on_interrupt: Callable[[], None]) -> bool:
        """Run jobs on this thread until `stop`; return whether Ctrl-C was pressed.

        *on_interrupt* is called at each Ctrl-C; the engine then ends by itself and calls `stop`.
        """
        interrupted = False
        while True:
            try:
                job = self._jobs.get()
                if job is None:
                    return interrupted
                self._do(*job)
            except KeyboardInterrupt:
                interrupted = True
                on_interrupt()

    @staticmethod
    def _do(call: Callable[[], Any], future: Future[Any]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            value = call()
        except KeyboardInterrupt:
            future.set_exception(CancelledError("interrupted (Ctrl-C)"))
            raise
        except EXITS as exc:
            future.set_exception(ToolExit(exc))
        except BaseException as exc:  # noqa: BLE001 - handed to the engine, which decides
            future.set_exception(exc)
        else:
            future.set_result(value)


class Portal:
    """An event loop on a thread of its own, for the sync face of one agent."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._open: set[Future[Any]] = set()
        self._thread = threading.Thread(target=serve_loop, args=(self._loop,), name="xun-engine", daemon=True)
        self._thread.start()

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run *coroutine* in the loop.

        Raises:
            RuntimeError: The loop is closed.
        """
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:
            coroutine.close()
            raise
        self._open.add(future)
        future.add_done_callback(self._open.discard)
        return future

    def close(self, patience: float = 0.0) -> None:
        """End the loop and its thread; what runs in it gets *patience* seconds to end by itself."""
        if self._loop.is_closed():
            return
        if threading.current_thread() is self._thread:
            # The collector may come by on this very thread; it can't wait for itself.
            self._loop.call_soon(self._loop.stop)
            return
        wait(tuple(self._open), timeout=patience)
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
