"""A summary as the new beginning of a conversation; what it replaces stays readable by its call ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from xun.events import Compaction, Event, ToolCompleted
from xun.messages import Message, estimate_tokens

if TYPE_CHECKING:
    from xun.agent.agent import Agent

RESULTS = "__compacted_results"
"""Where ``agent.state`` keeps the results of tools that are not in the history any more: call id to text."""

READ_COMPACTED = "extract_compacted_tool_result"
"""The tool that reads them."""

_LISTED = 50


def last_turn(history: Sequence[Message]) -> int:
    """Return where the last turn begins: after the last answer that was not followed by calls."""
    for index in range(len(history) - 1, -1, -1):
        message = history[index]
        if message.role == "assistant" and not message.tool_calls:
            return index + 1
    return 0


def begun_anew(history: Sequence[Message], summary: str, kept: int | None = None) -> list[Message]:
    """Return *history* with *summary* in the place of all before the last turn; as it is when that is the first.

    With *kept* so many messages stay, results of tools not counted.
    """
    start = last_turn(history) if kept is None else _from_end(history, kept)
    return [Message("user", summary), *history[start:]] if start else list(history)


def kept_after(history: Sequence[Message], at: int) -> int:
    """Return how many messages from *at* on are no results of tools; by this number an event names a place.

    Results are left out because the stored ones are more: those of a person's own commands are in no history.
    """
    return sum(message.role != "tool" for message in history[at:])


def _from_end(history: Sequence[Message], kept: int) -> int:
    """Return the place that `kept_after` gave the number *kept*."""
    for index in range(len(history) - 1, -1, -1):
        kept -= history[index].role != "tool"
        if kept <= 0:
            return index
    return 0


def summary_text(history: Sequence[Message], name: str, summary: str) -> str:
    """Return the text that takes the place of the older messages, with the ids of the results among them."""
    text = f"[Handoff {name}: a summary of the conversation before this point]\n{summary.strip()}"
    return text + listed_results(history[: last_turn(history)])


def listed_results(messages: Iterable[Message]) -> str:
    """Return the lines that name the results of tools among *messages*, for a summary; "" when there is none."""
    results = [message for message in messages if message.role == "tool"]
    lines = [f"- {item.tool_call_id}: {item.tool_name}, {len(item.text)} characters" for item in results[-_LISTED:]]
    return f"\n\nResults of earlier calls, whole by {READ_COMPACTED}:\n" + "\n".join(lines) if lines else ""


def hand_off(agent: Agent[Any], name: str, summary: str) -> Compaction | None:
    """Replace the history of *agent* before its last turn by *summary*; return the event, or None for nothing to do."""
    history: list[Message] = agent.history
    start = last_turn(history)
    if not start:
        return None
    text = summary_text(history, name, summary)
    kept = agent.state.setdefault(RESULTS, {})
    kept.update({item.tool_call_id: item.text for item in history[:start] if item.role == "tool"})
    before = estimate_tokens(history)
    agent.history = begun_anew(history, text)
    return Compaction(agent=agent.name, before=before, after=estimate_tokens(agent.history), summary=text)


def compacted_results(events: Iterable[Event], agent: str = "main") -> dict[str, str]:
    """Return the results of tools from stored events of *agent* that a later summary may have replaced."""
    results: dict[str, str] = {}
    settled: dict[str, str] = {}
    for event in events:
        if event.agent != agent:
            continue
        if isinstance(event, ToolCompleted):
            results[event.call_id] = event.content
        elif isinstance(event, Compaction):
            settled = dict(results)
    return settled
