"""Structured answers: the final text checked against a schema, with its errors fed back."""

from __future__ import annotations

import json
import re
from typing import Any

from xun._serialize import to_jsonable
from xun.errors import ConfigError, RunError

_SHOWN = 10
_FENCE = re.compile(r"^\s*```[\w-]*\n(.*?)\n?```\s*$", re.DOTALL)


class SchemaNotMet(RunError):
    """The answer does not meet the schema.

    Attributes:
        final: No try is left.
    """

    kind = "schema"

    def __init__(self, message: str, *, final: bool) -> None:
        super().__init__(message)
        self.final = final


class SchemaCheck:
    """Reads answers as one type.

    Args:
        schema: A pydantic model, any type that pydantic can validate, or a JSON schema as a dict.
        attempts: How many answers may be tried.

    Raises:
        ConfigError: It is nothing of these, or the dict is no valid JSON schema.
    """

    def __init__(self, schema: Any, attempts: int) -> None:
        self._left = attempts
        self._adapter: Any = None
        self._validator: Any = None
        if isinstance(schema, dict):
            from jsonschema import Draft202012Validator, SchemaError

            try:
                Draft202012Validator.check_schema(schema)
            except SchemaError as exc:
                raise ConfigError(f"The schema is no valid JSON schema: {exc.message}") from None
            self._validator = Draft202012Validator(schema)
            self.json_schema: dict[str, Any] = schema
        else:
            from pydantic import TypeAdapter
            from pydantic.errors import PydanticUserError

            try:
                self._adapter = TypeAdapter(schema)
                self.json_schema = self._adapter.json_schema()
            except PydanticUserError as exc:
                shown = getattr(schema, "__name__", None) or repr(schema)
                raise ConfigError(
                    f"The schema {shown} is nothing that an answer can be checked against: give a pydantic model, "
                    f"another type, or a JSON schema as a dict. ({str(exc).splitlines()[0]})"
                ) from None

    def parse(self, text: str) -> Any:
        """Return the value that *text* holds.

        Raises:
            SchemaNotMet: It holds none; the text says what is wrong.
        """
        self._left -= 1
        fenced = _FENCE.match(text)
        body = fenced.group(1) if fenced else text
        problem = ""
        try:
            if self._adapter is not None:
                return self._adapter.validate_json(body)
            value = json.loads(body)
            error = next(iter(self._validator.iter_errors(value)), None)
            if error is None:
                return value
            where = "/".join(str(part) for part in error.absolute_path)
            problem = f"{where or 'the value'}: {error.message}"
        except ValueError as exc:
            problem = _plain(exc)
        final = self._left <= 0
        again = "" if final else "\nAnswer again with the JSON value only."
        raise SchemaNotMet(f"The answer does not meet the schema: {problem}{again}", final=final)

    def jsonable(self, value: Any) -> Any:
        """Return a parsed value as JSON values."""
        return value if self._adapter is None else to_jsonable(self._adapter.dump_python(value, mode="json"))


def _plain(exc: ValueError) -> str:
    """Return what is wrong without what only a developer would look up."""
    if not hasattr(exc, "errors"):
        return str(exc)
    errors = exc.errors(include_url=False, include_context=False, include_input=False)
    said = [f"{'.'.join(map(str, error['loc'])) or 'the answer'}: {_lower(error['msg'])}" for error in errors[:_SHOWN]]
    more = [f"and {len(errors) - _SHOWN} more"] if len(errors) > _SHOWN else []
    return "\n".join([*said, *more])


def _lower(text: str) -> str:
    return text if text.startswith(("JSON", "URL")) else text[:1].lower() + text[1:]
