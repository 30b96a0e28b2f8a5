"""Questions that the front end itself asks, such as whether to leave while a turn runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xun.choice import ChoiceOutcome, ChoiceRequest


class OwnQuestions:
    """The open questions of one front end.

    Args:
        changed: Called when one is asked, answered or withdrawn.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._open: dict[str, tuple[ChoiceRequest, asyncio.Future[ChoiceOutcome[Any]]]] = {}

    def pending(self) -> list[ChoiceRequest]:
        """Return the open questions, oldest first."""
        return [request for request, _ in self._open.values()]

    async def ask(self, request: ChoiceRequest) -> ChoiceOutcome[Any] | None:
        """Ask *request*; None when the person takes it back."""
        future: asyncio.Future[ChoiceOutcome[Any]] = asyncio.get_running_loop().create_future()
        self._open[request.id] = (request, future)
        self._changed()
        try:
            return await future
        except asyncio.CancelledError:
            if request.id in self._open:
                raise  # the front end is closing, nobody took it back
            return None

    def answer(self, request_id: str, outcome: ChoiceOutcome[Any]) -> bool:
        """Answer a question; False when it is none of these."""
        entry = self._open.pop(request_id, None)
        if entry is None:
            return False
        entry[1].set_result(outcome)
        return True

    def withdraw(self, request_id: str) -> bool:
        """Take a question back; False when it is none of these."""
        entry = self._open.pop(request_id, None)
        if entry is None:
            return False
        entry[1].cancel()
        self._changed()
        return True

    def withdraw_all(self) -> None:
        """Drop every question."""
        for _, future in self._open.values():
            future.cancel()
