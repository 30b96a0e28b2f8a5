"""A connection to an MCP server: opened and closed in one task, found dead at once, opened again by the next call."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from xun.errors import ToolError
from xun.mcp.complaints import Complaints
from xun.mcp.http import Answers, sends_events, server_address
from xun.mcp.listing import Listing
from xun.mcp.servers import McpServer
from xun.mcp.stdio import server_process
from xun.tools.stateful import StatefulTool

if TYPE_CHECKING:
    from mcp import Client, MCPError
    from mcp.types import CallToolResult

    from xun.tools.context import ToolCallContext

_BROKEN_OFF = ("Connection closed", "SSE stream")
_FORGOTTEN, _NAMELESS = "Session terminated", "Server returned an error response"  # of the package mcp
_SHOWN = 500
_LOGGERS = ("mcp", "client")
"""What the package mcp logs to; its session of a client does by the second name."""


class _Watched:
    """The messages of a server; *ended* is called when there will be no more."""

    def __init__(self, stream: Any, listing: Listing, ended: Callable[[], None]) -> None:
        self._stream, self._listing, self._ended = stream, listing, ended

    async def receive(self) -> Any:
        try:
            return self._listing.seen(await self._stream.receive())
        except Exception:
            self._ended()
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return self._listing.seen(await self._stream.__anext__())
        except BaseException:
            self._ended()
            raise

    async def __aenter__(self) -> _Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> bool | None:
        leave: bool | None = await self._stream.__aexit__(*exc)
        return leave


class Link:
    """One connection. A task of its own opens and closes it, as the tasks inside it need.

    Attributes:
        dead: Whether it can be used no more.
        stale: Whether no more calls are to use it; it is closed once those that do are through.
        listing: What became of the tools that the server listed.
    """

    def __init__(self, server: McpServer) -> None:
        self.dead = self.stale = False
        self._calls = 0
        self.listing = Listing()
        self._server = server
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._complaints, self._answers = Complaints(), Answers()
        self._task = asyncio.create_task(self._hold())

    async def client(self) -> Client:
        """Return the client once it is connected.

        Raises:
            ToolError: The server can't be reached.
        """
        return await asyncio.shield(self._ready)

    def words(self) -> str:
        """Return the last line that the server complained by, in parentheses."""
        return self._complaints.last()

    @property
    def status(self) -> int:
        """The status by which the server refused the last message over HTTP; 0 when it did not."""
        return self._answers.refusal

    def refusal(self) -> str:
        """Return in words with which status the server refused the last message; "" when it did not."""
        return self._answers.described()

    async def close(self) -> None:
        """End the connection, and the server that was started for it."""
        self._stop.set()
        if not self._ready.done():
            self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({self._task})

    @property
    def open(self) -> bool:
        """Whether there is anything left to close."""
        return not self._task.done()

    def end(self) -> None:
        """Have the connection closed, and opened anew by the next call."""
        self.dead = True
        self._stop.set()

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """Have the connection kept for as long as a call takes, also when it gets stale."""
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            if self.stale and not self._calls:
                self.end()

    async def _hold(self) -> None:
        _keep_quiet()
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self._server.start_timeout):
                    client = await self._connected(stack)
                self._ready.set_result(client)
                await self._stop.wait()
        except Exception as exc:  # noqa: BLE001 - the boundary of foreign code
            self._failed(exc)
        finally:
            self.dead = True
            if not self._ready.done():
                self._ready.cancel()

    async def _connected(self, stack: AsyncExitStack) -> Client:
        if self._server.url:
            try:
                return await self._entered(stack, "auto")
            except Exception:
                # What this server can't do, one of 2024 may be able to do another way.
                if self._answers.refusal not in (400, 404, 405) or not await sends_events(self._server):
                    raise
            self._answers.refusal = 0
            return await self._entered(stack, "legacy", events=True)
        from mcp import MCPError
        from mcp.types import METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION

        try:
            # Many a server ends when its first message is not this one, so newer ways are tried second.
            return await self._entered(stack, "legacy")
        except MCPError as exc:
            if exc.code not in (METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION):
                raise
        return await self._entered(stack, "auto")

    async def _entered(self, stack: AsyncExitStack, mode: str, *, events: bool = False) -> Client:
        from mcp import Client

        self._stop.clear()
        client = Client(self._streams(events), mode=mode, cache=None)
        await stack.enter_async_context(client)
        self.dead = False
        return client

    @asynccontextmanager
    async def _streams(self, events: bool) -> AsyncGenerator[tuple[Any, Any], None]:
        server = self._server
        if server.command:
            from xun_policies.shell.environment import child_environment

            env = {**child_environment(os.environ), **(server.env or {})}
            # A server starts before anybody was asked about the folder: not by a program that lies there.
            # An empty PATH would mean the current folder, too.
            folders = filter(os.path.isabs, env.get("PATH", os.defpath).split(os.pathsep))
            env["PATH"] = os.pathsep.join(folders) or os.defpath
            cwd = None if server.cwd is None else os.fspath(server.cwd)
            async with server_process(server.command, env, cwd, self._complaints) as (output, given):
                yield _Watched(output, self.listing, self.end), given
        else:
            async with server_address(server, self._answers, events=events) as (read, write):
                yield _Watched(read, self.listing, self.end), write

    def _failed(self, exc: BaseException) -> None:
        if self._ready.done():
            return  # it ended badly, after all calls
        why = self.refusal() or _why(exc) or f"it was not ready within {self._server.start_timeout:g} s"
        error = ToolError(f"The MCP server {self._server.name} can't be used: {why}{self.words()}")
        self._ready.set_exception(error)
        self._ready.exception()  # nobody may be waiting for it any more


def _keep_quiet() -> None:
    """Keep what the package mcp logs of bad messages off standard error; handlers of the application still get it."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


