"""The loop: ask the model, run its tool calls, again, until it answers without calls.

It yields frozen events and keeps the history; it draws nothing and knows no file format.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from xun.agent.answer import SchemaCheck, SchemaNotMet
from xun.agent.calls import ToolPhase, live_output
from xun.agent.cancel import waking
from xun.agent.channel import Channel
from xun.agent.circling import Circling, ask_to_go_on
from xun.agent.codemode import CodeMode
from xun.agent.compacting import Fitting
from xun.agent.history import attachments
from xun.agent.hooks import StepEnd
from xun.agent.limits import check_limits
from xun.agent.runner import SyncRunner
from xun.errors import CancelledError, RunError, ToolCallFormatError, XunError
from xun.events import (
    ContextAdded,
    Error,
    Event,
    Steer,
    TurnCompleted,
    TurnStarted,
)
from xun.messages import Message, ModelReply, Usage
from xun.models.base import COMPLETE
from xun.result import ErrorInfo, Result, Status
from xun.tools.context import CallScope
from xun.tools.ledger import Ledger
from xun.tools.toolbox import ToolBox

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.agent.paused import Paused


class RunPaused(Exception):
    """The run waits for a person; never seen outside of it."""


class Run(Fitting):
    """One run: from one input to its answer.

    Attributes:
        result: The outcome, once `events` is through.
        fatal: What a tool raised to end the process; whoever drives the run raises it again.
        begun: `events` has begun, so that the run has a loop and a channel.
        ledger: What its tool calls have used up.
    """

    def __init__(  # noqa: PLR0913 - what one run is made of
        self,
        agent: Agent[Any],
        prompt: Message | None,
        *,
        toolbox: ToolBox,
        runner: SyncRunner,
        context: Any = None,
        max_iterations: int = 512,
        schema: Any = None,
        shown: str = "",
        paused: Paused | None = None,
    ) -> None:
        self.agent, self.toolbox, self.runner, self.context = agent, toolbox, runner, context
        self.max_steps, self.started, self.begun = max_iterations, 0.0, False
        self.fatal: BaseException | None = None
        self.token = agent.new_token()
        self.result: Result[Any, ErrorInfo] = Result.Err(ErrorInfo("The run did not start."))
        self.usage = Usage()
        self.steps = 0
        self._prompt, self._shown = prompt, shown
        self._code = CodeMode(agent.workspace)
        self._check = None if schema is None else SchemaCheck(schema, agent.config.schema_attempts)
        self._reply: ModelReply | None = None
        self._partial: list[str] = []
        # Also those of earlier turns: events and results are told apart by id in the whole conversation.
        self._call_ids = {call.id for message in agent.history for call in message.tool_calls}
        self._bad_in_row = 0
        self.ledger = Ledger()
        self._circling = Circling(agent.config.max_equal_steps, agent.config.max_failed_steps)
        self._paused, self._earlier = paused, 0.0
        if paused is not None:
            self._go_on(paused)

    def _go_on(self, paused: Paused) -> None:
        self.steps, self._bad_in_row, self._earlier = paused.steps, paused.bad_in_row, paused.seconds
        self.usage += Usage(**paused.usage)
        self._call_ids.update(paused.call_ids)
        self.ledger = paused.ledger
        if paused.run is not None:
            self._check = self._check or paused.run._check

    # -- the stream -----------------------------------------------------------------------------

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run to the end and yield what happens."""
        self.loop = asyncio.get_running_loop()
        self.channel = Channel()
        self.stopped = asyncio.Event()
        self.started = time.monotonic() - self._earlier
        self.begun = True
        forget = self.token.on_cancel(waking(self.loop, self.stopped.set))
        stop = "done"
        try:
            async with aclosing(self._through()) as events:
                async for event in events:
                    yield event
        except RunPaused as exc:
            stop = "pending"
            self._fail(exc, "pending", str(exc), "pending")
        except CancelledError as exc:
            stop = "interrupted"
            self._fail(exc, "cancelled", f"Interrupted: {exc.reason}", "cancelled")
        except XunError as exc:
            stop = "limit" if isinstance(exc, RunError) else "error"
            self._fail(exc, "error", str(exc), exc.kind)
            retryable, status = getattr(exc, "retryable", False), getattr(exc, "status", None)
            self._put(Error, kind=exc.kind, message=str(exc), retryable=retryable, status=status)
        except BaseException as exc:
            self._fail(exc, "error", f"The run broke off: {exc!r}", type(exc).__name__)
            raise
        finally:
            forget()
            self.token.detach()
            self.agent.run_ends(self)
        # What a person said too late for this run is part of the conversation all the same.
        for steer in self._steers():
            self.channel.put(steer)
        for event in self.channel.take_all():
            yield event
        yield self._completed(stop)

    async def _through(self) -> AsyncGenerator[Event, None]:
        async for event in self._opening():
            yield event
        async with aclosing(self._steps()) as events:
            async for event in events:
                yield event

    def ends_with(self, cause: BaseException) -> None:
        """End the run because a tool wants the process to end."""
        self.fatal = cause
        self.token.cancel(f"a tool raised {type(cause).__name__}")

    def _fail(self, exc: BaseException, status: Status, text: str, kind: str) -> None:
        self.result = Result.Err(ErrorInfo(text, repr(exc), kind), status)

    def _completed(self, stop: str) -> Event:
        ok = self.result.is_ok()
        value = self._check.jsonable(self.result.value) if ok and self._check is not None else None
        text = self.result.value_str() if ok and self._check is None else ""
        duration = round((time.monotonic() - self.started) * 1000)
        name = self.agent.name
        return TurnCompleted(agent=name, stop=stop, text=text, value=value, steps=self.steps, duration_ms=duration)

    async def _opening(self) -> AsyncGenerator[Event, None]:
        history = self.agent.history
        if self._paused is not None:
            return
        if self._prompt is not None:
            history.append(self._prompt)
            images = attachments(self._prompt.images)
            yield self._event(TurnStarted, input=self._prompt.text, attachments=images, shown=self._shown)
        elif not history:
            raise RunError("There is nothing to answer: call instruct() with a text before execute().", kind="no_input")
        await self.agent.hooks.before_execution.invoke(self.agent)

    async def _steps(self) -> AsyncGenerator[Event, None]:
        phase = None if self._paused is None else ToolPhase(self, resumed=self._paused.calls)
        while True:
            reply = ModelReply()
            if phase is None:
                check_limits(self)
                self.steps += 1
                async with aclosing(self._ask_fitting()) as events:
                    async for event in events:
                        yield event
                reply = self._reply or reply
                if reply.tool_calls:
                    phase = ToolPhase(self, reply.tool_calls, cut=reply.finish_reason not in COMPLETE)
            if phase is not None:
                async with aclosing(self._tools(phase)) as events:
                    async for event in events:
                        yield event
                if phase.final is not None and self._met(phase.final, phase.final.value_json()):
                    return
                await self._no_circle(phase)
                phase = None
            elif not self.agent.has_steers() and self._met(Result.Ok(reply.text), reply.text):
                return
            for event in self._steers():
                yield event

    async def _tools(self, phase: ToolPhase) -> AsyncGenerator[Event, None]:
        """Run the calls of one message, or those of them that waited.

        Raises:
            RunPaused: Some of them wait for a person.
        """
        try:
            async with aclosing(phase.events()) as events:
                async for event in events:
                    yield event
        finally:
            self.agent.history.extend(phase.messages)
        self._after_calls(phase)
        async for event in self._end_of_step(phase.ids):
            yield event
        if phase.left:
            paused = self._pause(phase)
            names = ", ".join(dict.fromkeys(call.tool for call in paused.pending()))
            self.agent.pause(paused)
            raise RunPaused(f"The run waits for a person ({names}): see agent.pending, and go on with agent.resume().")

    def _pause(self, phase: ToolPhase) -> Paused:
        from xun.agent.paused import Paused

        seconds = time.monotonic() - self.started
        ids = sorted(self._call_ids)
        usage = self.usage.to_json()
        return Paused(phase.left, self.steps, self.max_steps, seconds, usage, self._bad_in_row, ids, self.ledger, self)

    # -- one step -------------------------------------------------------------------------------

    def _after_calls(self, phase: ToolPhase) -> None:
        if self.token.reason is not None:
            raise CancelledError(self.token.reason)
        if phase.given_up:
            raise ToolCallFormatError(f"The calls of {phase.given_up} were malformed too often in a row.")
        # Counted by message: the model can correct itself only between two of them.
        self._bad_in_row = self._bad_in_row + 1 if phase.bad_calls == len(phase.ids) else 0
        if self._bad_in_row >= self.agent.config.max_bad_calls:
            raise ToolCallFormatError(
                f"The model sent {self._bad_in_row} messages in a row whose tool calls were all malformed; "
                "the run ended. Ask again, or choose another model."
            )

    async def _no_circle(self, phase: ToolPhase) -> None:
        why = self._circling.note(self.agent.history, failed=phase.failed_calls == len(phase.ids))
        if why and not self.agent.has_steers():
            await ask_to_go_on(self.agent, self._circling, why)

    async def _end_of_step(self, call_ids: tuple[str, ...]) -> AsyncGenerator[Event, None]:
        end = StepEnd(self.agent, call_ids)
        await self.agent.hooks.after_execution_step.invoke(end)
        for message in end.added:
            self.agent.history.append(message)
            yield self._event(ContextAdded, text=message.text, attachments=attachments(message.images))

    def _steers(self) -> Sequence[Event]:
        texts = self.agent.take_steers()
        if texts:
            self._circling.clear()
        self.agent.history.extend(Message("user", text) for text in texts)
        return [self._event(Steer, text=text) for text in texts]

    def _met(self, answer: Result[Any, ErrorInfo], text: str) -> bool:
        """Settle the result of the run; False when the answer does not meet the schema and is asked for again."""
        if self._check is not None:
            try:
                answer = Result.Ok(self._check.parse(text))
            except SchemaNotMet as exc:
                if exc.final:
                    raise
                self.agent.history.append(Message("user", str(exc)))
                self._put(ContextAdded, text=str(exc))
                return False
        self.result = answer
        return True

    # -- small things ---------------------------------------------------------------------------

    def scope(self, call_id: str) -> CallScope:
        """Return what a tool call may use of this run."""
        scope = CallScope(
            cancelled=lambda: self.token.reason,
            emit=live_output(self.channel, self.agent.name, call_id),
            record=self.channel.put,
            usage=self.usage,
            turn=self.agent.turn,
            run=self,
        )
        scope.ledger = self.ledger
        return scope
