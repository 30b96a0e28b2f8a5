"""Any tool value as JSON, by the rules of the specification and no others."""

from __future__ import annotations

import dataclasses
import datetime as _dt
import json
import math
from enum import Enum
from pathlib import PurePath
from typing import Any

_PLAIN = (str, int, float, bool, type(None))


def to_jsonable(value: Any) -> Any:
    """Return *value* as JSON values.

    Plain values stay as they are. Otherwise the first of ``model_dump``, ``to_json``
    and ``value_json`` that the object has is called. Lists, tuples, dicts, dataclasses,
    enums, paths and dates are taken apart.

    Raises:
        TypeError: The type can't be serialised; the text names it.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, type):
        raise TypeError(f"Cannot serialise the class {value.__name__}: return an instance or plain data")
    dumped = _by_method(value)
    if dumped is not _MISSING:
        return dumped
    if isinstance(value, dict):
        return {_key(k): to_jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_jsonable(item) for item in value]
    return _standard(value)


_MISSING: Any = object()


def _by_method(value: Any) -> Any:
    if callable(getattr(value, "model_dump", None)):
        # Only pydantic's own method is known to take a mode.
        own = hasattr(type(value), "__pydantic_serializer__")
        return to_jsonable(value.model_dump(mode="json") if own else value.model_dump())
    if callable(getattr(value, "to_json", None)):
        return to_jsonable(value.to_json())
    if callable(getattr(value, "value_json", None)):
        return to_jsonable(json.loads(value.value_json()))
    return _MISSING


def _key(key: Any) -> str:
    plain = to_jsonable(key)
    return plain if isinstance(plain, str) else json.dumps(plain)


def _standard(value: Any) -> Any:
    if isinstance(value, Enum):
        return to_jsonable(value.value)
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, _dt.datetime | _dt.date | _dt.time):
        return value.isoformat()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_jsonable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    kind = type(value)
    raise TypeError(
        f"Cannot serialise a value of type {kind.__module__}.{kind.__qualname__}: "
        "return str, int, float, bool, None, list, dict, a dataclass, a pydantic model, "
        "or an object with model_dump, to_json or value_json"
    )


def dumps(value: Any) -> str:
    """Return *value* as JSON text without ASCII escapes, as a model reads it: NaN and infinities by their names."""
    return json.dumps(to_jsonable(value), ensure_ascii=False)


def strict_dumps(value: Any) -> str:
    """Return *value* as JSON text that every reader takes: NaN and infinities, which JSON has not, become null."""
    plain = to_jsonable(value)
    try:
        return json.dumps(plain, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(finite(plain), ensure_ascii=False)


def finite(value: Any) -> Any:
    """Return JSON values with null for NaN and infinities."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value
