"""Short words for scripted runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from xun import Agent, ToolBox
from xun.choice import ChoiceOutcome, ChoiceRequest
from xun.events import Event
from xun.messages import Message, ModelReply
from xun.models import ScriptedModel
from xun.models.base import ModelEvent, ModelRequest, TextDelta


def calls(*items: tuple[str, Any], **more: Any) -> dict[str, Any]:
    """Return a scripted turn of tool calls: (name, arguments) pairs."""
    return {"tool_calls": [{"name": name, "arguments": arguments} for name, arguments in items], **more}


def scripted(*turns: Any, tools: Sequence[Callable[..., Any]] = (), **options: Any) -> Agent[Any]:
    """Return an agent whose model plays *turns*."""
    return Agent(model=ScriptedModel(turns), toolbox=ToolBox(*tools), **options).initialize()


async def stream(agent: Agent[Any], text: str = "go", **options: Any) -> list[Event]:
    """Run and return all events."""
    agent.instruct(text)
    return [event async for event in agent.events(**options)]


def of(events: Sequence[Event], *kinds: type[Event]) -> list[Any]:
    """Return the events of these classes."""
    return [event for event in events if isinstance(event, kinds)]


def roles(agent: Agent[Any]) -> str:
    """Return the history in short: one letter a message (u, a, t)."""
    return "".join(message.role[0] for message in agent.history)


def tool_texts(agent: Agent[Any]) -> list[str]:
    """Return what the model reads of every tool result."""
    return [message.text for message in agent.history if message.role == "tool"]


class FakeModel:
    """A model of plain functions: each answers one request, in order, by yielding stream items."""

    name = "fake"
    capabilities: frozenset[str] = frozenset()
    context_window: int | None = None

    def __init__(self, *answers: Callable[[], AsyncIterator[ModelEvent]]) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []
        self.closed = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else says("")
        async for item in answer():
            yield item

    async def aclose(self) -> None:
        self.closed += 1


def says(text: str) -> Callable[[], AsyncIterator[ModelEvent]]:
    """Return an answer of *text*."""

    async def answer() -> AsyncIterator[ModelEvent]:
        yield TextDelta(text)
        yield ModelReply(text)

    return answer


def drips(*pieces: str, begun: Callable[[], object] = lambda: None) -> Callable[[], AsyncIterator[ModelEvent]]:
    """Return an answer that sends *pieces*, calls *begun* and then never ends."""

    async def answer() -> AsyncIterator[ModelEvent]:
        for piece in pieces:
            yield TextDelta(piece)
        # The pieces are out once the reader has come back for more.
        begun()
        await asyncio.sleep(3600)

    return answer


class FakeChooser:
    """Gives prepared answers; waits for ever when none is left."""

    def __init__(self, *answers: ChoiceOutcome[Any], asked: Callable[[], object] = lambda: None) -> None:
        self.answers = list(answers)
        self.requests: list[ChoiceRequest] = []
        self.withdrawn = 0
        self._asked = asked

    async def choose(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
        self.requests.append(request)
        self._asked()
        if self.answers:
            return self.answers.pop(0)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise
        raise AssertionError("nobody answers")


def sendable(messages: Sequence[Message]) -> bool:
    """Tell whether every call is answered directly after it, in order, and nothing else is."""
    open_calls: list[str] = []
    for message in messages:
        if message.role == "tool":
            if not open_calls or open_calls.pop(0) != message.tool_call_id:
                return False
            continue
        if open_calls:
            return False
        open_calls = [call.id for call in message.tool_calls]
        if message.role == "assistant" and not message.text and not message.tool_calls:
            return False
    return not open_calls