def _leaves(exc: BaseException) -> Iterator[BaseException]:
    if isinstance(exc, BaseExceptionGroup):
        for inner in exc.exceptions:
            yield from _leaves(inner)
    else:
        yield exc


def _why(exc: BaseException) -> str:
    """Return what went wrong; "" for a time limit."""
    first = next(_leaves(exc))
    if isinstance(first, TimeoutError):
        return ""
    return short(first)


def short(exc: BaseException) -> str:
    """Return what *exc* says on one line, of a check of many the first and where it failed."""
    errors = getattr(exc, "errors", None)
    if callable(errors):
        found = errors(include_url=False, include_input=False)
        if found:
            return f"{'.'.join(str(part) for part in found[0]['loc'])}: {found[0]['msg']}"[:_SHOWN]
    return _line(str(exc)) or type(exc).__name__


def _line(text: str) -> str:
    return " ".join(text.split())[:_SHOWN]


class Connection(StatefulTool):
    """The connection of one agent to one server, kept between calls, which run side by side."""

    concurrent = True

    def __init__(self, config: McpServer) -> None:
        super().__init__(config)
        self._links: list[Link] = []

    async def start(self) -> None:
        """Connect."""
        link = self._fresh()
        try:
            await link.client()
        except BaseException:
            await link.close()
            raise

    async def close(self) -> None:
        """End the connection, and the server with it."""
        for link in self._links:
            await link.close()

    def _fresh(self) -> Link:
        # No wait between the look and the new one: calls side by side share what the first of them opens.
        if not self._links or self._links[-1].dead or self._links[-1].stale:
            self._links = [*(link for link in self._links if link.open), Link(self.config)]
        return self._links[-1]

    async def run(self, ctx: ToolCallContext[Any], args: Any) -> CallToolResult:
        """Call the tool ``args[0]`` with the arguments ``args[1]``.

        Raises:
            ToolError: The server can't be reached, ended, or refused the call.
        """
        tool, arguments = args
        for _ in range(2):
            link = self._fresh()
            with link.call():
                result = await self._attempt(link, ctx, tool, arguments)
            if result is not None:
                return result
        raise ToolError(f"The MCP server {self.config.name} forgot who calls {tool}, twice; nothing was carried out.")

    async def _attempt(
        self, link: Link, ctx: ToolCallContext[Any], tool: str, arguments: dict[str, Any]
    ) -> CallToolResult | None:
        """Return the answer; None where the server had forgotten us, so that another attempt makes sense."""
        import anyio
        from mcp import MCPError
        from pydantic import ValidationError

        name, client = self.config.name, await link.client()
        try:
            return await _called(client, tool, arguments, _shown(ctx))
        except MCPError as exc:
            if exc.message == _FORGOTTEN and link.status == 404:
                link.stale = True
                return None  # it carried nothing out
            if (text := self._refusal(link, tool, exc)) is not None:
                raise ToolError(text) from exc
            cause: Exception = exc
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError) as exc:
            cause = exc
        except (ValidationError, RuntimeError) as exc:
            raise ToolError(f"The MCP server {name} gave no valid result for {tool}: {short(exc)}") from exc
        link.end()
        raise ToolError(
            f"The MCP server {name} ended during the call of {tool}, which may have been carried out; "
            f"the next call {'connects' if self.config.url else 'starts it'} again{link.words()}."
        ) from cause

    def _refusal(self, link: Link, tool: str, exc: MCPError) -> str | None:
        """Return why the server did not carry out a call; None when it ended instead."""
        from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST, PARSE_ERROR

        # Servers use the code for a closed connection for whatever they like.
        if link.dead or (exc.code == CONNECTION_CLOSED and exc.message.startswith(_BROKEN_OFF)):
            return None
        name = self.config.name
        if exc.code == PARSE_ERROR:
            return f"The MCP server {name} gave no valid result for {tool}: {_line(exc.message)}"
        why = exc.message
        if self.config.url and (exc.code == INVALID_REQUEST or link.status):
            # So a server answers that has forgotten this connection, as after its restart; or that is busy, and then
            # it goes on with the calls beside this one.
            link.stale = True
            why = link.refusal() if why == _NAMELESS else why
        return f"The MCP server {name} refused the call of {tool}: {why}"


async def _called(client: Client, tool: str, arguments: dict[str, Any], show: Any) -> CallToolResult:
    from mcp import MCPError
    from mcp.types import HEADER_MISMATCH, CallToolRequest, CallToolRequestParams, CallToolResult

    # Not by call_tool: that lists the tools again after the first call of each, and loses an answer over it.
    request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))
    for again in (False, True):
        try:
            return await client.session.send_request(request, CallToolResult, progress_callback=show)
        except MCPError as exc:
            if exc.code != HEADER_MISMATCH or again:
                raise
        await client.list_tools()  # which parameters are headers, too, is said there
    raise AssertionError("the second attempt returns or raises")


def _shown(ctx: ToolCallContext[Any]) -> Any:
    async def show(progress: float, total: float | None, message: str | None) -> None:
        part = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        ctx.emit(f"{message} ({part})" if message else part)

    return show
