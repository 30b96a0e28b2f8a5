"""The model requests of a run: one request, its stream, and what becomes of a reply, whole or broken off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from xun.agent.cancel import waking
from xun.agent.history import unique_ids, without_images
from xun.agent.hooks import ModelCallDraft
from xun.agent.offers import offered
from xun.errors import CancelledError, ModelReplyInvalid
from xun.events import Event, MessageCompleted, MessageDelta, Notice, ReasoningDelta, Retry, UsageUpdated
from xun.messages import Message, ModelReply, Usage
from xun.models.base import COMPLETE, ModelRequest, Retrying, TextDelta
from xun.models.base import ReasoningDelta as ModelReasoning
from xun.models.retry import RetryPolicy, stream_with_retry
from xun.tools.exposure import RUN_CODE

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.agent.answer import SchemaCheck
    from xun.agent.cancel import CancelToken
    from xun.agent.channel import Channel
    from xun.agent.codemode import CodeMode
    from xun.agent.loop import Run
    from xun.tools.toolbox import ToolBox


class Requesting:
    """The part of a run that talks to the model; mixed into `Run`."""

    agent: Agent[Any]
    toolbox: ToolBox
    token: CancelToken
    channel: Channel
    loop: asyncio.AbstractEventLoop
    _code: CodeMode
    _check: SchemaCheck | None
    _reply: ModelReply | None
    _partial: list[str]
    _call_ids: set[str]

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
        if reply.usage.input:
            self.agent.measured = (len(self.agent.history), reply.usage.input + reply.usage.output)
        calls = tuple(call.to_json() for call in reply.tool_calls)
        events = [
            self._event(MessageCompleted, text=reply.text, calls=calls, reasoning=reply.reasoning),
            self._usage_event(reply.usage),
        ]
        if not reply.text.strip() and not reply.tool_calls:
            events.append(self._event(Notice, level="warning", text="The model's answer is empty: ask again."))
        if reply.finish_reason not in COMPLETE:
            events.append(self._event(Notice, level="warning", text=f"The reply was cut ({reply.finish_reason})."))
        return events

    async def _request(self) -> ModelRequest:
        agent = self.agent
        messages = agent.normaliser(agent.history)
        model = await agent.aresolve_model()
        if agent.config.images_need_vision and "vision" not in model.capabilities:
            messages = without_images(messages)
        code = self._code.text(self.toolbox, model.capabilities) if self.code_mode else ""
        system = "\n\n".join(filter(None, (agent.system_text(), code)))
        if system:
            messages.insert(0, Message("system", system))
        tools = offered(cast("Run", self), model.capabilities)
        if len(agent.hooks.before_model_call):
            tools = deepcopy(tools)  # the schemas are those of the tools; an edit is for one request
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

    @property
    def code_mode(self) -> bool:
        """Whether the model calls tools from code: it is switched on, and there is a tool to run it."""
        return self.agent.config.code_mode and self.toolbox.offers(RUN_CODE)

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
