"""One record of a session as one line of JSON, and back."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from xun._serialize import finite, to_jsonable
from xun.events import TYPES, Event, ToolCompleted
from xun_cli.session.envelope import VERSION, Envelope

HIDDEN = "***"
"""What stands in a record for a key of the person's own."""

LONGEST_RESULT = 1_000_000
"""Characters of a record from which on a result is kept only as the model got it: a server may send 60 MB."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_PLAIN = re.compile("[^ -~]+")


class NewerFormat(ValueError):
    """A record was written in a newer format than this version reads."""

    def __init__(self, version: int) -> None:
        super().__init__(f"format {version}")
        self.version = version


def to_line(data: Any) -> str:
    """Return *data* as one line of strict JSON that is valid UTF-8, without its newline.

    Lone surrogates become U+FFFD and NaN and infinities become null, since no reader takes them.
    """
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
    except ValueError:
        text = json.dumps(finite(data), ensure_ascii=False, separators=(",", ":"), default=_plain)
    return _SURROGATE.sub("\ufffd", text)


def out_line(data: Any, *, terminal: bool) -> str:
    """Return `to_line` for standard output; for a terminal with all that is not plain ASCII as ``\\uXXXX``."""
    line = to_line(data)
    return _NOT_PLAIN.sub(_escaped, line) if terminal else line


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found.group())[1:-1].replace("\x7f", "\\u007f")


def _plain(value: Any) -> Any:
    try:
        return to_jsonable(value)
    except TypeError:
        return str(value)


def to_bytes(envelope: Envelope, hidden: Iterable[str] = ()) -> bytes:
    """Return the record of *envelope* with its newline, and with ``***`` for each of the texts *hidden*."""
    line = to_line(envelope.to_json())
    if len(line) > LONGEST_RESULT and _said_shorter(envelope.event):
        line = to_line({**envelope.to_json(), "result": None})
    found = [secret for secret in hidden if json.dumps(secret, ensure_ascii=False)[1:-1] in line]
    if found:
        line = to_line(_hidden(json.loads(line), found))
    return line.encode("utf-8") + b"\n"


def _said_shorter(event: Event) -> bool:
    """Tell whether *event* holds, beside a whole result, the part of it that the model got."""
    return isinstance(event, ToolCompleted) and event.ok and len(event.content) < LONGEST_RESULT


_STRUCTURE = frozenset(
    ("v", "seq", "ts", "session", "turn", "agent", "type", "call_id", "id", "tool", "status", "stop")
)


def _hidden(value: Any, secrets: Sequence[str]) -> Any:
    # A key may be an ordinary word, as those of local servers are: what makes the record readable stays.
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, HIDDEN)
        return value
    if isinstance(value, dict):
        return {
            key: item if key in _STRUCTURE and not isinstance(item, dict | list) else _hidden(item, secrets)
            for key, item in value.items()
        }
    return [_hidden(item, secrets) for item in value] if isinstance(value, list) else value


def from_bytes(line: bytes) -> Envelope | None:
    """Read one record; None for an event type that this version does not know.

    Raises:
        NewerFormat: The record's format is newer than this version's.
        ValueError: It is no record.
    """
    try:
        data = json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("not an object")
    version = data.get("v")
    if isinstance(version, int) and version > VERSION:
        raise NewerFormat(version)
    envelope = Envelope.from_json(data)
    if envelope is not None:
        _check(envelope.event)
    return envelope


_KINDS: tuple[tuple[str, type | tuple[type, ...]], ...] = (
    ("str | None", (str, type(None))),
    ("int | None", (int, type(None))),
    ("dict[str, Any] | None", (dict, type(None))),
    ("float | None", (int, float, type(None))),
    ("str", str),
    ("int", int),
    ("bool", bool),
    ("float", (int, float)),
    ("tuple", tuple),
)


def _kinds(annotation: str) -> type | tuple[type, ...]:
    return next((kinds for prefix, kinds in _KINDS if annotation.startswith(prefix)), object)


_FIELDS = {
    name: tuple((item.name, _kinds(str(item.type))) for item in dataclasses.fields(cls)) for name, cls in TYPES.items()
}


_LISTS = {
    name: tuple((item.name, str(item.type)) for item in dataclasses.fields(cls) if str(item.type).startswith("tuple["))
    for name, cls in TYPES.items()
}

_NEEDED: dict[str, tuple[str, ...]] = {"calls": ("id", "name", "arguments"), "attachments": ("media_type", "data")}
"""What the items of a field must hold, as texts."""


def _check(event: Event) -> None:
    for name, kinds in _FIELDS[event.type]:
        if not isinstance(getattr(event, name), kinds):
            raise ValueError(f"{event.type}: {name} has a wrong type")
    for name, annotation in _LISTS[event.type]:
        _check_items(f"{event.type}: {name}", name, annotation, getattr(event, name))


def _check_items(where: str, name: str, annotation: str, items: tuple[Any, ...]) -> None:
    kind = str if annotation.startswith("tuple[str") else dict
    for item in items:
        if not isinstance(item, kind):
            raise ValueError(f"{where} holds what is none")
        texts = [item.get(key) for key in _NEEDED.get(name, ())] if isinstance(item, dict) else []
        if annotation.startswith("tuple[dict[str, str]") and isinstance(item, dict):
            texts += list(item.values())
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"{where} is incomplete")
        if name == "attachments":
            # As it is read later; what can't be decoded would end every resume.
            base64.b64decode(item["data"])
