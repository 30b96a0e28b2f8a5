"""What a client sends to a server of ours: its requests, and an answer to what is none."""

from __future__ import annotations

import contextlib
import json
from collections import deque
from typing import Any

from xun.mcp.lines import requests_of


class Requests:
    """The messages of a client; what is no request is answered as that, so that nobody waits for ever.

    Args:
        stream: What the package mcp reads: messages, and exceptions for lines that are none.
        write: Where answers go.
    """

    def __init__(self, stream: Any, write: Any) -> None:
        self._stream, self._write = stream, write
        self._ready: deque[Any] = deque()
        self.last_context: Any = None

    async def receive(self) -> Any:
        """Return the next message."""
        while not self._ready:
            item = await self._stream.receive()
            self.last_context = getattr(self._stream, "last_context", None)
            if not isinstance(item, Exception):
                return item
            await self._repair(item)
        return self._ready.popleft()

    async def _repair(self, fault: Exception) -> None:
        import anyio
        from mcp.shared.message import SessionMessage
        from pydantic import ValidationError

        given = fault.errors(include_url=False)[0]["input"] if isinstance(fault, ValidationError) else ""
        line = given if isinstance(given, str) else json.dumps(given)
        if not line.strip():
            return
        good, bad = requests_of(line)
        self._ready += map(SessionMessage, good)
        # A client that reads no more is gone; that its requests end is noticed next.
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            for refusal in bad:
                await self._write.send(SessionMessage(refusal))

    async def aclose(self) -> None:
        """Read no more."""
        await self._stream.aclose()

    def __aiter__(self) -> Requests:
        return self

    async def __anext__(self) -> Any:
        import anyio

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Requests:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()
