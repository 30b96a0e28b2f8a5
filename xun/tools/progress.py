"""Generator functions as tools: what they yield is progress, what they return is the result."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import aclosing, closing
from typing import Any

from xun._serialize import dumps
from xun.tools.context import ToolCallContext


def is_generator(func: Callable[..., Any]) -> bool:
    """Tell whether calling *func* gives a generator, sync or async."""
    while isinstance(func, functools.partial):
        func = func.func
    if not inspect.isroutine(func):
        func = type(func).__call__
    return inspect.isgeneratorfunction(func) or inspect.isasyncgenfunction(func)


def drained(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return *func* as a plain or coroutine function whose first argument is the context of the call.

    Every yielded value is shown at once as progress. The result is what the generator returns, or the last yielded
    value when that is None. Between two values a cancelled run is noticed.
    """
    plain = func
    while isinstance(plain, functools.partial):
        plain = plain.func
    if inspect.isasyncgenfunction(plain if inspect.isroutine(plain) else type(plain).__call__):

        async def collect(ctx: ToolCallContext[Any], /, *args: Any, **kwargs: Any) -> Any:
            last = None
            async with aclosing(func(*args, **kwargs)) as values:
                async for last in values:
                    _show(ctx, last)
            return last

        return collect

    def gather(ctx: ToolCallContext[Any], /, *args: Any, **kwargs: Any) -> Any:
        last = None
        with closing(func(*args, **kwargs)) as values:
            while True:
                try:
                    last = next(values)
                except StopIteration as end:
                    return last if end.value is None else end.value
                _show(ctx, last)

    return gather


def _show(ctx: ToolCallContext[Any], value: Any) -> None:
    ctx.emit(value if isinstance(value, str) else dumps(value))
    ctx.check_cancel()
