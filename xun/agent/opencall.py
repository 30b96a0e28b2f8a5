"""OpenCall: a tool call without a result yet, and the answer that it waits for."""

from __future__ import annotations

from typing import Any

from xun.choice import DENY, ONCE
from xun.tools.suspend import CallJournal


class OpenCall:
    """A call of a message that has no result yet.

    Attributes:
        id: The call's id.
        name: The tool, as hooks left it.
        arguments: The arguments, as hooks left them.
        journal: What it was answered and did so far.
        question: What it waits for; None for one that was not begun.
        answered: The question has its answer, so that the call can be made again.
    """

    # No dataclass: making one costs more than all else that this module does.
    __slots__ = ("answered", "arguments", "id", "journal", "name", "question")

    def __init__(
        self,
        id: str,
        name: str,
        arguments: str | dict[str, Any],
        journal: CallJournal | None = None,
        question: dict[str, Any] | None = None,
    ) -> None:
        self.id, self.name, self.arguments, self.question = id, name, arguments, question
        self.journal = CallJournal() if journal is None else journal
        self.answered = False

    @property
    def waits(self) -> bool:
        """Whether it can't be made before a person answers."""
        return self.question is not None and not self.answered

    def take(self, answer: Any) -> None:
        """Take a person's answer: True, False, a text, or the arguments to go on with.

        Raises:
            ValueError: The text is none of the answers that can be chosen.
        """
        question = self.question or {}
        if isinstance(answer, dict):
            self.arguments = answer
            # What it did, it did; what it was told holds for the other arguments only.
            self.journal = CallJournal(steps=self.journal.steps, approved=True, edited=answer)
        else:
            self.answer({**question, "outcome": outcome_of(self.id, question, answer)})
        self.answered = True

    def answer(self, record: dict[str, Any]) -> None:
        """Take an answer in the form in which a journal keeps it."""
        self.journal.add(record)
        self.answered = True

    def to_json(self) -> dict[str, Any]:
        """Return the call as JSON values."""
        return {
            "id": self.id,
            "name": self.name,
            "arguments": self.arguments,
            "journal": self.journal.to_json(),
            "question": self.question,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> OpenCall:
        """Build a call from `to_json`'s dict."""
        journal = CallJournal.from_json(data["journal"])
        return cls(data["id"], data["name"], data["arguments"], journal, data["question"])


def outcome_of(call_id: str, question: dict[str, Any], answer: Any) -> dict[str, Any]:
    """Return the outcome of *question* that a person's answer means.

    Raises:
        ValueError: It is none of the answers that can be chosen.
    """
    options, kind = list(question.get("options", ())), question.get("kind", "choice")
    three = ONCE in options and DENY in options
    reason = ""
    choice: Any = answer
    if three and isinstance(answer, bool):
        choice = ONCE if answer else DENY
    elif three and answer not in options:
        choice, reason = DENY, str(answer)
    elif kind == "confirm" and not isinstance(answer, bool):
        raise ValueError(f"The answer to {question['prompt']!r} ({call_id}) must be True or False, got {answer!r}.")
    elif kind != "confirm" and answer is True:
        choice = question["default"] if question.get("default") is not None else next(iter(options), "yes")
    elif kind != "confirm" and answer is False:
        choice, reason = None, "declined"
    elif kind == "choice" and not question.get("allow_extra") and answer not in options:
        raise ValueError(
            f"The answer to {question['prompt']!r} ({call_id}) must be one of "
            f"{', '.join(map(str, options))}, got {answer!r}."
        )
    return {"choice": choice, "source": "user", "reason": reason, "edited": None, "decided_by": "user"}
