"""The history group: what was said and done earlier in the conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from xun.agent.handoff import RESULTS, hand_off, last_turn
from xun.errors import ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun.tools.spill import whole

if TYPE_CHECKING:
    from xun.messages import Message

_SNIPPET = 300
_MAX_FOUND = 100


@tool_attr(read_only=True)
def history_info(ctx: ToolCallContext[Any]) -> dict[str, Any]:
    """Return facts about this conversation: its messages by role, tool calls by tool, tokens and turns."""
    roles: dict[str, int] = {}
    calls: dict[str, int] = {}
    for message in ctx.agent.history:
        roles[message.role] = roles.get(message.role, 0) + 1
        for call in message.tool_calls:
            calls[call.name] = calls.get(call.name, 0) + 1
    usage = ctx.agent.usage
    return {
        "messages": roles,
        "tool_calls": calls,
        "turns": ctx.agent.turn,
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "context_window": ctx.agent.context_window,
    }


@tool_attr(read_only=True)
def history_search(
    ctx: ToolCallContext[Any],
    query: str,
    limit: int = 20,
    start: int = 0,
    end: int | None = None,
    kinds: list[Literal["user", "assistant", "tool"]] | None = None,
) -> dict[str, Any]:
    """Search this conversation for a text, without regard to case.

    start and end are message numbers from 0, end not included; kinds are user, assistant and tool, all when it is left
    out. Returns the newest matches first, at most limit, each with its number, kind and the text around the match."""
    if not query:
        raise ToolError("query is empty; give the text to look for.")
    if not 1 <= limit <= _MAX_FOUND:
        raise ToolError(f"limit must be 1 to {_MAX_FOUND}, got {limit}.")
    if start < 0 or (end is not None and end < start):
        raise ToolError(f"start must not be negative nor past end, got {start} and {end}.")
    found = []
    numbered = list(enumerate(ctx.agent.history))[start:end]
    for number, message in reversed(numbered):
        text = _whole(message)
        place = text.casefold().find(query.casefold())
        if place >= 0 and (kinds is None or message.role in kinds):
            around = text[max(0, place - _SNIPPET // 2) : place + _SNIPPET]
            found.append({"number": number, "kind": message.role, "text": around})
    return {"matches": found[:limit], "total": len(found)}


@tool_attr(read_only=True, expose="direct")
def handoff(ctx: ToolCallContext[Any], name: str, summary: str) -> dict[str, Any]:
    """Begin the conversation anew with a summary, when a part of the work is done and its details are in the way.

    name says what is finished, in a few words. summary must hold all that is needed from here on: the goal, what was
    decided and why, which files changed, what is left to do. It takes the place of all messages before the present
    turn, once this step is over; results of earlier calls can still be read by extract_compacted_tool_result."""
    if not name.strip() or not summary.strip():
        raise ToolError("name and summary must not be empty; say what is finished, and what is needed from here on.")
    if last_turn(ctx.agent.history) == 0:
        raise ToolError("There is nothing before the present turn that a summary could replace.")

    def replace(_: Any = None) -> None:
        event = hand_off(ctx.agent, name.strip(), summary)
        if event is not None:
            ctx.record(event)

    if ctx.run is None:
        replace()
    else:
        # The results of this step are not in the history yet.
        ctx.agent.hooks.after_execution_step.add_once(replace, run=ctx.run)
    return {"handed_off": name.strip()}


@tool_attr(read_only=True)
def extract_compacted_tool_result(ctx: ToolCallContext[Any], toolcall_id: str) -> str:
    """Return the whole result of an earlier tool call, also when a summary took its place or it was too long to show.

    toolcall_id is the id of the call; a handoff lists those that it replaced."""
    found = [item.text for item in ctx.agent.history if item.role == "tool" and item.tool_call_id == toolcall_id]
    replaced = ctx.agent.state.get(RESULTS, {})
    if not found and toolcall_id not in replaced:
        known = ", ".join(list(replaced)[-10:]) or "none"
        raise ToolError(f"There is no result of a call {toolcall_id!r}; the last that were replaced are: {known}.")
    return whole(ctx.agent.workspace, found[-1] if found else replaced[toolcall_id])


def _whole(message: Message) -> str:
    calls = "\n".join(f"{call.name} {call.arguments}" for call in message.tool_calls)
    return f"{message.text}\n{calls}" if calls else message.text


def tools() -> list[Callable[..., Any]]:
    """Return the functions of the group."""
    return [history_info, history_search, handoff, extract_compacted_tool_result]
