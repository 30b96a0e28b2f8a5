"""Questions to a person, and their answers.

A run asks only through the `Chooser` that its agent was given. A request carries all that a
front end may show; the front end never computes a diff, a verdict or a grant of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, Protocol, TypeVar

if TYPE_CHECKING:
    from xun_policies.commands import CommandVerdict

T = TypeVar("T")

Source = Literal["user", "auto"]
"""Who chose: a person, or a rule in a person's place."""

GRANT, ONCE, DENY = "grant", "once", "deny"
"""The three answers to a write or a command, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class ChoiceOutcome(Generic[T]):
    """What was chosen, and by whom.

    It has no truth value: a denied question would otherwise read as consent.

    Attributes:
        choice: The value of the chosen option.
        source: "user", or "auto" when no person was asked.
        reason: The person's own words with a denial; may be empty.
        edited: The command, or the content of the one file of a write, as the person changed it before allowing it;
            or None.
        grants: The entries to grant as the person narrowed or widened them; None means as offered.
        decided_by: Whose rule chose when source is "auto": auto_confirm, headless, none, mode.
    """

    choice: T
    source: Source = "user"
    reason: str = ""
    edited: str | None = None
    grants: tuple[Any, ...] | None = None
    decided_by: str = "user"

    def __bool__(self) -> NoReturn:
        raise TypeError("ChoiceOutcome has no truth value: compare its .choice, as in `outcome.choice == 'once'`")


@dataclass(frozen=True, slots=True)
class Option:
    """One answer that can be chosen.

    Attributes:
        value: What the outcome holds when it is chosen.
        label: What the person reads.
        key: The key that chooses it, or "".
        available: False for an option that is shown but can't be chosen here.
        note: Why it is not available, or what exactly it does.
    """

    value: Any
    label: str
    key: str = ""
    available: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file of a write question.

    Attributes:
        path: Absolute path.
        action: add, update, delete, move, copy or mkdir.
        diff: Unified diff without its file header; "" for binary or too large files.
        added: Lines added.
        removed: Lines removed.
        note: What a diff can't show: sizes and hashes of binary content, hard links, a target that goes away.
        protected: The path is one that no grant covers.
        target: Where a move or copy ends, absolute.
        proposed: The whole text that would be written, where a person may change it before allowing it; else None.
    """

    path: str
    action: str
    diff: str = ""
    added: int = 0
    removed: int = 0
    note: str = ""
    protected: bool = False
    target: str = ""
    proposed: str | None = None


@dataclass(frozen=True, slots=True)
class WriteGrant:
    """A write permission that can be granted.

    Attributes:
        path: Absolute path.
        directory: Whether everything below the path is covered too.
    """

    path: str
    directory: bool = False


@dataclass(frozen=True, slots=True)
class Risk:
    """What the risk assessment said.

    Attributes:
        verdict: allow, unsure or reject.
        reason: One sentence; foreign text, to be shown as a quotation.
        seconds: How long it took.
        failed: The assessor failed or ran out of time (the verdict is then unsure).
    """

    verdict: Literal["allow", "unsure", "reject"]
    reason: str = ""
    seconds: float = 0.0
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ChoiceRequest:
    """One question.

    Attributes:
        id: Unique in the process; the answer names it.
        kind: command and write have exactly three options; choice and confirm are free questions.
        prompt: The question in one line.
        options: The answers, in the order to show.
        default: The value that is preselected; None when nothing is.
        agent: The name of the agent that asks.
        tool: The tool that asks, or "".
        call_id: The tool call that asks, or "".
        message: Text below the question.
        command: For a command: the parsed command that will run.
        cwd: The folder that a command will run in, or that a write's paths can be shown relative to.
        held: For a command: what will hold it in once a person allows it, as `Confinement.text`; "" when unknown.
        risk: For a command: the assessment, None when there was none.
        files: For a write: what would change.
        write_scopes: For a write: what can be granted, narrowest first; each item is one row of grants.
        allow_extra: A free text is an answer too.
        skip_auto_confirm: A person must answer, also under auto_confirm.
    """

    id: str
    kind: Literal["command", "write", "choice", "confirm"]
    prompt: str
    options: tuple[Option, ...]
    default: Any = None
    agent: str = "main"
    tool: str = ""
    call_id: str = ""
    message: str = ""
    command: CommandVerdict | None = None
    cwd: str = ""
    held: str = ""
    risk: Risk | None = None
    files: tuple[FileDiff, ...] = ()
    write_scopes: tuple[tuple[WriteGrant, ...], ...] = field(default=())
    allow_extra: bool = False
    skip_auto_confirm: bool = False


def subject_of(request: ChoiceRequest) -> str:
    """Return what *request* is about, for logs: the command, the paths, or the question itself."""
    if request.command is not None:
        return request.command.text
    return ", ".join(file.target or file.path for file in request.files) or request.prompt


class Chooser(Protocol):
    """Whoever can ask a person: a front end, a script in a test, or a rule that denies."""

    async def choose(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
        """Return the answer to *request*; cancelling the task withdraws the question."""
        ...
