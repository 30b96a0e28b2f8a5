"""Tool calls that code makes: the same way as the model's own, with ids and events of their own."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from xun._serialize import to_jsonable
from xun.agent.calls import ToolPhase
from xun.agent.loop import Run
from xun.errors import ToolCallFormatError, ToolError, XunError
from xun.messages import ToolCall
from xun.result import ErrorInfo, Result
from xun.tools.context import CallScope
from xun.tools.exposure import code_names
from xun.tools.function import Function, failure
from xun.tools.output import ToolOutput
from xun.tools.running import run_async

if TYPE_CHECKING:
    from xun.tools.context import ToolCallContext
    from xun.tools.toolbox import ToolBox

_POLL = 0.1


class CodeCalls:
    """The calls of one piece of code, made for the call that runs it.

    Args:
        ctx: The context of that call.
    """

    def __init__(self, ctx: ToolCallContext[Any]) -> None:
        self._ctx = ctx
        self._run = ctx.run if isinstance(ctx.run, Run) else None
        self._toolbox: ToolBox = ctx.agent.toolbox if self._run is None else self._run.toolbox
        model = ctx.agent.model
        self._tools = code_names(self._toolbox.list_tools(None if model is None else model.capabilities))
        self._numbers = itertools.count(1)
        self._open: set[asyncio.Task[Result[Any, ErrorInfo]]] = set()
        self._stopped = asyncio.Event()
        self._order = _Order(ctx.agent.config.max_parallel_calls)

    @property
    def names(self) -> list[str]:
        """What code can call."""
        return list(self._tools)

    def start(self, name: str, arguments: dict[str, Any]) -> asyncio.Task[Result[Any, ErrorInfo]]:
        """Begin a call, in the event loop; the value of a success is JSON."""
        task = asyncio.get_running_loop().create_task(self._call(name, arguments))
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return task

    async def end(self, grace: float) -> None:
        """End the calls that nobody waits for any more; one that asks the person is let through to its end first."""
        while self._open and self._ctx.agent.open_questions and not self._ctx.cancelled:
            await asyncio.wait(self._open, timeout=_POLL)
        self._stopped.set()
        if self._run is None:
            for task in self._open:
                task.cancel()
        if self._open:
            await asyncio.wait(self._open, timeout=grace + _POLL)

    async def _call(self, name: str, arguments: dict[str, Any]) -> Result[Any, ErrorInfo]:
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            return failure(ToolCallFormatError(f"There is no tool {name!r} for code; the tools are: {known}."))
        call_id = f"{self._ctx.call_id or 'code'}.{next(self._numbers)}"
        async with self._order.turn(alone=tool.attr.sequential):
            if self._stopped.is_set():
                return failure(ToolError("The code ended before this call; it did not run."))
            if self._run is None:
                return await self._outside(tool, arguments, call_id)
            call = ToolCall(call_id, tool.name, json.dumps(arguments))
            return await ToolPhase(self._run, (call,), stopped=self._stopped).from_code()

    async def _outside(self, tool: Function, arguments: dict[str, Any], call_id: str) -> Result[Any, ErrorInfo]:
        ctx, scope = self._ctx, CallScope(code_mode=True)
        try:
            found, prepared = self._toolbox.prepare(
                ctx.agent, tool.name, arguments, ctx.value, call_id=call_id, scope=scope
            )
        except XunError as exc:
            return failure(exc)
        box = self._toolbox
        if box.may_ask(ctx.agent, found):
            refused = await ctx.agent.aapprove(box, found, arguments, ctx.value, call_id=call_id)
            if refused is not None:
                return refused
        result = await run_async(found, prepared, box.limit(found), scope)
        if result.is_err():
            return result
        value = result.value
        try:
            return Result.Ok(to_jsonable(value.value if isinstance(value, ToolOutput) else value))
        except Exception as exc:  # noqa: BLE001 - model_dump and to_json are foreign code
            return failure(exc)


class _Order:
    """Lets calls run side by side, but one that has to run alone alone."""

    def __init__(self, limit: int) -> None:
        self._limit = max(1, limit)
        self._changed = asyncio.Condition()
        self._running = 0
        self._alone = False

    @asynccontextmanager
    async def turn(self, *, alone: bool) -> AsyncIterator[None]:
        """Wait for a turn, and hold it."""
        async with self._changed:
            if alone:
                # No call that comes later goes first, or it would wait for ever.
                await self._changed.wait_for(lambda: not self._alone)
                self._alone = True
                try:
                    await self._changed.wait_for(lambda: self._running == 0)
                except BaseException:
                    self._alone = False
                    self._changed.notify_all()
                    raise
            else:
                await self._changed.wait_for(lambda: not self._alone and self._running < self._limit)
            self._running += 1
        try:
            yield
        finally:
            async with self._changed:
                self._running -= 1
                self._alone = self._alone and not alone
                self._changed.notify_all()
