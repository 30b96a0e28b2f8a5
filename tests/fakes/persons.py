"""Choosers in a person's place; each keeps the questions that it was asked."""

from __future__ import annotations

from typing import Any

from xun.choice import ChoiceOutcome, ChoiceRequest


class Person:
    """Answers every question alike: with *choice*, and with what else an outcome has, such as ``reason``."""

    def __init__(self, choice: Any = "once", **more: Any) -> None:
        self.choice, self.more = choice, more
        self.asked: list[ChoiceRequest] = []

    async def choose(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
        self.asked.append(request)
        return ChoiceOutcome(self.choice, **self.more)


class Answers:
    """Gives its answers in order: each is a choice, an outcome, or a function that makes one of the request."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[ChoiceRequest] = []

    async def choose(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
        self.asked.append(request)
        answer = self.answers.pop(0)
        answer = answer(request) if callable(answer) else answer
        return answer if isinstance(answer, ChoiceOutcome) else ChoiceOutcome(answer)
