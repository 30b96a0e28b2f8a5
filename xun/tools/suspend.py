"""Questions that can't be answered now: what ends a call until then, and what it need not do again."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from xun._serialize import to_jsonable
from xun.choice import GRANT, ONCE, ChoiceOutcome, ChoiceRequest, subject_of


class Suspend(BaseException):
    """A question can't be answered now: the call that asks is put off, and its run ends with the status "pending".

    A `Chooser` raises it, or returns it. It is no `Exception`, so that a tool that catches every error
    of its own does not take it for one.

    Attributes:
        question: The question as `CallJournal.question` writes it; None as a chooser makes it.
    """

    def __init__(self, question: dict[str, Any] | None = None) -> None:
        super().__init__("a question can't be answered now" if question is None else question["prompt"])
        self.question = question


_IDENTITY = ("kind", "prompt", "subject", "agent", "call")


class CallJournal:
    """What one call has been answered and has done, over all of its attempts.

    Attributes:
        answers: ``{"kind", "prompt", "subject", "agent", "call", "outcome"}`` in the order in which they were given.
        steps: The values of ``ctx.step`` by their keys.
        children: The states and results of its sub-agents, by their keys.
        approved: The next question whether it may be made is answered with yes: the person wrote the arguments.
        edited: The arguments as the person changed them, or None.
    """

    # No dataclass: making one costs more than all else that this module does.
    __slots__ = ("_call", "_count", "_used", "answers", "approved", "children", "edited", "steps")

    def __init__(
        self,
        answers: Iterable[dict[str, Any]] = (),
        steps: Mapping[str, Any] | None = None,
        children: Mapping[str, Any] | None = None,
        approved: bool = False,
        edited: dict[str, Any] | None = None,
    ) -> None:
        self.answers, self.steps, self.children = list(answers), dict(steps or {}), dict(children or {})
        self.approved, self.edited = approved, edited
        self._used: set[int] = set()
        self._count, self._call = 0, ""

    def begin(self, call_id: str) -> None:
        """Start an attempt of the call *call_id*: every answer is good for one question again."""
        self._used, self._count, self._call = set(), 0, call_id

    def next_child(self) -> str:
        """Return the key of the next sub-agent of this attempt; the same one has the same key in every attempt."""
        self._count += 1
        return str(self._count)

    def answer_to(self, request: ChoiceRequest) -> ChoiceOutcome[Any] | None:
        """Return the answer that was given to *request* in an earlier attempt, or None."""
        found = self.take(self.question(request))
        if found is not None:
            return ChoiceOutcome(**found["outcome"])
        if self.approved and ONCE in (option.value for option in request.options):
            self.approved = False
            outcome: ChoiceOutcome[Any] = ChoiceOutcome(ONCE)
            self.keep(request, outcome)
            return outcome
        return None

    def take(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        """Return the first unused answer to the question *asked*, or None."""
        for index, item in enumerate(self.answers):
            if index not in self._used and _same(item, asked):
                self._used.add(index)
                return item
        return None

    def hand_over(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer to the question *asked* of a sub-agent, which keeps it from now on, or None."""
        for index, item in enumerate(self.answers):
            if not item.get("handed_over") and _same(item, asked):
                self.answers[index] = {**item, "handed_over": True}
                return item
        return None

    def question(self, request: ChoiceRequest) -> dict[str, Any]:
        """Return *request*, which this call asks, as JSON values: what a person has to know, and who asks."""
        return {
            "kind": request.kind,
            "prompt": request.prompt,
            "subject": subject_of(request),
            "agent": request.agent,
            "call": self._call,
            "options": [option.value for option in request.options],
            "default": request.default,
            "allow_extra": request.allow_extra,
            "message": _told(request),
        }

    def keep(self, request: ChoiceRequest, outcome: ChoiceOutcome[Any]) -> None:
        """Remember *outcome*; a grant is in the policy by itself, so that only its yes is kept here."""
        choice = ONCE if outcome.choice == GRANT else outcome.choice
        asked = self.question(request)
        self.add({**{key: asked[key] for key in _IDENTITY}, "outcome": _outcome_json(outcome, choice)})
        self._used.add(len(self.answers) - 1)

    def add(self, answer: dict[str, Any]) -> None:
        """Add an answer for the next attempt."""
        self.answers.append(answer)

    def step(self, key: str, func: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Return the value of the step *key*, which runs once.

        Raises:
            TypeError: Its value can't be stored as JSON.
        """
        if key not in self.steps:
            self.steps[key] = to_jsonable(func(*args))
        return self.steps[key]

    def to_json(self) -> dict[str, Any]:
        """Return the journal as JSON values."""
        return {
            "answers": self.answers,
            "steps": self.steps,
            "children": self.children,
            "approved": self.approved,
            "edited": self.edited,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> CallJournal:
        """Build a journal from `to_json`'s dict."""
        return cls(data["answers"], data["steps"], data["children"], bool(data["approved"]), data["edited"])


def _told(request: ChoiceRequest) -> str:
    """Return what stands below a question: its text, the command with its assessment, the changes."""
    parts = [request.message]
    if request.command is not None:
        parts += [request.command.text, f"in {request.cwd}"]
    if request.risk is not None:
        parts.append(f"risk assessment: {request.risk.verdict} ({request.risk.reason})")
    parts += [f"--- {file.path}\n{file.note or file.diff}" for file in request.files]
    return "\n".join(part for part in parts if part)


def _same(answer: dict[str, Any], asked: dict[str, Any]) -> bool:
    return all(answer[key] == asked[key] for key in _IDENTITY)


def _outcome_json(outcome: ChoiceOutcome[Any], choice: Any) -> dict[str, Any]:
    return {
        "choice": choice,
        "source": outcome.source,
        "reason": outcome.reason,
        "edited": outcome.edited,
        "decided_by": outcome.decided_by,
    }


CALL: contextvars.ContextVar[CallJournal | None] = contextvars.ContextVar("xun_call", default=None)
"""The journal of the call that runs here; None outside the calls of a run."""
