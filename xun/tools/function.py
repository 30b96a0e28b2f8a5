"""Function: one tool."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from xun.errors import CancelledError, Denied, ToolCallFormatError
from xun.result import ErrorInfo, Result, Status
from xun.tools.attr import ToolAttr, attr_of
from xun.tools.context import ToolCallContext
from xun.tools.schema import Signature, read_signature, without_titles

_PASS = (KeyboardInterrupt, SystemExit, GeneratorExit, CancelledError, asyncio.CancelledError)
_SAFE = "__xun_except_safe__"

F = TypeVar("F", bound=Callable[..., Any])


def failure(exc: BaseException) -> Result[Any, ErrorInfo]:
    """Return *exc* as the Result that a call ends with."""
    status: Status = "error"
    if isinstance(exc, ToolCallFormatError):
        status = "format_error"
    elif isinstance(exc, Denied):
        status = "denied"
    elif isinstance(exc, TimeoutError) or getattr(exc, "kind", "") == "timeout":
        status = "timeout"
    return Result.Err(ErrorInfo.from_exception(exc), status)


def _wrap(value: Any) -> Result[Any, Any]:
    return value if isinstance(value, Result) else Result.Ok(value)


def except_safe(func: F) -> F:
    """Return *func* with its value or exception as a Result.

    Cancellation, KeyboardInterrupt and SystemExit pass through. Applying it twice changes nothing.
    """
    if getattr(func, _SAFE, False):
        return func
    if is_async(func):

        @functools.wraps(func)
        async def call_async(*args: Any, **kwargs: Any) -> Result[Any, Any]:
            try:
                return _wrap(await func(*args, **kwargs))
            except _PASS:
                raise
            except Exception as exc:  # noqa: BLE001 - the boundary of foreign code
                return failure(exc)

        safe: Any = call_async
    else:

        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Result[Any, Any]:
            try:
                return _wrap(func(*args, **kwargs))
            except _PASS:
                raise
            except Exception as exc:  # noqa: BLE001 - the boundary of foreign code
                return failure(exc)

        safe = call
    setattr(safe, _SAFE, True)
    return safe  # type: ignore[no-any-return]


def is_async(func: Callable[..., Any]) -> bool:
    """Tell whether calling *func* gives an awaitable; sees through partials and callable objects."""
    while isinstance(func, functools.partial):
        func = func.func
    if inspect.iscoroutinefunction(func):
        return True
    return not inspect.isroutine(func) and inspect.iscoroutinefunction(getattr(func, "__call__", None))  # noqa: B004


class Function:
    """One tool: a function, its name, its description and its schema.

    The schema and the argument model are made at first use.
    """

    def __init__(self, func: Callable[..., Any], *, name: str, description: str, attr: ToolAttr) -> None:
        self._func = except_safe(func)
        self._name = name
        self._description = description
        self._attr = attr
        self._is_async = is_async(func)
        self._signature = read_signature(name, func)
        self._wants_context = bool(self._signature.context_params or self._signature.context_positional)

    @classmethod
    def from_function(cls, func: Callable[..., Any]) -> Function:
        """Make a tool of a function, bound method, partial or callable object.

        Raises:
            TypeError: It is not callable, or has no name (a partial or an object without ``tool_attr(name=)``).
        """
        if not callable(func):
            raise TypeError(f"A tool must be callable, got {type(func).__name__}")
        attr = attr_of(func)
        plain = func
        while isinstance(plain, functools.partial):
            plain = plain.func
            if attr == ToolAttr():
                attr = attr_of(plain)
        name = attr.name or getattr(plain, "__name__", None) or type(plain).__name__
        text = attr.description if attr.description is not None else (_docstring(plain) or "")
        return cls(func, name=name, description=text.strip(), attr=attr)

    @property
    def name(self) -> str:
        """The name in the toolbox and for the model."""
        return self._name

    @property
    def description(self) -> str:
        """What the model reads about it."""
        return self._description

    @property
    def func(self) -> Callable[..., Any]:
        """The function, wrapped so that it returns a Result."""
        return self._func

    @property
    def attr(self) -> ToolAttr:
        """The metadata of `tool_attr`."""
        return self._attr

    @property
    def required_capabilities(self) -> frozenset[str]:
        """What the model must be able to take for the tool to be offered."""
        return frozenset(self._attr.required_capabilities)

    @property
    def override(self) -> bool:
        """Whether it may replace another tool of its name."""
        return self._attr.override

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function."""
        return self._is_async

    @property
    def wants_context(self) -> bool:
        """Whether the function takes a `ToolCallContext`."""
        return self._wants_context

    @property
    def signature(self) -> Signature:
        """Its parameters."""
        return self._signature

    @property
    def args_model(self) -> type[Any]:
        """The pydantic model of its arguments."""
        return self._signature.args_model

    @property
    def tool_schema(self) -> dict[str, Any]:
        """The JSON schema of its parameters."""
        return self._signature.json_schema

    def to_json(self, *, compact: bool = False) -> dict[str, Any]:
        """Return the entry of the tools array in the OpenAI form; *compact* leaves titles out: they say nothing new."""
        schema = self._compact_schema if compact else self.tool_schema
        return {
            "type": "function",
            "function": {"name": self._name, "description": self._description, "parameters": schema},
        }

    @functools.cached_property
    def _compact_schema(self) -> dict[str, Any]:
        return cast("dict[str, Any]", without_titles(self.tool_schema))

    def prepare(self, context: ToolCallContext[Any] | None, arguments: dict[str, Any] | str) -> Callable[[], Any]:
        """Validate *arguments* and return the call, ready to be made once; a tool that wants no context needs none.

        Calling what is returned gives a Result, or an awaitable of one for an async tool.

        Raises:
            ToolCallFormatError: The arguments do not fit; the tool did not run.
        """
        args, kwargs = self._signature.bind(arguments)
        if self._wants_context:
            for name in self._signature.context_params:
                kwargs[name] = context
            for index in self._signature.context_positional:
                args.insert(index, context)
        return functools.partial(self._func, *args, **kwargs)


def _docstring(func: Callable[..., Any]) -> str | None:
    if inspect.isroutine(func):
        return func.__doc__
    return getattr(type(func).__call__, "__doc__", None) or func.__doc__
