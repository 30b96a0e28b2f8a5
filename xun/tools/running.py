"""How a prepared call is made: on this thread, in a worker thread, or awaited."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from xun.result import ErrorInfo, Result
from xun.tools.context import CallScope
from xun.tools.function import Function

T = TypeVar("T")


HOME: contextvars.ContextVar[asyncio.AbstractEventLoop | None] = contextvars.ContextVar("xun_home_loop", default=None)
"""The event loop that waits for the worker thread which this is; questions of a tool are asked there."""


class ToolExit(Exception):
    """A tool asked the whole process to end; carried past the event loop, which such an exception would break.

    Attributes:
        cause: What the tool raised.
    """

    def __init__(self, cause: BaseException) -> None:
        super().__init__(repr(cause))
        self.cause = cause


EXITS = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""Exceptions that end a process rather than a call."""


def run_sync(
    tool: Function, call: Callable[[], Any], limit: float | None = None, scope: CallScope | None = None
) -> Result[Any, Any]:
    """Make the call on this thread; an async tool, or one with a limit of seconds, runs beside it."""
    if tool.is_async or limit is not None:
        return run_blocking(run_async(tool, call, limit, scope))
    result: Result[Any, Any] = call()
    return result


async def run_async(
    tool: Function, call: Callable[[], Any], limit: float | None = None, scope: CallScope | None = None
) -> Result[Any, Any]:
    """Make the call without blocking the event loop, within *limit* seconds; *scope* is told when it is given up."""
    work: Any = call() if tool.is_async else in_thread(call)
    try:
        return cast("Result[Any, Any]", await (work if limit is None else asyncio.wait_for(work, limit)))
    except TimeoutError:
        _give_up(scope, "it passed its time limit")
        return timed_out(tool, limit or 0.0)
    except asyncio.CancelledError:
        _give_up(scope, "whoever made the call gave it up")
        raise
    except ToolExit as exc:
        raise exc.cause from None


def _give_up(scope: CallScope | None, why: str) -> None:
    if scope is not None:
        # A thread goes on: this is how its tool hears of it.
        scope.given_up = why


async def guarded(call: Callable[[], Any]) -> Any:
    """Await an async call; `ToolExit` takes the place of what would end the event loop."""
    try:
        return await call()
    except EXITS as exc:
        raise ToolExit(exc) from None


def timed_out(tool: Function, limit: float) -> Result[Any, ErrorInfo]:
    """Return the Result of a call that passed its time limit."""
    text = f"Tool {tool.name} did not finish within its limit of {limit:g} s and was given up."
    return Result.Err(ErrorInfo(text, f"timeout after {limit:g} s", "timeout"), "timeout")


def serve_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Run *loop* on this thread until it is stopped; then cancel what is left in it, and close it."""
    asyncio.set_event_loop(loop)
    loop.run_forever()
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    with contextlib.suppress(RuntimeError):  # it was stopped once more meanwhile
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


async def in_thread(call: Callable[[], T]) -> T:
    """Run *call* in a thread of its own, with the context variables copied.

    The thread is a daemon: a tool that ignores cancellation can't keep the process alive.

    Raises:
        ToolExit: *call* raised what ends a process.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()
    context.run(HOME.set, loop)

    def settle(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def work() -> None:
        value: Any = None
        error: BaseException | None = None
        try:
            value = context.run(call)
        except EXITS as exc:
            error = ToolExit(exc)
        except BaseException as exc:  # noqa: BLE001 - handed to the awaiting side
            error = exc
        try:
            loop.call_soon_threadsafe(settle, value, error)
        except RuntimeError:
            # The loop is closed: nobody waits for this result any more.
            return

    threading.Thread(target=work, name="xun-tool", daemon=True).start()
    return await future


def run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from sync code, also where this thread's loop is running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    outcome: list[T] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(asyncio.run(coroutine))
        except BaseException as exc:  # noqa: BLE001 - raised again on the calling thread
            failed.append(exc)

    thread = threading.Thread(target=work, name="xun-async", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return outcome[0]
