"""MCP servers of the settings: ``[mcp.servers.NAME]`` with a command or a url, connected into a session's toolbox."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from xun.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from xun.mcp.servers import McpServer
    from xun.tools.function import Function
    from xun.tools.toolbox import ToolBox

START_TIMEOUT = 15.0
"""Seconds that a server gets to be ready at the start of a session, unless its entry says otherwise."""

MANY = 20
"""The tools of a server with more than so many are found by search, so that they don't fill each request."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_ANY: Mapping[str, str] = MappingProxyType({})
"""Stands for an environment that has a value for every name: to look at an entry before it is used."""

_KEYS: dict[str, tuple[str, Any]] = {
    "command": ("a text", str),
    "args": ("a list of texts", list),
    "env": ("a table of texts", dict),
    "cwd": ("a text", str),
    "url": ("a text", str),
    "headers": ("a table of texts", dict),
    "timeout": ("a number of seconds", (int, float)),
    "start_timeout": ("a number of seconds", (int, float)),
    "enabled": ("true or false", bool),
}


def checked_servers(value: Any) -> dict[str, dict[str, Any]]:
    """Return the tables of ``[mcp.servers]`` as the setting holds them.

    Raises:
        ConfigError: One has an unknown key or a wrong value; the text names it.
    """
    if not isinstance(value, dict):
        raise ConfigError('"mcp.servers" must be a table with one table per server')
    for name, entry in value.items():
        if not isinstance(entry, dict):
            raise ConfigError(f'"mcp.servers.{name}" must be a table, with command or url')
        for key, item in entry.items():
            _check_entry(f"mcp.servers.{name}.{key}", key, item)
        server_of(name, entry, variables=_ANY)
    return {name: dict(entry) for name, entry in value.items()}


def _check_entry(where: str, key: str, item: Any) -> None:
    if key not in _KEYS:
        raise ConfigError(f'"{where}" is unknown; there are {", ".join(_KEYS)}')
    words, kind = _KEYS[key]
    right = isinstance(item, kind) and (kind is bool or not isinstance(item, bool))
    if right and isinstance(item, list | dict):
        inner = item if isinstance(item, list) else list(item.values())
        right = all(isinstance(text, str) for text in inner)
    if not right or (isinstance(item, int | float) and not isinstance(item, bool) and item <= 0):
        raise ConfigError(f'"{where}" must be {words}')


def names_variables(entry: dict[str, Any]) -> bool:
    """Tell whether *entry* wants variables of the environment in its texts."""
    return bool(_expanded(entry, _ANY, "") != entry)


def _expanded(value: Any, variables: Mapping[str, str] | None, where: str) -> Any:
    """Return *value* with ``${NAME}`` and ``${NAME:-instead}`` in its texts replaced."""
    if isinstance(value, dict):
        return {key: _expanded(item, variables, where) for key, item in value.items()}
    if isinstance(value, list):
        return [_expanded(item, variables, where) for item in value]
    return _VARIABLE.sub(lambda found: _value(found, variables, where), value) if isinstance(value, str) else value


def _value(found: re.Match[str], variables: Mapping[str, str] | None, where: str) -> str:
    if variables is _ANY:
        return "http://variable"
    name, instead = found[1], found[2]
    value = (os.environ if variables is None else variables).get(name) or instead
    if value is None:
        raise ConfigError(f"{where}: the variable {name} is not set; set it, or give a value by ${{{name}:-VALUE}}.")
    return value


