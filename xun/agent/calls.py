"""The tool calls of one message: hooks, order, time limits, cancellation, results."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from xun.agent.hooked import denied_by_hook, through_wrappers
from xun.agent.hooks import HookedCall
from xun.agent.opencall import OpenCall
from xun.agent.outcome import Told, as_text, clip, fitted, rendering, unpack
from xun.errors import CancelledError, ToolCallFormatError, XunError
from xun.events import Event, ToolCompleted, ToolOutput, ToolStarted
from xun.messages import Image, Message, ToolCall
from xun.result import ErrorInfo, Result
from xun.tools.context import CallScope
from xun.tools.function import Function, failure
from xun.tools.running import ToolExit, guarded, in_thread, timed_out
from xun.tools.suspend import CALL, CallJournal, Suspend

if TYPE_CHECKING:
    from xun.agent.channel import Channel
    from xun.agent.loop import Run

_log = logging.getLogger("xun.hooks")

_NOT_RUN = "The run was interrupted before this call; it did not run."
_STOPPED = "The run was interrupted while this call ran; it was stopped."
_ABANDONED = "The run was interrupted; this call did not stop in time and may still have effects."


class _Returned(NamedTuple):
    """What came back through the hooks around a call."""

    result: Result[Any, Any]
    rendered: str | None
    """What the tool's renderer made of the value; None where it has none, or a hook replaced the result."""
    display: str
    """What the person sees instead of both, or ""."""


