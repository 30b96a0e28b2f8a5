"""The finish group: tools by which a model ends its run; for programs that run an agent to an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xun.errors import ToolError
from xun.tools.attr import tool_attr


@tool_attr(ends_run=True, sequential=True, read_only=True, expose="direct")
def finish(answer: str) -> str:
    """End the work and give the final answer.

    Call it when the task is done, or when it can't be done; answer says what was found or changed, or why not. It must
    not be empty."""
    return _given(answer, "answer")


@tool_attr(ends_run=True, sequential=True, read_only=True, expose="direct")
def complete_task(result: str) -> str:
    """End the task with its result, as text. It must not be empty."""
    return _given(result, "result")


@tool_attr(ends_run=True, sequential=True, read_only=True, expose="direct")
def submit() -> str:
    """End the work: what was done in the files is the result."""
    return "submitted"


def _given(text: str, name: str) -> str:
    if not text.strip():
        raise ToolError(f"{name} is empty, so the run goes on; call it again with the {name}.")
    return text


def tools() -> list[Callable[..., Any]]:
    """Return the functions of the group."""
    return [finish, submit, complete_task]
