"""Tools that are no plain functions: given schemas, objects with ``invoke``, classes."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from xun.errors import ConfigError
from xun.tools.attr import EXPOSURES, ToolAttr, attr_of
from xun.tools.context import ToolCallContext
from xun.tools.given import GivenSignature, Takes
from xun.tools.progress import is_generator
from xun.tools.running import in_thread, run_blocking
from xun.tools.stateful import ModelSignature, StatefulTool, checked_class, described, settings

if TYPE_CHECKING:
    from xun.tools.function import Function


@runtime_checkable
class ToolObject(Protocol):
    """Any object with these four is a tool; its schema is used as it is."""

    @property
    def name(self) -> str:
        """The tool's name."""
        ...

    @property
    def description(self) -> str:
        """What the model reads."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON schema of the arguments."""
        ...

    def invoke(self, arguments: dict[str, Any]) -> Any:
        """Serve one call; may be a coroutine function, and may take a `ToolCallContext` too."""
        ...


Registrable = Callable[..., Any] | ToolObject | StatefulTool
"""What `ToolBox.register` takes, beside `Function`."""


def attr_with(base: ToolAttr, changes: Mapping[str, Any]) -> ToolAttr:
    """Return *base* with *changes*.

    Raises:
        ConfigError: No such property, or a value that it can't have; a ValueError too.
    """
    names = {item.name for item in dataclasses.fields(ToolAttr)}
    for key in changes:
        if key not in names:
            raise ConfigError(f"A tool has no property {key!r}; the properties are: {', '.join(sorted(names))}.")
    attr = dataclasses.replace(base, **changes)
    if attr.expose not in EXPOSURES:
        raise ConfigError(f"expose must be one of {', '.join(EXPOSURES)}, got {attr.expose!r}")
    return dataclasses.replace(attr, required_capabilities=tuple(attr.required_capabilities))


def as_function(thing: Registrable | Function, name: str | None = None) -> Function:
    """Return *thing* as a tool, under *name* if given.

    Raises:
        TypeError: It can't be one.
        ConfigError: It could be one, but is not complete.
    """
    from xun.tools.function import Function

    if isinstance(thing, Function):
        return thing
    named = {} if name is None else {"name": name}
    if isinstance(thing, type) and issubclass(thing, StatefulTool):
        return from_class(thing, attr=named)
    if isinstance(thing, StatefulTool):
        return from_class(type(thing), config=thing.config, attr=named)
    if not isinstance(thing, type) and not inspect.isroutine(thing) and isinstance(thing, ToolObject):
        return from_object(thing, name)
    return Function.from_function(thing, name=name)


def from_schema(
    name: str, description: str, parameters: dict[str, Any], func: Callable[..., Any], attr: Mapping[str, Any]
) -> Function:
    """Make a tool of a function and a schema that was written by hand; see `Function.from_schema`."""
    from xun.tools.function import Function

    if not callable(func):
        raise TypeError(f"A tool must be callable, got {type(func).__name__}")
    found = attr_with(attr_of(func), {**attr, "name": name})
    signature = GivenSignature(name, parameters, Takes(name, func), found.preset)
    return Function(func, name=name, description=description, attr=found, signature=signature)


def from_object(thing: ToolObject, name: str | None = None) -> Function:
    """Make a tool of an object with name, description, parameters and invoke.

    Raises:
        ConfigError: Its schema is none.
    """
    from xun.tools.function import Function

    attr = attr_of(thing)  # type: ignore[arg-type]
    name = name or attr.name or str(thing.name)
    takes = Takes(name, thing.invoke, whole=True)
    signature = GivenSignature(name, thing.parameters, takes, attr.preset)
    known = inspect.iscoroutinefunction(thing.invoke) or is_generator(thing.invoke)
    invoke = thing.invoke if known else _awaiting(thing.invoke)
    text = attr.description if attr.description is not None else str(thing.description or "")
    return Function(invoke, name=name, description=text, attr=attr, signature=signature)


def _awaiting(invoke: Callable[..., Any]) -> Callable[..., Any]:
    """Return a plain function for one that may give an awaitable, which only shows when it is called."""

    def call(*args: Any, **kwargs: Any) -> Any:
        value = invoke(*args, **kwargs)
        return run_blocking(_value_of(value)) if inspect.isawaitable(value) else value

    return call


async def _value_of(value: Awaitable[Any]) -> Any:
    return await value


def from_class(
    cls: type[StatefulTool],
    config: Any = None,
    *,
    name: str | None = None,
    attr: Mapping[str, Any] | None = None,
) -> Function:
    """Make a tool of a class.

    Args:
        cls: The class.
        config: Its settings, checked; None for those that ``config_model`` has by itself.
        name: What the model calls it when neither the class nor its ``tool_attr`` says it.
        attr: Properties over those of `tool_attr` on the class.

    Raises:
        ConfigError: The class has no ``args_model``, or needs settings.
    """
    from xun.tools.function import Function
    from xun.tools.living import Instances, is_late

    cls = checked_class(cls)
    # Two calls of one message in turn: the second may build on what the first left.
    base = attr_of(cls) if attr_of(cls) != ToolAttr() else ToolAttr(sequential=True)
    found = attr_with(base, attr or {})
    tool = found.name or cls.name or name or cls.__name__
    if config is None:
        config = settings(cls, {})
    instances = Instances(cls, config, tool)
    signature = ModelSignature(tool, cls.args_model, found.preset or {})
    text = found.description if found.description is not None else described(cls)
    call = _call_async(instances) if is_late(cls.run) else _call_sync(instances)
    signature.context_positional = (0,)
    return Function(call, name=tool, description=text, attr=found, signature=signature, instances=instances)


def _call_sync(instances: Any) -> Callable[..., Any]:
    def call(ctx: ToolCallContext[Any], args: Any, /) -> Any:
        return instances.of(ctx.agent).run(ctx, args)

    return call


def _call_async(instances: Any) -> Callable[..., Any]:
    async def call(ctx: ToolCallContext[Any], args: Any, /) -> Any:
        live = instances.known(ctx.agent)
        if live is None:
            live = await in_thread(lambda: instances.of(ctx.agent))
        return await live.arun(ctx, args)

    return call
