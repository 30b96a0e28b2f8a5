"""The MCP servers that an editor names, as the settings of xun have them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from acp.schema import HttpMcpServer, McpServerStdio, SseMcpServer


def server_entries(servers: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """Return the MCP servers of the editor as the settings have them; one that can't be used is told when it is."""
    entries: dict[str, dict[str, Any]] = {}
    for server in servers:
        if isinstance(server, McpServerStdio):
            env = {item.name: item.value for item in server.env}
            entry = {"command": server.command, "args": list(server.args), "env": env}
        elif isinstance(server, HttpMcpServer | SseMcpServer):
            entry = {"url": server.url, "headers": {item.name: item.value for item in server.headers}}
        else:
            continue
        entries[_server_name(server.name, entries)] = entry
    return entries


def _server_name(text: str, taken: Collection[str]) -> str:
    """Return the editor's name of a server as one that can begin the names of its tools."""
    word = re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_-]+", "-", text)).strip("-_")
    word = (word if word[:1].isalpha() else f"mcp-{word}")[:28].rstrip("-_")
    number = 2
    name = word
    while name in taken:
        name, number = f"{word}-{number}", number + 1
    return name