class ToolPhase:
    """Runs the calls of one assistant message; they are given up once *stopped* is set, or else the run is.

    Attributes:
        messages: The tool messages, in call order, once `events` is through.
        final: The result that ends the run, where a tool that may do so succeeded.
        bad_calls: How many of the calls were malformed.
        failed_calls: How many of the calls had no success, the malformed ones among them.
        given_up: A tool whose calls were malformed as often as its ``max_retries`` says, or "".
        left: The calls that wait for a person, or for one that does, in call order.
    """

    def __init__(
        self,
        run: Run,
        calls: tuple[ToolCall, ...] = (),
        *,
        cut: bool = False,
        stopped: asyncio.Event | None = None,
        resumed: Sequence[OpenCall] = (),
    ) -> None:
        self._run = run
        self._stopped = stopped or run.stopped
        self._calls = calls
        self._resumed = resumed
        self._cut = cut
        self._results: dict[int, Message] = {}
        self._left: dict[int, OpenCall] = {}
        self._barred = False
        self.final: Result[Any, Any] | None = None
        self.bad_calls = self.failed_calls = 0
        self.given_up = ""

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the calls."""
        return tuple(call.id for call in self._calls or self._resumed)

    @property
    def left(self) -> list[OpenCall]:
        """The calls that have no result, in the order of the calls."""
        return [self._left[index] for index in sorted(self._left)]

    @property
    def messages(self) -> list[Message]:
        """The tool messages in the order of the calls."""
        return [self._results[index] for index in sorted(self._results)]

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run the calls and yield their events as they come."""
        hooked = [HookedCall(call.id, call.name, call.arguments) for call in self._calls or self._resumed]
        try:
            # Calls that go on have been through these hooks.
            if not self._resumed:
                await self._run.agent.hooks.before_tool_call.invoke(list(hooked))
        except CancelledError as exc:
            self._run.token.cancel(exc.reason)
        task = asyncio.create_task(self._all(hooked))
        async with aclosing(self._run.channel.drain(task)) as events:
            async for event in events:
                yield event

    async def _all(self, hooked: list[HookedCall]) -> None:
        batch: list[tuple[int, HookedCall, OpenCall]] = []
        for index, call in enumerate(hooked):
            opened = self._resumed[index] if self._resumed else OpenCall(self._calls[index].id, "", "")
            opened.name, opened.arguments = call.name, call.arguments
            tool = self._run.toolbox.get(call.name)
            alone = tool is not None and tool.attr.sequential
            if alone:
                await self._batch(batch)
                batch = []
            if self._must_wait(call, opened, alone=alone):
                self._left[index] = opened
                self._barred = self._barred or alone
            elif alone:
                await self._one(index, call, opened)
                self._barred = index in self._left
            else:
                batch.append((index, call, opened))
        await self._batch(batch)

    def _must_wait(self, call: HookedCall, opened: OpenCall, *, alone: bool) -> bool:
        """Tell whether a call waits for an answer, or keeps its place behind one that does."""
        if opened.waits:
            return True
        settled = call.denied is not None or call.result is not None or self._run.token.reason is not None
        return not settled and (self._barred or (alone and bool(self._left)))

    async def _batch(self, batch: list[tuple[int, HookedCall, OpenCall]]) -> None:
        room = asyncio.Semaphore(max(1, self._run.agent.config.max_parallel_calls))

        async def when_free(index: int, call: HookedCall, opened: OpenCall) -> None:
            async with room:
                await self._one(index, call, opened)

        await asyncio.gather(*(when_free(*item) for item in batch))

    async def _one(self, index: int, call: HookedCall, opened: OpenCall) -> None:
        run, scope = self._run, self._run.scope(opened.id)
        scope.journal = opened.journal
        opened.journal.begin(opened.id)
        try:
            _, content, result = await self._made(call, opened.id, scope)
        except Suspend as exc:
            opened.question, opened.answered = exc.question, False
            self._left[index] = opened
            return
        if opened.journal.edited is not None:
            content = f"[The person changed the arguments to {json.dumps(opened.journal.edited)}]\n{content}"
        bad = result.status == "format_error"
        self.bad_calls += bad
        self.failed_calls += not result.is_ok()
        tool = run.toolbox.get(call.name)
        if tool is not None:
            in_row = run.ledger.note_bad(tool.name, bad)
            if bad and tool.attr.max_retries is not None and in_row >= tool.attr.max_retries:
                self.given_up = tool.name
            if tool.attr.ends_run and result.is_ok():
                self.final = result
        self._results[index] = Message("tool", content, tool_call_id=opened.id, tool_name=call.name)

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
        made = await self._made(call, given.id, scope)
        return Result.Ok(made.value) if made.result.is_ok() else made.result

    async def _made(self, call: HookedCall, call_id: str, scope: CallScope) -> Told:
        """Make a call, and tell of it by events."""
        run, agent = self._run, self._run.agent
        run.channel.put(ToolStarted(agent=agent.name, call_id=call_id, tool=call.name, args=decoded(call.arguments)))
        started = time.monotonic()
        returned = await self._hooked(call, call_id, scope)
        value, content, result = as_text(returned.result)
        if returned.rendered is not None and result.is_ok():
            content = returned.rendered
        error = result.value if result.is_err() else None
        # Code gets the value itself, so that nobody could ask for the rest of what is only shown.
        limit = agent.config.max_output
        content = clip(content, limit) if scope.code_mode else fitted(agent, run.toolbox, call.name, content)
        run.channel.put(
            ToolCompleted(
                agent=agent.name,
                call_id=call_id,
                tool=call.name,
                ok=result.is_ok(),
                status=result.status,
                result=value,
                content=content,
                display=returned.display,
                error=None if error is None else _error_json(error),
                duration_ms=round((time.monotonic() - started) * 1000),
                files=tuple(scope.files),
            )
        )
        return Told(value, content, result)

    def _unpack(self, result: Result[Any, Any], call_id: str) -> tuple[Result[Any, Any], str]:
        hooks, run = self._run.agent.hooks, self._run

        def add(text: str, images: tuple[Image, ...]) -> None:
            hooks.after_execution_step.add_once(
                lambda end: end.add_user_message(text, images, call_id=call_id), run=run
            )

        return unpack(result, add)

    async def _hooked(self, call: HookedCall, call_id: str, scope: CallScope) -> _Returned:
        """Make the call through the hooks around it; a hook that cancels ends the run, not the call's result."""
        hooks, token = self._run.agent.hooks, self._run.token

        async def last(inner: HookedCall) -> Result[Any, Any]:
            return await self._call(inner, call_id, scope)

        result, shown, display = _cancelled(_STOPPED), None, ""
        try:
            result, display = self._unpack(await through_wrappers(hooks, last)(call), call_id)
            if result.is_ok() and not scope.code_mode:
                shown = rendering(self._run.toolbox.get(call.name), result.value)
            seen = result if shown is None else Result.Ok(shown)
            for replaced in await hooks.after_tool_call.invoke(call, seen):
                if isinstance(replaced, Result):
                    result, display = self._unpack(replaced, call_id)
                    shown = None
            self._tell(call)
        except CancelledError as exc:
            token.cancel(exc.reason)
        return _Returned(result, shown, display)

    def _tell(self, call: HookedCall) -> None:
        """Have what hooks noted read after the results of the step."""
        for note in call.notes:
            self._run.agent.hooks.after_execution_step.add_once(
                lambda end, note=note: end.add_user_message(f"[{note}]", call_id=call.id), run=self._run
            )

    async def _call(self, call: HookedCall, call_id: str, scope: CallScope) -> Result[Any, Any]:
        if call.denied is not None:
            return denied_by_hook(self._run.agent, call)
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
        agent, box, value = self._run.agent, self._run.toolbox, self._run.context
        CALL.set(scope.journal)
        try:
            if not scope.code_mode:
                box.refuse_hidden(call.name, code_mode=self._run.code_mode)
            tool, prepared = box.prepare(agent, call.name, call.arguments, value, call_id=call_id, scope=scope)
        except XunError as exc:
            return failure(exc)
        if box.may_ask(agent, tool):
            refused = await agent.aapprove(box, tool, call.arguments, value, call_id=call_id)
            if refused is not None:
                return refused
        return await self._settle(tool, prepared, scope)

    async def _settle(self, tool: Function, prepared: Callable[[], Any], scope: CallScope) -> Result[Any, Any]:
        run, limit = self._run, self._run.toolbox.limit(tool, scope.ledger)
        begun = threading.Event()
        work: asyncio.Future[Result[Any, Any]]
        place = _caller(prepared, scope.journal, begun)
        work = asyncio.ensure_future(self._place(tool, place, alone=limit is not None))
        stopped = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait({work, stopped}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and not stopped.done():
                scope.given_up = "it passed its time limit"
                return timed_out(tool, limit or 0.0)
            if not work.done():
                if tool.is_async or not begun.is_set():
                    work.cancel()
                await asyncio.wait({work}, timeout=run.agent.config.cancel_grace)
            return self._outcome(work, begun.is_set())
        finally:
            stopped.cancel()
            work.cancel()

    async def _place(self, tool: Function, begin: Callable[[], Any], *, alone: bool) -> Result[Any, Any]:
        """Make the call where it belongs: in the loop, on the caller's thread, or in a worker thread."""
        if tool.is_async:
            return cast("Result[Any, Any]", await guarded(begin))
        if alone:
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


def _caller(prepared: Callable[[], Any], journal: CallJournal | None, begun: threading.Event) -> Callable[[], Any]:
    """Return the call as it is made, on whichever thread: its questions and steps go to its own journal."""

    def begin() -> Any:
        begun.set()
        mark = CALL.set(journal)
        try:
            return prepared()
        finally:
            CALL.reset(mark)

    return begin


def _cancelled(text: str) -> Result[Any, ErrorInfo]:
    return Result.Err(ErrorInfo(text, text, "cancelled"), "cancelled")


def _error_json(error: Any) -> dict[str, Any]:
    if isinstance(error, ErrorInfo):
        return {**error.to_json(), "kind": error.kind, **({"facts": error.facts} if error.facts else {})}
    return {"error": str(error), "details": repr(error), "kind": "error"}


def decoded(arguments: str | dict[str, Any]) -> Any:
    """Return the arguments of a call, decoded where they are valid JSON; none at all are an empty object."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments


def live_output(channel: Channel, agent: str, call_id: str) -> Callable[[str, str], None]:
    """Return the function by which a tool shows live output."""

    def emit(text: str, stream: str) -> None:
        channel.put(ToolOutput(agent=agent, call_id=call_id, stream=stream, text=text))

    return emit
