"""JSON objects, one to a line, over two pipes; what is no such line is answered with an error and skipped."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from typing import Any, BinaryIO

from acp.exceptions import RequestError

from xun_cli.session.lines import to_line

LINE_LIMIT = 50_000_000
"""Bytes of one message: a prompt may carry pictures."""


class Lines:
    """The transport of a connection.

    Args:
        reader: What the editor writes.
        writer: What it reads.
        limit: Bytes of one message, as the reader has it.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int) -> None:
        self._reader, self._writer, self._limit = reader, writer, limit
        self._sending = asyncio.Lock()

    @classmethod
    async def over(cls, incoming: BinaryIO, outgoing: BinaryIO, *, limit: int = LINE_LIMIT) -> Lines:
        """Take over two open pipes or sockets; *limit* is the most bytes of one message.

        Raises:
            ValueError: One of them is neither.
        """
        for file in (incoming, outgoing):
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISFIFO(mode) and not stat.S_ISSOCK(mode):
                raise ValueError("not a pipe")
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=limit)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), incoming)
        transport, protocol = await loop.connect_write_pipe(lambda: asyncio.streams.FlowControlMixin(loop), outgoing)
        return cls(reader, asyncio.StreamWriter(transport, protocol, None, loop), limit)

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None when the editor is gone."""
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                line = end.partial
            except asyncio.LimitOverrunError as too_long:
                await self._skip(too_long.consumed)
                await self._refuse(RequestError.invalid_request({"limit": self._limit}))
                continue
            except ConnectionError:
                return None
            if not line:
                return None
            if (message := await self._message(line)) is not None:
                return message

    async def _skip(self, size: int) -> None:
        while True:
            await self._reader.readexactly(size)
            try:
                await self._reader.readuntil(b"\n")
            except asyncio.LimitOverrunError as more:
                size = more.consumed
            except asyncio.IncompleteReadError:
                return
            else:
                return

    async def _message(self, line: bytes) -> dict[str, Any] | None:
        if not line.strip():
            return None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            await self._refuse(RequestError.parse_error())
            return None
        method = message.get("method") if isinstance(message, dict) else None
        if not isinstance(message, dict) or not (isinstance(method, str) or (method is None and "id" in message)):
            await self._refuse(RequestError.invalid_request())
            return None
        return message

    async def _refuse(self, error: RequestError) -> None:
        await self.send({"jsonrpc": "2.0", "id": None, "error": error.to_error_obj()})

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message whole.

        Raises:
            ConnectionError: The editor is gone.
        """
        async with self._sending:
            self._writer.write(to_line(message).encode() + b"\n")
            await self._writer.drain()

    async def close(self) -> None:
        """Close what the editor reads."""
        self._writer.close()
