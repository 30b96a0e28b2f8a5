"""Runs that wait for a person: what is kept of them, as JSON too, and how answers are taken."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from xun.agent.opencall import OpenCall, outcome_of
from xun.errors import ConfigError
from xun.messages import Image, Message, ToolCall
from xun.tools.ledger import Ledger

if TYPE_CHECKING:
    from xun.agent.loop import Run

VERSION = 1
"""The version of a saved agent."""


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call that waits for an answer.

    Attributes:
        call_id: What `Agent.resume` takes the answer by.
        tool: The tool.
        arguments: Its arguments, decoded where they are valid JSON.
        question: The question in one line.
        kind: command, write, choice or confirm; see `ChoiceRequest`.
        options: The values that can be chosen; empty for a free answer.
        message: Text below the question.
        agent: Who asks; a sub-agent has a name of its own.
    """

    call_id: str
    tool: str
    arguments: Any
    question: str
    kind: str = "choice"
    options: tuple[Any, ...] = ()
    message: str = ""
    agent: str = "main"


@dataclass(slots=True)
class Paused:
    """A run that waits.

    Attributes:
        calls: Its calls without a result, in the model's order.
        steps: The model requests that it made.
        max_steps: How many it may make.
        seconds: How long it ran.
        usage: Its tokens and money.
        bad_in_row: The messages in a row whose calls were all malformed.
        call_ids: The ids of its calls so far.
        ledger: What its calls used up.
        run: The run itself, in the process that began it.
    """

    calls: list[OpenCall]
    steps: int = 0
    max_steps: int = 512
    seconds: float = 0.0
    usage: dict[str, Any] = field(default_factory=dict)
    bad_in_row: int = 0
    call_ids: list[str] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    run: Run | None = None

    def pending(self) -> list[PendingCall]:
        """Return the calls that wait for an answer."""
        return [_pending(call) for call in self.calls if call.waits]

    def take(self, answers: dict[str, Any]) -> None:
        """Take answers by call id.

        Raises:
            ValueError: There is none, one is for no pending call, or one does not fit its question.
        """
        waiting = {call.id: call for call in self.calls if call.waits}
        unknown = [call_id for call_id in answers if call_id not in waiting]
        if unknown or not answers:
            wrong = f"No call {', '.join(map(repr, unknown))} waits" if unknown else "There is no answer"
            raise ValueError(f"{wrong}; the pending calls are: {', '.join(waiting) or 'none'}.")
        for call_id, answer in answers.items():
            if not isinstance(answer, dict):
                outcome_of(call_id, waiting[call_id].question or {}, answer)
        for call_id, answer in answers.items():
            waiting[call_id].take(answer)

    def to_json(self) -> dict[str, Any]:
        """Return the run as JSON values."""
        return {
            "calls": [call.to_json() for call in self.calls],
            "steps": self.steps,
            "max_steps": self.max_steps,
            "seconds": self.seconds,
            "usage": self.usage,
            "bad_in_row": self.bad_in_row,
            "call_ids": self.call_ids,
            "ledger": self.ledger.to_json(),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Paused:
        """Build a run from `to_json`'s dict."""
        calls = [OpenCall.from_json(item) for item in data["calls"]]
        rest = {key: value for key, value in data.items() if key not in ("calls", "ledger")}
        return cls(calls, ledger=Ledger.from_json(data["ledger"]), **rest)


def _pending(call: OpenCall) -> PendingCall:
    from xun.agent.calls import decoded

    question = call.question or {}
    return PendingCall(
        call.id,
        call.name,
        decoded(call.arguments),
        question["prompt"],
        question["kind"],
        tuple(question["options"]),
        question["message"],
        question["agent"],
    )


def message_json(message: Message) -> dict[str, Any]:
    """Return *message* as JSON values."""
    return {
        "role": message.role,
        "text": message.text,
        "images": [{"media_type": i.media_type, "data": base64.b64encode(i.data).decode()} for i in message.images],
        "tool_calls": [call.to_json() for call in message.tool_calls],
        "tool_call_id": message.tool_call_id,
        "tool_name": message.tool_name,
        "reasoning": message.reasoning,
    }


def message_from_json(data: dict[str, Any]) -> Message:
    """Build a message from `message_json`'s dict."""
    plain = Message(**{**data, "images": (), "tool_calls": ()})
    images = tuple(Image(base64.b64decode(item["data"]), item["media_type"]) for item in data["images"])
    return replace(plain, images=images, tool_calls=tuple(map(ToolCall.from_json, data["tool_calls"])))


def check_version(data: Any) -> dict[str, Any]:
    """Return *data* when it is a saved agent that this version can read.

    Raises:
        ConfigError: It is none.
    """
    if not isinstance(data, dict) or data.get("version") != VERSION:
        found = data.get("version") if isinstance(data, dict) else type(data).__name__
        raise ConfigError(f"This is no saved agent of version {VERSION} (found {found!r}); save() writes one.")
    return data
