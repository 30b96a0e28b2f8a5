"""The loop: ask the model, run its tool calls, again, until it answers without calls.

It yields frozen events and keeps the history; it draws nothing and knows no file format.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from xun.agent.answer import SchemaCheck, SchemaNotMet
from xun.agent.calls import ToolPhase, live_output
from xun.agent.channel import Channel
from xun.agent.history import attachments, normalise
from xun.agent.hooks import ModelCallDraft, StepEnd
from xun.agent.runner import SyncRunner
from xun.errors import (
    BudgetReached,
    CancelledError,
    ModelError,
    RunError,
    StepLimitReached,
    ToolCallFormatError,
    XunError,
)
from xun.events import (
    ContextAdded,
    Error,
    Event,
    MessageCompleted,
    MessageDelta,
    Notice,
    ReasoningDelta,
    Retry,
    Steer,
    TurnCompleted,
    TurnStarted,
    UsageUpdated,
)
from xun.messages import Message, ModelReply, Usage
from xun.models.base import ModelRequest, Retrying, TextDelta
from xun.models.base import ReasoningDelta as ModelReasoning
from xun.models.retry import RetryPolicy, stream_with_retry
from xun.result import ErrorInfo, Result, Status
from xun.tools.context import CallScope
from xun.tools.toolbox import ToolBox

if TYPE_CHECKING:
    from xun.agent.agent import Agent

_COMPLETE = frozenset({"stop", "tool_calls", "function_call", "end_turn", ""})


class Run:
    """One run: from one input to its answer.

    Attributes:
        result: The outcome, once `events` is through.
    """

    def __init__(
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
    ) -> None:
        self.agent, self.toolbox, self.runner, self.context = agent, toolbox, runner, context
        self.token = agent.new_token()
        self.result: Result[Any, ErrorInfo] = Result.Err(ErrorInfo("The run did not start."))
        self.usage = Usage()
        self.steps = 0
        self._prompt, self._max_steps, self._shown = prompt, max_iterations, shown
        self._check = None if schema is None else SchemaCheck(schema, agent.config.schema_attempts)
        self._reply = ModelReply()
        self._partial: list[str] = []
        self._bad_in_row = 0
        self._started = 0.0

    # -- the stream -----------------------------------------------------------------------------

    async def events(self) -> AsyncIterator[Event]:
        """Run to the end and yield what happens."""
        self.loop = asyncio.get_running_loop()
        self.channel = Channel()
        self.stopped = asyncio.Event()
        self._started = time.monotonic()
        forget = self.token.on_cancel(lambda _: self.loop.call_soon_threadsafe(self.stopped.set))
        self.agent.run_begins(self)
        stop = "done"
        try:
            async for event in self._opening():
                yield event
            async for event in self._steps():
                yield event
        except CancelledError as exc:
            stop = "interrupted"
            self._fail(exc, "cancelled", f"Interrupted: {exc.reason}", "cancelled")
        except XunError as exc:
            stop = "limit" if isinstance(exc, RunError) else "error"
            self._fail(exc, "error", str(exc), exc.kind)
            retryable, status = getattr(exc, "retryable", False), getattr(exc, "status", None)
            yield self._event(Error, kind=exc.kind, message=str(exc), retryable=retryable, status=status)
        finally:
            forget()
            self.token.detach()
            self.agent.run_ends(self)
        for event in self.channel.take_all():
            yield event
        yield self._completed(stop)

    def _fail(self, exc: BaseException, status: Status, text: str, kind: str) -> None:
        self.result = Result.Err(ErrorInfo(text, repr(exc), kind), status)

    def _completed(self, stop: str) -> Event:
        ok = self.result.is_ok()
        value = self._check.jsonable(self.result.value) if ok and self._check is not None else None
        text = self.result.value_str() if ok and self._check is None else ""
        duration = round((time.monotonic() - self._started) * 1000)
        name = self.agent.name
        return TurnCompleted(agent=name, stop=stop, text=text, value=value, steps=self.steps, duration_ms=duration)

    async def _opening(self) -> AsyncIterator[Event]:
        history = self.agent.history
        if self._prompt is not None:
            history.append(self._prompt)
            images = attachments(self._prompt.images)
            yield self._event(TurnStarted, input=self._prompt.text, attachments=images, shown=self._shown)
        elif not history:
            raise RunError("There is nothing to answer: call instruct() with a text before execute().", kind="no_input")
        await self.agent.hooks.before_execution.invoke(self.agent)

    async def _steps(self) -> AsyncIterator[Event]:
        while True:
            self._check_limits()
            self.steps += 1
            async for event in self._ask():
                yield event
            reply = self._reply
            if reply.tool_calls:
                phase = ToolPhase(self, reply.tool_calls, cut=reply.finish_reason not in _COMPLETE)
                async for event in phase.events():
                    yield event
                self._after_calls(phase)
                async for event in self._end_of_step():
                    yield event
                if phase.final is not None:
                    self.result = phase.final
                    return
            elif await self._answered(reply):
                return
            for event in self._steers():
                yield event

    # -- one step -------------------------------------------------------------------------------

    async def _ask(self) -> AsyncIterator[Event]:
        """Make one model request; the complete reply is in the history and out as an event at the end."""
        self._partial = []
        task = asyncio.create_task(self._stream(await self._request()))
        forget = self.token.on_cancel(lambda _: self.loop.call_soon_threadsafe(task.cancel))
        try:
            async for event in self.channel.drain(task):
                yield event
        finally:
            forget()
        if self.token.reason is not None:
            text = "".join(self._partial)
            if text:
                self.agent.history.append(Message("assistant", text))
                yield self._event(MessageCompleted, text=text, partial=True)
            raise CancelledError(self.token.reason)
        reply = self._reply
        self.agent.add_usage(reply.usage, self)
        self.agent.history.append(
            Message("assistant", reply.text, tool_calls=reply.tool_calls, reasoning=reply.reasoning)
        )
        calls = tuple({"id": c.id, "name": c.name, "arguments": c.arguments} for c in reply.tool_calls)
        yield self._event(MessageCompleted, text=reply.text, calls=calls, reasoning=reply.reasoning)
        yield self._usage_event(reply.usage)
        if reply.finish_reason not in _COMPLETE:
            yield self._event(Notice, level="warning", text=f"The reply was cut ({reply.finish_reason}).")

    async def _request(self) -> ModelRequest:
        agent = self.agent
        system = agent.system_text()
        messages = normalise(agent.history)
        if system:
            messages.insert(0, Message("system", system))
        model = await agent.aresolve_model()
        draft = ModelCallDraft(messages, self.toolbox.list_tools_json(model.capabilities))
        await agent.hooks.before_model_call.invoke(draft)
        schema = None if self._check is None else self._check.json_schema
        return ModelRequest(draft.messages, draft.tools, agent.purpose, schema)

    async def _stream(self, request: ModelRequest) -> None:
        agent, put = self.agent, self.channel.put
        policy = RetryPolicy(attempts=agent.config.retry_attempts)
        model = await agent.aresolve_model()
        seen = False
        async for item in stream_with_retry(model, request, policy=policy):
            if isinstance(item, TextDelta):
                self._partial.append(item.text)
                put(MessageDelta(agent=agent.name, text=item.text))
                if len(agent.hooks.model_text_delta):
                    agent.hooks.model_text_delta.invoke_sync(item.text)
            elif isinstance(item, ModelReasoning):
                put(ReasoningDelta(agent=agent.name, text=item.text))
            elif isinstance(item, Retrying):
                self._partial = []
                put(
                    self._event(
                        Retry, attempt=item.attempt, attempts=item.attempts, delay=item.delay, reason=item.reason
                    )
                )
            else:
                self._reply, seen = item, True
        if not seen:
            raise ModelError("The model's stream ended without an answer.", kind="bad_reply", retryable=True)

    def _after_calls(self, phase: ToolPhase) -> None:
        self.agent.history.extend(phase.messages)
        if self.token.reason is not None:
            raise CancelledError(self.token.reason)
        calls = len(self._reply.tool_calls)
        self._bad_in_row = self._bad_in_row + phase.bad_calls if phase.bad_calls == calls else 0
        if self._bad_in_row >= self.agent.config.max_bad_calls:
            raise ToolCallFormatError(
                f"The model sent {self._bad_in_row} malformed tool calls in a row; the run ended. "
                "Ask again, or choose another model."
            )

    async def _end_of_step(self) -> AsyncIterator[Event]:
        end = StepEnd(self.agent)
        await self.agent.hooks.after_execution_step.invoke(end)
        for message in end.added:
            self.agent.history.append(message)
            yield self._event(ContextAdded, text=message.text, attachments=attachments(message.images))

    def _steers(self) -> Sequence[Event]:
        texts = self.agent.take_steers()
        self.agent.history.extend(Message("user", text) for text in texts)
        return [self._event(Steer, text=text) for text in texts]

    async def _answered(self, reply: ModelReply) -> bool:
        """Settle the result of a reply without calls; False when the run goes on."""
        if self.agent.has_steers():
            return False
        if self._check is None:
            self.result = Result.Ok(reply.text)
            return True
        try:
            self.result = Result.Ok(self._check.parse(reply.text))
        except SchemaNotMet as exc:
            if exc.final:
                raise
            self.agent.history.append(Message("user", str(exc)))
            self.channel.put(self._event(ContextAdded, text=str(exc)))
            return False
        return True

    # -- limits and small things ----------------------------------------------------------------

    def _check_limits(self) -> None:
        config = self.agent.config
        if self.token.reason is not None:
            raise CancelledError(self.token.reason)
        if self.steps >= self._max_steps:
            raise StepLimitReached(f"The run used all of its {self._max_steps} steps without an answer.")
        used = self.usage.input + self.usage.output
        if config.max_tokens is not None and used >= config.max_tokens:
            raise BudgetReached(f"The run used {used} tokens; its limit is {config.max_tokens}.")
        if config.max_cost_usd is not None and self.usage.cost_usd >= config.max_cost_usd:
            raise BudgetReached(f"The run cost ${self.usage.cost_usd:.4f}; its limit is ${config.max_cost_usd:g}.")
        if config.max_seconds is not None and time.monotonic() - self._started >= config.max_seconds:
            raise BudgetReached(f"The run passed its time limit of {config.max_seconds:g} s.")

    def scope(self, call_id: str) -> CallScope:
        """Return what a tool call may use of this run."""
        return CallScope(
            cancelled=lambda: self.token.reason,
            emit=live_output(self.channel, self.agent.name, call_id),
            record=self.channel.put,
            usage=self.usage,
            turn=self.agent.turn,
            run=self,
        )

    def _event(self, cls: type[Any], **values: Any) -> Any:
        return cls(agent=self.agent.name, **values)

    def _usage_event(self, usage: Usage) -> Event:
        window = self.agent.context_window
        pct = None if not window or not usage.input else round(100 * (usage.input + usage.output) / window, 1)
        return UsageUpdated(
            agent=self.agent.name,
            input=usage.input,
            output=usage.output,
            cached=usage.cached,
            cost_usd=usage.cost_usd,
            context_pct=pct,
        )
