"""The built-in tool groups, loaded by name.

`ToolBox.with_defaults` lives below the groups that it registers, so they are named by text.
A contract test loads every row.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, cast

GROUPS: dict[str, str] = {
    "system": "xun_builtin_tools.system",
    "framework": "xun_builtin_tools.framework",
    "fs": "xun_builtin_tools.fs",
    "patch": "xun_builtin_tools.patch",
    "cmd": "xun_builtin_tools.cmd",
    "search": "xun_builtin_tools.search",
    "code": "xun_builtin_tools.code",
}
"""Group name to the module whose ``tools()`` lists its functions."""

SUBAGENTS = "xun_builtin_tools.subagents"
"""The module that makes the sub-agent tools."""


def load_group(name: str) -> list[Callable[..., Any]]:
    """Return the functions of a group.

    Raises:
        ValueError: No such group; the text names those that there are.
    """
    path = GROUPS.get(name)
    if path is None:
        raise ValueError(f"No tool group named {name!r}; the groups are {', '.join(GROUPS)}")
    return cast("list[Callable[..., Any]]", importlib.import_module(path).tools())


def load_subagent_tools(agent_getter: Any, max_depth: int) -> list[Callable[..., Any]]:
    """Return the sub-agent tools bound to *agent_getter*."""
    return cast("list[Callable[..., Any]]", importlib.import_module(SUBAGENTS).tools(agent_getter, max_depth))
