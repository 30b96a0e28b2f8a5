"""The life of stateful tools: an instance for each agent, started with retries, closed for certain."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import logging
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from xun.errors import ToolError
from xun.tools.context import ToolCallContext
from xun.tools.homes import LoopThread, PlainThread, closed, in_time
from xun.tools.progress import drained, is_generator
from xun.tools.running import HOME, ToolExit, in_thread
from xun.tools.stateful import StatefulTool

if TYPE_CHECKING:
    from xun.agent.agent import Agent

_log = logging.getLogger("xun.tools")

START_ATTEMPTS = 3
"""How often the start of a tool is tried, each time with a fresh instance."""

START_TIMEOUT = 60.0
"""Seconds that one start, and one close, may take."""


_INSIDE: contextvars.ContextVar[tuple[Live, ...]] = contextvars.ContextVar("xun_inside_tools", default=())
"""The instances whose calls are under way here: a call of one of them from within does not wait for its end."""


class Live:
    """One instance of a tool class, in its home."""

    def __init__(self, cls: type[StatefulTool], config: Any, name: str) -> None:
        self.name = name
        self._instance = cls(config)
        self._run = _reporting(self._instance)
        coroutines = is_late(cls.run) or any(inspect.iscoroutinefunction(method) for method in (cls.start, cls.close))
        self._home = LoopThread(name) if coroutines else PlainThread(name)
        self._turn = contextlib.nullcontext() if cls.concurrent else asyncio.Lock()
        self._closing = threading.Lock()
        self._closed = False

    def start(self, timeout: float) -> None:
        """Start the instance; one that is not ready in time is closed as soon as it is.

        Raises:
            TimeoutError: It was not ready after *timeout* seconds.
        """
        try:
            late = in_time(self._home.submit(self._instance.start), timeout)
        except BaseException:
            self._home.stop()
            raise
        if late is not None:
            late.add_done_callback(lambda done: self._started_late(done, timeout))
            raise TimeoutError(f"it did not start within {timeout:g} s")

    def _started_late(self, done: Future[Any], timeout: float) -> None:
        self._home.stop() if done.exception() is not None else self.close(timeout)

    def close(self, timeout: float = START_TIMEOUT) -> None:
        """Close the instance, once; a failure is logged."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        if threading.current_thread() is self._home.thread:
            # The home can't wait for itself: it was ready late, or an agent happened to be collected there.
            threading.Thread(target=self._end, args=(timeout,), name=f"xun-end-{self.name}", daemon=True).start()
        else:
            self._end(timeout)

    def _end(self, timeout: float) -> None:
        try:
            if in_time(self._home.submit(self._instance.close), timeout) is not None:
                _log.error("tool %s did not close within %g s and was left", self.name, timeout)
        except Exception:  # noqa: BLE001 - the boundary of foreign code
            _log.exception("tool %s could not be closed", self.name)
        self._home.stop()

    def run(self, ctx: ToolCallContext[Any], args: Any) -> Any:
        """Make one call of a plain function, after those before it."""

        def call() -> Any:
            _INSIDE.set((*_INSIDE.get(), self))
            return self._run(ctx, args)

        if self in _INSIDE.get():
            return self._run(ctx, args)
        try:
            return self._home.submit(call).result()
        except ToolExit as exc:
            raise exc.cause from None
        except FutureCancelled:
            raise closed(self.name) from None

    async def arun(self, ctx: ToolCallContext[Any], args: Any) -> Any:
        """Make one call of a coroutine function, after those before it."""
        inside = _INSIDE.get()

        async def in_turn() -> Any:
            _INSIDE.set((*inside, self))
            if self in inside:
                return await self._run(ctx, args)
            async with self._turn:
                return await self._run(ctx, args)

        mark = HOME.set(asyncio.get_running_loop())
        try:
            made = self._home.submit(in_turn)
        finally:
            HOME.reset(mark)
        try:
            return await asyncio.wrap_future(made)
        except ToolExit as exc:
            raise exc.cause from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise closed(self.name) from None


def is_late(run: Callable[..., Any]) -> bool:
    """Tell whether the ``run`` of a tool class has to be awaited."""
    return inspect.iscoroutinefunction(run) or inspect.isasyncgenfunction(run)


def _reporting(instance: StatefulTool) -> Callable[[ToolCallContext[Any], Any], Any]:
    """Return the ``run`` of *instance*; what a generator yields is shown as progress."""
    if not is_generator(instance.run):
        return instance.run
    whole = drained(instance.run)
    return lambda ctx, args: whole(ctx, ctx, args)


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
