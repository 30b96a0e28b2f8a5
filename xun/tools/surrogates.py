"""Lone surrogates in arguments: JSON can write them, strict validation refuses them.

A tool that can't take one says so itself, in words that fit; the model then learns more than from a
parse error. So they pass validation in disguise: each becomes one character of a private plane and
back again.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

_FIRST, _LAST = 0xD800, 0xDFFF
_SHIFT = 0x10F000 - _FIRST
_LONE = re.compile("[\ud800-\udfff]")
_DISGUISED = re.compile("[\U0010f000-\U0010f7ff]")
_TO = {code: code + _SHIFT for code in range(_FIRST, _LAST + 1)}
_BACK = {code + _SHIFT: code for code in range(_FIRST, _LAST + 1)}


def disguise(data: Any) -> tuple[Any, bool]:
    """Return *data* with lone surrogates disguised, and whether there were any.

    Data that holds a character of the disguise already is left alone.
    """
    texts = list(_texts(data))
    if not any(_LONE.search(text) for text in texts) or any(_DISGUISED.search(text) for text in texts):
        return data, False
    return _mapped(data, _TO), True


def undisguise(value: Any) -> Any:
    """Return a validated *value* with the surrogates back; instances are changed in place."""
    if isinstance(value, str | list | tuple | dict):
        return _mapped(value, _BACK)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for item in dataclasses.fields(value):
            object.__setattr__(value, item.name, undisguise(getattr(value, item.name)))
    elif hasattr(value, "__pydantic_fields_set__"):
        values = value.__dict__
        for name in values:
            values[name] = undisguise(values[name])
    return value


def _texts(data: Any) -> Any:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _texts(key)
            yield from _texts(value)
    elif isinstance(data, list):
        for item in data:
            yield from _texts(item)


def _mapped(data: Any, table: dict[int, int]) -> Any:
    if isinstance(data, str):
        return data.translate(table)
    if isinstance(data, dict):
        return {_mapped(key, table): _mapped(value, table) for key, value in data.items()}
    if isinstance(data, list):
        return [_mapped(item, table) if isinstance(item, str | list | dict) else undisguise(item) for item in data]
    if isinstance(data, tuple) and type(data) is tuple:
        return tuple(undisguise(item) for item in data)
    return data
