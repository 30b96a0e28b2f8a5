"""What a server writes, line by line, as messages: within a limit, and as tolerant as a call can afford."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.types import JSONRPCMessage

MAX_MESSAGE = 64 * 1024 * 1024
"""Bytes of one message; a longer one fails the call that it answers."""

_DEEPEST = 100
_HEAD = 300
_LONE = re.compile("[\ud800-\udfff]")
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15})\b')


class Lines:
    """Cuts what a server writes into lines.

    Args:
        limit: Bytes of one line; of a longer one only the beginning is given.
    """

    def __init__(self, limit: int = MAX_MESSAGE) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bool]]:
        """Yield each line that *data* completes, and whether all of it is there."""
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._keep(piece)
            yield b"".join(self._pieces), self._size <= self._limit
            self._pieces, self._size = [], 0
        self._keep(rest)

    def _keep(self, piece: bytes) -> None:
        if self._size <= self._limit:
            self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._limit:
            self._pieces = [b"".join(self._pieces)[:_HEAD]]


def messages_of(line: bytes, whole: bool = True) -> list[JSONRPCMessage]:
    """Return the messages of one line; none when it is something else that the program printed.

    What answers a request but is no valid answer becomes an error for that request, so that nobody waits for it.
    """
    from mcp.types import jsonrpc_message_adapter

    line = line.strip()
    if not whole:
        return _unreadable(line, f"it is longer than {MAX_MESSAGE // 1024 // 1024} MB")
    if line[:1] not in (b"{", b"["):
        return []
    try:
        return [jsonrpc_message_adapter.validate_json(line, by_name=False)]
    except ValueError:
        pass
    try:
        data = _clean(json.loads(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError) as exc:
        return _unreadable(line, "it is nested too deeply" if isinstance(exc, RecursionError) else "it is no JSON")
    items = data if isinstance(data, list) else [data]  # servers of 2025-03-26 may send several in one
    return [message for item in items for message in _checked(item)]


def requests_of(line: str) -> tuple[list[JSONRPCMessage], list[JSONRPCMessage]]:
    """Return the messages of a line that is no message as it stands, and the refusals of what is none at all."""
    from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

    def refusal(number: Any, code: int, why: str) -> JSONRPCMessage:
        number = number if isinstance(number, str | int) and not isinstance(number, bool) else None
        return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=why))

    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return [], [refusal(None, PARSE_ERROR, "This line is no JSON, or nested too deeply.")]
    good: list[JSONRPCMessage] = []
    bad: list[JSONRPCMessage] = []
    for item in data if isinstance(data, list) and data else [data]:
        number = item.get("id") if isinstance(item, dict) else None
        try:
            if _clean(item) != item:
                bad.append(refusal(number, INVALID_REQUEST, "This request holds half of a character."))
            else:
                good.append(jsonrpc_message_adapter.validate_python(item, by_name=False))
        except RecursionError:
            bad.append(refusal(number, PARSE_ERROR, "This request is nested too deeply."))
        except ValueError:
            bad.append(refusal(number, INVALID_REQUEST, "This is no request of JSON-RPC 2.0."))
    return good, bad


def _checked(item: Any) -> list[JSONRPCMessage]:
    from mcp.types import jsonrpc_message_adapter

    try:
        return [jsonrpc_message_adapter.validate_python(item, by_name=False)]
    except ValueError:
        number = item.get("id") if isinstance(item, dict) and "method" not in item else None
        if isinstance(number, bool) or not isinstance(number, int | str):
            return []
        return [_error(number, "it is no answer of JSON-RPC")]


def _unreadable(line: bytes, why: str) -> list[JSONRPCMessage]:
    head = line[:_HEAD]
    found = _ID.search(head)
    return [] if found is None or b'"method"' in head else [_error(int(found[1]), why)]


def _error(number: int | str, why: str) -> JSONRPCMessage:
    from mcp.types import PARSE_ERROR, ErrorData, JSONRPCError

    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=PARSE_ERROR, message=why))


def _clean(value: Any, depth: int = 0) -> Any:
    """Return *value* without lone surrogates, which no text may hold.

    Raises:
        RecursionError: It is nested more deeply than anybody means.
    """
    if isinstance(value, str):
        return _LONE.sub("\N{REPLACEMENT CHARACTER}", value)
    if depth > _DEEPEST:
        raise RecursionError
    if isinstance(value, list):
        return [_clean(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item, depth + 1) for key, item in value.items()}
    return value
