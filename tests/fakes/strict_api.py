"""What the strictest of the servers refuse in a chat request, as sentences; none for a request that all take."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from xun.messages import Message
from xun.models.wire import messages_json

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def refused(body: dict[str, Any] | Iterable[Message]) -> list[str]:
    """Return what is wrong with a request's body, or with messages of ours as they would be sent."""
    messages = body["messages"] if isinstance(body, dict) else messages_json(list(body))
    wrong: list[str] = []
    try:
        json.dumps(messages, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        wrong.append("it is no UTF-8")
    open_calls: list[str] = []
    seen: set[str] = set()
    for at, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            if not open_calls or message.get("tool_call_id") != open_calls.pop(0):
                wrong.append(f"{at}: a result that answers no call in its place")
            if not isinstance(message.get("content"), str):
                wrong.append(f"{at}: a result without a text")
            continue
        if open_calls:
            wrong.append(f"{at}: calls without a result: {open_calls}")
        open_calls = _calls(at, message, seen, wrong) if role == "assistant" else []
        if role == "system" and at:
            wrong.append(f"{at}: a system message in the middle")
        if role not in ("system", "user", "assistant"):
            wrong.append(f"{at}: no such role {role!r}")
        if role in ("user", "system") and not message.get("content"):
            wrong.append(f"{at}: an empty {role} message")
    if open_calls:
        wrong.append(f"the end: calls without a result: {open_calls}")
    if not any(message.get("role") == "user" for message in messages):
        wrong.append("there is no message of a user")
    return wrong


def _calls(at: int, message: dict[str, Any], seen: set[str], wrong: list[str]) -> list[str]:
    ids = []
    for call in message.get("tool_calls") or []:
        function, ident = call.get("function") or {}, call.get("id")
        if not isinstance(ident, str) or not ident or ident in seen:
            wrong.append(f"{at}: the id {ident!r} is empty or was there before")
        if not NAME.match(str(function.get("name"))):
            wrong.append(f"{at}: the name {function.get('name')!r} does not fit")
        try:
            if not isinstance(json.loads(function.get("arguments")), dict):
                raise ValueError
        except (TypeError, ValueError, RecursionError):
            wrong.append(f"{at}: arguments that are no JSON object")
        seen.add(str(ident))
        ids.append(str(ident))
    content = message.get("content")
    if not ids and not (isinstance(content, str) and content.strip()):
        wrong.append(f"{at}: an empty assistant message")
    if ids and content is not None and not content:
        wrong.append(f"{at}: an empty text beside calls")
    return ids
