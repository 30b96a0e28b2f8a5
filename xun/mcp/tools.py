"""The tools of MCP servers as tools of a toolbox."""

from __future__ import annotations

import asyncio
import hashlib
import re
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xun.errors import ConfigError, ToolError
from xun.mcp.connection import Connection, Link
from xun.mcp.results import value_of
from xun.mcp.servers import McpServer, require_mcp
from xun.tools.attr import ToolAttr
from xun.tools.context import ToolCallContext
from xun.tools.function import Function
from xun.tools.given import GivenSignature, Takes
from xun.tools.living import Instances, Live
from xun.tools.running import in_thread, run_blocking
from xun.unseen import without_unseen

if TYPE_CHECKING:
    from mcp.types import Tool

MAX_TOOLS = 1000
"""Tools of one server at most."""

_LONGEST = 64
_PROSE = ("description", "title", "$comment")
_STRANGE = re.compile(r"[^A-Za-z0-9_-]")


def mcp_tools(servers: Sequence[McpServer]) -> list[Function]:
    """Ask *servers* for their tools and return them; the connections are closed again.

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
    return [tool for server, found in zip(servers, listed, strict=True) for tool in _functions(server, found)]


async def _list_all(servers: Sequence[McpServer]) -> list[list[Tool]]:
    outcomes = await asyncio.gather(*(_list(server) for server in servers), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


async def _list(server: McpServer) -> list[Tool]:
    from mcp import MCPError
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
                cursor = page.next_cursor
                if len(tools) > MAX_TOOLS:
                    raise ToolError(f"The MCP server {server.name} has more than {MAX_TOOLS} tools.")
                if not cursor:
                    return tools
    except (MCPError, ValidationError, TimeoutError) as exc:
        why = str(exc) or f"no answer within {server.start_timeout:g} s"
        raise ToolError(f"The MCP server {server.name} did not list its tools: {why}{link.words()}") from exc
    finally:
        await link.close()


def _functions(server: McpServer, tools: Sequence[Tool]) -> list[Function]:
    instances = Instances(Connection, server, f"{server.name}__*")
    first_call = threading.Lock()
    return [_function(server, tool, instances, first_call) for tool in tools]


def _function(server: McpServer, tool: Tool, instances: Instances, first_call: threading.Lock) -> Function:
    def connected(agent: Any) -> Live:
        # One at a time: of two calls side by side the second takes the connection of the first.
        with first_call:
            return instances.of(agent)

    async def call(arguments: dict[str, Any], ctx: ToolCallContext[Any]) -> Any:
        live = instances.known(ctx.agent)
        if live is None:
            live = await in_thread(lambda: connected(ctx.agent))
        return value_of(await live.arun(ctx, (tool.name, arguments)))

    name = tool_name(server.name, tool.name)
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
    signature = GivenSignature(name, _legible(tool.input_schema), Takes(name, call, whole=True))
    description = without_unseen((tool.description or tool.title or "").strip())[0]
    return Function(call, name=name, description=description, attr=attr, signature=signature, instances=instances)


def _legible(schema: Any) -> Any:
    """Return *schema* with its texts for readers free of letters that nobody sees; what it checks stays as it is."""
    if isinstance(schema, dict):
        return {
            key: without_unseen(item)[0] if key in _PROSE and isinstance(item, str) else _legible(item)
            for key, item in schema.items()
        }
    return [_legible(item) for item in schema] if isinstance(schema, list) else schema


def tool_name(server: str, tool: str) -> str:
    """Return the name of a tool here: what providers refuse becomes ``_``, and what is too long is cut."""
    name = f"{server}__{_STRANGE.sub('_', tool)}"
    if len(name) <= _LONGEST:
        return name
    mark = hashlib.sha256(tool.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{name[: _LONGEST - 9]}_{mark}"
