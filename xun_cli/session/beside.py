"""Work beside the turns of a session."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

_PATIENCE = 10.0


class Beside:
    """The part of a session that runs work of others in its loop; mixed into `Session`."""

    def __init__(self) -> None:
        self._beside: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run *work* in the session's loop; the end of the session waits for it, some seconds at most."""
        task = asyncio.get_running_loop().create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        return task

    async def settle(self) -> None:
        """Return when what was spawned is done, or was given its time."""
        if tasks := {task for task in self._beside if task is not asyncio.current_task()}:
            await asyncio.wait(tasks, timeout=_PATIENCE)
