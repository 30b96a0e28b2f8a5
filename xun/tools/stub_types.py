"""Types in the stub of code mode: of JSON schemas, and of what a tool's annotation says that it returns."""

from __future__ import annotations

import dataclasses
import datetime
import keyword
import types
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import PurePath
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from xun.result import Result

_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_NAMES: dict[type, str] = {
    str: "str",
    int: "int",
    float: "float",
    bool: "bool",
    type(None): "None",
    list: "list[Any]",
    tuple: "list[Any]",
    dict: "dict[str, Any]",
}


class Classes:
    """The TypedDicts that the functions need, each once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._names: dict[str, str] = {}

    def name(self, wanted: str, body: str) -> str:
        """Return the name of the class with *body*; a taken name gets a number."""
        base = "".join(char if char.isalnum() else "_" for char in wanted) or "Value"
        name, number = base, 2
        while self._names.get(name, body) != body:
            name, number = f"{base}_{number}", number + 1
        if name not in self._names:
            self._names[name] = body
            self.texts.append(f"class {name}(TypedDict):\n{body}")
        return name


class Types:
    """JSON schemas as Python types.

    Args:
        definitions: The ``$defs`` that references are looked up in.
        classes: Where TypedDicts go.
    """

    def __init__(self, definitions: Mapping[str, Any], classes: Classes) -> None:
        self.classes = classes
        self._definitions = definitions
        self._open: list[str] = []

    def meeting(self, schema: Any) -> str:
        """Return the type of the values that meet *schema*."""
        if not isinstance(schema, dict):
            return "Any"
        if "$ref" in schema:
            return self._reference(str(schema["$ref"]).rsplit("/", 1)[-1])
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return _union([self.meeting(item) for item in schema[key]])
        if "allOf" in schema and len(schema["allOf"]) == 1:
            return self.meeting(schema["allOf"][0])
        if "const" in schema:
            return _literal([schema["const"]])
        if "enum" in schema:
            return _literal(schema["enum"])
        return self._of_type(schema)

    def _of_type(self, schema: dict[str, Any]) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            return _union([self._of_type({**schema, "type": one}) for one in kind])
        if kind == "array":
            items = [self.meeting(item) for item in schema.get("prefixItems", ())]
            if "items" in schema:
                items.append(self.meeting(schema["items"]))
            return f"list[{_union(items) if items else 'Any'}]"
        if kind != "object":
            return _PLAIN.get(str(kind), "Any")
        if schema.get("properties"):
            return self._class(str(schema.get("title") or "Value"), schema)
        more = schema.get("additionalProperties")
        return f"dict[str, {self.meeting(more) if isinstance(more, dict) and more else 'Any'}]"

    def _reference(self, name: str) -> str:
        if name in self._open or name not in self._definitions:
            return "Any"  # a type that holds itself is told to its first level
        self._open.append(name)
        try:
            return self.meeting({"title": name, **self._definitions[name]})
        finally:
            self._open.pop()

    def _class(self, title: str, schema: dict[str, Any]) -> str:
        required = set(schema.get("required", ()))
        rows = []
        for key, item in schema["properties"].items():
            if not key.isidentifier() or keyword.iskeyword(key):
                return "dict[str, Any]"
            kind = self.meeting(item)
            rows.append(f"    {key}: {kind if key in required else f'NotRequired[{kind}]'}")
        return self.classes.name(title, "\n".join(rows))

    def of(self, kind: Any) -> str:
        """Return the type of the JSON values that values of the Python type *kind* become."""
        if isinstance(kind, type) and kind in _NAMES:
            return _NAMES[kind]
        if kind is None:
            return "None"
        origin, args = get_origin(kind), get_args(kind)
        if origin is Annotated or origin in (Required, NotRequired) or (origin is Result and args):
            return self.of(args[0])
        if origin in (Union, types.UnionType):
            return _union([self.of(arg) for arg in args])
        if origin is Literal:
            return _literal([arg.value if isinstance(arg, Enum) else arg for arg in args])
        if origin in (list, tuple, Sequence, Iterable):
            items = [self.of(arg) for arg in args if arg is not Ellipsis]
            return f"list[{_union(items) if items else 'Any'}]"
        if origin in (dict, Mapping):
            return f"dict[str, {self.of(args[1])}]"
        return self._of_class(kind) if isinstance(kind, type) else "Any"

    def _of_class(self, kind: type) -> str:
        if is_typeddict(kind) or dataclasses.is_dataclass(kind):
            return self._of_fields(kind)
        if issubclass(kind, Enum):
            return _literal([item.value for item in kind])
        if issubclass(kind, PurePath | datetime.date):
            return "str"
        described = getattr(kind, "model_json_schema", None)
        if described is None:
            return "Any"
        try:
            schema = described(mode="serialization")
        except (TypeError, ValueError, NameError):
            return "Any"  # a model that can't be described
        return Types(schema.get("$defs", {}), self.classes).meeting(schema)

    def _of_fields(self, kind: type) -> str:
        name = kind.__name__
        if name in self._open or callable(getattr(kind, "to_json", None)):
            return "Any"
        self._open.append(name)
        try:
            hints = get_type_hints(kind, include_extras=True)
            optional: frozenset[str] = getattr(kind, "__optional_keys__", frozenset())
            rows = []
            for key, hint in hints.items():
                origin = get_origin(hint)
                if origin is not ClassVar:
                    text = self.of(hint)
                    # Where annotations are text, only the hint itself tells.
                    left_out = origin is NotRequired or (key in optional and origin is not Required)
                    rows.append(f"    {key}: {f'NotRequired[{text}]' if left_out else text}")
        except (NameError, TypeError, AttributeError, SyntaxError):
            return "dict[str, Any]"
        finally:
            self._open.pop()
        return self.classes.name(name, "\n".join(rows)) if rows else "dict[str, Any]"


def _union(kinds: list[str]) -> str:
    seen = list(dict.fromkeys(kinds))
    return "Any" if "Any" in seen or not seen else " | ".join(seen)


def _literal(values: list[Any]) -> str:
    plain = [value for value in values if isinstance(value, str | int | bool) or value is None]
    return f"Literal[{', '.join(repr(value) for value in plain)}]" if plain and len(plain) == len(values) else "Any"
