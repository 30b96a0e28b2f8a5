"""Function: one tool."""

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from xun.errors import CancelledError, Denied, ToolCallFormatError
from xun.result import ErrorInfo, Result, Status
from xun.tools.attr import ToolAttr, attr_of
from xun.tools.context import ToolCallContext
from xun.tools.dry import DryRun
from xun.tools.progress import drained, is_generator
from xun.tools.schema import Signature, read_signature, with_preset

if TYPE_CHECKING:
    from os import PathLike
    from types import ModuleType

    from xun.tools.given import GivenSignature
    from xun.tools.living import Instances

_PASS = (KeyboardInterrupt, SystemExit, GeneratorExit, CancelledError, asyncio.CancelledError)
_SAFE = "__xun_except_safe__"

F = TypeVar("F", bound=Callable[..., Any])


def failure(exc: BaseException) -> Result[Any, ErrorInfo]:
    """Return *exc* as the Result that a call ends with."""
    if isinstance(exc, DryRun):
        return Result.Ok(exc.value)
    status: Status = "error"
    if isinstance(exc, ToolCallFormatError):
        status = "format_error"
    elif isinstance(exc, Denied):
        status = "denied"
    elif isinstance(exc, TimeoutError) or getattr(exc, "kind", "") == "timeout":
        status = "timeout"
    return Result.Err(ErrorInfo.from_exception(exc), status)


