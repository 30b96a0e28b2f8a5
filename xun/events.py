"""The events of a run: one frozen class per type.

The loop yields them, the session adds an envelope (sequence number, time, session, turn) and
stores them, and front ends draw them. Unknown types and fields are to be ignored by readers.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

__all__ = [
    "STORED",
    "TYPES",
    "ApprovalRequested",
    "ApprovalResolved",
    "Compaction",
    "ContextAdded",
    "Error",
    "Event",
    "MessageCompleted",
    "MessageDelta",
    "Notice",
    "PolicyChanged",
    "QueueChanged",
    "ReasoningDelta",
    "Retry",
    "Rewound",
    "RiskAssessed",
    "SessionEnded",
    "SessionStarted",
    "Steer",
    "SubagentCompleted",
    "SubagentStarted",
    "TaskCompleted",
    "TaskStarted",
    "TodoUpdated",
    "ToolCompleted",
    "ToolOutput",
    "ToolStarted",
    "TurnCompleted",
    "TurnStarted",
    "UsageUpdated",
    "from_json",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Event:
    """Base of all events.

    Attributes:
        agent: The name of the agent that it belongs to: main, or a sub-agent's name.
    """

    type: ClassVar[str] = ""
    agent: str = "main"

    # Written once here: made anew for each class they would be half of the time that this module takes to load.

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, item.name) for item in dataclasses.fields(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event) or type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{item.name}={getattr(self, item.name)!r}" for item in dataclasses.fields(self))
        return f"{type(self).__qualname__}({shown})"

    def to_json(self) -> dict[str, Any]:
        """Return the event as JSON values, its type first."""
        values: dict[str, Any] = {"type": self.type}
        for item in dataclasses.fields(self):
            values[item.name] = getattr(self, item.name)
        return values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SessionStarted(Event):
    """A session began or was resumed."""

    type: ClassVar[str] = "session.started"
    cwd: str = ""
    model: str = ""
    version: str = ""
    mode: str = "ask"
    resumed: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TurnStarted(Event):
    """A person's input went to the model. Attachments: ``[{"media_type", "data"}]``, base64."""

    type: ClassVar[str] = "turn.started"
    input: str = ""
    attachments: tuple[dict[str, Any], ...] = ()
    shown: str = ""
    """The input as the person typed it, where that is shorter (folded paste, piped text)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MessageDelta(Event):
    """A piece of the answer. Not stored."""

    type: ClassVar[str] = "message.delta"
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReasoningDelta(Event):
    """A piece of the model's own notes. Not stored."""

    type: ClassVar[str] = "reasoning.delta"
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MessageCompleted(Event):
    """An assistant message is complete; it is stored before any of its calls runs.

    Attributes:
        text: The whole text.
        calls: ``[{"id", "name", "arguments"}]`` with arguments as JSON text; ``"extra"`` where the server sent more.
        partial: The run was interrupted while it streamed.
    """

    type: ClassVar[str] = "message.completed"
    text: str = ""
    calls: tuple[dict[str, str], ...] = ()
    reasoning: str = ""
    partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ContextAdded(Event):
    """A user message that no person typed: an image of a tool, the output of a ``!`` command."""

    type: ClassVar[str] = "context.added"
    text: str = ""
    attachments: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ToolStarted(Event):
    """A tool call is about to run. Arguments are decoded where they are valid JSON, else text."""

    type: ClassVar[str] = "tool.started"
    call_id: str = ""
    tool: str = ""
    args: Any = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ToolOutput(Event):
    """Live output of a running tool. Not stored. Stream: stdout, stderr or progress."""

    type: ClassVar[str] = "tool.output"
    call_id: str = ""
    stream: str = "stdout"
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ToolCompleted(Event):
    """A tool call ended.

    Attributes:
        ok: Whether it succeeded.
        status: ok, format_error, error, timeout, denied or cancelled.
        result: The value as JSON (success), else None.
        content: What the model reads.
        display: What a person should see instead of the result, or "".
        error: ``{"error", "kind"}`` of a failure, else None.
        files: ``[{"path", "action", "added", "removed"}]`` that it changed.
    """

    type: ClassVar[str] = "tool.completed"
    call_id: str = ""
    tool: str = ""
    ok: bool = True
    status: str = "ok"
    result: Any = None
    content: str = ""
    display: str = ""
    error: dict[str, Any] | None = None
    duration_ms: int = 0
    files: tuple[dict[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if not self.content:
            object.__setattr__(self, "content", self._derived())

    def _derived(self) -> str:
        if not self.ok:
            return str((self.error or {}).get("error", ""))
        return self.result if isinstance(self.result, str) else json.dumps(self.result, ensure_ascii=False)

    def to_json(self) -> dict[str, Any]:
        """Return the event as JSON values; content is left out where it follows from result or error."""
        # The zero-argument super() does not work in a slotted dataclass.
        values = Event.to_json(self)
        if self.content == self._derived():
            del values["content"]
        return values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RiskAssessed(Event):
    """The risk assessment of a command came back."""

    type: ClassVar[str] = "risk.assessed"
    call_id: str = ""
    command: str = ""
    verdict: str = "unsure"
    reason: str = ""
    failed: bool = False
    duration_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ApprovalRequested(Event):
    """A person is asked. The fields are those of the choice request, as JSON."""

    type: ClassVar[str] = "approval.requested"
    request_id: str = ""
    call_id: str = ""
    kind: str = "choice"
    prompt: str = ""
    options: tuple[dict[str, Any], ...] = ()
    default: Any = None
    command: str = ""
    cwd: str = ""
    diff: str = ""
    segments: tuple[dict[str, Any], ...] = ()
    grant_preview: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ApprovalResolved(Event):
    """A question was answered. Source: user, auto, allowlist, risk, headless, mode or none.

    Subject: the command, or the paths, that the answer is about.
    """

    type: ClassVar[str] = "approval.resolved"
    request_id: str = ""
    call_id: str = ""
    kind: str = "choice"
    choice: Any = None
    subject: str = ""
    source: str = "user"
    reason: str = ""
    edited: str | None = None
    granted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PolicyChanged(Event):
    """A list of the policy changed. State: the whole policy afterwards, as a versioned dict."""

    type: ClassVar[str] = "policy.changed"
    op: str = ""
    list: str = ""
    entry: str = ""
    source: str = "user"
    state: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Steer(Event):
    """A person spoke into the running turn."""

    type: ClassVar[str] = "steer"
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class QueueChanged(Event):
    """The messages that wait for the turn to end. Not stored."""

    type: ClassVar[str] = "queue.changed"
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TodoUpdated(Event):
    """The todo list was replaced: ``[{"description", "status"}]``."""

    type: ClassVar[str] = "todo.updated"
    items: tuple[dict[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SubagentStarted(Event):
    """A sub-agent began."""

    type: ClassVar[str] = "subagent.started"
    name: str = ""
    task: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SubagentCompleted(Event):
    """A sub-agent ended."""

    type: ClassVar[str] = "subagent.completed"
    name: str = ""
    task: str = ""
    ok: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TaskStarted(Event):
    """A background command began."""

    type: ClassVar[str] = "task.started"
    id: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TaskCompleted(Event):
    """A background command ended."""

    type: ClassVar[str] = "task.completed"
    id: str = ""
    command: str = ""
    exit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Compaction(Event):
    """Old messages were replaced by a summary. Before and after: tokens, about.

    Kept: how many messages, results of tools not counted, stay behind the summary; None for those of the last turn.
    """

    type: ClassVar[str] = "compaction"
    before: int = 0
    after: int = 0
    summary: str = ""
    kept: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Rewound(Event):
    """The conversation went back to before a turn: later records up to this one do not count, and stay stored.

    Attributes:
        turn: The first turn that does not count any more; 0: all that counted still does.
        after_seq: The number of the last record before it.
        files: Paths that were put back with it.
        restores: The number of an earlier record of this type that is taken back: what counted before it counts
            again, and what came after it does not; 0: none.
    """

    type: ClassVar[str] = "rewound"
    turn: int = 0
    after_seq: int = 0
    files: tuple[str, ...] = ()
    restores: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class UsageUpdated(Event):
    """Tokens and money of one model request; context_pct is None when the window is unknown."""

    type: ClassVar[str] = "usage"
    input: int = 0
    output: int = 0
    cached: int = 0
    cost_usd: float = 0.0
    context_pct: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Retry(Event):
    """A model request failed and is made again after a wait. Not stored."""

    type: ClassVar[str] = "retry"
    attempt: int = 2
    attempts: int = 2
    delay: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Notice(Event):
    """Something that a person should know. Level: info or warning."""

    type: ClassVar[str] = "notice"
    level: str = "info"
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Error(Event):
    """The turn failed."""

    type: ClassVar[str] = "error"
    kind: str = "error"
    message: str = ""
    retryable: bool = False
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TurnCompleted(Event):
    """The turn is over. Stop: done, interrupted, limit, error, denied, or pending (it waits for a person)."""

    type: ClassVar[str] = "turn.completed"
    stop: str = "done"
    text: str = ""
    value: Any = None
    """The structured answer, where a schema was asked for."""
    steps: int = 0
    duration_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SessionEnded(Event):
    """The session is closed."""

    type: ClassVar[str] = "session.ended"
    exit_code: int = 0
    result: Any = None
    usage: dict[str, Any] | None = None
    denied: tuple[dict[str, Any], ...] = ()


AnyEvent = (
    SessionStarted
    | TurnStarted
    | MessageDelta
    | ReasoningDelta
    | MessageCompleted
    | ContextAdded
    | ToolStarted
    | ToolOutput
    | ToolCompleted
    | RiskAssessed
    | ApprovalRequested
    | ApprovalResolved
    | PolicyChanged
    | Steer
    | QueueChanged
    | TodoUpdated
    | SubagentStarted
    | SubagentCompleted
    | TaskStarted
    | TaskCompleted
    | Compaction
    | Rewound
    | UsageUpdated
    | Retry
    | Notice
    | Error
    | TurnCompleted
    | SessionEnded
)

TYPES: dict[str, type[Event]] = {cls.type: cls for cls in get_args(AnyEvent)}
"""Every event class by its type."""

STORED: frozenset[str] = frozenset(TYPES) - {
    "message.delta",
    "reasoning.delta",
    "tool.output",
    "queue.changed",
    "retry",
}
"""The types that a session file keeps."""


def from_json(data: dict[str, Any]) -> Event | None:
    """Build an event from its JSON form; None for a type that this version does not know."""
    cls = TYPES.get(str(data.get("type")))
    if cls is None:
        return None
    values: dict[str, Any] = {}
    for item in dataclasses.fields(cls):
        if item.name in data:
            value = data[item.name]
            is_tuple = isinstance(value, list) and str(item.type).startswith("tuple")
            values[item.name] = tuple(value) if is_tuple else value
    return cls(**values)
