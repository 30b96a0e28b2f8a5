"""A tool with a schema that was given, and calls of a tool by itself."""

from __future__ import annotations

from typing import Any

import pytest

from xun import Agent, Result, ToolBox, ToolCallFormatError
from xun.tools.function import Function

SEARCH = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to look for."},
        "limit": {"type": "integer", "minimum": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"$ref": "#/definitions/place"},
    },
    "required": ["query"],
    "additionalProperties": False,
    "definitions": {"place": {"enum": ["web", "files"]}},
}


def search(query: str, limit: int = 3, tags: list[str] | None = None, place: str = "web", key: str = "none") -> str:
    return f"{query} {limit} {tags} {place} {key}"


def call(tool: Any, arguments: dict[str, Any] | str, name: str | None = None) -> Result[Any, Any]:
    box = ToolBox(tool)
    return box.call_tool(Agent(), name or box.list_tools()[0].name, arguments)


def refused(tool: Any, arguments: dict[str, Any] | str) -> str:
    with pytest.raises(ToolCallFormatError) as caught:
        call(tool, arguments)
    return str(caught.value)


def given(**attr: Any) -> Function:
    return Function.from_schema("search", "Look it up.", SEARCH, search, **attr)
