"""The search group: `glob` finds paths, `grep` finds text in files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xun_builtin_tools.search.engine import SearchOptions


def tools(options: SearchOptions | None = None) -> list[Callable[..., Any]]:
    """Return the functions of the group.

    Args:
        options: How searches are made; None for the usual way.
    """
    from xun_builtin_tools.search.functions import SearchTools

    search = SearchTools(options)
    return [search.glob, search.grep]
