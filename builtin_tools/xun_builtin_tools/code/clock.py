"""The time of a piece of code: it stands still while a person is asked."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xun.agent.agent import Agent


class Clock:
    """Counts the seconds in which no question of *agent* is open.

    Args:
        agent: Whose questions stop the clock.
        limit: Seconds after which it is `over`.
    """

    def __init__(self, agent: Agent[Any], limit: float) -> None:
        self._agent = agent
        self._limit = limit
        self._used = 0.0
        self._seen = time.monotonic()

    def over(self) -> bool:
        """Tell whether the limit is passed; to be asked several times a second."""
        now = time.monotonic()
        if not self._agent.open_questions:
            self._used += now - self._seen
        self._seen = now
        return self._used > self._limit
