"""The framework group: talking to the person, and keeping a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from xun.errors import ToolError
from xun.events import TodoUpdated
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun_builtin_tools.memory import read_memory, save_memory
from xun_builtin_tools.questions import ask_user
from xun_builtin_tools.session_tools import read_output, tool_describe, tool_search

TODO_KEY = "__builtin_todos"
"""Where ``agent.state`` keeps the todo list."""


@tool_attr(sequential=True)
def ask_preference(
    ctx: ToolCallContext[Any],
    question: str,
    choices: list[str],
    allow_extra: bool = False,
    default_choice: str | None = None,
    title: str = "",
) -> dict[str, str]:
    """Ask the person to choose, when the request leaves open what changes the result.

    choices are 2 to 9 short answers; with allow_extra the person may type another. default_choice, one of choices, is
    preselected; title says what it is about. Returns the question as Q, the answer as A."""
    if not 2 <= len(choices) <= 9 and not (choices == [] and allow_extra):
        raise ToolError(f"choices needs 2 to 9 answers, got {len(choices)}.")
    if len(set(choices)) != len(choices):
        raise ToolError("choices holds the same answer twice.")
    if default_choice is not None and default_choice not in choices:
        raise ToolError(f"default_choice {default_choice!r} is none of the choices: {', '.join(choices)}.")
    outcome = ctx.agent.get_choice(
        question, choices, title=title, default=default_choice, allow_extra=allow_extra, skip_auto_confirm=True
    )
    return {"Q": question, "A": str(outcome.choice)}


@dataclass
class Todo:
    """One item of the todo list."""

    description: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"


def write_todos(ctx: ToolCallContext[Any], todos: list[Todo]) -> str:
    """Replace the todo list that the person sees.

    Use it for work of three or more steps, and keep it true: a step is in_progress before you begin it, one at most,
    and completed as soon as it is done. todos is the whole list in order; [] clears it."""
    running = [todo.description for todo in todos if todo.status == "in_progress"]
    if len(running) > 1:
        raise ToolError(f"Only one item may be in_progress, got {len(running)}: {'; '.join(running)}.")
    if any(not todo.description.strip() for todo in todos):
        raise ToolError("An item has an empty description.")
    items = tuple({"description": todo.description, "status": todo.status} for todo in todos)
    ctx.agent.state[TODO_KEY] = list(items)
    ctx.agent.record(TodoUpdated(agent=ctx.agent.name, items=items))
    done = sum(todo.status == "completed" for todo in todos)
    return f"{len(todos)} items, {done} completed" if todos else "the list is empty"


def tools() -> list[Callable[..., Any]]:
    """Return the functions of the group."""
    return [ask_preference, ask_user, write_todos, tool_search, tool_describe, read_output, save_memory, read_memory]
