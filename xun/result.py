"""Result: what a tool call or a run comes back with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, cast

from xun._serialize import dumps, strict_dumps, to_jsonable

T = TypeVar("T")
E = TypeVar("E")
V = TypeVar("V")
X = TypeVar("X")

_NONE: Any = None

Status = Literal["ok", "format_error", "error", "timeout", "denied", "pending", "cancelled"]
"""How a call ended: ok, or one of the ways not to."""


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """A failure as data.

    Attributes:
        error: The text that the model and the person read (``str(exc)``).
        details: ``repr(exc)``, for a log.
        kind: The exception's ``kind``, or its class name.
        facts: JSON values beside the text, such as ``nearest_line``; may be empty.
    """

    error: str
    details: str = ""
    kind: str = "error"
    facts: dict[str, Any] | None = None

    @classmethod
    def from_exception(cls, exc: BaseException) -> ErrorInfo:
        """Describe *exc*."""
        kind = getattr(exc, "kind", None)
        facts = getattr(exc, "facts", None)
        return cls(str(exc), repr(exc), kind if isinstance(kind, str) else type(exc).__name__, facts or None)

    def to_json(self) -> dict[str, Any]:
        """Return ``{"error", "details"}``."""
        return {"error": self.error, "details": self.details}


@dataclass(frozen=True, slots=True)
class Result(Generic[T, E]):
    """Either a value or an error. Make one with `Ok` or `Err`."""

    _ok: bool
    _value: T | None
    _error: E | None
    status: Status = "ok"

    def __repr__(self) -> str:
        if self._ok:
            return f"Result.Ok({self._value!r})"
        return f"Result.Err({self._error!r}, status={self.status!r})"

    @staticmethod
    def Ok(value: V = _NONE) -> Result[V, Any]:
        """Return a success that holds *value*."""
        return Result(True, value, None, "ok")

    @staticmethod
    def Err(error: X, status: Status = "error") -> Result[Any, X]:
        """Return a failure that holds *error*, ended in the way *status* says."""
        return Result(False, None, error, status)

    def is_ok(self) -> bool:
        """Tell whether this holds a value."""
        return self._ok

    def is_err(self) -> bool:
        """Tell whether this holds an error."""
        return not self._ok

    @property
    def value(self) -> T | E:
        """The value of a success, the error of a failure."""
        return cast("T", self._value) if self._ok else cast("E", self._error)

    def unwrap(self) -> T:
        """Return the value.

        Raises:
            ValueError: This is a failure; the text is the error's.
        """
        if not self._ok:
            raise ValueError(f"unwrap() on an error: {_text(self._error)}")
        return cast("T", self._value)

    def unwrap_err(self) -> E:
        """Return the error.

        Raises:
            ValueError: This is a success.
        """
        if self._ok:
            raise ValueError(f"unwrap_err() on a success: {_text(self._value)}")
        return cast("E", self._error)

    def unwrap_or(self, default: T) -> T:
        """Return the value, or *default* for a failure."""
        return cast("T", self._value) if self._ok else default

    def value_json(self) -> str:
        """Return the value (or the error) as JSON text; NaN and infinities, which JSON has not, become null."""
        return strict_dumps(self.value)

    def value_str(self) -> str:
        """Return the value (or the error) as the model reads it: a string as it is, else JSON."""
        value = self.value
        if isinstance(value, str):
            return value
        return dumps(value)

    def to_json(self) -> dict[str, Any]:
        """Return ``{"value", "is_ok"}``."""
        return {"value": to_jsonable(self.value), "is_ok": self._ok}


def _text(value: Any) -> str:
    return value.error if isinstance(value, ErrorInfo) else str(value)
