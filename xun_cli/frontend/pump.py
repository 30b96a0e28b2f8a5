"""From a session's events to drawings: in slices, so that keys never wait, and 20 times a second at most."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xun.events import Event, MessageDelta
    from xun_cli.session.envelope import Envelope

FRAME = 0.05
"""Seconds between two drawings of a stream."""

SLICE = 0.005
"""Seconds of drawing work after which keys get their turn."""

QUIET = 0.03
"""Seconds without drawing work after a key."""

JOINED = 600
"""Characters of waiting pieces of one message that are drawn as one: a few milliseconds of work; keys wait for it."""


class EventPump:
    """Takes events as they come and gives them on at the pace of a terminal.

    Args:
        draw: Takes one event; called in the loop.
        refresh: Draws the live region.
        clock: Gives seconds.
        sleep: Waits for so many of them.
    """

    def __init__(
        self,
        draw: Callable[[Event], None],
        refresh: Callable[[], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._draw, self._refresh = draw, refresh
        self._clock, self._sleep = clock, sleep
        self._events: deque[Envelope] = deque()
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._quiet_until = 0.0

    def give_way(self) -> None:
        """Draw nothing for a moment: a key was pressed, and what it changes is to be seen first."""
        self._quiet_until = self._clock() + QUIET

    def put(self, envelope: Envelope) -> None:
        """Take an event; may be called from any thread."""
        self._events.append(envelope)
        if threading.current_thread() is threading.main_thread():
            self._wake.set()
        else:
            self._loop.call_soon_threadsafe(self._wake.set)

    def clear(self) -> None:
        """Drop what is not drawn yet: its session is gone."""
        self._events.clear()

    def flush(self) -> None:
        """Draw everything that waits, at once."""
        while self._events:
            self._draw(self._next())

    async def run(self) -> None:
        """Draw events until cancelled; at rest nothing runs."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            now = self._clock()
            until, due = now + SLICE, now + FRAME
            while self._events:
                self._draw(self._next())
                if (now := self._clock()) > until:
                    if now > due:
                        self._refresh()
                        due = now + FRAME
                    await self._sleep(max(SLICE, self._quiet_until - now))
                    until = self._clock() + SLICE
            self._refresh()
            await self._sleep(FRAME)

    def _next(self) -> Event:
        from xun.events import MessageDelta

        event = self._events.popleft().event
        return self._joined(event) if isinstance(event, MessageDelta) else event

    def _joined(self, first: MessageDelta) -> MessageDelta:
        from xun.events import MessageDelta

        parts, size = [first.text], len(first.text)
        while self._events and size < JOINED:
            event = self._events[0].event
            if not isinstance(event, MessageDelta) or event.agent != first.agent:
                break
            parts.append(event.text)
            size += len(event.text)
            self._events.popleft()
        return MessageDelta(agent=first.agent, text="".join(parts)) if len(parts) > 1 else first
