"""Questions that can't be answered now: what ends a call until then, and what it need not do again."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from xun._serialize import to_jsonable
from xun.choice import GRANT, ONCE, ChoiceOutcome, ChoiceRequest, subject_of


class Suspend(BaseException):
    """A question can't be answered now: the call that asks is put off, and its run ends with the status "pending".

    A `Chooser` raises it, or returns it. It is no `Exception`, so that a tool that catches every error
    of its own does not take it for one.

    Attributes:
        question: The question as `question_json` writes it; None as a chooser makes it.
    """

    def __init__(self, question: dict[str, Any] | None = None) -> None:
        super().__init__("a question can't be answered now" if question is None else question["prompt"])
        self.question = question


@dataclass(slots=True)
class CallJournal:
    """What one call has been answered and has done, over all of its attempts.

    Attributes:
        answers: ``{"kind", "prompt", "subject", "outcome"}`` in the order in which they were given.
        steps: The values of ``ctx.step`` by their keys.
        approved: The next question of this call is answered with yes, whatever it is: the person wrote the arguments.
        edited: The arguments as the person changed them, or None.
    """

    answers: list[dict[str, Any]] = field(default_factory=list)
    steps: dict[str, Any] = field(default_factory=dict)
    approved: bool = False
    edited: dict[str, Any] | None = None
    _used: set[int] = field(default_factory=set)

    def begin(self) -> None:
        """Start an attempt: every answer is good for one question again."""
        self._used = set()

    def answer_to(self, request: ChoiceRequest) -> ChoiceOutcome[Any] | None:
        """Return the answer that was given to *request* in an earlier attempt, or None."""
        found = self.take(_identity(request))
        if found is not None:
            return ChoiceOutcome(**found["outcome"])
        if self.approved:
            self.approved = False
            outcome: ChoiceOutcome[Any] = ChoiceOutcome(True if request.kind == "confirm" else ONCE)
            self.keep(request, outcome)
            return outcome
        return None

    def take(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        """Return the first unused answer to a question of this kind, prompt and subject."""
        for index, item in enumerate(self.answers):
            if index not in self._used and all(item[key] == asked[key] for key in ("kind", "prompt", "subject")):
                self._used.add(index)
                return item
        return None

    def keep(self, request: ChoiceRequest, outcome: ChoiceOutcome[Any]) -> None:
        """Remember *outcome*; a grant is in the policy by itself, so that only its yes is kept here."""
        choice = ONCE if outcome.choice == GRANT else outcome.choice
        self.add({**_identity(request), "outcome": _outcome_json(outcome, choice)})
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
        return {"answers": self.answers, "steps": self.steps, "approved": self.approved, "edited": self.edited}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> CallJournal:
        """Build a journal from `to_json`'s dict."""
        return cls(list(data["answers"]), dict(data["steps"]), bool(data["approved"]), data["edited"])


def question_json(request: ChoiceRequest) -> dict[str, Any]:
    """Return *request* as JSON values: what a person has to know, and what the answer is matched by."""
    return {
        **_identity(request),
        "agent": request.agent,
        "options": [option.value for option in request.options],
        "default": request.default,
        "allow_extra": request.allow_extra,
        "message": request.message or "".join(f"--- {file.path}\n{file.diff}" for file in request.files),
    }


def _identity(request: ChoiceRequest) -> dict[str, Any]:
    return {"kind": request.kind, "prompt": request.prompt, "subject": subject_of(request)}


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
