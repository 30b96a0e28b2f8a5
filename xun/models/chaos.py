"""ChaosModel: a model between a run and another model that misbehaves on request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

from xun.errors import ConfigError, ModelError, ModelRateLimited, ModelReplyInvalid, ModelTimeout
from xun.messages import ModelReply, ToolCall
from xun.models.base import ModelEvent, ReasoningDelta, TextDelta
from xun.models.scripted import split
from xun.models.streams import closing

if TYPE_CHECKING:
    from xun.models.base import ChatModel, ModelRequest

Fault = Literal["cut", "stall", "http_429", "http_500", "bad_json", "unknown_tool", "duplicate_id", "empty", "bad_utf8"]
"""What can go wrong."""

FAULTS: tuple[str, ...] = get_args(Fault)
"""Every fault's name."""


class ChaosModel:
    """Put *faults* into the answers of *inner*.

    cut: half of the text, then the stream breaks; stall: nothing for *stall_seconds*, then a timeout;
    http_429 and http_500: refused; empty: an answer of nothing; bad_json: arguments cut in half;
    unknown_tool: calls to a tool that no toolbox has; duplicate_id: all calls share one id;
    bad_utf8: text with a lone surrogate. The first five leave the inner model's answer for the
    next request, so a script loses no turn; the others change it.

    Attributes:
        requests: Every request so far, in order.
    """

    def __init__(
        self,
        inner: ChatModel,
        faults: Sequence[Fault | None] | Mapping[int, Fault],
        *,
        stall_seconds: float = 120.0,
        retry_after: float | None = None,
    ) -> None:
        """Plan the faults by request: a list in order (None for a good answer) or ``{index: fault}``, from 0.

        *retry_after* is what http_429 asks to wait, in seconds.

        Raises:
            ConfigError: A fault is not known.
        """
        self._faults = dict(faults) if isinstance(faults, Mapping) else dict(enumerate(faults))
        for index, fault in self._faults.items():
            if fault is not None and fault not in FAULTS:
                raise ConfigError(f"faults[{index}]: unknown fault {fault!r}; known are {', '.join(FAULTS)}")
        self._inner = inner
        self._stall_seconds = stall_seconds
        self._retry_after = retry_after
        self._withheld: dict[str, list[ModelReply]] = {}
        self._lock = threading.Lock()
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self._inner.name

    @property
    def capabilities(self) -> frozenset[str]:
        """The inner model's capabilities."""
        return self._inner.capabilities

    @property
    def context_window(self) -> int | None:
        """The inner model's context window."""
        return self._inner.context_window

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer with the planned fault, or as the inner model does.

        Raises:
            ModelError: What the planned fault brings, or what the inner model raises.
        """
        with self._lock:
            fault = self._faults.get(len(self.requests))
            self.requests.append(request)
        if fault in ("stall", "http_429", "http_500"):
            await self._refuse(fault)
        elif fault == "empty":
            yield ModelReply()
        elif fault is None and not self._withheld.get(request.purpose):
            async with closing(self._inner.stream(request)) as stream:
                async for event in stream:
                    yield event
        else:
            reply = await self._reply(request)
            if fault == "cut":
                self._withheld.setdefault(request.purpose, []).append(reply)
                for piece in split(reply.text[: (len(reply.text) + 1) // 2], 2):
                    yield TextDelta(piece)
                raise ModelReplyInvalid("The stream was cut before the answer was complete (injected fault: cut)")
            for item in _events(_CHANGES[fault](reply, request) if fault else reply):
                yield item

    async def aclose(self) -> None:
        """Close the inner model."""
        await self._inner.aclose()

    async def _refuse(self, fault: str | None) -> None:
        if fault == "http_429":
            raise ModelRateLimited(
                "The server answered 429, too many requests (injected fault: http_429)",
                status=429,
                retry_after=self._retry_after,
            )
        if fault == "http_500":
            raise ModelError(
                "The server answered 500 (injected fault: http_500)", kind="server", status=500, retryable=True
            )
        await asyncio.sleep(self._stall_seconds)
        raise ModelTimeout(f"The model sent nothing for {self._stall_seconds:g} s (injected fault: stall)")

    async def _reply(self, request: ModelRequest) -> ModelReply:
        with self._lock:
            if self._withheld.get(request.purpose):
                return self._withheld[request.purpose].pop(0)
        async with closing(self._inner.stream(request)) as stream:
            async for event in stream:
                if isinstance(event, ModelReply):
                    return event
        raise ModelReplyInvalid(f"The model {self.name} ended its stream without an answer")


def _events(reply: ModelReply) -> list[ModelEvent]:
    events: list[ModelEvent] = [ReasoningDelta(reply.reasoning)] if reply.reasoning else []
    events += [TextDelta(piece) for piece in split(reply.text, 3)]
    return [*events, reply]


def _offered(request: ModelRequest) -> str:
    for tool in request.tools:
        return str(tool.get("function", {}).get("name", ""))
    return "no_such_tool"


def _with_calls(reply: ModelReply, calls: Sequence[ToolCall]) -> ModelReply:
    return replace(reply, tool_calls=tuple(calls), finish_reason="tool_calls")


def _bad_json(reply: ModelReply, request: ModelRequest) -> ModelReply:
    calls = reply.tool_calls or (ToolCall("call_chaos", _offered(request), '{"path": "a.py"}'),)
    # Half of an object never parses; "{" does for those too short to halve.
    return _with_calls(reply, [replace(c, arguments=c.arguments[: len(c.arguments) // 2] or "{") for c in calls])


def _unknown_tool(reply: ModelReply, request: ModelRequest) -> ModelReply:
    calls = reply.tool_calls or (ToolCall("call_chaos", "", "{}"),)
    return _with_calls(reply, [replace(c, name="no_such_tool") for c in calls])


def _duplicate_id(reply: ModelReply, request: ModelRequest) -> ModelReply:
    calls = reply.tool_calls or (ToolCall("call_chaos", _offered(request), "{}"),)
    if len(calls) == 1:
        calls = calls * 2
    earlier = [call.id for message in request.messages for call in message.tool_calls]
    shared = earlier[0] if earlier else calls[0].id
    return _with_calls(reply, [replace(c, id=shared) for c in calls])


def _bad_utf8(reply: ModelReply, request: ModelRequest) -> ModelReply:
    middle = len(reply.text) // 2
    return replace(reply, text=f"{reply.text[:middle]}\udcff{reply.text[middle:]}")


_CHANGES: Mapping[str, Callable[[ModelReply, ModelRequest], ModelReply]] = {
    "bad_json": _bad_json,
    "unknown_tool": _unknown_tool,
    "duplicate_id": _duplicate_id,
    "bad_utf8": _bad_utf8,
}
