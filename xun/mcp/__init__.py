"""The Model Context Protocol, both ways: tools of MCP servers in a toolbox, and a toolbox as an MCP server.

Needs the package ``mcp`` (``xun[mcp]``), which is imported by the first connection; nothing else of xun imports it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xun.mcp.servers import McpServer as McpServer
    from xun.mcp.serving import aserve_mcp as aserve_mcp
    from xun.mcp.serving import serve_mcp as serve_mcp

_WHERE = {"McpServer": "xun.mcp.servers", "aserve_mcp": "xun.mcp.serving", "serve_mcp": "xun.mcp.serving"}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'xun.mcp' has no attribute {name!r}")
