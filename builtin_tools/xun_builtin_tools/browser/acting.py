"""browser_interact and browser_evaluate."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal

from xun.errors import ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun.tools.dry import DryRun
from xun_builtin_tools.browser.common import acted, check_timeout, open_tab

if TYPE_CHECKING:
    from playwright.async_api import Page

EVALUATE_SECONDS = 20.0
"""How long an expression may take."""

MAX_VALUE = 1_000_000
"""Characters of a value, as JSON."""

_NEEDS = {
    "click": ("selector",),
    "fill": ("selector", "text"),
    "press": ("key",),
    "select": ("selector", "value"),
    "wait": (),
}
_TAKES = {"click": (), "fill": (), "press": ("selector",), "select": (), "wait": ("selector", "text")}


@tool_attr(deferred=True, sequential=True, search_hint="browser click button fill form type key press select wait page")
def browser_interact(
    ctx: ToolCallContext[Any],
    action: Literal["click", "fill", "press", "select", "wait"],
    selector: str | None = None,
    text: str | None = None,
    key: str | None = None,
    value: str | None = None,
    page_id: str | None = None,
    timeout_ms: int = 10_000,
) -> dict[str, Any]:
    """Do what a user of the page does.

    click needs selector; fill puts text in the field at selector; press sends key (Enter, Tab, Control+A) to selector
    or to what has the focus; select chooses the option with that value or label; wait waits until selector, or text,
    is to be seen. selector is CSS, text=Some words, or as browser_snapshot shows it: role=button[name="Save"]. It must
    fit one element: add >> nth=0 for the first. Links to new hosts are not followed: navigate there, which asks.
    Returns page_id, url and title, and what was refused."""
    seconds = check_timeout(timeout_ms)
    given = {
        name: item
        for name, item in (("selector", selector), ("text", text), ("key", key), ("value", value))
        if item is not None
    }
    _check_arguments(action, given)
    if ctx.dry_run:
        raise DryRun({"action": action, **given})
    session, tab = open_tab(ctx, page_id)
    return acted(ctx, session, tab, _work(tab.page, action, given, timeout_ms), seconds)[1]


def _check_arguments(action: str, given: dict[str, str]) -> None:
    missing = [name for name in _NEEDS[action] if name not in given]
    if missing or (action == "wait" and not given):
        raise ToolError(f"{action} needs {' and '.join(missing) or 'a selector or a text'}.")
    extra = [name for name in given if name not in (*_NEEDS[action], *_TAKES[action])]
    if extra or (action == "wait" and len(given) > 1):
        raise ToolError(f"{action} does not take {', '.join(extra) or 'both selector and text'}.")


def _work(page: Page, action: str, given: dict[str, str], timeout: int) -> Callable[[], Awaitable[Any]]:
    at = page.locator(given.get("selector", "body"))

    async def work() -> None:
        if action == "click":
            await at.click(timeout=timeout)
        elif action == "fill":
            await at.fill(given["text"], timeout=timeout)
        elif action == "press" and "selector" in given:
            await at.press(given["key"], timeout=timeout)
        elif action == "press":
            await page.keyboard.press(given["key"])
        elif action == "select":
            await at.select_option(given["value"], timeout=timeout)
        else:
            wanted = at if "selector" in given else page.get_by_text(given["text"])
            await wanted.first.wait_for(timeout=timeout)
        if not page.is_closed():
            # A click may have begun to load another page.
            await page.wait_for_load_state("domcontentloaded", timeout=timeout)

    return work


@tool_attr(deferred=True, sequential=True, search_hint="browser javascript js console run code page dom evaluate")
def browser_evaluate(ctx: ToolCallContext[Any], expression: str, page_id: str | None = None) -> dict[str, Any]:
    """Evaluate a JavaScript expression, or a function like () => document.title, in a page, and return its JSON value.

    A promise is waited for, 20 s at most. From then on, until it is loaded anew by navigate or reload, the page
    reaches only hosts that it used before or that the person allowed."""
    if ctx.dry_run:
        raise DryRun({"expression": expression})
    session, tab = open_tab(ctx, page_id)

    async def work() -> Any:
        session.tabs.taint()
        try:
            return await asyncio.wait_for(tab.page.evaluate(expression), EVALUATE_SECONDS)
        except TimeoutError:
            await session.abandon(tab)
            raise ToolError(f"The expression did not end within {EVALUATE_SECONDS:g} s; its page was closed.") from None

    value, row = acted(ctx, session, tab, work, EVALUATE_SECONDS)
    return {**row, "value": _json(value)}


def _json(value: Any) -> Any:
    try:
        text = json.dumps(value, default=str, allow_nan=False)
    except (ValueError, RecursionError):
        raise ToolError(
            "The value is no JSON: it holds itself, or a number that JSON lacks. Return its parts, or a string."
        ) from None
    if len(text) > MAX_VALUE:
        raise ToolError(f"The value has {len(text):,} characters; {MAX_VALUE:,} is the limit. Return a part of it.")
    return json.loads(text)
