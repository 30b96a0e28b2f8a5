"""The data that an evaluation of a command returns."""

from __future__ import annotations

from dataclasses import dataclass

from xun_policies.decision import Decision
from xun_policies.grants import CommandGrant

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class Segment:
    """One row of the explanation: a command, an operator, a redirection or an assignment.

    Attributes:
        text: The exact source text of this piece.
        status: allow or ask; ok for an operator or a free redirection.
        rule: A stable id: builtin, granted, not-listed, excluded, guard, glob, path, lookup, git-config, name, tilde,
            variable, substitution, redirection, here-document, assignment, newline, background, brace, quoting,
            control-char, arithmetic, syntax, too-long, too-many, operator.
        reason: One short human clause.
        kind: command, operator, redirect, assignment or other.
        argv: The words of a command once quotes are removed.
        grant: The prefix (or the whole argv) that can be granted; None when nothing can or need be.
        grant_exact: The grant covers only exactly this argv.
    """

    text: str
    status: str
    rule: str
    reason: str
    kind: str
    argv: tuple[str, ...] = ()
    grant: tuple[str, ...] | None = None
    grant_exact: bool = False

    def to_json(self) -> dict[str, str]:
        """Return ``{"text", "status", "rule", "reason"}``."""
        return {"text": self.text, "status": self.status, "rule": self.rule, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class CommandScope:
    """Where a command would run.

    Attributes:
        cwd: The folder.
        roots: The folders of the workspace; reading is free in them only.
        home: The user's home folder.
        path: The PATH that bash will get; None means this process's.
        git_probe: Whether the repository's configuration is looked at before git is allowed.
    """

    cwd: str
    roots: tuple[str, ...]
    home: str
    path: str | None
    git_probe: bool = True


@dataclass(frozen=True, slots=True)
class CommandVerdict:
    """What the command allowlist says about one text, with all that a dialog or an explanation shows.

    Attributes:
        text: The text as given; exactly this must be given to bash.
        decision: ALLOW or ASK.
        segments: The pieces in source order.
        reason: Why it asks, in one sentence; "" when allowed.
        syntax_ok: False when the text is outside the accepted grammar; nothing can be granted then.
        grants: What "allow and grant" would add; empty when that is not offered.
        grant_refused: Why it is not offered, "" when it is (or when nothing needs a grant).
        bare: The text without its comments, as an assessor sees it; "" when it could not be taken apart.
    """

    text: str
    decision: Decision
    segments: tuple[Segment, ...]
    reason: str
    syntax_ok: bool
    grants: tuple[CommandGrant, ...]
    grant_refused: str
    bare: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the allowlist lets the text run unasked."""
        return self.decision is Decision.ALLOW

    def to_json(self) -> dict[str, Any]:
        """Return ``{"decision", "segments", "grantable"}`` as `xun policy test --json` prints them."""
        return {
            "decision": self.decision.word,
            "segments": [segment.to_json() for segment in self.segments],
            "grantable": [list(grant.tokens) for grant in self.grants],
        }

    def explain(self, width: int = 80) -> str:
        """Return the table that explains the decision, as plain text of at most *width* columns."""
        from xun_policies.explain import explain

        return explain(self, width)
