"""An MCP server for tests: over standard streams, or over HTTP when a port is given."""

from __future__ import annotations

import asyncio
import os
import struct
import sys
import zlib
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp.types import ToolAnnotations


def png() -> bytes:
    """Return a picture of one dot."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


server = MCPServer("example")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def forecast(city: str) -> dict[str, str]:
    """Say the weather."""
    return {"city": city, "sky": "clear"}


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def drop(table: str) -> str:
    """Drop a table."""
    raise ValueError(f"there is no table {table}")


@server.tool(annotations=ToolAnnotations(read_only_hint=True), structured_output=False)
def picture() -> list[object]:
    """Draw a dot."""
    return ["a dot", Image(data=png(), format="png")]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def env(name: str) -> str:
    """Return a variable."""
    return os.environ.get(name, "(unset)")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def die() -> str:
    """End at once."""
    print("out of cheese", file=sys.stderr, flush=True)
    os._exit(3)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def pid() -> int:
    """Return the number of the process."""
    return os.getpid()


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def nap(seconds: float, mark: str = "") -> str:
    """Sleep; note in the file *mark* when that was cancelled."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        Path(mark).write_text("cancelled")
        raise
    return "rested"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
