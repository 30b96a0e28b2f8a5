"""The tools array in the forms of the model providers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

FORMATS = ("openai", "anthropic", "gemini")
"""The forms that `ToolBox.list_tools_json` knows."""

_DROPPED = frozenset({"$defs", "$id", "$schema", "additionalProperties", "const", "definitions", "default", "title"})


def provider_form(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return the function that turns an entry in the OpenAI form into that of provider *name*.

    Raises:
        ValueError: No such form; the text names those that there are.
    """
    forms = {"openai": lambda entry: entry, "anthropic": _anthropic, "gemini": _gemini}
    if name not in forms:
        raise ValueError(f"No tools format named {name!r}; the formats are {', '.join(FORMATS)}")
    return forms[name]


def _anthropic(entry: dict[str, Any]) -> dict[str, Any]:
    function = entry["function"]
    return {
        "name": function["name"],
        "description": function["description"],
        "input_schema": {"type": "object", **function["parameters"]},
    }


def _gemini(entry: dict[str, Any]) -> dict[str, Any]:
    """Gemini reads a subset of OpenAPI 3.0: no references, no closed objects, null as a flag."""
    function = entry["function"]
    schema = function["parameters"]
    declared = {"name": function["name"], "description": function["description"]}
    if not schema.get("properties"):
        return declared  # an object without properties is refused
    return {**declared, "parameters": _plain(schema, schema, ())}


def _plain(schema: Any, root: Mapping[str, Any], inside: tuple[str, ...]) -> Any:
    if not isinstance(schema, dict):
        return {} if isinstance(schema, bool) else schema
    ref = schema.get("$ref")
    if isinstance(ref, str):
        if ref in inside:
            return {"type": "object"}  # a type that holds itself can't be written out
        found = {**_at(root, ref), **{key: value for key, value in schema.items() if key != "$ref"}}
        return _plain(found, root, (*inside, ref))
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            plain[key] = {name: _plain(item, root, inside) for name, item in value.items()}
        elif key in ("anyOf", "oneOf", "allOf") or (key == "type" and isinstance(value, list)):
            plain.update(_union(key, value, root, inside))
        elif key == "items":
            plain[key] = _plain(value, root, inside)
        elif key == "prefixItems":
            plain.setdefault("items", {"anyOf": [_plain(item, root, inside) for item in value]})
        elif key not in _DROPPED:
            plain[key] = value
    if "const" in schema:
        plain["enum"] = [schema["const"]]
    if plain.get("required") == []:
        del plain["required"]
    return plain


def _union(key: str, value: list[Any], root: Mapping[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
    if key == "type":
        value = [{"type": kind} for kind in value]
    members = [_plain(item, root, inside) for item in value]
    kept = [member for member in members if member.get("type") != "null"]
    form: dict[str, Any] = {"nullable": True} if len(kept) < len(members) else {}
    return {**form, **kept[0]} if len(kept) == 1 else {**form, "anyOf": kept}


def _at(root: Mapping[str, Any], ref: str) -> dict[str, Any]:
    here: Any = root
    for part in ref.lstrip("#").split("/")[1:]:
        here = here.get(part.replace("~1", "/").replace("~0", "~"), {}) if isinstance(here, dict) else {}
    return here if isinstance(here, dict) else {}
