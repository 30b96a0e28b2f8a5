"""The built-in tool groups, loaded by name.

`ToolBox.with_defaults` lives below the groups that it registers, so they are named by text.
A contract test loads every row.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, cast

from xun.errors import ConfigError
from xun.tools.attr import attr_of

GROUPS: dict[str, str] = {
    "system": "xun_builtin_tools.system",
    "framework": "xun_builtin_tools.framework",
    "fs": "xun_builtin_tools.fs",
    "patch": "xun_builtin_tools.patch",
    "cmd": "xun_builtin_tools.cmd",
    "search": "xun_builtin_tools.search",
    "code": "xun_builtin_tools.code",
    "browser": "xun_builtin_tools.browser",
    "diagnostic": "xun_builtin_tools.diagnostic",
}
"""Group name to the module whose ``tools()`` lists its functions."""

OPTIONAL: dict[str, str] = {
    "editor": "xun_builtin_tools.editor",
    "finish": "xun_builtin_tools.finishing",
    "history": "xun_builtin_tools.history_tools",
}
"""Groups that are there only when they are named."""

ENTRY_POINTS = "xun.tool_groups"
"""The entry point group of installed tool groups; each entry names a list, a function or a module with ``tools``."""

SUBAGENTS = "xun_builtin_tools.subagents"
"""The module that makes the sub-agent tools."""

USUAL = (*GROUPS, "agents")
"""What a start registers when nobody names groups; ``agents`` stands for the sub-agent tools."""


def checked_groups(names: Iterable[str]) -> tuple[str, ...]:
    """Return *names* when each is a group: xun's own, ``agents``, or one of an installed package.

    Raises:
        ValueError: One is none; the text names those that there are.
    """
    found = tuple(names)
    for name in found:
        if name not in USUAL and name not in OPTIONAL:
            from importlib.metadata import entry_points

            installed = sorted(entry_points(group=ENTRY_POINTS).names)
            if name not in installed:
                known = ", ".join([*USUAL, *OPTIONAL, *installed])
                raise ValueError(f'no tool group named "{name}"; the groups are {known}')
    return found


def load_group(name: str) -> list[Callable[..., Any]]:
    """Return the functions of a group: xun's own, or one of an installed package.

    Raises:
        ValueError: No such group; the text names those that there are.
        ConfigError: The group of an installed package can't be loaded; a ValueError too.
    """
    path = GROUPS.get(name) or OPTIONAL.get(name)
    if path is None:
        return _installed(name)
    return cast("list[Callable[..., Any]]", importlib.import_module(path).tools())


def _installed(name: str) -> list[Callable[..., Any]]:
    from importlib.metadata import entry_points

    found = list(entry_points(group=ENTRY_POINTS, name=name))
    if not found:
        known = ", ".join([*GROUPS, *OPTIONAL, *sorted(entry_points(group=ENTRY_POINTS).names)])
        raise ValueError(f"No tool group named {name!r}; the groups are {known}")
    try:
        group = found[0].load()
    except (ImportError, AttributeError) as exc:
        raise ConfigError(f"The tool group {name!r} of {found[0].value} can't be loaded: {exc}") from exc
    make = getattr(group, "tools", group)
    tools = make() if callable(make) else make
    if not isinstance(tools, list | tuple):
        raise ConfigError(
            f"The tool group {name!r} names {found[0].value}, which must be a list of tools, a function that returns "
            "one, or a module with such a function named tools."
        )
    return list(tools)


def built_in(name: str) -> Callable[..., Any] | None:
    """Return the function of xun's own tool of this name, or None; loads the groups up to its own."""
    for group in (*GROUPS, *OPTIONAL):
        for func in load_group(group):
            if (attr_of(func).name or func.__name__) == name:
                return func
    return None


def load_subagent_tools(agent_getter: Any, max_depth: int) -> list[Callable[..., Any]]:
    """Return the sub-agent tools bound to *agent_getter*."""
    return cast("list[Callable[..., Any]]", importlib.import_module(SUBAGENTS).tools(agent_getter, max_depth))
