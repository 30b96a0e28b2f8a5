"""The browser group: a headless Chromium for each agent, started at its first use (extra ``browser``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def tools() -> list[Callable[..., Any]]:
    """Return the functions of the group, in the order in which a model sees them; needs no playwright."""
    from xun_builtin_tools.browser.acting import browser_evaluate, browser_interact
    from xun_builtin_tools.browser.paging import browser_page, browser_resize
    from xun_builtin_tools.browser.reading import browser_logs, browser_snapshot
    from xun_builtin_tools.browser.screenshot import browser_screenshot

    return [
        browser_page,
        browser_resize,
        browser_snapshot,
        browser_interact,
        browser_evaluate,
        browser_logs,
        browser_screenshot,
    ]
