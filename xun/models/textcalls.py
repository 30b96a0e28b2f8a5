"""Tool calls that a model wrote into its text.

Small local models often write a call as text instead of using the protocol. Only two forms are
recognised, and only when the whole of it parses; nothing is repaired:

- ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``, one or more, anywhere in the text;
- a fenced JSON block of the same object that ends the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from xun.messages import ToolCall

_TAGGED = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_FENCE = re.compile(r"```(?:json|tool_call)?[ \t]*\n")


def find_calls(text: str, names: Collection[str]) -> tuple[ToolCall, ...]:
    """Return the calls that *text* holds, without ids; none unless all of them are proper calls of *names*."""
    if "<tool_call>" in text:
        bodies = _TAGGED.findall(text)
        if text.count("<tool_call>") != len(bodies):
            return ()
    else:
        bodies = _last_fence(text)
    calls = [_call(body, names) for body in bodies]
    found = [call for call in calls if call is not None]
    return tuple(found) if len(found) == len(calls) else ()


def _last_fence(text: str) -> list[str]:
    body = text.rstrip()
    if not body.endswith("\n```"):
        return []
    body = body[:-4]
    opened = [match.end() for match in _FENCE.finditer(body)]
    return [body[opened[-1] :]] if opened and text.count("```") % 2 == 0 else []


def _call(body: str, names: Collection[str]) -> ToolCall | None:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    name = data.get("name")
    arguments = data.get("arguments", data.get("parameters"))
    if not isinstance(name, str) or name not in names or not isinstance(arguments, dict):
        return None
    return ToolCall("", name, json.dumps(arguments, ensure_ascii=False))
