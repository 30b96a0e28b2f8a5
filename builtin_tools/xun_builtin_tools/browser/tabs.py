"""The pages of one browser, with what they logged."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xun.errors import ToolError
from xun_builtin_tools.browser.reach import Reach

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, ConsoleMessage, Dialog, Page, Request, Response

MAX_PAGES = 16
"""Pages that are open at the same time."""

MAX_ENTRIES = 300
"""Entries of each log of a page; the oldest go."""

MAX_DIALOGS = 50
"""Questions that a page may ask before it is closed: one that never stops asking can't be left otherwise."""

MAX_MESSAGES = 2000
"""Console messages of one page until it is loaded anew: reading more than that would hold up every call."""

_MAX_TEXT = 2000
_MAX_TITLE = 300
_DOWNLOAD = "It is a download, and those are not taken; web_fetch reads what is text."


@dataclass(slots=True, eq=False)
class Tab:
    """One page.

    Attributes:
        id: What the model calls it.
        page: Playwright's.
        tainted: Code of the model may run in it, so that it reaches no new hosts.
        dialogs: How many questions it asked since it was loaded.
        messages: How many console messages it wrote since it was loaded.
        listen: Hears its console again, after too many messages.
        logs: By kind: console, network, errors.
    """

    id: str
    page: Page
    tainted: bool = False
    dialogs: int = 0
    messages: int = 0
    listen: Callable[[], None] = lambda: None
    logs: dict[str, deque[dict[str, Any]]] = field(
        default_factory=lambda: {kind: deque(maxlen=MAX_ENTRIES) for kind in ("console", "network", "errors")}
    )

    def begin(self) -> None:
        """Count anew: the page is about to be loaded."""
        self.dialogs = 0
        if self.messages > MAX_MESSAGES:
            self.listen()
        self.messages = 0


