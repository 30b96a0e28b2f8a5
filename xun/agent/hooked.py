"""Tool calls through hooks, also those without a run: of servers, commands and scripts."""

from __future__ import annotations

import inspect
import json
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xun.agent.deciding import note_decision
from xun.agent.hooks import HookedCall, Hooks, NextCall
from xun.errors import CancelledError, Denied, ToolCallFormatError, ToolError
from xun.result import ErrorInfo, Result
from xun.tools.function import as_result, failure
from xun_policies.store import DecisionRecord

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.tools.toolbox import ToolBox

_log = logging.getLogger("xun.hooks")


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What a call through the hooks came to.

    Attributes:
        result: Its Result; a wrong call has the status ``format_error``.
        notes: What hooks want to be read beside it (`HookedCall.add_note`).
    """

    result: Result[Any, Any]
    notes: tuple[str, ...] = ()


async def call_through_hooks(
    agent: Agent[Any], toolbox: ToolBox, name: str, arguments: dict[str, Any] | str
) -> CallOutcome:
    """Call a tool as `ToolBox.acall_tool` does, through the hooks of *agent*: ``before_tool_call``,
    ``wrap_tool_call`` and ``after_tool_call``. A sync tool runs in a worker thread.
    """
    hooks = agent.hooks
    call = HookedCall(f"direct-{uuid.uuid4().hex[:12]}", name, arguments)

    async def last(inner: HookedCall) -> Result[Any, Any]:
        if inner.denied is not None:
            return denied_by_hook(agent, inner)
        if inner.result is not None:
            return as_result(inner.result)
        try:
            return await toolbox.acall_tool(agent, inner.name, inner.arguments)
        except ToolCallFormatError as exc:
            return failure(exc)

    try:
        await hooks.before_tool_call.invoke([call])
        result = await through_wrappers(hooks, last)(call)
        for replaced in await hooks.after_tool_call.invoke(call, result):
            if isinstance(replaced, Result):
                result = replaced
    except CancelledError as exc:
        # There is no run that could end: the call does.
        result = Result.Err(ErrorInfo(f"The call of {name} was cancelled: {exc.reason}.", repr(exc)), "cancelled")
    return CallOutcome(result, tuple(call.notes))


def denied_by_hook(agent: Agent[Any], call: HookedCall) -> Result[Any, ErrorInfo]:
    """Return the Result of a call that a hook denied, and note the decision."""
    given, reason = call.arguments, call.denied or ""
    subject = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
    note_decision(agent, DecisionRecord("", call.name, subject, "deny", "hook", "hook"))
    return failure(Denied(f"A hook denied the call of {call.name}: {reason}", source="hook", reason=reason))


def through_wrappers(hooks: Hooks, last: NextCall) -> NextCall:
    """Return *last* with the handlers of ``wrap_tool_call`` around it, the first that was added outermost."""
    chain = last
    for wrapper in reversed(hooks.wrap_tool_call.take()):
        chain = _wrapped(wrapper, chain)
    return chain


def _wrapped(wrapper: Callable[..., Any], inner: NextCall) -> NextCall:
    """Return *inner* with one handler around it; one that fails is passed over."""

    async def call(hooked: HookedCall) -> Result[Any, Any]:
        made: list[Result[Any, Any]] = []

        async def go_on(given: HookedCall) -> Result[Any, Any]:
            made.append(await inner(given))
            return made[-1]

        try:
            value = wrapper(hooked, go_on)
            if inspect.isawaitable(value):
                value = await value
        except CancelledError:
            raise
        except (Denied, ToolError) as exc:
            # These two are a handler's way to say no; anything else is a fault of the handler.
            return failure(exc)
        except Exception:  # noqa: BLE001 - the boundary of foreign code
            _log.exception("hook wrap_tool_call: %r failed and was passed over", wrapper)
            return made[-1] if made else await inner(hooked)
        return value if isinstance(value, Result) else Result.Ok(value)

    return call
