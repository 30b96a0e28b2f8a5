"""Every exception of xun, in one tree.

XunError(Exception)                     base; every one has .kind
  ConfigError(XunError, ValueError)
  ToolError                             a failure that the model can read and correct
    ToolFailed                          the same, by choice of a tool's author
    EditError, SearchError, CommandError
  ToolCallFormatError(.., ValueError)   the call is wrong; the tool did not run
  ToolConflict(.., ValueError)          two tools of one name
  PolicyError
    PathOutsideWorkspace(.., ValueError)
    Denied
  ModelError                            .retryable, .status
    ModelUnreachable, ModelTimeout, ModelRateLimited, ModelAuth, ModelReplyInvalid, ContextOverflow
  RunError
    StepLimitReached, BudgetReached, LoopDetected
CancelledError(Exception)               not an XunError: passes through a tool's wrapper
"""

from __future__ import annotations

from typing import Any

from xun_policies.errors import Denied, PathOutsideWorkspace, PolicyError, XunError

__all__ = [
    "BudgetReached",
    "CancelledError",
    "CommandError",
    "ConfigError",
    "ContextOverflow",
    "Denied",
    "EditError",
    "LoopDetected",
    "ModelAuth",
    "ModelError",
    "ModelRateLimited",
    "ModelReplyInvalid",
    "ModelTimeout",
    "ModelUnreachable",
    "PathOutsideWorkspace",
    "PolicyError",
    "RunError",
    "SearchError",
    "StepLimitReached",
    "ToolCallFormatError",
    "ToolConflict",
    "ToolError",
    "ToolFailed",
    "XunError",
]


class ConfigError(XunError, ValueError):
    """A setting is missing or wrong; the text names the file, the key and the way out."""

    kind = "config"


class ToolError(XunError):
    """A failure that the model can read and correct; its text is what the model gets.

    Attributes:
        facts: JSON values that tests and front ends may read, such as ``nearest_line``.
    """

    kind = "tool"

    def __init__(self, message: str = "", *, kind: str | None = None, **facts: Any) -> None:
        super().__init__(message, kind=kind)
        self.facts = facts


class ToolFailed(ToolError):
    """Raised by a tool's author to choose the text that the model reads."""

    kind = "failed"


class EditError(ToolError):
    """An edit does not fit; no file was changed."""

    kind = "edit"


class SearchError(ToolError):
    """A search could not be made as asked."""

    kind = "search"


class CommandError(ToolError):
    """A command was not run, or did not end by itself."""

    kind = "command"


class ToolCallFormatError(XunError, ValueError):
    """The call itself is wrong (unknown, disabled, malformed or invalid); the tool did not run."""

    kind = "format_error"


class ToolConflict(XunError, ValueError):
    """Two tools of one name; the text starts with "Conflict tool name"."""

    kind = "conflict"


class ModelError(XunError):
    """The model could not answer.

    Attributes:
        retryable: Whether the same request may succeed later.
        status: The HTTP status where there was one.
        retry_after: Seconds that the server asked to wait, where it did.
        begun: Whether a part of the answer had come, be it one that nobody was shown, such as a call's arguments.
    """

    kind = "model"
    retryable = False
    begun = False

    def __init__(
        self,
        message: str = "",
        *,
        kind: str | None = None,
        status: int | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, kind=kind)
        self.status = status
        self.retry_after = retry_after
        if retryable is not None:
            self.retryable = retryable


class ModelUnreachable(ModelError):
    """No connection, or the connection broke."""

    kind = "unreachable"
    retryable = True


class ModelTimeout(ModelError):
    """The server went quiet for longer than the idle limit."""

    kind = "model_timeout"
    retryable = True


class ModelRateLimited(ModelError):
    """The server asked to slow down (429)."""

    kind = "rate_limited"
    retryable = True


class ModelAuth(ModelError):
    """The key is missing or refused (401, 403)."""

    kind = "auth"


class ModelReplyInvalid(ModelError):
    """What came back is no answer: broken JSON, no choices, a stream cut short."""

    kind = "bad_reply"
    retryable = True


class ContextOverflow(ModelError):
    """The request is larger than the model's context.

    Attributes:
        window: The size of the context in tokens, where the server said it.
    """

    kind = "context_overflow"

    def __init__(self, message: str = "", *, status: int | None = None, window: int | None = None) -> None:
        super().__init__(message, status=status)
        self.window = window


class RunError(XunError):
    """A run was ended by one of its limits."""

    kind = "run"


class StepLimitReached(RunError):
    """The run used all of its steps."""

    kind = "step_limit"


class BudgetReached(RunError):
    """The run used all of its tokens, money or time."""

    kind = "budget"


class LoopDetected(RunError):
    """The run went in circles, and nobody wanted it to go on."""

    kind = "loop"


class CancelledError(Exception):
    """The run was cancelled by its owner; not an error of the tool that it interrupts.

    Attributes:
        reason: Why, in a few words.
    """

    def __init__(self, reason: str = "cancelled") -> None:
        super().__init__(reason)
        self.reason = reason