def as_result(value: Any) -> Result[Any, Any]:
    """Return *value* as a Result; one that is a Result already stays as it is."""
    return value if isinstance(value, Result) else Result(True, value, None, "ok")


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
                return as_result(await func(*args, **kwargs))
            except _PASS:
                raise
            except Exception as exc:  # noqa: BLE001 - the boundary of foreign code
                return failure(exc)

        safe: Any = call_async
    else:

        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Result[Any, Any]:
            try:
                return as_result(func(*args, **kwargs))
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

    def __init__(
        self,
        func: Callable[..., Any],
        *,
        name: str,
        description: str,
        attr: ToolAttr,
        signature: Signature | GivenSignature | None = None,
        instances: Instances | None = None,
    ) -> None:
        self._reports = is_generator(func)
        run = drained(func) if self._reports else func
        self._func = except_safe(run)
        self._name = name
        self._description = description
        self._attr = attr
        self._is_async = is_async(run)
        if signature is None:
            signature = read_signature(name, func)
            if attr.preset:
                signature = with_preset(signature, func, attr.preset)
        self._signature = signature
        self._instances = instances
        self._wants_context = bool(self._reports or signature.context_params or signature.context_positional)

    @classmethod
    def from_function(cls, func: Callable[..., Any], *, name: str | None = None, **attr: Any) -> Function:
        """Make a tool of a function, bound method, partial or callable object.

        Args:
            func: The function.
            name: The tool's name; None for that of `tool_attr` or of the function.
            attr: Properties over those of `tool_attr`, so that one function can be several tools.

        Raises:
            TypeError: It is not callable, or has no name (a partial or an object without ``tool_attr(name=)``).
            ConfigError: No such property, or a preset that the function can't take.
        """
        if not callable(func):
            more = ": give tools one by one, ToolBox(*tools)" if isinstance(func, list | tuple) else ""
            raise TypeError(f"A tool must be callable, got {type(func).__name__}{more}")
        found = attr_of(func)
        plain = func
        while isinstance(plain, functools.partial):
            plain = plain.func
            if found == ToolAttr():
                found = attr_of(plain)
        if attr:
            found = kinds().attr_with(found, attr)
        name = name or found.name or getattr(plain, "__name__", None) or type(plain).__name__
        text = found.description if found.description is not None else (_docstring(plain) or "")
        return cls(func, name=name, description=text.strip(), attr=found)

    @staticmethod
    def from_schema(
        name: str, description: str, parameters: dict[str, Any], func: Callable[..., Any], **attr: Any
    ) -> Function:
        """Make a tool of a function and a JSON schema that was written by hand.

        The schema goes to the model as it is; arguments are checked against it before the call (draft-07, unless its
        ``$schema`` names another), and passed by name.

        Args:
            name: The tool's name.
            description: What the model reads.
            parameters: The JSON schema of the arguments; its type is object.
            func: The function, sync or async; it may take a `ToolCallContext` too.
            attr: Properties as in `tool_attr`.

        Raises:
            ConfigError: The schema is bad, or the function can't take what it offers; a ValueError too.
        """
        return cast("Function", kinds().from_schema(name, description, parameters, func, attr))

    @staticmethod
    def from_yaml(
        path: str | PathLike[str],
        binding: str | Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        preset: Mapping[str, Any] | None = None,
        deferred: bool | None = None,
    ) -> Function:
        """Make a tool of a YAML file: type, name, description, input_schema and properties as in `tool_attr`.

        Args:
            path: The file.
            binding: The function, or ``"package.module:function"``; None for the ``binding`` of the file.
            name: The tool's name; None for that of the file.
            preset: Arguments under those of the call; over the ``preset`` of the file.
            deferred: Whether the tool is offered only after a search; None for what the file says.

        Raises:
            ConfigError: The file is unreadable or wrong; the text names the file and the line. A ValueError too.
        """
        from xun.tools.yaml_tools import tool_from_yaml

        return tool_from_yaml(path, binding, name=name, preset=preset, deferred=deferred)

    @property
    def name(self) -> str:
        """The name in the toolbox."""
        return self._name

    @property
    def model_name(self) -> str:
        """The name for the model, which takes no dots: ``math.add`` is ``math_add``."""
        return self._name.replace(".", "_")

    @property
    def instances(self) -> Instances | None:
        """Where the instances of a stateful tool are; None for any other."""
        return self._instances

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
    def context_param(self) -> str | None:
        """The first parameter that gets the `ToolCallContext`; None when there is none by name."""
        return next(iter(self._signature.context_params), None)

    @property
    def output_schema(self) -> Mapping[str, Any] | None:
        """The JSON schema of what it returns, where one was given."""
        return self._attr.output_schema

    @property
    def signature(self) -> Signature | GivenSignature:
        """Its parameters."""
        return self._signature

    @property
    def args_model(self) -> type[Any] | None:
        """The pydantic model of its arguments; None where the schema was given."""
        return self._signature.args_model

    @property
    def tool_schema(self) -> dict[str, Any]:
        """The JSON schema of its parameters."""
        return self._signature.json_schema

    def to_json(self, *, compact: bool = False) -> dict[str, Any]:
        """Return the entry of the tools array in the OpenAI form; *compact* leaves out what says nothing new."""
        schema = self._compact_schema if compact else self.tool_schema
        return {
            "type": "function",
            "function": {"name": self.model_name, "description": self._description, "parameters": schema},
        }

    @functools.cached_property
    def is_counted(self) -> bool:
        """Whether its calls are counted, timed or remembered in a run."""
        return self._attr.pure or self._attr.max_calls is not None or self._attr.max_seconds is not None

    @functools.cached_property
    def is_plain(self) -> bool:
        """Whether its calls are simply made: not asked about, limited in time, deferred, counted or remembered."""
        attr = self._attr
        return not (attr.approval or attr.destructive or attr.deferred or self.is_counted) and attr.timeout is None

    @functools.cached_property
    def _compact_schema(self) -> dict[str, Any]:
        from xun.tools.compact import compact_schema

        # A schema that was given is used as it was given.
        return self.tool_schema if self.args_model is None else compact_schema(self.tool_schema)

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
            if self._reports:
                args.insert(0, context)
        return functools.partial(self._func, *args, **kwargs)


def kinds() -> ModuleType:
    """Return the module of the other kinds of tools, which most programs never need."""
    return importlib.import_module("xun.tools.kinds")


def _docstring(func: Callable[..., Any]) -> str | None:
    if inspect.isroutine(func):
        return func.__doc__
    return getattr(type(func).__call__, "__doc__", None) or func.__doc__
