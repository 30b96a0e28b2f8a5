"""The stub of code mode: one async function per tool, with types and docstring."""

from __future__ import annotations

import functools
import inspect
import keyword
from collections.abc import Iterable
from typing import Any, get_type_hints

from xun._serialize import to_jsonable
from xun.tools.exposure import code_names
from xun.tools.function import Function
from xun.tools.stub_types import Classes, Types

_HEAD = '''"""Tools for code in run_code: `value = await tools.NAME(argument=value)`.

All arguments are given by name. A call returns plain JSON values and raises ToolError when the tool fails.
"""

from typing import Any, Literal, NotRequired, TypedDict
'''


def stub_text(tools: Iterable[Function]) -> str:
    """Return the text of a ``.pyi`` file for the tools that code can call; the same tools give the same text."""
    classes = Classes()
    functions = [_function(name, tool, classes) for name, tool in code_names(tools).items()]
    return "\n\n".join([_HEAD, *classes.texts, *functions]).rstrip() + "\n"


def _function(name: str, tool: Function, classes: Classes) -> str:
    schema = tool.tool_schema
    types = Types(schema.get("$defs", {}), classes)
    required = set(schema.get("required", ()))
    parts = []
    # A schema that was given may have true for "anything".
    items = {key: item if isinstance(item, dict) else {} for key, item in schema.get("properties", {}).items()}
    for key, item in items.items():
        if not key.isidentifier() or keyword.iskeyword(key):
            parts.append("**more: Any")
            continue
        default = "" if key in required else f" = {to_jsonable(item['default'])!r}" if "default" in item else " = ..."
        parts.append(f"{key}: {types.meeting(item)}{default}")
    parts = sorted(dict.fromkeys(parts), key=lambda part: part.startswith("**"))
    if parts and not parts[0].startswith("**"):
        parts.insert(0, "*")
    line = f"async def {name}({', '.join(parts)}) -> {_returned(tool, types)}:"
    if len(line) > 100:
        line = f"async def {name}(\n    " + ",\n    ".join(parts) + f",\n) -> {_returned(tool, types)}:"
    notes = [f"{key}: {item['description']}" for key, item in items.items() if "description" in item]
    return f"{line}\n{_docstring(tool.description, notes)}"


def _docstring(text: str, notes: list[str]) -> str:
    whole = "\n".join([inspect.cleandoc(text), *(["", *notes] if notes else [])]).strip()
    if not whole:
        return "    ..."
    whole = whole.replace("\\", "\\\\")
    if '"""' in whole or whole.endswith('"'):
        whole = whole.replace('"', '\\"')
    return '    """' + whole.replace("\n", "\n    ").replace("\n    \n", "\n\n") + '"""'


def _returned(tool: Function, types: Types) -> str:
    """Return the type of what *tool* gives; "Any" where neither its output schema nor its annotation tells."""
    if (given := tool.output_schema) is not None:
        return Types(given.get("$defs", {}), types.classes).meeting(dict(given))
    func: Any = inspect.unwrap(tool.func)
    while isinstance(func, functools.partial):
        func = inspect.unwrap(func.func)
    if not inspect.isroutine(func):
        func = type(func).__call__
    try:
        kind = get_type_hints(func, include_extras=True).get("return", Any)
    except (NameError, TypeError, AttributeError, SyntaxError):
        return "Any"
    return types.of(kind)
