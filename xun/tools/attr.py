"""tool_attr: metadata on a function; it registers nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from xun.capabilities import ModelCapabilityType

Exposure = Literal["auto", "direct", "code", "command"]
"""Who may call a tool, and how; see `tool_attr`."""

EXPOSURES: tuple[str, ...] = get_args(Exposure)

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
    renderer: Callable[[Any], str] | None = None
    approval: bool | Callable[..., bool] = False
    enabled: Callable[..., bool] | None = None
    deferred: bool = False
    search_hint: str = ""
    expose: Exposure = "auto"
    preset: Mapping[str, Any] | None = None
    max_retries: int | None = None
    read_only: bool = False
    destructive: bool = False
    pure: bool = False
    max_calls: int | None = None
    max_seconds: float | None = None
    output_schema: Mapping[str, Any] | None = None


def tool_attr(  # noqa: PLR0913 - one keyword for each property of a tool
    name: str | None = None,
    required_capabilities: Sequence[ModelCapabilityType] = (),
    override: bool = False,
    *,
    description: str | None = None,
    timeout: float | None = None,
    sequential: bool = False,
    ends_run: bool = False,
    renderer: Callable[[Any], str] | None = None,
    approval: bool | Callable[..., bool] = False,
    enabled: Callable[..., bool] | None = None,
    deferred: bool = False,
    search_hint: str = "",
    expose: Exposure = "auto",
    preset: Mapping[str, Any] | None = None,
    max_retries: int | None = None,
    read_only: bool = False,
    destructive: bool = False,
    pure: bool = False,
    max_calls: int | None = None,
    max_seconds: float | None = None,
    output_schema: Mapping[str, Any] | None = None,
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
        renderer: Makes of the value the text that the model reads; one that raises is passed over.
        approval: The person is asked before each call: True, or ``fn(ctx, arguments)`` that says when.
        enabled: ``fn(ctx)``, asked before each model request: whether the tool is offered in it.
        deferred: The tool is offered only after ``tool_search`` found it, or once the model called it by name.
        search_hint: Words by which ``tool_search`` finds it too.
        expose: auto; direct: offered also in code mode; code: only in code mode; command: only to the person.
        preset: Arguments under those of the call, which win; they need not be parameters that the model sees.
        max_retries: Bad calls of this tool in a row that end the run.
        read_only: It changes nothing; it stays allowed in plan mode.
        destructive: What it does can't be taken back; said in its question.
        pure: The same arguments give the same value, so that a repeated call is answered from the run's cache.
        max_calls: Calls of it in one run.
        max_seconds: Seconds that its calls may take in one run, in all.
        output_schema: The JSON schema of what it returns, where its annotation does not say it; for the stub of code
            mode, nothing is checked against it.

    Raises:
        ValueError: *expose* is none of the four.
    """
    if expose not in EXPOSURES:
        raise ValueError(f"expose must be one of {', '.join(EXPOSURES)}, got {expose!r}")
    attr = ToolAttr(
        name=name,
        required_capabilities=tuple(required_capabilities),
        override=override,
        description=description,
        timeout=timeout,
        sequential=sequential,
        ends_run=ends_run,
        renderer=renderer,
        approval=approval,
        enabled=enabled,
        deferred=deferred,
        search_hint=search_hint,
        expose=expose,
        preset=preset,
        max_retries=max_retries,
        read_only=read_only,
        destructive=destructive,
        pure=pure,
        max_calls=max_calls,
        max_seconds=max_seconds,
        output_schema=output_schema,
    )

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
