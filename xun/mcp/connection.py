"""A connection to an MCP server: opened and closed in one task, found dead at once, opened again by the next call."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from xun.errors import ToolError
from xun.mcp.servers import McpServer
from xun.tools.stateful import StatefulTool

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

    from xun.tools.context import ToolCallContext

_KEPT = 4096
_SHOWN = 300


class Complaints:
    """What a server writes to its standard error; the end of it is kept for error texts, nothing is printed."""

    def __init__(self) -> None:
        self._text = b""
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._read, self._more)
        self.file = os.fdopen(self._write, "w", encoding="utf-8")

    def _more(self) -> None:
        if self.file.closed:
            return
        try:
            data = os.read(self._read, 65536)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._read)
        self._text = (self._text + data)[-_KEPT:]

    def last(self) -> str:
        """Return the last line, in parentheses; "" when there is none."""
        self._more()
        lines = self._text.decode("utf-8", "replace").split("\n")
        line = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f" (its last words: {line[-_SHOWN:]})" if line else ""

    def close(self) -> None:
        """Stop reading; what was read stays."""
        self._more()
        self.file.close()
        self._loop.remove_reader(self._read)
        os.close(self._read)


class _Watched:
    """The messages of a server; *ended* is called when there will be no more."""

    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:
        self._stream, self._ended = stream, ended

    async def receive(self) -> Any:
        try:
            return await self._stream.receive()
        except Exception:
            self._ended()
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._ended()
            raise

    async def __aenter__(self) -> _Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> bool | None:
        leave: bool | None = await self._stream.__aexit__(*exc)
        return leave


@asynccontextmanager
async def _streams(
    server: McpServer, complaints: Complaints, ended: Callable[[], None]
) -> AsyncGenerator[tuple[Any, Any], None]:
    async with AsyncExitStack() as stack:
        if server.command:
            from mcp.client.stdio import StdioServerParameters, stdio_client

            from xun_policies.shell.environment import child_environment

            program, *args = server.command
            env = {**child_environment(os.environ), **(server.env or {})}
            # A server starts before anybody was asked about the folder: not by a program that lies there.
            env["PATH"] = os.pathsep.join(filter(os.path.isabs, env.get("PATH", os.defpath).split(os.pathsep)))
            cwd = None if server.cwd is None else os.fspath(server.cwd)
            params = StdioServerParameters(command=program, args=args, env=env, cwd=cwd)
            read, write = await stack.enter_async_context(stdio_client(params, errlog=complaints.file))
        else:
            import httpx2
            from mcp.client.streamable_http import streamable_http_client

            # A server may be silent for as long as a call takes, which has a limit of its own.
            limits = httpx2.Timeout(server.start_timeout, read=None)
            http = httpx2.AsyncClient(headers=dict(server.headers or {}), timeout=limits)
            http = await stack.enter_async_context(http)
            read, write = await stack.enter_async_context(streamable_http_client(str(server.url), http_client=http))
        yield _Watched(read, ended), write


class Link:
    """One connection. A task of its own opens and closes it, as the tasks inside it need."""

    def __init__(self, server: McpServer) -> None:
        self.dead = False
        self._server = server
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._complaints = Complaints()
        self._task = asyncio.create_task(self._hold())

    async def client(self) -> Client:
        """Return the client once it is connected.

        Raises:
            ToolError: The server can't be reached.
        """
        return await asyncio.shield(self._ready)

    def words(self) -> str:
        """Return the last line of the server's standard error, in parentheses."""
        return self._complaints.last()

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

    async def _hold(self) -> None:
        from mcp import Client

        client = Client(_streams(self._server, self._complaints, self.end), cache=None)
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self._server.start_timeout):
                    await stack.enter_async_context(client)
                self._ready.set_result(client)
                await self._stop.wait()
        except Exception as exc:  # noqa: BLE001 - the boundary of foreign code
            self._failed(exc)
        finally:
            self.dead = True
            if not self._ready.done():
                self._ready.cancel()
            self._complaints.close()

    def _failed(self, exc: BaseException) -> None:
        if self._ready.done():
            return  # it ended badly, after all calls
        why = _why(exc) or f"it was not ready within {self._server.start_timeout:g} s"
        error = ToolError(f"The MCP server {self._server.name} can't be used: {why}{self.words()}")
        self._ready.set_exception(error)
        self._ready.exception()  # nobody may be waiting for it any more


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
    return " ".join(str(first).split()) or type(first).__name__


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
        if not self._links or self._links[-1].dead:
            self._links = [*(link for link in self._links if link.open), Link(self.config)]
        return self._links[-1]

    async def run(self, ctx: ToolCallContext[Any], args: Any) -> CallToolResult:
        """Call the tool ``args[0]`` with the arguments ``args[1]``.

        Raises:
            ToolError: The server can't be reached, ended, or refused the call.
        """
        import anyio
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST
        from pydantic import ValidationError

        tool, arguments = args
        link, name = self._fresh(), self.config.name
        client = await link.client()
        try:
            return await client.call_tool(tool, arguments)
        except MCPError as exc:
            if not (link.dead or exc.code == CONNECTION_CLOSED):
                if self.config.url and exc.code == INVALID_REQUEST:
                    link.end()  # so a server answers that has forgotten this connection, as after its restart
                raise ToolError(f"The MCP server {name} refused the call of {tool}: {exc.message}") from exc
            cause: Exception = exc
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError) as exc:
            cause = exc
        except (ValidationError, RuntimeError) as exc:
            raise ToolError(f"The MCP server {name} gave no valid result for {tool}: {exc}") from exc
        link.end()
        raise ToolError(
            f"The MCP server {name} ended during the call of {tool}, which may have been carried out; "
            f"the next call {'connects' if self.config.url else 'starts it'} again{link.words()}."
        ) from cause
