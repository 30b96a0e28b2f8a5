"""The tools of MCP servers as tools of a toolbox."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from xun.errors import ConfigError, ToolError
from xun.mcp.connection import Connection, Link, short
from xun.mcp.listing import MAX_SCHEMA, described, fitting, unbounded
from xun.mcp.results import value_of
from xun.mcp.servers import McpServer, require_mcp
from xun.tools.attr import ToolAttr
from xun.tools.context import ToolCallContext
from xun.tools.function import Function
from xun.tools.given import GivenSignature, Takes
from xun.tools.living import Instances, Live
from xun.tools.running import in_thread, run_blocking

if TYPE_CHECKING:
    from mcp.types import Tool

_log = logging.getLogger("xun.tools")

MAX_TOOLS = 1000
"""Tools of one server at most."""

_LONGEST = 64
_STRANGE = re.compile(r"[^A-Za-z0-9_-]")


def mcp_tools(servers: Sequence[McpServer], left_out: list[str] | None = None) -> list[Function]:
    """Ask *servers* for their tools and return them; the connections are closed again.

    Args:
        servers: The servers.
        left_out: Gets one sentence for each tool that can't be used; without it they go to the log ``xun.tools``.

    Raises:
        ConfigError: The package mcp is missing, two servers have one name, or one can't be reached or used.
    """
    require_mcp()
    names = [server.name for server in servers]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"There are two MCP servers named {name!r}; give one of them another name.")
    try:
        listed = run_blocking(_list_all(servers))
    except ToolError as exc:
        raise ConfigError(str(exc)) from exc
    problems: list[str] = []
    found = [
        tool for server, tools in zip(servers, listed, strict=True) for tool in _functions(server, *tools, problems)
    ]
    if left_out is None:
        for problem in problems:
            _log.warning("%s", problem)
    else:
        left_out += problems
    return found


async def _list_all(servers: Sequence[McpServer]) -> list[tuple[list[Tool], list[str]]]:
    outcomes = await asyncio.gather(*(_list(server) for server in servers), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


async def _list(server: McpServer) -> tuple[list[Tool], list[str]]:
    from mcp import MCPError
    from mcp.types import METHOD_NOT_FOUND
    from pydantic import ValidationError

    link = Link(server)
    try:
        client = await link.client()
        tools: list[Tool] = []
        cursor: str | None = None
        async with asyncio.timeout(server.start_timeout):
            while True:
                page = await client.list_tools(cursor=cursor)
                tools += page.tools
                if page.next_cursor == cursor and cursor:
                    raise ToolError(f"The MCP server {server.name} lists its tools without end.")
                cursor = page.next_cursor
                if len(tools) > MAX_TOOLS:
                    raise ToolError(f"The MCP server {server.name} has more than {MAX_TOOLS} tools.")
                if not cursor:
                    return tools, link.listing.left_out
    except MCPError as exc:
        if exc.code == METHOD_NOT_FOUND and not client.server_capabilities.tools:
            return [], []  # it has other things than tools
        raise _unlisted(server, link, link.refusal() or short(exc)) from exc
    except (ValidationError, TimeoutError) as exc:
        late = isinstance(exc, TimeoutError)
        raise _unlisted(server, link, f"no answer within {server.start_timeout:g} s" if late else short(exc)) from exc
    finally:
        await link.close()


def _unlisted(server: McpServer, link: Link, why: str) -> ToolError:
    return ToolError(f"The MCP server {server.name} did not list its tools: {why}{link.words()}")


def _functions(
    server: McpServer, tools: Sequence[Tool], broken: Sequence[str], problems: list[str]
) -> Iterator[Function]:
    """Yield the tools that can be used; of the others *problems* gets why not."""
    instances = Instances(Connection, server, f"{server.name}__*")
    first_call = threading.Lock()
    taken: set[str] = set()
    seen: set[str] = set()
    problems += [f"MCP server {server.name}: a tool is left out: {one}" for one in broken]
    for tool in tools:
        name = tool_name(server.name, tool.name)
        if name in taken:  # such as a.b and a_b
            name = tool_name(server.name, tool.name, marked=True)
        if tool.name in seen or name in taken or not tool.name:
            why = "it is not the first of this name" if tool.name else "it has no name"
            problems.append(f"MCP server {server.name}: a tool is left out: {tool.name[:_LONGEST]!r} ({why})")
            continue
        seen.add(tool.name)
        try:
            made = _function(server, tool, name, instances, first_call)
        except ConfigError as exc:
            problems.append(f"MCP server {server.name}: a tool is left out: {exc}")
            continue
        taken.add(name)
        yield made


def _function(server: McpServer, tool: Tool, name: str, instances: Instances, first_call: threading.Lock) -> Function:
    def connected(agent: Any) -> Live:
        # One at a time: of two calls side by side the second takes the connection of the first.
        with first_call:
            return instances.of(agent)

    async def call(arguments: dict[str, Any], ctx: ToolCallContext[Any]) -> Any:
        live = instances.known(ctx.agent)
        if live is None:
            live = await in_thread(lambda: connected(ctx.agent))
        return value_of(await live.arun(ctx, (tool.name, arguments)), tool.output_schema)

    hints = tool.annotations
    reads = hints is not None and hints.read_only_hint is True
    attr = ToolAttr(
        name=name,
        timeout=server.timeout,
        approval=not reads,
        read_only=reads,
        destructive=hints is not None and not reads and hints.destructive_hint is True,
        output_schema=tool.output_schema,
    )
    schema = fitting(tool.input_schema)
    if schema is None:
        raise ConfigError(f"Tool {name}: its schema has more than {MAX_SCHEMA} characters, also without the texts.")
    signature = GivenSignature(name, schema, Takes(name, call, whole=True), checked=unbounded)
    description = described(tool.description or tool.title)
    return Function(call, name=name, description=description, attr=attr, signature=signature, instances=instances)


def tool_name(server: str, tool: str, *, marked: bool = False) -> str:
    """Return the name of a tool here: what providers refuse becomes ``_``, and what is too long is cut.

    What was cut, or is *marked*, ends with a mark of the whole name.
    """
    name = f"{server}__{_STRANGE.sub('_', tool)}"
    if len(name) <= _LONGEST and not marked:
        return name
    mark = hashlib.sha256(tool.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{name[: _LONGEST - 9]}_{mark}"
