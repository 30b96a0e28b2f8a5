"""Requests in the form of the chat completions interface."""

from __future__ import annotations

import base64
import ipaddress
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from xun.errors import ConfigError
from xun.messages import Message, ToolCall
from xun.models.base import ModelRequest
from xun.models.deltas import joined


def request_body(request: ModelRequest, model: str, *, reasoning: bool = False, extras: bool = False) -> dict[str, Any]:
    """Return the JSON body of a streamed request, without ``stream_options``.

    *reasoning* sends the model's notes back with its answers, *extras* what came along with its calls.
    """
    messages = messages_json(request.messages, reasoning=reasoning, extras=extras)
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": True}
    if request.tools:
        body["tools"] = list(request.tools)
    if request.schema is not None:
        schema = {"name": "answer", "schema": request.schema, "strict": False}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def messages_json(
    messages: Sequence[Message], *, reasoning: bool = False, extras: bool = False
) -> list[dict[str, Any]]:
    """Return *messages* as the interface wants them."""
    return [_message(message, reasoning, extras) for message in messages]


def _message(message: Message, reasoning: bool, extras: bool) -> dict[str, Any]:
    text = joined(message.text)
    if message.role == "tool":
        # Strict servers refuse a text of nothing, or of blanks alone.
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text if text.strip() else "(empty)"}
    if message.role == "assistant":
        return _answer(message, text, reasoning, extras)
    if not message.images:
        return {"role": message.role, "content": text if text.strip() else "(empty)"}
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
    for image in message.images:
        data = base64.b64encode(image.data).decode("ascii")
        parts.append({"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{data}"}})
    return {"role": message.role, "content": parts}


def _answer(message: Message, text: str, reasoning: bool, extras: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {"role": "assistant", "content": text}
    if message.tool_calls:
        # Null and no text beside calls: strict servers refuse an empty one, and one of blanks alone.
        answer = {
            "role": "assistant",
            "content": text if text.strip() else None,
            "tool_calls": [_call(call, extras) for call in message.tool_calls],
        }
    if reasoning:
        # A blank where there are none: Moonshot refuses an empty text, and the lack of one.
        answer["reasoning_content"] = joined(message.reasoning) or " "
    return answer


def _call(call: ToolCall, extras: bool) -> dict[str, Any]:
    function = {"name": joined(call.name), "arguments": joined(call.arguments)}
    made: dict[str, Any] = {"id": call.id, "type": "function", "function": function}
    if extras and call.extra:
        with suppress(ValueError, RecursionError):
            made["extra_content"] = json.loads(call.extra)
    return made


def is_loopback(host: str) -> bool:
    """Tell whether *host* names this machine."""
    host = host.lower().rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked_base_url(url: str) -> str:
    """Return *url* without a trailing slash or the path of an operation.

    Raises:
        ConfigError: It is no http or https URL, holds a password, or is http to another machine: a key and
            the conversation would travel readable.
    """
    url = url.strip().rstrip("/")
    for tail in ("/chat/completions", "/models"):
        url = url.removesuffix(tail).rstrip("/")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as exc:
        raise ConfigError(f"base_url is no proper URL: {exc}") from None
    if parts.scheme not in ("http", "https") or not host:
        shown = url.rpartition("@")[2]
        raise ConfigError(f"base_url must be a URL such as https://host/v1 or http://127.0.0.1:8080/v1, not {shown!r}")
    if parts.username is not None or parts.password is not None:
        raise ConfigError(f"base_url for {host} must hold no user or password: give the key as XUN_API_KEY instead")
    if parts.query or parts.fragment:
        raise ConfigError(f"base_url for {host} must hold no ? or #: give the address up to /v1 only")
    if parts.scheme == "http" and not is_loopback(host):
        raise ConfigError(
            f"base_url {url} is plain http to another machine, where anyone between can read the key: "
            "use https, or a tunnel to 127.0.0.1"
        )
    return url


def host_of(url: str) -> str:
    """Return the host name of a checked base URL."""
    return urlsplit(url).hostname or ""


def proxy_of(url: str) -> str:
    """Return the proxy that the environment names for a checked base URL, without its password, or ""."""
    from urllib.request import getproxies_environment, proxy_bypass

    named = getproxies_environment()
    parts = urlsplit(url)
    found = named.get(parts.scheme) or named.get("all") or ""
    if not found or proxy_bypass(parts.netloc):
        return ""
    return found.rpartition("@")[2].rpartition("//")[2].rstrip("/")
