"""How a front end ends: it leaves, or gives way to another one; and what goes over to that one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from xun_cli.frontend.folds import Folds
from xun_cli.frontend.history import InputHistory

if TYPE_CHECKING:
    from xun_cli.frontend.conversation import Conversation


class Leave(NamedTuple):
    """xun ends.

    Attributes:
        code: The exit code.
        farewell: The last line to print, "" for none.
    """

    code: int
    farewell: str = ""


@dataclass(frozen=True, slots=True)
class Switch:
    """Another front end goes on.

    Attributes:
        to: Its name.
        problem: Why this one could not run, "" when it was asked for.
    """

    to: str
    problem: str = ""


@dataclass(slots=True)
class Carried:
    """What outlives a front end.

    Attributes:
        conversation: The session with all that runs in it.
        history: What was typed before.
        folds: The folded pastes of the draft.
        draft: The text of the composer.
        seen: The last entry of the conversation's journal that stands on the normal screen.
    """

    conversation: Conversation
    history: InputHistory
    folds: Folds
    draft: str = ""
    seen: int = 0
