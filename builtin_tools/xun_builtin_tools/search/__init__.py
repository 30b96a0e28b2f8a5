"""The search group: `glob` finds paths, `grep` finds text in files; `web_fetch` and `web_search` look outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xun_builtin_tools.search.engine import SearchOptions
    from xun_builtin_tools.web.pages import WebOptions


def tools(options: SearchOptions | None = None, web: WebOptions | None = None) -> list[Callable[..., Any]]:
    """Return the functions of the group.

    Args:
        options: How searches are made; None for the usual way.
        web: How the web is reached; None for the usual way.
    """
    from xun_builtin_tools.search.functions import SearchTools
    from xun_builtin_tools.web.fetching import WebFetch
    from xun_builtin_tools.web.searching import WebSearch

    search = SearchTools(options)
    return [search.glob, search.grep, WebFetch(web).web_fetch, WebSearch(web).web_search]
