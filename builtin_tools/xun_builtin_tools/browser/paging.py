"""browser_page and browser_resize."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from xun.errors import ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun.tools.dry import DryRun
from xun_builtin_tools.browser.common import acted, check_timeout, open_tab
from xun_builtin_tools.browser.guard import check_url, local_file
from xun_builtin_tools.browser.reach import place_of
from xun_builtin_tools.browser.session import Session, plain

if TYPE_CHECKING:
    from xun_builtin_tools.browser.tabs import Tab

WaitUntil = Literal["load", "domcontentloaded", "networkidle", "commit"]

MAX_SIZE = 4096
"""Pixels of a page's width and height."""


@tool_attr(deferred=True, sequential=True, search_hint="browser open website url navigate tab chromium web page reload")
def browser_page(
    ctx: ToolCallContext[Any],
    action: Literal["list", "new", "navigate", "reload", "select", "close"],
    page_id: str | None = None,
    url: str | None = None,
    wait_until: WaitUntil = "load",
    timeout_ms: int = 30_000,
) -> dict[str, Any]:
    """Open, load, choose and close pages of a headless browser. The person is asked before the first page of each host.

    list shows the open pages; new opens one, with url where that is given; navigate loads url in the page, or in a new
    one when none is open; reload loads it again; select makes page_id the current page; close closes it. Without
    page_id the current page is meant. url begins with http://, https://, or file:/// for a file of the workspace;
    local addresses are refused. wait_until says when loading counts as done, timeout_ms how long it may take, at most
    120000. Returns page_id, url, title and status, or pages for list and close."""
    seconds = check_timeout(timeout_ms)
    if action in ("new", "navigate"):
        return _opened(ctx, action, page_id, url, wait_until, seconds)
    if url is not None:
        raise ToolError(f"url is not used by action={action!r}; navigate loads a URL.")
    if ctx.dry_run:
        raise DryRun({"action": action, "page_id": page_id})
    if action == "reload":
        session, tab = open_tab(ctx, page_id)
        return _loaded(ctx, session, tab, None, wait_until, seconds)
    session = Session.of(ctx.agent)
    if action != "list":
        tab = session.tabs.find(page_id)
        if action == "close":
            session.call(ctx, tab.page.close)
        else:
            session.tabs.select(tab)
    return {"pages": session.call(ctx, session.tabs.listing) if session.tabs.any() else []}


def _opened(
    ctx: ToolCallContext[Any], action: str, page_id: str | None, url: str | None, wait_until: WaitUntil, seconds: float
) -> dict[str, Any]:
    if url is None and action == "navigate":
        raise ToolError("navigate needs a url.")
    session = Session.of(ctx.agent)
    fresh = action == "new" or (page_id is None and not session.tabs.any())
    known = None if fresh else session.tabs.find(page_id)
    if url is not None:
        url = check_url(url)
        if url[:5].lower() == "file:":
            local_file(ctx.agent.workspace, url)
        else:
            session.reach.require(ctx, place_of(url))
    if ctx.dry_run:
        raise DryRun({"action": action, "url": url})
    tab = session.call(ctx, session.tabs.new) if known is None else known
    if url is None:
        return acted(ctx, session, tab, tab.page.title, seconds)[1]
    session.tabs.select(tab)
    return _loaded(ctx, session, tab, url, wait_until, seconds)


def _loaded(
    ctx: ToolCallContext[Any], session: Session, tab: Tab, url: str | None, wait_until: WaitUntil, seconds: float
) -> dict[str, Any]:
    async def load() -> int | None:
        tab.begin()
        left = await _settle_reach(session, tab, url or at)
        if url is None and not left:
            response = await tab.page.reload(wait_until=wait_until, timeout=seconds * 1000)
        else:
            response = await tab.page.goto(url or at, wait_until=wait_until, timeout=seconds * 1000)
        return None if response is None else response.status

    async def load_or_close() -> int | None:
        from playwright.async_api import TimeoutError as LoadTimeout

        try:
            return await load()
        except LoadTimeout as exc:
            if await session.responds(tab):
                raise
            await session.abandon(tab)
            raise ToolError(f"{plain(exc)} The page does not respond, so it was closed.") from None

    at = tab.page.url
    status, row = acted(ctx, session, tab, load_or_close, seconds)
    return row if status is None else {**row, "status": status}


async def _settle_reach(session: Session, tab: Tab, url: str) -> bool:
    """Say how far the page that is loaded next gets; tell whether the present one was left for it."""
    if not url.startswith(("http:", "https:")):
        # A local file may be the model's own work.
        session.tabs.taint(tab)
        return False
    if not tab.tainted:
        return False
    # What ran in the page ends before the next one gets further than it.
    await tab.page.goto("about:blank")
    session.tabs.untaint(tab)
    return True


@tool_attr(deferred=True, sequential=True, search_hint="browser viewport window size width height mobile responsive")
def browser_resize(ctx: ToolCallContext[Any], width: int, height: int, page_id: str | None = None) -> dict[str, Any]:
    """Set the size of a page's view, in pixels: 1 to 4096 each. It is 1280 x 800 at first."""
    if not (1 <= width <= MAX_SIZE and 1 <= height <= MAX_SIZE):
        raise ToolError(f"width and height must be 1 to {MAX_SIZE}, got {width} and {height}.")
    if ctx.dry_run:
        raise DryRun({"width": width, "height": height})
    session, tab = open_tab(ctx, page_id)
    session.call(ctx, lambda: tab.page.set_viewport_size({"width": width, "height": height}))
    return {"page_id": tab.id, "width": width, "height": height}
