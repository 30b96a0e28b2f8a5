"""What a person should know of a turn that has no end in the records: xun was killed in it, or the machine stopped."""

from __future__ import annotations

from collections.abc import Sequence

from xun.events import Event, ToolCompleted, ToolStarted, TurnCompleted, TurnStarted

_NAMED, _LENGTH = 5, 80
_SHOWN = ("command", "path", "url", "src", "name")


def broken_off(events: Sequence[Event], agent: str) -> str:
    """Return one sentence on the last turn of *agent* if it has no end, else ""."""
    open_calls: dict[str, ToolStarted] | None = None
    for event in events:
        if event.agent != agent:
            continue
        if isinstance(event, TurnStarted):
            open_calls = {}
        elif isinstance(event, TurnCompleted):
            open_calls = None
        elif open_calls is not None and isinstance(event, ToolStarted):
            open_calls[event.call_id] = event
        elif open_calls is not None and isinstance(event, ToolCompleted):
            open_calls.pop(event.call_id, None)
    if open_calls is None:
        return ""
    text = "The last turn has no end: xun was killed in it, or it still runs in another process."
    if not open_calls:
        return f"{text} No call was under way. What was done stands."
    named = ", ".join(_shown(call) for call in list(open_calls.values())[:_NAMED])
    more = f" and {len(open_calls) - _NAMED} more" if len(open_calls) > _NAMED else ""
    return f"{text} What was under way may be done, in part or not at all: {named}{more}."


def _shown(call: ToolStarted) -> str:
    args = call.args if isinstance(call.args, dict) else {}
    what = next((args[key] for key in _SHOWN if isinstance(args.get(key), str)), "")
    what = " ".join(what.split())
    return f"{call.tool} ({what[:_LENGTH]}{'…' * (len(what) > _LENGTH)})" if what else call.tool
