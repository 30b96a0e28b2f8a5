"""The loop: ask the model, run its tool calls, again, until it answers without calls.

It yields frozen events and keeps the history; it draws nothing and knows no file format.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xun.agent.answer import SchemaCheck, SchemaNotMet
from xun.agent.calls import ToolPhase, live_output
from xun.agent.cancel import waking
from xun.agent.channel import Channel
from xun.agent.codemode import CodeMode
from xun.agent.history import attachments, unique_ids
from xun.agent.hooks import ModelCallDraft, StepEnd
from xun.agent.limits import check_limits
from xun.agent.runner import SyncRunner
from xun.errors import CancelledError, ModelReplyInvalid, RunError, ToolCallFormatError, XunError
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
from xun.tools.exposure import RUN_CODE
from xun.tools.toolbox import ToolBox

if TYPE_CHECKING:
    from xun.agent.agent import Agent

_COMPLETE = frozenset({"stop", "tool_calls", "function_call", "end_turn", ""})


class Run:
    """One run: from one input to its answer.

    Attributes:
        result: The outcome, once `events` is through.
        fatal: What a tool raised to end the process; whoever drives the run raises it again.
        begun: `events` has begun, so that the run has a loop and a channel.
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
        self._call_ids: set[str] = set()
        self._bad_in_row = 0

    # -- the stream -----------------------------------------------------------------------------

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run to the end and yield what happens."""
        self.loop = asyncio.get_running_loop()
        self.channel = Channel()
        self.stopped = asyncio.Event()
        self.started = time.monotonic()
        self.begun = True
        forget = self.token.on_cancel(waking(self.loop, self.stopped.set))
        stop = "done"
        try:
            async with aclosing(self._through()) as events:
                async for event in events:
                    yield event
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
        if self._prompt is not None:
            history.append(self._prompt)
            images = attachments(self._prompt.images)
            yield self._event(TurnStarted, input=self._prompt.text, attachments=images, shown=self._shown)
        elif not history:
            raise RunError("There is nothing to answer: call instruct() with a text before execute().", kind="no_input")
        await self.agent.hooks.before_execution.invoke(self.agent)

    async def _steps(self) -> AsyncGenerator[Event, None]:
        while True:
            check_limits(self)
            self.steps += 1
            async with aclosing(self._ask()) as events:
                async for event in events:
                    yield event
            reply = self._reply or ModelReply()
            if reply.tool_calls:
                phase = ToolPhase(self, reply.tool_calls, cut=reply.finish_reason not in _COMPLETE)
                try:
                    async with aclosing(phase.events()) as events:
                        async for event in events:
                            yield event
                finally:
                    self.agent.history.extend(phase.messages)
                self._after_calls(phase, reply)
                async for event in self._end_of_step(reply):
                    yield event
                if phase.final is not None and self._met(phase.final, phase.final.value_json()):
                    return
            elif not self.agent.has_steers() and self._met(Result.Ok(reply.text), reply.text):
                return
            for event in self._steers():
                yield event

    # -- one step -------------------------------------------------------------------------------

    async def _ask(self) -> AsyncGenerator[Event, None]:
        """Make one model request; the complete reply is in the history and out as an event at the end."""
        self._partial, self._reply = [], None
        task = asyncio.create_task(self._stream(await self._request()))
        forget = self.token.on_cancel(waking(self.loop, task.cancel))
        try:
            async with aclosing(self.channel.drain(task)) as events:
                async for event in events:
                    yield event
        except CancelledError as exc:
            self.token.cancel(exc.reason)
        except (asyncio.CancelledError, GeneratorExit):
            self._keep_partial()
            raise
        finally:
            forget()
        reply = self._reply
        if self.token.reason is not None:
            if reply is not None:
                self.agent.add_usage(reply.usage, self)
                yield self._usage_event(reply.usage)
            if self._keep_partial():
                yield self._event(MessageCompleted, text="".join(self._partial), partial=True)
            raise CancelledError(self.token.reason)
        if reply is None:
            raise ModelReplyInvalid("The model's stream ended without an answer.")
        self.agent.add_usage(reply.usage, self)
        for event in self._replied(reply):
            yield event

    def _keep_partial(self) -> bool:
        text = "".join(self._partial)
        if text:
            self.agent.history.append(Message("assistant", text))
        return bool(text)

    def _replied(self, reply: ModelReply) -> Sequence[Event]:
        self.agent.history.append(
            Message("assistant", reply.text, tool_calls=reply.tool_calls, reasoning=reply.reasoning)
        )
        calls = tuple({"id": c.id, "name": c.name, "arguments": c.arguments} for c in reply.tool_calls)
        events = [
            self._event(MessageCompleted, text=reply.text, calls=calls, reasoning=reply.reasoning),
            self._usage_event(reply.usage),
        ]
        if reply.finish_reason not in _COMPLETE:
            events.append(self._event(Notice, level="warning", text=f"The reply was cut ({reply.finish_reason})."))
        return events

    async def _request(self) -> ModelRequest:
        agent = self.agent
        messages = agent.normaliser(agent.history)
        model = await agent.aresolve_model()
        code = self._code.text(self.toolbox, model.capabilities) if self.code_mode else ""
        system = "\n\n".join(filter(None, (agent.system_text(), code)))
        if system:
            messages.insert(0, Message("system", system))
        tools = self.toolbox.list_tools_json(model.capabilities, compact=True, code_mode=self.code_mode)
        draft = ModelCallDraft(messages, tools)
        await agent.hooks.before_model_call.invoke(draft)
        schema = None if self._check is None else self._check.json_schema
        return ModelRequest(draft.messages, draft.tools, agent.purpose, schema)

    async def _stream(self, request: ModelRequest) -> None:
        agent, put = self.agent, self.channel.put
        policy = RetryPolicy(attempts=agent.config.retry_attempts)
        model = await agent.aresolve_model()
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
                self._put(Retry, attempt=item.attempt, attempts=item.attempts, delay=item.delay, reason=item.reason)
            else:
                self._reply = replace(item, tool_calls=unique_ids(item.tool_calls, self._call_ids))
            if self.token.reason is not None:
                # A model whose pieces never wait gives a cancellation no other chance.
                return

    def _after_calls(self, phase: ToolPhase, reply: ModelReply) -> None:
        if self.token.reason is not None:
            raise CancelledError(self.token.reason)
        # Counted by message: the model can correct itself only between two of them.
        self._bad_in_row = self._bad_in_row + 1 if phase.bad_calls == len(reply.tool_calls) else 0
        if self._bad_in_row >= self.agent.config.max_bad_calls:
            raise ToolCallFormatError(
                f"The model sent {self._bad_in_row} messages in a row whose tool calls were all malformed; "
                "the run ended. Ask again, or choose another model."
            )

    async def _end_of_step(self, reply: ModelReply) -> AsyncGenerator[Event, None]:
        end = StepEnd(self.agent, tuple(call.id for call in reply.tool_calls))
        await self.agent.hooks.after_execution_step.invoke(end)
        for message in end.added:
            self.agent.history.append(message)
            yield self._event(ContextAdded, text=message.text, attachments=attachments(message.images))

    def _steers(self) -> Sequence[Event]:
        texts = self.agent.take_steers()
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

    @property
    def code_mode(self) -> bool:
        """Whether the model calls tools from code: it is switched on, and there is a tool to run it."""
        return self.agent.config.code_mode and self.toolbox.offers(RUN_CODE)

    # -- small things ---------------------------------------------------------------------------

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

    def _put(self, cls: type[Any], **values: Any) -> None:
        self.channel.put(self._event(cls, **values))

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
