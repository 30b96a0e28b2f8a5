"""The base of xun's exceptions, and those of the policy layer.

The bottom package owns the base; `xun.errors` re-exports it and draws the whole tree.
"""

from __future__ import annotations


class XunError(Exception):
    """Base of every error that xun raises on purpose.

    Attributes:
        kind: A short stable word that programs may compare, such as ``"outside"``.
    """

    kind: str = "error"

    def __init__(self, message: str = "", *, kind: str | None = None) -> None:
        super().__init__(message)
        if kind is not None:
            self.kind = kind


class PolicyError(XunError):
    """A rule of the policy layer forbids what was asked."""

    kind = "policy"


class PathOutsideWorkspace(PolicyError, ValueError):
    """A path leads out of the workspace once links and ``..`` are resolved."""

    kind = "outside"


class Denied(PolicyError):
    """A person or a rule refused.

    Attributes:
        source: Who refused: user, headless, risk, hook, mode, auto or none (nobody could be asked).
        reason: The person's or the rule's own words, without decoration; may be empty.
    """

    kind = "denied"

    def __init__(self, message: str, *, source: str, reason: str = "") -> None:
        super().__init__(message)
        self.source = source
        self.reason = reason