class Tabs:
    """All pages of one browser; used in its event loop, but for `find`."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._context: BrowserContext | None = None
        self._tabs: dict[str, Tab] = {}
        self._current = ""
        self._number = 0
        self._lost = ""
        self._closing: set[asyncio.Task[None]] = set()

    def attach(self, context: BrowserContext) -> None:
        """Follow the pages of *context*."""
        self._context = context
        context.on("page", self._appeared)

    def detach(self) -> None:
        """Forget all pages: the browser is gone."""
        self._context = None
        self._tabs.clear()
        self._judge()

    async def new(self) -> Tab:
        """Open an empty page and make it the current one.

        Raises:
            ToolError: There are too many.
        """
        if self._context is None:
            raise ToolError("The browser is closed.")
        if len(self._tabs) >= MAX_PAGES:
            raise ToolError(f"{MAX_PAGES} pages are open, which is the limit; close one with action='close'.")
        page = await self._context.new_page()
        tab = next((tab for tab in self._tabs.values() if tab.page is page), None) or self._opened(page)
        self.untaint(tab)
        self._current = tab.id
        return tab

    def find(self, page_id: str | None) -> Tab:
        """Return a page by its id, or the current one.

        Raises:
            ToolError: There is none.
        """
        if not self._tabs:
            raise ToolError(f"{self._lost}No page is open; browser_page(action='navigate', url=...) opens one.")
        tab = self._tabs.get(page_id or self._current)
        if tab is None:
            raise ToolError(f"{self._lost}There is no page {page_id!r}; open are: {', '.join(self._tabs)}.")
        return tab

    def any(self) -> bool:
        """Tell whether a page is open."""
        return bool(self._tabs)

    def select(self, tab: Tab) -> None:
        """Make *tab* the current page."""
        self._current = tab.id

    def taint(self, tab: Tab | None = None) -> None:
        """Note that code of the model may run in *tab*, or in all pages: one page may reach into others."""
        for one in self._tabs.values() if tab is None else (tab,):
            one.tainted = True
        self._judge()

    def untaint(self, tab: Tab) -> None:
        """Note that what ran in *tab* is gone."""
        tab.tainted = False
        self._judge()

    async def listing(self) -> list[dict[str, Any]]:
        """Return all pages, in the order in which they were opened."""
        rows = []
        for tab in list(self._tabs.values()):
            title = await title_of(tab.page)
            rows.append({"page_id": tab.id, "url": tab.page.url, "title": title, "current": tab.id == self._current})
        return rows

    def _opened(self, page: Page) -> Tab:
        known = next((tab for tab in self._tabs.values() if tab.page is page), None)
        if known is not None:
            return known
        self._number += 1
        # What code opened is as that code.
        tab = Tab(f"p{self._number}", page, tainted=self._reach.strict)
        if len(self._tabs) >= MAX_PAGES:
            self._close(page)
            return tab
        self._tabs[tab.id] = tab
        self._current = self._current or tab.id
        page.on("close", lambda _: self._closed(tab))
        page.on("crash", lambda _: self._crashed(tab))
        _follow(tab, self._reach)
        return tab

    def _appeared(self, page: Page) -> None:
        self._opened(page)

    def _close(self, page: Page) -> None:
        task = asyncio.ensure_future(_closed_quietly(page))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _crashed(self, tab: Tab) -> None:
        # Nothing can be done with it any more, not even loading another page.
        self._lost = f"The page {tab.id} crashed, so it was closed. "
        self._closed(tab)
        self._close(tab.page)

    def _closed(self, tab: Tab) -> None:
        self._tabs.pop(tab.id, None)
        if self._current == tab.id:
            self._current = next(reversed(self._tabs), "")
        self._judge()

    def _judge(self) -> None:
        self._reach.strict = any(tab.tainted for tab in self._tabs.values())


async def title_of(page: Page) -> str:
    """Return the title of *page*, cut to what one reads of it."""
    title = await page.title()
    return title if len(title) <= _MAX_TITLE else title[: _MAX_TITLE - 1] + "…"


async def _closed_quietly(page: Page) -> None:
    from playwright.async_api import Error

    with contextlib.suppress(Error):
        await page.close()


def _follow(tab: Tab, reach: Reach) -> None:
    from playwright.async_api import Error

    page, logs = tab.page, tab.logs

    def answered(response: Response) -> None:
        request = response.request
        logs["network"].append(_request(request) | {"status": response.status})

    def failed(request: Request) -> None:
        logs["network"].append(_request(request) | {"failure": (request.failure or "failed")[:300]})

    async def dialog(box: Dialog) -> None:
        logs["console"].append({"type": f"dialog {box.type}", "text": box.message[:_MAX_TEXT], "at": "dismissed"})
        tab.dialogs += 1
        if tab.dialogs == MAX_DIALOGS:
            reach.refuse(page.url, f"The page asked {MAX_DIALOGS} questions, so it was closed.")
            with contextlib.suppress(Error):
                await page.close()
            return
        # Leaving a page is what was asked for; all other questions are answered with no.
        with contextlib.suppress(Error):
            await (box.accept() if box.type == "beforeunload" else box.dismiss())

    _hear(tab)
    page.on("download", lambda file: reach.refuse(file.url, _DOWNLOAD))
    page.on("pageerror", lambda error: logs["errors"].append({"text": str(error)[:_MAX_TEXT]}))
    page.on("response", answered)
    page.on("requestfailed", failed)
    page.on("dialog", dialog)


def _request(request: Request) -> dict[str, Any]:
    return {"method": request.method, "url": request.url[:500], "type": request.resource_type}


def _hear(tab: Tab) -> None:
    """Keep what the page of *tab* writes to its console, as long as that is not too much."""

    def console(message: ConsoleMessage) -> None:
        tab.messages += 1
        if tab.messages > MAX_MESSAGES:
            tab.page.remove_listener("console", console)
            said = f"The page wrote more than {MAX_MESSAGES} messages; the next are heard when it is loaded anew."
            tab.logs["console"].append({"type": "note", "text": said, "at": ""})
            return
        place = message.location
        tab.logs["console"].append(
            {
                "type": message.type,
                "text": message.text[:_MAX_TEXT],
                "at": f"{place.get('url', '')[:300]}:{place.get('lineNumber', 0) + 1}",
            }
        )

    tab.listen = lambda: tab.page.on("console", console)
    tab.listen()
