"""Other forms of a request's body, for servers that refuse the usual one; each changes the body in place."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection
from typing import Any

Body = dict[str, Any]

NOTED = "(noted)"
"""What stands for an answer that was never given, between a result and what the person said next."""

UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""What Google's documentation names for calls that came from elsewhere and so have no signature."""

_ID_LENGTH = 9

_KEYWORDS = frozenset(
    {
        "$schema", "additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames", "pattern",
        "format", "default", "examples", "title", "const", "minLength", "maxLength", "minimum", "maximum", "multipleOf",
        "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
        "prefixItems",
    }
)  # fmt: skip
"""What a schema can do without: it says less to the model then, and the arguments are checked here all the same."""


def _messages(body: Body, role: str = "") -> list[dict[str, Any]]:
    return [message for message in body["messages"] if not role or message["role"] == role]


def _calls(body: Body) -> list[dict[str, Any]]:
    return [call for message in _messages(body, "assistant") for call in message.get("tool_calls") or ()]


# -- whether a form changes anything ------------------------------------------------------------


def streams(body: Body) -> bool:
    """Whether a stream is asked for."""
    return bool(body.get("stream"))


def has_calls(body: Body) -> bool:
    """Whether there are calls in the history."""
    return bool(_calls(body))


def has_answers(body: Body) -> bool:
    """Whether the model said something before."""
    return bool(_messages(body, "assistant"))


def has_several(body: Body) -> bool:
    """Whether there is more than one message."""
    return len(_messages(body)) > 1


def has_system(body: Body) -> bool:
    """Whether there is a system message and something that it can be put in front of."""
    return bool(_messages(body, "system") and _messages(body, "user"))


def has_images(body: Body) -> bool:
    """Whether there are images."""
    contents = [message["content"] for message in _messages(body)]
    return any(_is_image(part) for content in contents if isinstance(content, list) for part in content)


def has_null(body: Body) -> bool:
    """Whether a message has no text at all."""
    return any(message["content"] is None for message in _messages(body))


def has_keywords(body: Body) -> bool:
    """Whether a schema says more than what an object is made of."""
    return any(_plain(tool) != tool for tool in body.get("tools") or ())


# -- the forms ----------------------------------------------------------------------------------


def unstream(body: Body) -> None:
    """Ask for the answer in one piece."""
    body["stream"] = False
    body.pop("stream_options", None)


def short_ids(body: Body) -> None:
    """Give the calls ids of nine letters and digits, which are the same in every request."""
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for call in _calls(body):
        ids[call["id"]] = call["id"] = _short_id(call["id"], taken)
    for message in _messages(body, "tool"):
        message["tool_call_id"] = ids.get(message["tool_call_id"], message["tool_call_id"])


def _short_id(ident: str, taken: set[str]) -> str:
    fits = len(ident) == _ID_LENGTH and ident.isascii() and ident.isalnum()
    short, number = ident if fits else "", 0
    while not short or short in taken:
        digest = hashlib.sha256(f"{ident}{number or ''}".encode()).digest()
        short, number = base64.b32encode(digest).decode()[:_ID_LENGTH], number + 1
    taken.add(short)
    return short


def alternate(body: Body) -> None:
    """Join neighbours of one role, and put an answer between a result and what the person says after it."""
    messages: list[dict[str, Any]] = []
    for message in body["messages"]:
        last = messages[-1] if messages else {}
        joinable = message["role"] in ("user", "assistant") and not (
            last.get("tool_calls") or message.get("tool_calls")
        )
        if last.get("role") == message["role"] and joinable:
            messages[-1] = {**last, "content": _joined(last["content"], message["content"])}
            continue
        if last.get("role") == "tool" and message["role"] == "user":
            messages.append({"role": "assistant", "content": NOTED})
        messages.append(message)
    body["messages"] = messages


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def system_to_user(body: Body) -> None:
    """Put the system message in front of the first of the person's."""
    system = next(message for message in body["messages"] if message["role"] == "system")
    messages = [message for message in body["messages"] if message is not system]
    at = next(index for index, message in enumerate(messages) if message["role"] == "user")
    messages[at] = {**messages[at], "content": _joined(system["content"], messages[at]["content"])}
    body["messages"] = messages


def sign(body: Body) -> None:
    """Mark calls of another model, or of another time, as ones without a signature."""
    for message in _messages(body, "assistant"):
        calls = message.get("tool_calls")
        if calls and not any("extra_content" in call for call in calls):
            calls[0]["extra_content"] = UNSIGNED


def name_results(body: Body) -> None:
    """Name the tool beside each result."""
    names = {call["id"]: call["function"]["name"] for call in _calls(body)}
    for message in _messages(body, "tool"):
        message["name"] = names.get(message["tool_call_id"], "tool")


def images_of(body: Body) -> set[str]:
    """Return what tells the images of a request apart."""
    contents = [message["content"] for message in _messages(body)]
    return {_digest(part) for content in contents if isinstance(content, list) for part in content if _is_image(part)}


def without_images(body: Body, only: Collection[str] | None = None) -> None:
    """Put a note in the place of each message's images, or of those in *only*."""
    for message in _messages(body):
        content = message["content"]
        if not isinstance(content, list):
            continue
        kept = [part for part in content if not _is_image(part) or (only is not None and _digest(part) not in only)]
        if count := len(content) - len(kept):
            kept.append({"type": "text", "text": f"[{count} image(s) left out: the server refused them]"})
        if not any(_is_image(part) for part in kept):
            message["content"] = "\n".join(part["text"] for part in kept)
        else:
            message["content"] = kept


def _is_image(part: dict[str, Any]) -> bool:
    return bool(part["type"] == "image_url")


def _digest(part: dict[str, Any]) -> str:
    return hashlib.sha256(part["image_url"]["url"].encode()).hexdigest()


def no_null(body: Body) -> None:
    """Write an empty text where there is none."""
    for message in _messages(body):
        if message["content"] is None:
            message["content"] = ""


def plain_schemas(body: Body) -> None:
    """Leave out of the tools' schemas what only checks or explains."""
    body["tools"] = [_plain(tool) for tool in body["tools"]]


def _plain(value: Any, names: bool = False) -> Any:
    """Return a schema without the keywords; *names* says that the keys are those of properties."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _plain(item, not names and key in ("properties", "$defs"))
        for key, item in value.items()
        if names or key not in _KEYWORDS
    }
