"""What a session does with its past: sums it up, and goes back in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from xun_cli.session import rewinding

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.agent.compaction import CompactionDraft
    from xun.choice import FileDiff
    from xun.events import Compaction
    from xun_cli.session.rewinding import Rewind, RewindPoint
    from xun_cli.session.session import Session


class Past:
    """The part of a session that changes what was said before; mixed into `Session`.

    Attributes:
        instructions: Makes the system message anew from the files that it is made of; None where nobody can.
    """

    instructions: Callable[[], str] | None = None
    agent: Agent[Any]
    todos: tuple[dict[str, str], ...]
    _task: asyncio.Task[None] | None
    _summing: asyncio.Task[Compaction | None] | None = None

    async def compact(self, focus: str = "") -> Compaction | None:
        """Replace older messages by a summary of the model; meanwhile the session counts as running.

        Returns:
            The event; None when there is too little to sum up.

        Raises:
            RuntimeError: A turn runs.
            ModelError: No summary was made; the conversation is unchanged.
            asyncio.CancelledError: It was interrupted; the conversation is unchanged.
        """
        if self._task is not None:
            raise RuntimeError("The conversation can be summed up after this turn.")
        self._summing = asyncio.create_task(self.agent.acompact(focus))
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Messages that come meanwhile wait in the queue, as during a turn.
        self._task = asyncio.create_task(_until(done))
        try:
            return await self._summing
        finally:
            self._summing.cancel()
            self._summing = self._task = None
            done.set_result(None)
            _session(self).begin_next()

    def _stop_compacting(self) -> None:
        if self._summing is not None:
            self._summing.cancel()

    def _keep_todos(self, draft: CompactionDraft) -> None:
        if draft.agent is self.agent and self.todos:
            lines = [f"[{item.get('status', '')}] {item.get('description', '')}" for item in self.todos]
            draft.facts.append(("The todo list as it stands:", lines))

    # -- going back -------------------------------------------------------------------------------

    def rewind_points(self) -> list[RewindPoint]:
        """Return the turns that the conversation can go back before, the oldest first."""
        return rewinding.rewind_points(_session(self))

    def rewind_preview(self, turn: int) -> list[FileDiff]:
        """Return what `rewind_to` with files would change; blocking.

        Raises:
            EditError: A file was changed since; it can't be put back.
        """
        return rewinding.preview(_session(self), turn)

    async def rewind_to(self, turn: int, *, files: bool = False) -> list[str]:
        """Go on as if *turn* and all after it had not been; their records stay in the file and do not count.

        Args:
            turn: The first turn that is left out, as `rewind_points` has it.
            files: Put back what tools wrote since then, too: all of it, or nothing is done.

        Returns:
            The paths that were put back.

        Raises:
            RuntimeError: A turn runs.
            SessionError: There is no such turn.
            EditError: A file was changed since; nothing was done.
        """
        return await rewinding.rewind(_session(self), turn, files=files)

    def last_rewind(self) -> Rewind | None:
        """Return the last going back, which `take_rewind_back` takes back; None when there is none."""
        return rewinding.last_rewind(_session(self))

    async def take_rewind_back(self, *, files: bool = False) -> list[str]:
        """Let what counted before the last going back count again, and what came after it not.

        Args:
            files: Write the files again that were put back with it, too.

        Returns:
            The paths that were written again.

        Raises:
            RuntimeError: A turn runs.
            SessionError: There is nothing to take back, or something was written since and *files* is set.
            EditError: A file was changed since; nothing was done.
        """
        return await rewinding.take_back(_session(self), files=files)


def _session(past: Past) -> Session:
    return cast("Session", past)


async def _until(done: asyncio.Future[None]) -> None:
    await done
