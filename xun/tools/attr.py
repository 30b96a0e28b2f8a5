"""tool_attr: metadata on a function; it registers nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from xun.capabilities import ModelCapabilityType

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__xun_tool__"

WATCHERS = "__xun_attr_watchers__"
"""Where a function keeps who wants to know of metadata attached after it was registered."""


@dataclass(frozen=True, slots=True)
class ToolAttr:
    """The metadata of one tool; see `tool_attr`."""

    name: str | None = None
    required_capabilities: tuple[ModelCapabilityType, ...] = ()
    override: bool = False
    description: str | None = None
    timeout: float | None = None
    sequential: bool = False
    ends_run: bool = False


def tool_attr(
    name: str | None = None,
    required_capabilities: Sequence[ModelCapabilityType] = (),
    override: bool = False,
    *,
    description: str | None = None,
    timeout: float | None = None,
    sequential: bool = False,
    ends_run: bool = False,
) -> Callable[[F], F]:
    """Attach metadata to a tool function; registration still goes through `ToolBox.register`.

    Args:
        name: The name that the model sees; the function's name when None.
        required_capabilities: The tool is offered only to models that have all of these.
        override: The tool may replace, silently, another of its name.
        description: Replaces the docstring as what the model reads.
        timeout: Seconds after which a call ends with the status "timeout". A sync tool with a limit always runs
            in a worker thread, since the caller's own could not be taken back from it.
        sequential: A call of this tool runs alone, not beside others of the same message.
        ends_run: A successful result is the answer of the run and ends it.
    """
    attr = ToolAttr(name, tuple(required_capabilities), override, description, timeout, sequential, ends_run)

    def mark(func: F) -> F:
        setattr(func, _MARK, attr)
        for renew in getattr(func, WATCHERS, ()):
            renew(func)
        return func

    return mark


def attr_of(func: Callable[..., Any]) -> ToolAttr:
    """Return the metadata that `tool_attr` attached to *func*, or the defaults."""
    found = getattr(func, _MARK, None)
    return found if isinstance(found, ToolAttr) else ToolAttr()
