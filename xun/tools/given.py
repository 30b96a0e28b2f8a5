"""Arguments by a JSON schema that was given, not derived: checked before the call, and passed on."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, cast

from xun.errors import ConfigError, ToolCallFormatError
from xun.tools.coerce import ListRule, read_list
from xun.tools.preset import check_names
from xun.tools.schema import as_json_text, decode_object, read_signature

_SHOWN_ERRORS = 10
_SHOWN_TEXT = 200
_VALUES = frozenset({"const", "default", "enum", "examples"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})


class GivenSignature:
    """What a tool takes when its schema is given; draft-07 unless the schema names another.

    Attributes:
        tool: The name used in messages.
        context_params: The names of the function's context parameters.
        context_positional: Where its positional-only context parameters are.
        args_model: None; there is no pydantic model.

    Args:
        checked: Makes of the schema the one by which arguments are checked; None when they are the same.
    """

    args_model = None

    def __init__(
        self,
        tool: str,
        schema: Any,
        takes: Takes,
        preset: Mapping[str, Any] | None = None,
        *,
        checked: Callable[[Any], Any] | None = None,
    ) -> None:
        self.tool = tool
        self._checked = checked
        self.preset = dict(preset or {})
        self.context_params = takes.context
        self.context_positional = takes.context_positional
        self._takes = takes
        self.json_schema = check_schema(tool, schema)
        check_names(tool, self.preset, takes.names, takes.context)
        self._check_function()
        required = self.json_schema.get("required")
        if required and any(name in self.preset for name in required):
            left = [name for name in required if name not in self.preset]
            self.json_schema = {**self.json_schema, "required": left}

    def _check_function(self) -> None:
        """Refuse a function that could not take what the schema offers, or wants what nobody gives."""
        takes, offered = self._takes, set(self.json_schema.get("properties", {}))
        strange = sorted(offered - takes.names) if takes.names is not None else []
        if strange:
            raise ConfigError(f"Tool {self.tool}: its function takes no parameter {strange[0]}, which the schema has.")
        lacking = sorted(takes.required - offered - set(self.preset))
        if lacking:
            raise ConfigError(
                f"Tool {self.tool}: its function wants {lacking[0]}, which is neither in the schema nor in the preset."
            )

    @cached_property
    def _validator(self) -> Any:
        from jsonschema.validators import Draft7Validator, validator_for
        from referencing import Registry

        schema = self.json_schema if self._checked is None else self._checked(self.json_schema)
        # An empty registry: what the schema refers to is in the schema, nothing is fetched.
        return validator_for(schema, Draft7Validator)(schema, registry=Registry())

    def bind(self, arguments: dict[str, Any] | str) -> tuple[list[Any], dict[str, Any]]:
        """Check *arguments* and return positional and keyword arguments of the call.

        Raises:
            ToolCallFormatError: The arguments are no JSON object, or do not fit; the text says how to repair them.
        """
        text = arguments if isinstance(arguments, str) else as_json_text(self.tool, arguments)
        data = decode_object(self.tool, text)
        lines = list(self._wrong(data))
        if lines and (changed := self._read_lists(data)) is not data:
            data = changed
            lines = list(self._wrong(data))
        if lines:
            if len(lines) > _SHOWN_ERRORS:
                lines = [*lines[:_SHOWN_ERRORS], f"and {len(lines) - _SHOWN_ERRORS} more"]
            text = f"Tool {self.tool}: invalid arguments; the tool did not run.\n" + "\n".join(lines)
            raise ToolCallFormatError(text)
        values = {**self.preset, **data} if self.preset else data
        if self._takes.whole:
            return [values], {}
        return [values.pop(name) for name in self._takes.positional if name in values], values

    def _wrong(self, data: dict[str, Any]) -> Iterator[str]:
        from referencing.exceptions import Unresolvable

        try:
            errors = sorted(self._validator.iter_errors(data), key=lambda error: [str(part) for part in error.path])
        except (Unresolvable, RecursionError) as exc:
            raise ToolCallFormatError(f"Tool {self.tool}: its schema can't be applied: {exc}") from None
        seen = set()
        for error in errors:
            for line in self._lines(error):
                if line not in seen:
                    seen.add(line)
                    yield line
        takes = self._takes.names
        for name in data if not errors and takes is not None else ():
            if takes is not None and name not in takes:
                yield f"{name}: no such parameter (it takes: {self._offered(self.json_schema)})"

    def _lines(self, error: Any) -> Iterator[str]:
        place = [str(part) for part in error.absolute_path]
        where = ".".join(place) or "arguments"
        if error.validator == "required":
            for name in error.validator_value:
                if name not in error.instance:
                    yield f"{'.'.join([*place, name])}: required, but missing"
        elif error.validator == "additionalProperties" and error.validator_value is False:
            for name in error.instance:
                if not _known(error.schema, name):
                    yield f"{'.'.join([*place, name])}: no such parameter (it takes: {self._offered(error.schema)})"
        elif kinds := _wanted_types(error):
            yield f"{where}: expected {' or '.join(kinds)}, got {type(error.instance).__name__}"
        elif error.validator in ("enum", "const"):
            values = error.validator_value if error.validator == "enum" else [error.validator_value]
            yield f"{where}: expected {' or '.join(json.dumps(v) for v in values)}"[:_SHOWN_TEXT]
        else:
            message = error.message if len(error.message) <= _SHOWN_TEXT else f"does not meet {error.validator}"
            yield f"{where}: {message}"

    @staticmethod
    def _offered(schema: Mapping[str, Any]) -> str:
        return ", ".join(schema.get("properties", {})) or "none"

    def _read_lists(self, data: dict[str, Any]) -> dict[str, Any]:
        """Read texts given for arrays as the lists that they mean, as for tools with a derived schema."""
        changed = data
        for name, schema in self.json_schema.get("properties", {}).items():
            value = data.get(name)
            if not isinstance(value, str) or not isinstance(schema, dict) or not _is_array(schema):
                continue
            items = schema.get("items")
            kind = items.get("type", "string") if isinstance(items, dict) else "string"
            try:
                parsed = read_list(value, ListRule(kind != "string" and "string" not in kind))
            except ValueError as exc:
                raise ToolCallFormatError(f"Tool {self.tool}: parameter {name}: {exc}") from None
            changed = {**changed, name: parsed}
        return changed


def _known(schema: Mapping[str, Any], name: str) -> bool:
    patterns = schema.get("patternProperties", {})
    return name in schema.get("properties", {}) or any(re.search(pattern, name) for pattern in patterns)


def _wanted_types(error: Any) -> list[str]:
    """Return the types that would have done, where the type is all that is wrong."""
    if error.validator == "type":
        kinds = error.validator_value
        return [kinds] if isinstance(kinds, str) else list(kinds)
    if error.validator not in ("anyOf", "oneOf") or not error.context:
        return []
    if any(part.validator != "type" or part.relative_path for part in error.context):
        return []
    return list(dict.fromkeys(kind for part in error.context for kind in _wanted_types(part)))


def _is_array(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    return kind == "array" or (isinstance(kind, list) and "array" in kind and "string" not in kind)


class Takes:
    """What the function behind a given schema takes.

    Attributes:
        names: The names of its parameters; None when it takes any.
        required: Those without a default.
        positional: Those that go by position only.
        context: The names of its context parameters.
        context_positional: Where its positional-only context parameters are.
        whole: It takes the arguments as one dict.
    """

    __slots__ = ("context", "context_positional", "names", "positional", "required", "whole")

    def __init__(self, tool: str, func: Callable[..., Any], *, whole: bool = False) -> None:
        self.names: frozenset[str] | None = None
        self.required: frozenset[str] = frozenset()
        self.positional: tuple[str, ...] = ()
        self.context: tuple[str, ...] = ()
        self.context_positional: tuple[int, ...] = ()
        self.whole = whole
        try:
            signature = read_signature(tool, func)
            declared = inspect.signature(func).parameters.values()
        except ValueError:
            # A compiled function may not say what it takes.
            return
        self.context = signature.context_params
        self.context_positional = signature.context_positional
        if whole:
            return
        self.positional = tuple(param.name for param in signature.params if param.positional_only)
        self.required = frozenset(param.name for param in signature.params if param.default is inspect.Parameter.empty)
        if not any(param.kind is inspect.Parameter.VAR_KEYWORD for param in declared):
            self.names = frozenset(param.name for param in signature.params)


def check_schema(tool: str, schema: Any) -> dict[str, Any]:
    """Return *schema* when it is a JSON schema of an object.

    Raises:
        ConfigError: It is none, is no JSON, or refers to something outside itself; a ValueError too.
    """
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft7Validator, validator_for

    if not isinstance(schema, Mapping):
        raise ConfigError(f"Tool {tool}: the schema must be a JSON object, got {type(schema).__name__}.")
    try:
        if not _keys_are_text(schema):
            raise ConfigError(f"Tool {tool}: the schema holds keys that are no JSON; quote them as text.")
        # A copy: whoever made it may change it later.
        schema = json.loads(json.dumps(dict(schema), allow_nan=False))
        validator_for(schema, Draft7Validator).check_schema(schema)
    except SchemaError as exc:
        place = ".".join(str(part) for part in exc.absolute_path) or "the schema"
        raise ConfigError(f"Tool {tool}: bad JSON schema at {place}: {exc.message[:_SHOWN_TEXT]}") from None
    except (TypeError, ValueError, RecursionError) as exc:
        if isinstance(exc, ConfigError):
            raise
        raise ConfigError(f"Tool {tool}: the schema is no JSON: {exc}") from None
    if schema.get("type", "object") != "object":
        raise ConfigError(f"Tool {tool}: the schema must have the type object, got {schema['type']!r}.")
    for ref in _references(schema):
        if not ref.startswith("#") or not _found(schema, ref):
            raise ConfigError(f"Tool {tool}: the schema refers to {ref!r}, which is not in it; nothing is fetched.")
    return cast("dict[str, Any]", schema)


def _keys_are_text(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        return all(isinstance(key, str) and _keys_are_text(value) for key, value in schema.items())
    return not isinstance(schema, list | tuple) or all(_keys_are_text(item) for item in schema)


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _references(item)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            elif key in _NAMED and isinstance(value, dict):
                for item in value.values():
                    yield from _references(item)
            elif key not in _VALUES:
                yield from _references(value)


def _found(schema: Any, ref: str) -> bool:
    from urllib.parse import unquote

    here = schema
    for part in [unquote(part).replace("~1", "/").replace("~0", "~") for part in ref[1:].split("/")[1:]]:
        if isinstance(here, list) and part.isdigit() and int(part) < len(here):
            here = here[int(part)]
        elif isinstance(here, dict) and part in here:
            here = here[part]
        else:
            return False
    return ref in ("#", "#/") or ref.startswith("#/")
