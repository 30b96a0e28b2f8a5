"""A tool's schema as it travels with every request: the same meaning in fewer bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

_NAMED = ("properties", "$defs")
_VALUES = ("default", "enum", "const", "examples")
_REF = "#/$defs/"


def compact_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool's parameters without what says nothing new to a model.

    Titles repeat the names. A parameter that is null unless given is shown as its other type: leaving it out means the
    same. A definition that is used in one place stands there; a list of required names is left out when it is empty.
    What is accepted does not change.
    """
    slim: dict[str, Any] = _without_nulls(without_titles(schema))
    if not slim.get("required", True):
        del slim["required"]
    return _inlined(slim)


def without_titles(schema: Any) -> Any:
    """Return a JSON schema without the titles that pydantic makes from names."""
    if isinstance(schema, list):
        return [without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    slim = {}
    for key, value in schema.items():
        if key in _NAMED:
            slim[key] = {name: without_titles(item) for name, item in value.items()}
        elif key in _VALUES:
            slim[key] = value
        elif key != "title":
            slim[key] = without_titles(value)
    return slim


def _without_nulls(schema: Any) -> Any:
    """Return *schema* with ``T or null, null unless given`` written as ``T``, for the parameters and their fields."""
    if not isinstance(schema, dict):
        return schema
    for group in (schema.get("properties", {}), schema.get("$defs", {})):
        for name, item in group.items():
            group[name] = _without_nulls(_plain(item) if group is schema.get("properties") else item)
    return schema


def _plain(item: Any) -> Any:
    if not isinstance(item, dict) or "default" not in item or item["default"] is not None:
        return item
    members = item.get("anyOf")
    if not isinstance(members, list) or {"type": "null"} not in members or len(members) != 2:
        return item
    other = next(member for member in members if member != {"type": "null"})
    return {**{key: value for key, value in item.items() if key not in ("anyOf", "default")}, **other}


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Return *schema* with each definition put where it is used, when that is one place outside of itself."""
    definitions = schema.get("$defs", {})
    uses = Counter(_refs(schema))
    for name in list(definitions):
        body = definitions[name]
        if uses[name] == 1 and name not in _refs(body):
            del definitions[name]
            # What the docstring of a class says of it is for the reader of the code.
            _put(schema, name, {key: value for key, value in body.items() if key != "description"})
    if "$defs" in schema and not definitions:
        del schema["$defs"]
    return schema


def _refs(node: Any) -> Iterator[str]:
    for item in _inside(node):
        ref = item.get("$ref")
        if isinstance(ref, str) and ref.startswith(_REF):
            yield ref.removeprefix(_REF)


def _put(node: Any, name: str, body: dict[str, Any]) -> None:
    for item in list(_inside(node)):
        if item.get("$ref") == _REF + name:
            del item["$ref"]
            item.update({**body, **item})


def _inside(node: Any) -> Iterator[dict[str, Any]]:
    """Yield the schemas in *node*, itself first; values such as a default are none."""
    if isinstance(node, list):
        for item in node:
            yield from _inside(item)
    elif isinstance(node, dict):
        yield node
        for key, value in node.items():
            if key in _NAMED:
                for item in value.values():
                    yield from _inside(item)
            elif key not in _VALUES:
                yield from _inside(value)
