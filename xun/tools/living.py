"""The life of stateful tools: an instance for each agent, started with retries, closed for certain."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any

from xun.errors import ToolError
from xun.tools.context import ToolCallContext
from xun.tools.running import HOME, ToolExit, in_thread
from xun.tools.stateful import StatefulTool

if TYPE_CHECKING:
    from xun.agent.agent import Agent

_log = logging.getLogger("xun.tools")

START_ATTEMPTS = 3
"""How often the start of a tool is tried, each time with a fresh instance."""

START_TIMEOUT = 60.0
"""Seconds that one start, and one close, may take."""


class LoopThread:
    """An event loop on a thread of its own: the home of one instance's coroutines."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._work, name=f"xun-tool-{name}", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def submit(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Run *coroutine* in the loop, with the context variables of the caller.

        What would end the loop, such as SystemExit, comes as `ToolExit`.
        """

        async def kept() -> Any:
            try:
                return await coroutine
            except (KeyboardInterrupt, SystemExit) as exc:
                raise ToolExit(exc) from None

        return asyncio.run_coroutine_threadsafe(kept(), self._loop)

    def stop(self) -> None:
        """End the loop; what still runs in it is cancelled."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=5)


class Live:
    """One started instance of a tool class."""

    def __init__(self, cls: type[StatefulTool], config: Any, name: str) -> None:
        self.name = name
        self._instance = cls(config)
        methods = (cls.start, cls.run, cls.close)
        self._home = LoopThread(name) if any(inspect.iscoroutinefunction(method) for method in methods) else None
        self._turn, self._aturn = threading.Lock(), asyncio.Lock()
        self._closing = threading.Lock()
        self._closed = False

    def start(self, timeout: float) -> None:
        """Start the instance; one that is not ready in time is closed as soon as it is.

        Raises:
            TimeoutError: It was not ready after *timeout* seconds.
        """
        try:
            late = _in_time(self._method(self._instance.start), timeout, f"start of tool {self.name}")
        except BaseException:
            self._leave_home()
            raise
        if late is not None:
            late.add_done_callback(lambda done: self.close(timeout) if done.exception() is None else self._leave_home())
            raise TimeoutError(f"it did not start within {timeout:g} s")

    def close(self, timeout: float = START_TIMEOUT) -> None:
        """Close the instance, once; a failure is logged."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        try:
            if _in_time(self._method(self._instance.close), timeout, f"close of tool {self.name}") is not None:
                _log.error("tool %s did not close within %g s and was left", self.name, timeout)
        except Exception:  # noqa: BLE001 - the boundary of foreign code
            _log.exception("tool %s could not be closed", self.name)
        self._leave_home()

    def _leave_home(self) -> None:
        if self._home is not None:
            self._home.stop()

    def _method(self, method: Callable[[], Any]) -> Callable[[], Any]:
        if not inspect.iscoroutinefunction(method):
            return method
        home = self._home
        assert home is not None
        return lambda: home.submit(method()).result()

    def run(self, ctx: ToolCallContext[Any], args: Any) -> Any:
        """Make one call, after those before it."""
        with self._turn:
            return self._instance.run(ctx, args)

    async def arun(self, ctx: ToolCallContext[Any], args: Any) -> Any:
        """Make one call in the loop of the instance, after those before it."""

        async def in_turn() -> Any:
            async with self._aturn:
                return await self._instance.run(ctx, args)

        assert self._home is not None
        mark = HOME.set(asyncio.get_running_loop())
        try:
            made = self._home.submit(in_turn())
        finally:
            HOME.reset(mark)
        try:
            return await asyncio.wrap_future(made)
        except ToolExit as exc:
            raise exc.cause from None


def _in_time(call: Callable[[], Any], timeout: float, name: str) -> Future[None] | None:
    """Make *call* in a thread; return the future of one that takes longer than *timeout* seconds."""
    done: Future[None] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            context.run(call)
        except BaseException as exc:  # noqa: BLE001 - raised again on the waiting thread
            done.set_exception(exc)
        else:
            done.set_result(None)

    try:
        threading.Thread(target=work, name=f"xun-{name}", daemon=True).start()
    except RuntimeError:
        # The interpreter ends and starts no thread any more.
        work()
    try:
        done.result(timeout)
    except FutureTimeout:
        if done.done():
            raise
        return done
    return None


class Instances:
    """The instances of one stateful tool, by agent; those that `ToolBox.entered` started go to who calls first."""

    def __init__(self, cls: type[StatefulTool], config: Any, name: str) -> None:
        self._cls, self._config, self._name = cls, config, name
        self._lock = threading.Lock()
        self._spare: list[Live] = []
        self._by_agent: weakref.WeakKeyDictionary[Any, Live] = weakref.WeakKeyDictionary()

    def known(self, agent: Agent[Any]) -> Live | None:
        """Return the instance that serves *agent* already, or that waits for whoever calls first."""
        with self._lock:
            live = self._by_agent.get(agent)
            if live is None and self._spare:
                live = self._by_agent[agent] = self._spare.pop(0)
            return live

    def of(self, agent: Agent[Any]) -> Live:
        """Return the agent's instance, made and started at its first call.

        Raises:
            ToolError: It can't be started.
        """
        live = self.known(agent)
        if live is not None:
            return live
        made = self.launch(START_ATTEMPTS, START_TIMEOUT)
        with self._lock:
            live = self._by_agent.setdefault(agent, made)
        if live is made:
            self._close_with(agent, live)
        else:
            made.close()
        return live

    def _close_with(self, agent: Agent[Any], live: Live) -> None:
        # What is never finalized is closed when it is collected, or when the process ends.
        collected = weakref.finalize(agent, live.close)
        hooks, known = agent.hooks, weakref.ref(agent)

        def at_end(ended: Any) -> None:
            if ended is known():
                hooks.before_finalize.remove(at_end)
                collected.detach()
                self.forget(live)
                live.close()

        hooks.before_finalize.add(at_end)

    def launch(self, attempts: int, timeout: float) -> Live:
        """Return a started instance.

        Raises:
            ToolError: None of the attempts succeeded; the cause is that of the last.
        """
        cause: Exception | None = None
        for _ in range(max(1, attempts)):
            try:
                live = Live(self._cls, self._config, self._name)
                live.start(timeout)
            except Exception as exc:  # noqa: BLE001 - the boundary of foreign code
                cause = exc
                continue
            return live
        raise ToolError(
            f"The tool {self._name} could not be started in {max(1, attempts)} attempts: {cause}"
        ) from cause

    def lend(self, live: Live) -> None:
        """Keep *live* for the agent that calls next."""
        with self._lock:
            self._spare.append(live)

    def forget(self, live: Live) -> None:
        """Give *live* to no agent any more."""
        with self._lock:
            self._spare = [spare for spare in self._spare if spare is not live]
            for owner in [owner for owner, held in self._by_agent.items() if held is live]:
                del self._by_agent[owner]


class Entered:
    """`ToolBox.entered`: starts the stateful tools of a box, and closes them at the end."""

    def __init__(self, tools: list[Instances], *, retry: int, timeout: float) -> None:
        self._tools = tools
        self._retry, self._timeout = retry, timeout
        self._open: list[tuple[Instances, Live]] = []
        self._given_up = False

    def __enter__(self) -> None:
        try:
            for instances in self._tools:
                live = instances.launch(self._retry, self._timeout)
                self._open.append((instances, live))
                if self._given_up:
                    raise ToolError("The start of the tools was given up.")
        except BaseException:
            self._shut()
            raise
        for instances, live in self._open:
            instances.lend(live)

    def __exit__(self, *_: object) -> None:
        self._shut()

    def _shut(self) -> None:
        # The last started is closed first: it may use the ones before it.
        while self._open:
            instances, live = self._open.pop()
            instances.forget(live)
            live.close(self._timeout)

    async def __aenter__(self) -> None:
        try:
            await in_thread(self.__enter__)
        except asyncio.CancelledError:
            self._given_up = True
            raise

    async def __aexit__(self, *_: object) -> None:
        await in_thread(self._shut)
