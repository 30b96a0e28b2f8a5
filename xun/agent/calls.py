"""The tool calls of one message: hooks, order, time limits, cancellation, results."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

from xun._serialize import to_jsonable
from xun.agent.hooks import HookedCall
from xun.errors import CancelledError, Denied, ToolCallFormatError, ToolError, XunError
from xun.events import Event, ToolCompleted, ToolOutput, ToolStarted
from xun.messages import Message, ToolCall
from xun.result import ErrorInfo, Result
from xun.tools.context import CallScope
from xun.tools.function import Function, failure
from xun.tools.images import check_image
from xun.tools.output import ToolOutput as Output
from xun.tools.running import ToolExit, guarded, in_thread, timed_out

if TYPE_CHECKING:
    from xun.agent.loop import Run

_log = logging.getLogger("xun.hooks")

_NOT_RUN = "The run was interrupted before this call; it did not run."
_STOPPED = "The run was interrupted while this call ran; it was stopped."
_ABANDONED = "The run was interrupted; this call did not stop in time and may still have effects."


class ToolPhase:
    """Runs the calls of one assistant message; they are given up once *stopped* is set, or else the run is.

    Attributes:
        messages: The tool messages, in call order, once `events` is through.
        final: The result that ends the run, where a tool that may do so succeeded.
        bad_calls: How many of the calls were malformed.
    """

    def __init__(
        self, run: Run, calls: tuple[ToolCall, ...], *, cut: bool, stopped: asyncio.Event | None = None
    ) -> None:
        self._run = run
        self._stopped = stopped or run.stopped
        self._calls = calls
        self._cut = cut
        self._results: dict[int, Message] = {}
        self.final: Result[Any, Any] | None = None
        self.bad_calls = 0

    @property
    def messages(self) -> list[Message]:
        """The tool messages in the order of the calls."""
        return [self._results[index] for index in sorted(self._results)]

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run the calls and yield their events as they come."""
        hooked = [HookedCall(call.id, call.name, call.arguments) for call in self._calls]
        try:
            await self._run.agent.hooks.before_tool_call.invoke(list(hooked))
        except CancelledError as exc:
            self._run.token.cancel(exc.reason)
        task = asyncio.create_task(self._all(hooked))
        async with aclosing(self._run.channel.drain(task)) as events:
            async for event in events:
                yield event

    async def _all(self, hooked: list[HookedCall]) -> None:
        batch: list[tuple[int, HookedCall]] = []
        for index, call in enumerate(hooked):
            tool = self._run.toolbox.get(call.name)
            if tool is not None and tool.attr.sequential:
                await self._batch(batch)
                batch = []
                await self._one(index, call)
            else:
                batch.append((index, call))
        await self._batch(batch)

    async def _batch(self, batch: list[tuple[int, HookedCall]]) -> None:
        room = asyncio.Semaphore(max(1, self._run.agent.config.max_parallel_calls))

        async def when_free(index: int, call: HookedCall) -> None:
            async with room:
                await self._one(index, call)

        await asyncio.gather(*(when_free(index, call) for index, call in batch))

    async def _one(self, index: int, call: HookedCall) -> None:
        call_id = self._calls[index].id
        result, _, content = await self._made(call, call_id, self._run.scope(call_id))
        if result.status == "format_error":
            self.bad_calls += 1
        tool = self._run.toolbox.get(call.name)
        if tool is not None and tool.attr.ends_run and result.is_ok():
            self.final = result
        self._results[index] = Message("tool", content, tool_call_id=call_id, tool_name=call.name)

    async def from_code(self) -> Result[Any, Any]:
        """Make the only call, for code that waits for it: its value is JSON, and the model gets no message of it."""
        [given] = self._calls
        call = HookedCall(given.id, given.name, given.arguments, code_mode=True)
        try:
            await self._run.agent.hooks.before_tool_call.invoke([call])
        except CancelledError as exc:
            self._run.token.cancel(exc.reason)
        scope = self._run.scope(given.id)
        scope.code_mode = True
        token, stopped = self._run.token, self._stopped
        scope.cancelled = lambda: token.reason or ("the code ended" if stopped.is_set() else None)
        result, value, _ = await self._made(call, given.id, scope)
        return Result.Ok(value) if result.is_ok() else result

    async def _made(self, call: HookedCall, call_id: str, scope: CallScope) -> tuple[Result[Any, Any], Any, str]:
        """Make a call and tell of it; return its result, the value as JSON, and the text that the model reads."""
        run, agent = self._run, self._run.agent
        run.channel.put(ToolStarted(agent=agent.name, call_id=call_id, tool=call.name, args=_shown(call.arguments)))
        started = time.monotonic()
        result, display = self._unpack(await self._hooked(call, call_id, scope), call_id)
        value, content, result = _as_text(result)
        error = result.value if result.is_err() else None
        content = clip(content, agent.config.max_output)
        run.channel.put(
            ToolCompleted(
                agent=agent.name,
                call_id=call_id,
                tool=call.name,
                ok=result.is_ok(),
                status=result.status,
                result=value,
                content=content,
                display=display,
                error=None if error is None else _error_json(error),
                duration_ms=round((time.monotonic() - started) * 1000),
                files=tuple(scope.files),
            )
        )
        return result, value, content

    def _unpack(self, result: Result[Any, Any], call_id: str) -> tuple[Result[Any, Any], str]:
        """Take a ToolOutput apart: its images follow the step, its display goes to the person."""
        output = result.value
        if not result.is_ok() or not isinstance(output, Output):
            return result, ""
        try:
            images = tuple(check_image(image) for image in output.images)
        except ValueError as exc:
            return failure(exc), ""
        if images:
            self._run.agent.hooks.after_execution_step.add_once(
                lambda end: end.add_user_message(output.msg, images, call_id=call_id), run=self._run
            )
        return Result.Ok(output.value), output.display

    async def _hooked(self, call: HookedCall, call_id: str, scope: CallScope) -> Result[Any, Any]:
        """Make the call through the hooks around it; a hook that cancels ends the run, not the call's result."""
        hooks, token = self._run.agent.hooks, self._run.token

        async def last(inner: HookedCall) -> Result[Any, Any]:
            return await self._call(inner, call_id, scope)

        chain = last
        for wrapper in reversed(hooks.wrap_tool_call.take()):
            chain = _wrapped(wrapper, chain)
        result = _cancelled(_STOPPED)
        try:
            result = await chain(call)
            for replaced in await hooks.after_tool_call.invoke(call, result):
                if isinstance(replaced, Result):
                    result = replaced
        except CancelledError as exc:
            token.cancel(exc.reason)
        return result

    async def _call(self, call: HookedCall, call_id: str, scope: CallScope) -> Result[Any, Any]:
        if call.denied is not None:
            reason = call.denied
            return failure(Denied(f"A hook denied the call of {call.name}: {reason}", source="hook", reason=reason))
        if call.result is not None:
            return call.result if isinstance(call.result, Result) else Result.Ok(call.result)
        if self._run.token.reason is not None:
            return _cancelled(_NOT_RUN)
        if self._cut:
            return failure(
                ToolCallFormatError(
                    "The reply was cut before it was complete, so the call did not run. Send it again in smaller parts."
                )
            )
        try:
            if not scope.code_mode:
                self._run.toolbox.refuse_hidden(call.name, code_mode=self._run.code_mode)
            tool, prepared = self._run.toolbox.prepare(
                self._run.agent, call.name, call.arguments, self._run.context, call_id=call_id, scope=scope
            )
        except XunError as exc:
            return failure(exc)
        return await self._settle(tool, prepared)

    async def _settle(self, tool: Function, prepared: Callable[[], Any]) -> Result[Any, Any]:
        run, limit = self._run, tool.attr.timeout
        begun = threading.Event()
        work: asyncio.Future[Result[Any, Any]]
        work = asyncio.ensure_future(self._place(tool, prepared, begun))
        stopped = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait({work, stopped}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and not stopped.done():
                return timed_out(tool, limit or 0.0)
            if not work.done():
                if tool.is_async or not begun.is_set():
                    work.cancel()
                await asyncio.wait({work}, timeout=run.agent.config.cancel_grace)
            return self._outcome(work, begun.is_set())
        finally:
            stopped.cancel()
            work.cancel()

    async def _place(self, tool: Function, prepared: Callable[[], Any], begun: threading.Event) -> Result[Any, Any]:
        """Make the call where it belongs: in the loop, on the caller's thread, or in a worker thread."""

        def begin() -> Any:
            begun.set()
            return prepared()

        if tool.is_async:
            return cast("Result[Any, Any]", await guarded(begin))
        if tool.attr.timeout is not None:
            # A thread of its own can be given up; the caller's thread would have to wait.
            return cast("Result[Any, Any]", await in_thread(begin))
        return cast("Result[Any, Any]", await self._run.runner.run(begin))

    def _outcome(self, work: asyncio.Future[Result[Any, Any]], begun: bool) -> Result[Any, Any]:
        if not work.done():
            return _cancelled(_ABANDONED)
        if work.cancelled():
            return _cancelled(_STOPPED if begun else _NOT_RUN)
        exc = work.exception()
        if exc is None:
            return work.result()
        if isinstance(exc, CancelledError):
            if not self._stopped.is_set():
                self._run.token.cancel(exc.reason)
            return _cancelled(_STOPPED)
        if isinstance(exc, ToolExit):
            self._run.ends_with(exc.cause)
            return _cancelled(_STOPPED)
        raise exc


def _wrapped(wrapper: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
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
            return made[-1] if made else cast("Result[Any, Any]", await inner(hooked))
        return value if isinstance(value, Result) else Result.Ok(value)

    return call


def _cancelled(text: str) -> Result[Any, ErrorInfo]:
    return Result.Err(ErrorInfo(text, text, "cancelled"), "cancelled")


def _as_text(result: Result[Any, Any]) -> tuple[Any, str, Result[Any, Any]]:
    """Return the value as JSON, the text that the model reads, and the result; a failure to serialise is an Err."""
    if result.is_ok():
        try:
            value = to_jsonable(result.value)
            return value, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), result
        except Exception as exc:  # noqa: BLE001 - model_dump and to_json are foreign code
            result = failure(exc)
    error = result.value
    return None, error.error if isinstance(error, ErrorInfo) else str(error), result


def _error_json(error: Any) -> dict[str, Any]:
    if isinstance(error, ErrorInfo):
        return {**error.to_json(), "kind": error.kind, **({"facts": error.facts} if error.facts else {})}
    return {"error": str(error), "details": repr(error), "kind": "error"}


def _shown(arguments: str | dict[str, Any]) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def clip(text: str, limit: int) -> str:
    """Return *text* with its middle cut so that about *limit* characters stay."""
    if len(text) <= limit:
        return text
    half = limit // 2
    cut = len(text) - 2 * half
    return f"{text[:half]}\n[... {cut} characters cut of {len(text)} ...]\n{text[-half:]}"


def live_output(channel: Any, agent: str, call_id: str) -> Callable[[str, str], None]:
    """Return the function by which a tool shows live output."""

    def emit(text: str, stream: str) -> None:
        channel.put(ToolOutput(agent=agent, call_id=call_id, stream=stream, text=text))

    return emit
