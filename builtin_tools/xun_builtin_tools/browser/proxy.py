"""The way out of the browser: a proxy on the loopback that connects to checked addresses only.

The interception of requests does not see redirects, and Chromium would look names up once more by itself. All that
it sends, web sockets included, comes through here instead, and goes to the very address that was checked.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any
from urllib.parse import urlsplit

from xun.errors import ToolError
from xun_builtin_tools.browser.reach import NotForPages, Reach, place_of
from xun_builtin_tools.web.target import Target

_HEAD = 256 * 1024
_HEAD_SECONDS = 30.0
_CONNECT_SECONDS = 10.0
_CHUNK = 65536
_TRIES = 4
_HOP = (b"proxy-connection", b"proxy-authorization", b"connection", b"keep-alive")


class Proxy:
    """An HTTP proxy for one browser; made and used in one event loop."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def start(self) -> str:
        """Listen, and return the URL of the proxy."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_HEAD)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        """Stop listening and cut all connections."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in list(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        url = ""
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_SECONDS)
            method, where, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
            url = _connect_url(where) if method == "CONNECT" else where
            await self._forward(method, url, head, reader, writer)
        except NotForPages:
            return
        except ToolError as exc:
            # Cut, not answered: an answer would look like one of the host's.
            self._reach.refuse(url, str(exc))
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass
        finally:
            await _shut(writer)

    async def _forward(
        self, method: str, url: str, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        target = place_of(url)
        back, out = await self._connect(target)
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                await _both(_copy(reader, out), _copy(back, writer))
            else:
                request, length = _rewritten(method, url, head)
                out.write(request)
                # One request for each connection: the next one may be for another host.
                await _both(_copy(reader, out, length), _copy(back, writer))
        finally:
            await _shut(out)

    async def _connect(self, target: Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        failure: Exception = OSError("no address")
        for address in (await self._reach.resolved(target))[:_TRIES]:
            try:
                back, out = await asyncio.wait_for(asyncio.open_connection(address, target.port), _CONNECT_SECONDS)
                if self._reach.is_closed_to(out.get_extra_info("socket"), address):
                    out.close()
                    raise ToolError(f"{address} is an address of this machine, which no page reaches.")
                return back, out
            except (OSError, TimeoutError) as exc:
                failure = exc
        raise ToolError(f"No connection to {target.place}: {str(failure) or type(failure).__name__}.")


def _connect_url(where: str) -> str:
    return f"{'http' if where.endswith(':80') else 'https'}://{where}/"


def _rewritten(method: str, url: str, head: bytes) -> tuple[bytes, int]:
    """Return the head as the host itself is asked, and the bytes of the body that follow; -1 when not known."""
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{method} {path} HTTP/1.1".encode("latin-1")]
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name = line.partition(b":")[0].strip().lower()
        if not line or name in _HOP:
            continue
        if name == b"content-length":
            length = int(line.partition(b":")[2])
        elif name == b"transfer-encoding":
            length = -1
        lines.append(line)
    return b"\r\n".join([*lines, b"Connection: close", b"", b""]), length


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: int = -1) -> bool:
    """Pass on *left* bytes, or all; tell whether the reader came to its end."""
    while left:
        data = await reader.read(_CHUNK if left < 0 else min(_CHUNK, left))
        if not data:
            with contextlib.suppress(OSError):
                if writer.can_write_eof():
                    writer.write_eof()
            return True
        writer.write(data)
        await writer.drain()
        left -= len(data) if left > 0 else 0
    return False


async def _both(up: Coroutine[Any, Any, bool], down: Coroutine[Any, Any, bool]) -> None:
    """Run both directions; the end of what comes back ends both."""
    sending = asyncio.ensure_future(up)
    receiving = asyncio.ensure_future(down)
    try:
        await receiving
    finally:
        for task in (sending, receiving):
            task.cancel()
        await asyncio.gather(sending, receiving, return_exceptions=True)


async def _shut(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError, TimeoutError, asyncio.CancelledError):
        await asyncio.wait_for(writer.wait_closed(), 1.0)
