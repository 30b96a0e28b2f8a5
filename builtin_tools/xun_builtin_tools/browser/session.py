"""The browser of one agent: started at its first use, closed with the agent."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any, TypeVar

from xun.errors import ToolError
from xun.tools.homes import LoopThread, in_time
from xun_builtin_tools.browser.chromium import ARGUMENTS, INSTALL, find, wants_sandbox
from xun_builtin_tools.browser.guard import Guard
from xun_builtin_tools.browser.proxy import Proxy
from xun_builtin_tools.browser.reach import Reach
from xun_builtin_tools.browser.tabs import Tab, Tabs
from xun_policies.shell.environment import child_environment

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Playwright

    from xun.agent.agent import Agent
    from xun.tools.context import ToolCallContext
    from xun_policies.workspace import Workspace

T = TypeVar("T")

_log = logging.getLogger("xun.tools")
_KEY = "__browser"
_POLL = 0.1
_START_SECONDS = 60.0
_PART_SECONDS = 5.0
_ANSWER_SECONDS = 2.0
_CLOSE_SECONDS = 20.0
SPARE = 10.0
"""Seconds that a call may take beyond its own limit before it is given up."""

VIEWPORT = (1280, 800)


class Session:
    """One headless Chromium with a fresh profile, driven in an event loop of its own.

    Attributes:
        reach: Where its pages may go.
        tabs: Its pages.
    """

    def __init__(self, agent: Agent[Any]) -> None:
        self.reach = Reach()
        self.tabs = Tabs(self.reach)
        self._owner = weakref.ref(agent)
        self._workspace: Workspace = agent.workspace
        self._command_env = agent.config.command_env
        self._starting = asyncio.Lock()
        self._home = LoopThread("browser")
        self._lock = threading.Lock()
        self.closed = False
        self._proxy: Proxy | None = None
        self._driver: Playwright | None = None
        self._browser: Browser | None = None
        self._context: BrowserContext | None = None

    @classmethod
    def of(cls, agent: Agent[Any]) -> Session:
        """Return that of *agent*; nothing is started yet.

        Raises:
            ToolError: Playwright is not installed.
        """
        require_driver()
        found = agent.state.get(_KEY)
        if isinstance(found, Session) and not found.closed and found._owner() is agent:
            return found
        made = agent.state[_KEY] = cls(agent)
        # What is never finalized is closed when it is collected, or when the process ends.
        collected = weakref.finalize(agent, made.close)
        hooks, known = agent.hooks, made._owner

        def at_end(ended: Any) -> None:
            if ended is known():
                hooks.before_finalize.remove(at_end)
                collected.detach()
                made.close()

        hooks.before_finalize.add(at_end)
        return made

    # -- calls ---------------------------------------------------------------------------------------

    def call(self, ctx: ToolCallContext[Any], work: Callable[[], Awaitable[T]], seconds: float = 30.0) -> T:
        """Return what *work* gives, made in the loop of the browser, which is started first.

        Raises:
            ToolError: The browser could not do it, or not in *seconds* and a little more.
            CancelledError: The run was cancelled; the work is given up.
        """
        self.reach.refresh(ctx)
        self._wait(ctx, self._ensure, _START_SECONDS + SPARE)
        return self._wait(ctx, work, seconds + SPARE)

    def _wait(self, ctx: ToolCallContext[Any], work: Callable[[], Awaitable[T]], seconds: float) -> T:
        from playwright.async_api import Error

        async def bounded() -> T:
            return await asyncio.wait_for(work(), seconds)

        future = self._home.submit(bounded)
        try:
            while True:
                try:
                    return future.result(_POLL)  # type: ignore[no-any-return]
                except FutureTimeout:
                    if future.done() and isinstance(future.exception(), TimeoutError):
                        raise ToolError(f"The browser did not answer within {seconds:g} s.") from None
                    ctx.check_cancel()
        except Error as exc:
            raise ToolError(plain(exc)) from None
        except FutureCancelled:
            raise ToolError("The browser was closed, with its agent, before this call was through.") from None
        finally:
            future.cancel()

    # -- life ----------------------------------------------------------------------------------------

    async def _ensure(self) -> None:
        async with self._starting:
            if self._browser is not None and self._browser.is_connected():
                return
            await self._shut()
            try:
                await self._start()
            except BaseException:
                await self._shut()
                raise

    async def _start(self) -> None:
        from playwright.async_api import Error, async_playwright

        self._proxy = Proxy(self.reach)
        server = await self._proxy.start()
        self._driver = await async_playwright().start()
        kind = self._driver.chromium
        path = find(os.environ, self._workspace.roots, kind.executable_path)
        try:
            self._browser = await kind.launch(
                executable_path=path,
                headless=True,
                chromium_sandbox=wants_sandbox(),
                args=list(ARGUMENTS),
                env=dict(child_environment(os.environ, {}, self._command_env)),
                proxy={"server": server},
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
                timeout=_START_SECONDS * 1000,
            )
        except Error as exc:
            raise ToolError(f"Chromium ({path}) could not be started: {plain(exc)}") from None
        self._context = await self._browser.new_context(
            accept_downloads=False,
            service_workers="block",
            viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]},
        )
        await self._context.route("**/*", Guard(self.reach, self._workspace).handle)
        self.tabs.attach(self._context)

    async def responds(self, tab: Tab) -> bool:
        """Tell whether a page still answers."""
        from playwright.async_api import Error

        try:
            await asyncio.wait_for(tab.page.title(), _ANSWER_SECONDS)
        except (Error, TimeoutError):
            return False
        return True

    async def abandon(self, tab: Tab) -> None:
        """Close a page that does not answer any more, if need be with the whole browser."""
        from playwright.async_api import Error

        try:
            await asyncio.wait_for(tab.page.close(), _PART_SECONDS)
        except (Error, TimeoutError):
            await self._shut()

    async def _shut(self) -> None:
        self.tabs.detach()
        context, browser, driver, proxy = self._context, self._browser, self._driver, self._proxy
        self._context = self._browser = self._driver = self._proxy = None
        if context is not None:
            await _quietly(context.close)
        if browser is not None:
            await _quietly(browser.close)
        if driver is not None:
            await _quietly(driver.stop)
        if proxy is not None:
            await _quietly(proxy.close)

    def close(self) -> None:
        """End the browser and all of its processes, once."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
        if threading.current_thread() is self._home.thread:
            # The home can't wait for itself: the agent happened to be collected there.
            threading.Thread(target=self._end, name="xun-end-browser", daemon=True).start()
        else:
            self._end()

    def _end(self) -> None:
        try:
            if in_time(self._home.submit(self._shut), _CLOSE_SECONDS) is not None:
                _log.error("the browser did not close within %g s and was left", _CLOSE_SECONDS)
        except ToolError:
            _log.debug("the browser was closed already")
        self._home.stop()


async def _quietly(close: Callable[[], Awaitable[Any]]) -> None:
    from playwright.async_api import Error

    # The driver ends Chromium also when that no longer answers.
    with contextlib.suppress(Error, OSError, TimeoutError):
        await asyncio.wait_for(close(), _PART_SECONDS)


def require_driver() -> None:
    """Return when Playwright is installed.

    Raises:
        ToolError: It is not.
    """
    try:
        import playwright.async_api  # noqa: F401
    except ImportError:
        raise ToolError(f"The browser tools need playwright: {INSTALL}") from None


def plain(exc: Exception) -> str:
    """Return what an error of Playwright says, without its log of the call."""
    text = str(exc).partition("\nCall log:")[0].partition("\nBrowser logs:")[0].strip()
    return text[:1000] or type(exc).__name__
