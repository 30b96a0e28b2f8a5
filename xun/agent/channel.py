"""Channel: what tasks and threads of a run put in, the run's stream gives out, in order of arrival."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from typing import Any


class Channel:
    """A queue into one event loop; `put` may be called from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._queue: asyncio.Queue[Any] = asyncio.Queue()

    def put(self, item: Any) -> None:
        """Add *item*; from another thread it arrives in that thread's own order."""
        if threading.get_ident() == self._thread:
            self._queue.put_nowait(item)
            return
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, item)
        except RuntimeError:
            # The loop is closed: the run is over, and nobody reads any more.
            return

    def take_all(self) -> list[Any]:
        """Return what waits, without waiting."""
        items = []
        while not self._queue.empty():
            items.append(self._queue.get_nowait())
        return items

    async def drain(self, task: asyncio.Task[Any]) -> AsyncGenerator[Any, None]:
        """Yield items until *task* is done and all that it put is out; then raise what it raised.

        Leaving early cancels the task and waits for it.
        """
        end = object()
        task.add_done_callback(lambda _: self._queue.put_nowait(end))
        try:
            while (item := await self._queue.get()) is not end:
                yield item
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
        if not task.cancelled():
            task.result()