def server_of(
    name: str, entry: dict[str, Any], folder: Path | None = None, variables: Mapping[str, str] | None = None
) -> McpServer:
    """Return the server that *entry* describes; without a cwd of its own its command runs in *folder*.

    Args:
        name: Its name.
        entry: Its table. ``${NAME}`` in a text stands for the variable of that name.
        folder: See above.
        variables: Where those are looked up; None for the environment of this process.

    Raises:
        ConfigError: The name or the entry is none that can be used, or a variable is not set.
    """
    from xun.mcp.servers import CALL_TIMEOUT, McpServer

    entry = _expanded(entry, variables, f"MCP server {name}")

    command = [entry["command"], *entry.get("args", ())] if entry.get("command") else None
    if command is None and entry.get("args"):
        raise ConfigError(f"MCP server {name}: args are for a command; there is none.")
    cwd = entry.get("cwd") or (str(folder) if folder is not None and command else None)
    return McpServer(
        name,
        command=command,
        env=entry.get("env"),
        cwd=cwd if command else entry.get("cwd"),
        url=entry.get("url"),
        headers=entry.get("headers"),
        timeout=float(entry.get("timeout", CALL_TIMEOUT)),
        start_timeout=float(entry.get("start_timeout", START_TIMEOUT)),
    )


@dataclass(slots=True)
class ServerState:
    """One server of a session.

    Attributes:
        name: Its name.
        entry: Its table of the settings.
        enabled: Whether its tools are wanted.
        tools: The names of its tools in the toolbox.
        problem: Why it could not be used, or "".
        left_out: One sentence for each tool of it that can't be used.
    """

    name: str
    entry: dict[str, Any]
    enabled: bool = True
    tools: list[str] = field(default_factory=list)
    problem: str = ""
    left_out: list[str] = field(default_factory=list)

    @property
    def where(self) -> str:
        """The command or address, without what may be a secret."""
        from xun_cli.session.redaction import redact

        if self.entry.get("url"):
            return redact(str(self.entry["url"]).partition("?")[0])
        return redact(" ".join([str(self.entry.get("command", "")), *map(str, self.entry.get("args", ()))]))


class McpServers:
    """The servers of one session. All methods block, and may be called from any thread.

    Args:
        servers: The tables of the settings, by name.
        box: The toolbox that gets their tools.
        folder: Where commands run that name no folder.
    """

    def __init__(self, servers: dict[str, dict[str, Any]], box: ToolBox, folder: Path) -> None:
        self.states = {
            name: ServerState(name, entry, bool(entry.get("enabled", True))) for name, entry in servers.items()
        }
        self._box, self._folder = box, folder
        self._lock = threading.Lock()

    def connect(self, *names: str) -> list[ServerState]:
        """Ask the enabled servers of these names, all when none is given, for their tools; return their states.

        One that can't be used is left out, and its state says why.
        """
        with self._lock:
            wanted = [state for name, state in self.states.items() if state.enabled and (not names or name in names)]
            if not wanted:
                return []
            with ThreadPoolExecutor(len(wanted)) as pool:
                listed = list(pool.map(self._listed, wanted))
            for state, tools in zip(wanted, listed, strict=True):
                self._take(state, tools)
            return wanted

    def disconnect(self, name: str) -> ServerState:
        """Take the tools of a server out of the toolbox.

        Raises:
            KeyError: There is no such server.
        """
        with self._lock:
            state = self.states[name]
            state.enabled = False
            self._drop(state)
            return state

    def _listed(self, state: ServerState) -> list[Function] | str:
        from xun.mcp.tools import mcp_tools

        try:
            state.left_out = []
            return mcp_tools([server_of(state.name, state.entry, self._folder)], state.left_out)
        except ConfigError as exc:
            return str(exc)

    def _take(self, state: ServerState, found: list[Function] | str) -> None:
        self._drop(state)
        state.problem = found if isinstance(found, str) else ""
        if isinstance(found, str):
            return
        try:
            self._box.register(*found)
        except ValueError as exc:  # a schema is not usable, or another tool has the name
            state.problem = str(exc)
            return
        state.tools = [tool.name for tool in found]
        if len(found) > MANY:
            self._box.defer(*state.tools)

    def _drop(self, state: ServerState) -> None:
        for name in state.tools:
            self._box.pop(name)
        state.tools = []
