"""ask_user: several questions to the person in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from xun.errors import ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext

MAX_QUESTIONS = 8
MAX_HEADER = 32
"""Characters of a header."""

DONE = "That is all"
"""The answer that ends a question of which several options may be chosen."""


@dataclass
class AnswerOption:
    """One answer that is offered."""

    label: str
    description: str = ""


@dataclass
class Question:
    """One question of `ask_user`."""

    question: str
    header: str = ""
    type: Literal["choice", "text", "yesno"] = "choice"
    options: list[AnswerOption] = field(default_factory=list)
    multi_select: bool = False


@tool_attr(deferred=True, sequential=True, search_hint="question clarify choose form interview person human input")
def ask_user(ctx: ToolCallContext[Any], questions: list[Question]) -> list[dict[str, Any]]:
    """Ask the person up to 8 questions, one after the other.

    Each has a question, a header of at most 32 characters, and a type: choice (2 to 4 options, each with a label and a
    description; with multi_select several may be chosen; the person may also answer in words of their own), text, or
    yesno. Not for permission: writes and commands are approved elsewhere.

    Returns question and answer of each, in order: a text, a list of texts, or a boolean."""
    if not 1 <= len(questions) <= MAX_QUESTIONS:
        raise ToolError(f"questions needs 1 to {MAX_QUESTIONS} of them, got {len(questions)}.")
    for number, item in enumerate(questions, 1):
        _require_good(number, item)
    return [{"question": item.question, "answer": _ask(ctx, item)} for item in questions]


def _require_good(number: int, item: Question) -> None:
    labels = [option.label.strip() for option in item.options]
    problem = ""
    if not item.question.strip():
        problem = "is empty"
    elif len(item.header) > MAX_HEADER:
        problem = f"has a header of {len(item.header)} characters; {MAX_HEADER} is the limit"
    elif item.type == "choice" and not 2 <= len(labels) <= 4:
        problem = f"needs 2 to 4 options, got {len(labels)}"
    elif item.type != "choice" and (labels or item.multi_select):
        problem = f"is of the type {item.type}, which has no options"
    elif not all(labels) or len(set(labels)) != len(labels) or DONE in labels:
        problem = f"has options that are empty, twice there, or {DONE!r}"
    if problem:
        raise ToolError(f"Question {number} {problem}.")


def _ask(ctx: ToolCallContext[Any], item: Question) -> str | bool | list[str]:
    ctx.check_cancel()
    prompt = f"{item.header.strip()}: {item.question}" if item.header.strip() else item.question
    if item.type == "yesno":
        return ctx.agent.get_confirm(prompt, skip_auto_confirm=True).choice
    if item.type == "text":
        return ctx.agent.get_choice(prompt, [], allow_extra=True, skip_auto_confirm=True).choice
    if not item.multi_select:
        return _choose(ctx, prompt, item.options, [])
    chosen: list[str] = []
    while len(chosen) <= len(item.options):
        left = [option for option in item.options if option.label not in chosen]
        answer = _choose(ctx, prompt, left, chosen)
        if answer == DONE:
            break
        chosen.append(answer)
        if not [option for option in left if option.label != answer]:
            break
    return chosen


def _choose(ctx: ToolCallContext[Any], prompt: str, options: Sequence[AnswerOption], chosen: Sequence[str]) -> str:
    """Ask for one of *options*, or to end when some were chosen before."""
    about = [f"{option.label}: {option.description}" for option in options if option.description.strip()]
    message = "\n".join([*([f"Chosen so far: {', '.join(chosen)}."] if chosen else []), *about])
    labels = [option.label for option in options] + ([DONE] if chosen else [])
    outcome = ctx.agent.get_choice(prompt, labels, message, allow_extra=True, skip_auto_confirm=True)
    return str(outcome.choice)
