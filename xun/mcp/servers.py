"""McpServer: which MCP server to use, and how to reach it."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from os import PathLike

from xun.errors import ConfigError

CALL_TIMEOUT = 120.0
"""Seconds that a call may take unless the server says otherwise."""

START_TIMEOUT = 30.0
"""Seconds until a server has to be ready."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}\Z")


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server: a command that speaks over its standard streams, or an address (streamable HTTP).

    Attributes:
        name: The prefix of its tools: ``files`` makes ``read`` the tool ``files__read``.
        command: The program and its arguments; there is no shell.
        env: Variables of the program over the few that every command gets; secrets of this process are not among them.
        cwd: Its working folder; None for the current one.
        url: The address instead of a command.
        headers: What is sent with every request to the address, such as an authorization.
        timeout: Seconds for one call; None for the limit of the toolbox.
        start_timeout: Seconds until it has to be ready.

    Raises:
        ConfigError: The name is none that can be a prefix, or there is not exactly one of command and url.
    """

    name: str
    _: KW_ONLY
    command: Sequence[str] | None = None
    env: Mapping[str, str] | None = None
    cwd: str | PathLike[str] | None = None
    url: str | None = None
    headers: Mapping[str, str] | None = None
    timeout: float | None = CALL_TIMEOUT
    start_timeout: float = START_TIMEOUT

    def __post_init__(self) -> None:
        if not _NAME.match(self.name) or "__" in self.name:
            raise ConfigError(
                f"The name of an MCP server is 1 to 32 letters, digits, '-' and single '_', a letter first; "
                f"got {self.name!r}."
            )
        if isinstance(self.command, str):
            raise ConfigError(f"MCP server {self.name}: command is a list, the program and its arguments.")
        if bool(self.command) == bool(self.url):
            raise ConfigError(f"MCP server {self.name}: give either command or url.")
        if self.url and not re.match(r"https?://[^/\s]", self.url):
            raise ConfigError(f"MCP server {self.name}: {self.url!r} is no http address.")
        if self.url and (self.env is not None or self.cwd is not None):
            raise ConfigError(f"MCP server {self.name}: env and cwd are for a command; there is none for a url.")
        if self.command and self.headers is not None:
            raise ConfigError(f"MCP server {self.name}: headers are for a url; give a command its secrets by env.")


def require_mcp() -> None:
    """Return when the package mcp is there.

    Raises:
        ConfigError: It is not; the text says how to install it.
    """
    if importlib.util.find_spec("mcp") is None:
        raise ConfigError("MCP needs the package mcp, which is not installed: pip install 'mcp>=2.3,<3'.")
