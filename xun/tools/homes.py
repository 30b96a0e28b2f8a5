"""Where the calls of one stateful tool are made: a thread, or an event loop, of its own."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from xun.errors import ToolError
from xun.tools.running import ToolExit, serve_loop


class Home(ABC):
    """A thread of its own, where all calls of one instance are made.

    Attributes:
        thread: The thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._gate = threading.Lock()
        self._ended = False
        self.thread = threading.Thread(target=self._work, name=f"xun-tool-{name}", daemon=True)
        self.thread.start()

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Make *call* at home, with the context variables of the caller.

        Raises:
            ToolError: The home was left.
        """
        with self._gate:
            if self._ended:
                raise closed(self._name)
            return self._submit(call)

    def stop(self) -> None:
        """End the thread after what was submitted; coroutines that still run are cancelled."""
        with self._gate:
            if self._ended:
                return
            self._ended = True
            self._end()
        if threading.current_thread() is not self.thread:
            self.thread.join(timeout=5)

    @abstractmethod
    def _work(self) -> None: ...
    @abstractmethod
    def _submit(self, call: Callable[[], Any]) -> Future[Any]: ...
    @abstractmethod
    def _end(self) -> None: ...


def closed(name: str) -> ToolError:
    """Return the error of a call that came too late."""
    return ToolError(f"The tool {name} was closed, with its agent, before this call was through.")


class LoopThread(Home):
    """An event loop: the home of an instance that has coroutine functions."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        super().__init__(name)

    def _work(self) -> None:
        serve_loop(self._loop)

    def _submit(self, call: Callable[[], Any]) -> Future[Any]:
        async def made() -> Any:
            try:
                value = call()
                return await value if inspect.isawaitable(value) else value
            except (KeyboardInterrupt, SystemExit) as exc:
                # The loop would end by these.
                raise ToolExit(exc) from None

        return asyncio.run_coroutine_threadsafe(made(), self._loop)

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)


class PlainThread(Home):
    """Calls one after the other: the home of an instance without coroutine functions.

    So what is bound to the thread that made it works in every call.
    """

    def __init__(self, name: str) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        super().__init__(name)

    def _work(self) -> None:
        while True:
            call = self._calls.get()
            if call is None:
                return
            call()
            del call  # it holds the agent, which may be collected before the next one comes

    def _submit(self, call: Callable[[], Any]) -> Future[Any]:
        done: Future[Any] = Future()
        context = contextvars.copy_context()

        def made() -> None:
            if not done.set_running_or_notify_cancel():
                return
            try:
                value = context.run(call)
            except BaseException as exc:  # noqa: BLE001 - raised again where it is waited for
                done.set_exception(exc)
            else:
                done.set_result(value)

        self._calls.put(made)
        return done

    def _end(self) -> None:
        self._calls.put(None)


def in_time(done: Future[Any], timeout: float) -> Future[Any] | None:
    """Wait for *done* and raise what it raised; return it when it takes longer than *timeout* seconds."""
    try:
        done.result(timeout)
    except FutureTimeout:
        if done.done():
            raise
        return done
    return None
