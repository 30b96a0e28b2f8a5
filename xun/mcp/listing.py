"""What a server lists as its tools: what is usable of it, and what is left out and why."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from xun.unseen import without_unseen

MAX_DESCRIPTION = 2048
"""Letters of the description of one tool; the rest is left out, as it would be part of every request."""

MAX_SCHEMA = 32 * 1024
"""Letters of one schema as JSON; texts in it are left out to get there, and then the tool."""

_SCHEMAS = ("inputSchema", "outputSchema")
_PROSE = ("description", "title", "$comment")
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_VALUES = frozenset({"const", "default", "enum", "examples"})


class Listing:
    """The tools of the answers that come by; what is no tool is taken out of them.

    Attributes:
        left_out: One sentence for each tool that was.
    """

    def __init__(self) -> None:
        self.left_out: list[str] = []

    def seen(self, item: Any) -> Any:
        """Return *item*, a message or whatever else the stream gives, with what it lists as tools made usable."""
        result = getattr(getattr(item, "message", None), "result", None)
        if isinstance(result, dict) and isinstance(result.get("tools"), list):
            result["tools"] = [tool for tool in result["tools"] if self._usable(tool)]
        return item

    def _usable(self, tool: Any) -> bool:
        if not isinstance(tool, dict):
            self.left_out.append("one that is no object")
            return False
        schema = tool.get("inputSchema")
        tool["inputSchema"] = {"type": "object"} if schema is None else repaired(schema)
        wrong = _wrong(tool)
        if wrong:
            for key in [key for key in tool if key not in ("name", "inputSchema")]:
                if _wrong({"name": "x", "inputSchema": {"type": "object"}, key: tool[key]}):
                    del tool[key]  # the tool can be used without it
            wrong = _wrong(tool)
        if wrong:
            self.left_out.append(f"{str(tool.get('name'))[:64]!r} ({wrong})")
        return not wrong


def _wrong(tool: dict[str, Any]) -> str:
    """Return what the package mcp would say against *tool*; "" when it takes it."""
    from mcp.types import Tool
    from pydantic import ValidationError

    if any(isinstance(tool.get(key), dict) and tool[key].get("type") != "object" for key in _SCHEMAS):
        return "its schema is not that of an object"
    try:
        Tool.model_validate(tool, by_name=False)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return ""


def repaired(schema: Any) -> Any:
    """Return *schema* with what providers refuse, and servers write all the same, put right."""
    if not isinstance(schema, dict):
        return schema
    schema = _repaired(schema)
    kind = schema.get("type")
    if kind is None or (isinstance(kind, list) and "object" in kind):
        schema = {**schema, "type": "object"}
    return schema


def _repaired(schema: Any, depth: int = 0) -> Any:
    if depth > 200:
        return {}
    if isinstance(schema, list):
        return [_repaired(item, depth + 1) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for key, item in schema.items():
        if key in _PROSE and isinstance(item, str):
            made[key] = without_unseen(item)[0]
        elif key in _NAMED and isinstance(item, dict):
            kept = item if key != "patternProperties" else {name: item[name] for name in item if _is_pattern(name)}
            made[key] = {name: _repaired(inner, depth + 1) for name, inner in kept.items()}
        elif key == "required" and not isinstance(item, list):
            continue  # the way of the third draft; what is missing the server says
        elif key == "pattern" and not _is_pattern(item):
            continue  # of a language that is not ours; the server applies it
        else:
            made[key] = item if key in _VALUES else _repaired(item, depth + 1)
    return made


def _is_pattern(text: Any) -> bool:
    try:
        re.compile(text)
    except (re.error, TypeError, RecursionError, OverflowError):
        return False
    return True


def described(text: str | None) -> str:
    """Return the description of a tool as the model gets it."""
    kept = without_unseen((text or "").strip())[0]
    return kept if len(kept) <= MAX_DESCRIPTION else kept[: MAX_DESCRIPTION - 1].rstrip() + "…"


def fitting(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return *schema* within its size, if need be without the texts in it; None when that is not enough."""
    if len(json.dumps(schema)) <= MAX_SCHEMA:
        return schema
    bare = _bare(schema)
    return bare if len(json.dumps(bare)) <= MAX_SCHEMA else None


def _bare(schema: Any) -> Any:
    return _without(schema, lambda here, key: key in (*_PROSE, "examples") and not isinstance(here[key], dict))


def unbounded(schema: Any) -> Any:
    """Return *schema* without patterns and the comparison of each item with all others, for checking values here.

    Either can take longer than anybody lives, and the server applies its own anyway.
    """

    def is_left_out(here: dict[str, Any], key: str) -> bool:
        if key in ("additionalProperties", "unevaluatedProperties"):
            # They speak of the names that no pattern takes.
            return "patternProperties" in here
        return key in ("patternProperties", "uniqueItems") or (key == "pattern" and isinstance(here[key], str))

    return _without(schema, is_left_out)


def _without(schema: Any, is_left_out: Callable[[dict[str, Any], str], bool]) -> Any:
    """Return *schema* without the keywords of which *is_left_out* says so, given the schema that they are in."""
    if isinstance(schema, list):
        return [_without(item, is_left_out) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _without(inner, is_left_out) for name, inner in item.items()}
        if key in _NAMED and isinstance(item, dict)
        else item
        if key in _VALUES
        else _without(item, is_left_out)
        for key, item in schema.items()
        if not is_left_out(schema, key)
    }
