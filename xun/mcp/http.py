"""An MCP server at an address: streamable HTTP, or the older way by server-sent events where that is all there is."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from xun.mcp.lines import MAX_MESSAGE

if TYPE_CHECKING:
    import httpx2

    from xun.mcp.servers import McpServer

_EVENTS = "text/event-stream"
_REFUSALS = {
    401: "it wants to know who asks: give it its key by headers, such as Authorization",
    403: "it does not let these headers in",
    404: "there is nothing at this address",
    429: "it was asked too often",
}


class Answers:
    """What a server answered over HTTP, for error texts.

    Attributes:
        refusal: The status of the last answer, from 400 on; 0 when it was none.
    """

    def __init__(self) -> None:
        self.refusal = 0

    def described(self) -> str:
        """Return the last refusal in words; "" when there was none."""
        if not self.refusal:
            return ""
        why = _REFUSALS.get(self.refusal, "")
        return f"it answered with status {self.refusal}" + (f": {why}" if why else "")

    async def note(self, response: httpx2.Response) -> None:
        """Take note of *response*, and hold its body to the limit of a message."""
        if response.request.method == "POST":
            self.refusal = response.status_code if response.status_code >= 400 else 0
        if not response.headers.get("content-type", "").lower().startswith(_EVENTS):
            _bound(response)


def _bound(response: httpx2.Response) -> None:
    import httpx2

    packed = response.headers.get("content-encoding", "identity").lower() not in ("", "identity")

    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            if packed:  # a few bytes can unpack to any number
                raise httpx2.StreamError("it is compressed, which was not asked for")
            size = 0
            async for piece in self._stream:
                size += len(piece)
                if size > MAX_MESSAGE:
                    raise httpx2.StreamError(f"it is longer than {MAX_MESSAGE // 1024 // 1024} MB")
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    response.stream = Bounded(response.stream)


def _client(server: McpServer, answers: Answers) -> httpx2.AsyncClient:
    import httpx2

    headers = {"Accept-Encoding": "identity", **(server.headers or {})}
    # A server may be silent for as long as a call takes, which has a limit of its own.
    limits = httpx2.Timeout(server.start_timeout, read=None)
    return httpx2.AsyncClient(headers=headers, timeout=limits, event_hooks={"response": [answers.note]})


@asynccontextmanager
async def server_address(server: McpServer, answers: Answers, *, events: bool) -> AsyncGenerator[tuple[Any, Any]]:
    """Connect to *server*; with *events* in the way of 2024, by server-sent events."""
    url = str(server.url)
    if events:
        from mcp.client.sse import sse_client

        def made(headers: Any = None, timeout: Any = None, auth: Any = None) -> httpx2.AsyncClient:
            return _client(server, answers)

        streams: AbstractAsyncContextManager[Any] = sse_client(url, httpx_client_factory=made)
        async with streams as (read, write):
            yield read, write
        return
    from mcp.client.streamable_http import streamable_http_client

    async with (
        _client(server, answers) as http,
        streamable_http_client(url, http_client=http, max_sse_event_size=MAX_MESSAGE) as (read, write),
    ):
        yield read, write


async def sends_events(server: McpServer) -> bool:
    """Tell whether a server that refuses streamable HTTP can be talked to by server-sent events."""
    import httpx2

    try:
        async with (
            _client(server, Answers()) as http,
            http.stream("GET", str(server.url), headers={"Accept": _EVENTS}) as response,
        ):
            kind: str = response.headers.get("content-type", "")
            return response.status_code == 200 and kind.lower().startswith(_EVENTS)
    except httpx2.HTTPError:
        return False
