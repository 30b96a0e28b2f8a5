"""A toolbox as an MCP server over standard streams."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xun._serialize import finite, to_jsonable
from xun.agent.hooked import call_through_hooks
from xun.agent.outcome import rendering
from xun.mcp.requests import Requests
from xun.mcp.servers import require_mcp
from xun.tools.exposure import shown
from xun.tools.images import check_image
from xun.tools.output import ToolOutput

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.types import CallToolResult, ContentBlock, Tool

    from xun.agent.agent import Agent
    from xun.tools.function import Function
    from xun.tools.toolbox import ToolBox


def serve_mcp(toolbox: ToolBox, agent: Agent[Any], *, name: str = "xun", version: str = "") -> None:
    """Serve the tools of *toolbox* on the standard streams of this process until the other side is gone.

    Every call goes through the hooks around a tool call of *agent* and then through `ToolBox.acall_tool` with it: its
    permissions, its workspace, its chooser. Without a chooser nobody is asked: what was not allowed before is denied.
    Tools for the person only, and those that need a model that sees images, are left out; deferred ones are listed
    like all others. While it serves, what is printed goes to standard error.

    Args:
        toolbox: The tools.
        agent: What tools see as ``ctx.agent``; it stays the caller's to finalize.
        name: What the server calls itself.
        version: Its version.

    Raises:
        ConfigError: The package mcp is missing.
    """
    asyncio.run(aserve_mcp(toolbox, agent, name=name, version=version))


async def aserve_mcp(toolbox: ToolBox, agent: Agent[Any], *, name: str = "xun", version: str = "") -> None:
    """The same as `serve_mcp` for async callers."""
    require_mcp()
    from mcp.server.stdio import stdio_server

    server = mcp_server(toolbox, agent, name=name, version=version)
    try:
        async with stdio_server() as (read, write):
            await server.run(Requests(read, write), write, server.create_initialization_options())
    except* BrokenPipeError:
        pass  # the client is gone, and with it whoever would want an answer


def served(toolbox: ToolBox) -> list[Function]:
    """Return the tools that a client gets."""
    return [tool for tool in toolbox.list_tools(()) if shown(tool, code_mode=False)]


def mcp_server(toolbox: ToolBox, agent: Agent[Any], *, name: str = "xun", version: str = "") -> Server[Any]:
    """Return the server of the package mcp that `serve_mcp` runs, for another transport; arguments as there."""
    from mcp.server import Server
    from mcp.types import CallToolRequestParams, ListToolsResult

    async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[_described(tool) for tool in served(toolbox)])

    async def call_tool(ctx: Any, params: CallToolRequestParams) -> CallToolResult:
        return await _call(toolbox, agent, params.name, params.arguments or {})

    return Server(name, version=version, on_list_tools=list_tools, on_call_tool=call_tool)


def _described(tool: Function) -> Tool:
    from mcp.types import Tool, ToolAnnotations

    attr = tool.attr
    hints = ToolAnnotations(
        read_only_hint=attr.read_only or attr.pure or None, destructive_hint=True if attr.destructive else None
    )
    return Tool(name=tool.model_name, description=tool.description, input_schema=tool.tool_schema, annotations=hints)


async def _call(toolbox: ToolBox, agent: Agent[Any], name: str, arguments: dict[str, Any]) -> CallToolResult:
    from mcp.types import CallToolResult, TextContent

    def failed(text: str) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)

    names = {tool.model_name: tool.name for tool in served(toolbox)}
    if name not in names:
        return failed(f"There is no tool named {name!r} here. The tools are: {', '.join(names) or 'none'}.")
    outcome = await call_through_hooks(agent, toolbox, names[name], arguments)
    if outcome.result.is_err():
        return failed("\n".join((str(outcome.result.unwrap_err().error), *outcome.notes)))
    try:
        return _answer(toolbox.get(names[name]), outcome.result.unwrap(), outcome.notes)
    except (TypeError, ValueError) as exc:
        # The tool ran, but its value, or an image of it, can't be sent.
        return failed(f"The result of {name} can't be sent: {exc}")


def _answer(tool: Function | None, given: Any, notes: Sequence[str] = ()) -> CallToolResult:
    from mcp.types import CallToolResult, TextContent

    output = given if isinstance(given, ToolOutput) else ToolOutput(given)
    value = to_jsonable(output.value)
    text = rendering(tool, output.value)
    if text is None:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    content: list[ContentBlock] = [TextContent(type="text", text=text)]
    content += [_image(item) for item in output.images]
    content += [TextContent(type="text", text=note) for note in notes]
    return CallToolResult(content=content, structured_content=finite(value) if isinstance(value, dict) else None)


def _image(item: Any) -> ContentBlock:
    from mcp.types import ImageContent

    image = check_image(item)
    return ImageContent(type="image", data=base64.b64encode(image.data).decode(), mime_type=image.media_type)
