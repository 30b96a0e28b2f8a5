"""Hooks: user code at named points of a run."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from xun.errors import CancelledError
from xun.messages import Image, Message
from xun.result import Result

if TYPE_CHECKING:
    from xun.agent.agent import Agent

_log = logging.getLogger("xun.hooks")


@dataclass(slots=True)
class HookedCall:
    """A tool call as hooks see it, before it runs.

    Attributes:
        id: The call's id.
        name: The tool; may be changed.
        arguments: JSON text or a dict; may be changed.
        result: Set it, and the tool does not run.
        denied: Why the call was refused (`deny`); None while it was not.
        code_mode: Code of the model makes the call, through ``run_code``.
        notes: What is read after the result, by the model or whoever else made the call.
    """

    id: str
    name: str
    arguments: str | dict[str, Any]
    result: Result[Any, Any] | None = None
    denied: str | None = None
    code_mode: bool = False
    notes: list[str] = field(default_factory=list)

    def add_note(self, text: str) -> None:
        """Have *text* read after the result."""
        self.notes.append(text)

    def deny(self, why: str) -> None:
        """Refuse the call; the model reads *why*."""
        self.denied = why


@dataclass(slots=True)
class ModelCallDraft:
    """A model request as hooks see it, before it is sent; both lists may be edited for this request only."""

    messages: list[Message]
    tools: list[dict[str, Any]]


@dataclass(slots=True)
class StepEnd:
    """The end of one step, after its tool results.

    Attributes:
        agent: The agent that runs.
        call_ids: The tool calls of the step, in the model's order.
    """

    agent: Agent[Any]
    call_ids: tuple[str, ...] = ()
    _added: list[tuple[int, Message]] = field(default_factory=list)

    def add_user_message(self, text: str = "", images: tuple[Image, ...] = (), *, call_id: str = "") -> None:
        """Append a user message after the tool results of this step.

        Messages that name the call that they come from are in the order of the calls, whichever ended first.
        """
        rank = self.call_ids.index(call_id) if call_id in self.call_ids else len(self.call_ids)
        self._added.append((rank, Message("user", text, images)))

    @property
    def added(self) -> list[Message]:
        """The messages to append, in order."""
        return [message for _, message in sorted(self._added, key=itemgetter(0))]


Handler = Callable[..., Any]


class HookPoint:
    """The handlers of one point, in the order in which they were added."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._handlers: list[tuple[Handler, bool, object]] = []

    def add(self, handler: Handler) -> Handler:
        """Call *handler*, sync or async, every time; returns it, so that this is a decorator too."""
        self._handlers.append((handler, False, None))
        return handler

    def add_once(self, handler: Handler, *, run: object = None) -> Handler:
        """Call *handler* the next time only; with *run*, not later than that run."""
        self._handlers.append((handler, True, run))
        return handler

    def remove(self, handler: Handler) -> None:
        """Take *handler* back; no error when it is not there."""
        # By equality: a bound method is another object each time that it is looked up.
        self._handlers = [item for item in self._handlers if item[0] != handler]

    def drop_run(self, run: object) -> None:
        """Forget one-time handlers that were meant for *run*."""
        self._handlers = [item for item in self._handlers if item[2] is None or item[2] is not run]

    def take(self) -> list[Handler]:
        """Return the handlers to call now, and forget those that were added for once."""
        handlers = [item[0] for item in self._handlers]
        self._handlers = [item for item in self._handlers if not item[1]]
        return handlers

    def __len__(self) -> int:
        return len(self._handlers)

    async def invoke(self, *args: Any) -> list[Any]:
        """Call every handler and return what they gave; a raising one is logged and left out.

        Raises:
            CancelledError: A handler cancels the run.
        """
        values = []
        for handler in self.take():
            try:
                value = handler(*args)
                if inspect.isawaitable(value):
                    value = await value
            except CancelledError:
                raise
            except Exception:  # noqa: BLE001 - the boundary of foreign code
                _log.exception("hook %s: %r failed and was passed over", self.name, handler)
                continue
            values.append(value)
        return values

    def invoke_sync(self, *args: Any) -> list[Any]:
        """The same from sync code; an async handler is an error that is logged."""
        values = []
        for handler in self.take():
            try:
                value = handler(*args)
                if inspect.iscoroutine(value):
                    value.close()
                    raise TypeError(f"a handler of {self.name} must be a plain function")
            except CancelledError:
                raise
            except Exception:  # noqa: BLE001 - the boundary of foreign code
                _log.exception("hook %s: %r failed and was passed over", self.name, handler)
                continue
            values.append(value)
        return values


NextCall = Callable[[HookedCall], Awaitable[Result[Any, Any]]]
"""What a ``wrap_tool_call`` handler calls to go on: ``await next(call)``."""


class Hooks:
    """The points of an agent at which user code may run.

    Attributes:
        after_initialize: ``fn(agent)``, plain function.
        before_execution: ``fn(agent)`` before the first step of a run.
        before_model_call: ``fn(ModelCallDraft)`` may edit the messages and tools of that request.
        model_text_delta: ``fn(text)``, plain function, for each piece of text.
        before_tool_call: ``fn(list[HookedCall])`` may change, answer or deny the calls of one message.
        wrap_tool_call: ``async fn(call, next) -> Result``; the first added is the outermost.
        after_tool_call: ``fn(call, result)``; a returned Result replaces the result.
        after_execution_step: ``fn(StepEnd)`` after the results of a step.
        before_compaction: ``fn(CompactionDraft)`` may add facts that a summary keeps word for word.
        before_finalize: ``fn(agent)``, plain function.
    """

    def __init__(self) -> None:
        self.after_initialize = HookPoint("after_initialize")
        self.before_execution = HookPoint("before_execution")
        self.before_model_call = HookPoint("before_model_call")
        self.model_text_delta = HookPoint("model_text_delta")
        self.before_tool_call = HookPoint("before_tool_call")
        self.wrap_tool_call = HookPoint("wrap_tool_call")
        self.after_tool_call = HookPoint("after_tool_call")
        self.after_execution_step = HookPoint("after_execution_step")
        self.before_compaction = HookPoint("before_compaction")
        self.before_finalize = HookPoint("before_finalize")
