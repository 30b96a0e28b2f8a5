"""Messages between a run and a model, in no provider's dialect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]

CHARS_PER_TOKEN = 4
"""About how many characters a token has, in English and in code."""

_IMAGE_TOKENS = 1000


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call as the model wrote it.

    Attributes:
        id: Unique within the history; the result names it.
        name: The tool's name as the model knows it.
        arguments: JSON text, not yet checked.
        extra: What the server sent along and wants back with the call, as JSON text; "" for nothing.
    """

    id: str
    name: str
    arguments: str
    extra: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the call as events and saved states hold it; *extra* is left out where there is none."""
        call = {"id": self.id, "name": self.name, "arguments": self.arguments}
        return {**call, "extra": self.extra} if self.extra else call

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ToolCall:
        """Return the call of `to_json`."""
        extra = data.get("extra")
        return cls(data["id"], data["name"], data["arguments"], extra if isinstance(extra, str) else "")


@dataclass(frozen=True, slots=True)
class Image:
    """An image that goes to the model.

    Attributes:
        data: The encoded bytes (PNG, JPEG, WebP or GIF).
        media_type: Such as ``"image/png"``.
    """

    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the history.

    Attributes:
        role: Who speaks.
        text: The text part.
        images: Images after the text (user messages only).
        tool_calls: Calls of an assistant message.
        tool_call_id: For a tool message: the call that it answers.
        tool_name: For a tool message: the tool that was called.
        reasoning: The model's own notes, where it sends them; shown, not sent back.
    """

    role: Role
    text: str = ""
    images: tuple[Image, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    tool_name: str = ""
    reasoning: str = ""


@dataclass(slots=True)
class Usage:
    """Tokens and money used so far; adds up with ``+=``.

    Attributes:
        input: Prompt tokens, cached ones included.
        output: Tokens that the model wrote.
        cached: Prompt tokens that the provider had cached.
        cost_usd: US dollars where the price is known, else 0.
        requests: Model requests made.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    cost_usd: float = 0.0
    requests: int = 0

    def __iadd__(self, other: Usage) -> Usage:
        self.input += other.input
        self.output += other.output
        self.cached += other.cached
        self.cost_usd += other.cost_usd
        self.requests += other.requests
        return self

    def to_json(self) -> dict[str, Any]:
        """Return the figures as a dict."""
        return {
            "input": self.input,
            "output": self.output,
            "cached": self.cached,
            "cost_usd": self.cost_usd,
            "requests": self.requests,
        }


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One complete answer of a model: the last thing that a stream yields.

    Attributes:
        text: All text pieces joined.
        tool_calls: Complete calls, in the model's order.
        finish_reason: The provider's word: stop, tool_calls, length, ...
        usage: Tokens of this request.
        reasoning: The model's own notes, if any.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)
    reasoning: str = ""


def estimate_tokens(messages: Iterable[Message]) -> int:
    """Return about how many tokens *messages* take in a request; good enough to say what fits, not what it costs."""
    size = images = 0
    for message in messages:
        size += len(message.text) + sum(len(call.arguments) + len(call.name) for call in message.tool_calls)
        images += len(message.images)
    return size // CHARS_PER_TOKEN + images * _IMAGE_TOKENS
