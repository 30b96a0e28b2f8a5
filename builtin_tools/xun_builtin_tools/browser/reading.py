"""browser_snapshot and browser_logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from xun.errors import ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun_builtin_tools.browser.common import NOTICE, open_tab
from xun_builtin_tools.browser.tabs import title_of

if TYPE_CHECKING:
    from playwright.async_api import Page

    from xun_builtin_tools.browser.tabs import Tab

MAX_CHARS = 100_000
"""Characters of one part of a snapshot."""

_SECONDS = 15.0
_FRAMES = 10
_FRAME_SECONDS = 2.0


@tool_attr(
    read_only=True, deferred=True, sequential=True, search_hint="browser page read text html markdown accessibility dom"
)
def browser_snapshot(
    ctx: ToolCallContext[Any],
    format: Literal["accessibility", "html", "markdown"] = "accessibility",
    selector: str | None = None,
    start_char: int = 0,
    max_chars: int = 20_000,
    page_id: str | None = None,
) -> dict[str, Any]:
    """Read a page as it is now: the accessibility tree, which shows what can be clicked and filled, html or markdown.

    selector reads one element only. A line like - button "Save" of the tree is role=button[name="Save"] as a selector.
    To read on, call again with start_char = next_start_char; max_chars is at most 100000. Returns page_id, url, title,
    content, total_chars and next_start_char (null at the end)."""
    if start_char < 0 or not 1 <= max_chars <= MAX_CHARS:
        raise ToolError(
            f"start_char must not be negative and max_chars must be 1 to {MAX_CHARS}, got {start_char} and {max_chars}."
        )
    session, tab = open_tab(ctx, page_id)
    title, text = session.call(ctx, lambda: _read(tab, format, selector), 2 * _SECONDS)
    if format == "markdown":
        from xun_builtin_tools.web.html_text import convert

        text = convert(text, tab.page.url, markdown=True, check=ctx.check_cancel).text
    if start_char and start_char >= len(text):
        raise ToolError(f"The content has {len(text):,} characters, so there is none at {start_char:,}.")
    end = start_char + max_chars
    return {
        "page_id": tab.id,
        "url": tab.page.url,
        "title": title,
        "notice": NOTICE,
        "content": text[start_char:end],
        "total_chars": len(text),
        "next_start_char": end if end < len(text) else None,
    }


async def _read(tab: Tab, form: str, selector: str | None) -> tuple[str, str]:
    from playwright.async_api import TimeoutError as TooSlow

    page, limit = tab.page, _SECONDS * 1000
    title = await title_of(page)
    if form == "accessibility":
        try:
            text = await page.locator(selector or "body").aria_snapshot(timeout=limit)
        except TooSlow:
            if selector is not None:
                raise
            raise ToolError(
                f"The page holds more than can be read in {_SECONDS:g} s: give the selector of a part, or read it with "
                "format='markdown'."
            ) from None
        return title, text if selector is not None else text + await _frames(page)
    if selector is None:
        return title, await page.content()
    return title, str(await page.locator(selector).evaluate("element => element.outerHTML", timeout=limit))


async def _frames(page: Page) -> str:
    """Return what the frames of *page* hold, and how their elements are selected."""
    from playwright.async_api import Error

    parts = []
    inner = [frame for frame in page.main_frame.child_frames if not frame.is_detached()]
    for number, frame in enumerate(inner[:_FRAMES]):
        try:
            text = await frame.locator("body").aria_snapshot(timeout=_FRAME_SECONDS * 1000)
        except Error:
            continue
        if text.strip():
            begin = f"iframe >> nth={number} >> internal:control=enter-frame >> "
            parts.append(f"\n\nIn frame {number} ({frame.url[:200]}); its selectors begin with {begin}\n{text}")
    return "".join(parts)


@tool_attr(
    read_only=True, deferred=True, sequential=True, search_hint="browser console messages network requests errors logs"
)
def browser_logs(
    ctx: ToolCallContext[Any],
    kind: Literal["console", "network", "errors"] = "console",
    clear: bool = False,
    page_id: str | None = None,
) -> dict[str, Any]:
    """Return what a page logged, the last 300 entries of a kind: console messages and dialogs, network requests with
    status or failure, or uncaught errors. clear empties that log afterwards."""
    session, tab = open_tab(ctx, page_id)
    entries = session.call(ctx, lambda: _taken(tab, kind, clear))
    return {"page_id": tab.id, "kind": kind, "notice": NOTICE, "entries": entries}


async def _taken(tab: Tab, kind: str, clear: bool) -> list[dict[str, Any]]:
    entries = list(tab.logs[kind])
    if clear:
        tab.logs[kind].clear()
    return entries
