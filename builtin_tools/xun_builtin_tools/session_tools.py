"""Tools of the framework group that look at the session itself: its tools and its long outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xun.errors import ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun.tools.spill import read_spilled

if TYPE_CHECKING:
    from xun.tools.toolbox import ToolBox


def _toolbox(ctx: ToolCallContext[Any]) -> ToolBox:
    """Return the tools of the run, which may have more than the agent."""
    box: ToolBox = getattr(ctx.run, "toolbox", None) or ctx.agent.toolbox
    return box


def _something_deferred(ctx: ToolCallContext[Any]) -> bool:
    return bool(_toolbox(ctx).deferred())


@tool_attr(read_only=True, expose="direct", enabled=_something_deferred)
def tool_search(ctx: ToolCallContext[Any], query: str, max_results: int = 5) -> dict[str, Any]:
    """Find more tools; those that fit can be called from your next message on.

    query is a few words, or exact names of tools; a word that begins with + must be in the name. Returns the names and
    descriptions of the best, at most max_results."""
    if not query.strip():
        raise ToolError("query is empty; give a few words or the name of a tool.")
    if not 1 <= max_results <= 20:
        raise ToolError(f"max_results must be 1 to 20, got {max_results}.")
    found = _toolbox(ctx).search(query, max_results)
    tools = [{"name": tool.model_name, "description": tool.description} for tool in found]
    return {"tools": tools} if tools else {"tools": [], "note": "nothing fits; try other words"}


@tool_attr(read_only=True, deferred=True, search_hint="schema parameters signature help of tools")
def tool_describe(ctx: ToolCallContext[Any], names: list[str]) -> dict[str, Any]:
    """Describe tools without loading them.

    names are exact. Returns tools, each with its name, description and the JSON schema of its parameters, and unknown,
    the names that no tool has."""
    if not 1 <= len(names) <= 20:
        raise ToolError(f"names needs 1 to 20 of them, got {len(names)}.")
    box = _toolbox(ctx)
    found = {name: box.get(name) if box.offers(name) else None for name in names}
    there = [tool.to_json(compact=True)["function"] for tool in dict.fromkeys(found.values()) if tool is not None]
    return {"tools": there, "unknown": [name for name, tool in found.items() if tool is None]}


@tool_attr(read_only=True, expose="direct")
def read_output(
    ctx: ToolCallContext[Any], handle: str, cursor: int = 0, count: int = 1, from_end: bool = False
) -> dict[str, Any]:
    """Read more of an output that was too long to be shown whole.

    handle is named in the result of the call. The output is in pieces of 16384 bytes: cursor is the first to read, from
    0, count how many, 1 to 4; with from_end they are counted from the end. Returns content, next_cursor (null at the
    end), complete, bytes and chunks."""
    return read_spilled(ctx.agent.workspace, handle, cursor, count, from_end)
