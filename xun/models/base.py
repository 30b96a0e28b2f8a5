"""The protocol that every chat model meets, and what goes in and out of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from xun.messages import Message, ModelReply

Purpose = Literal["turn", "risk", "summary", "probe"]
"""What a request is for; a scripted model keeps a list of answers for risk of its own."""


COMPLETE = frozenset(
    {"", "stop", "tool_calls", "function_call", "tool_use", "end_turn", "eos", "eos_token", "stop_sequence"}
)
"""The finish reasons of an answer that was not cut; a call under any other is not run."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request.

    Attributes:
        messages: The normalised history, system message first.
        tools: The tools array in the OpenAI form; empty for none.
        purpose: What the answer is for.
        schema: A JSON schema that the answer's text must meet, or None.
    """

    messages: Sequence[Message]
    tools: Sequence[dict[str, Any]] = ()
    purpose: Purpose = "turn"
    schema: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's own notes."""

    text: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """The request failed and is made again after a wait; text pieces so far are void.

    Attributes:
        attempt: The number of the try that comes next, from 2.
        attempts: How many tries there are in all.
        delay: Seconds until it.
        reason: Why, in one sentence.
    """

    attempt: int
    attempts: int
    delay: float
    reason: str


ModelEvent = TextDelta | ReasoningDelta | Retrying | ModelReply
"""What a stream yields; `ModelReply` comes last, exactly once."""


@runtime_checkable
class ChatModel(Protocol):
    """A model that answers one request as a stream."""

    @property
    def name(self) -> str:
        """The model's name as users see it."""
        ...

    @property
    def capabilities(self) -> frozenset[str]:
        """What it takes beyond text, such as ``{"vision"}``."""
        ...

    @property
    def context_window(self) -> int | None:
        """Its size in tokens; None when unknown."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer *request*.

        Raises:
            ModelError: One of its subclasses; ``retryable`` says whether to try again.
        """
        ...

    async def aclose(self) -> None:
        """Free connections; the model can be used again afterwards."""
        ...
