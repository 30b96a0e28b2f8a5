"""The pump between a session's events and what draws them; time here is a number, so nothing depends on the machine."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from xun.events import Event, MessageDelta, TurnStarted
from xun_cli.frontend.pump import FRAME, JOINED, QUIET, SLICE, EventPump
from xun_cli.session.envelope import Envelope


def enveloped(event: Event) -> Envelope:
    return Envelope(0, "", "", None, event)


def piece(text: str, agent: str = "") -> Envelope:
    return enveloped(MessageDelta(agent=agent, text=text))


class Screen:
    """Takes its time to draw, and notes when it does."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds, self.now = seconds, 0.0
        self.drawn: list[tuple[float, Event]] = []
        self.refreshed: list[float] = []
        self.slept: list[float] = []
        self.pump: EventPump | None = None

    def draw(self, event: Event) -> None:
        self.now += self.seconds
        self.drawn.append((self.now, event))

    def refresh(self) -> None:
        self.refreshed.append(self.now)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    def texts(self) -> list[str]:
        return [event.text for _, event in self.drawn if isinstance(event, MessageDelta)]


def pumped(screen: Screen, during: Callable[[EventPump], None], done: Callable[[], bool]) -> None:
    """Run a pump until *done*; *during* is called first."""

    async def body() -> None:
        pump = EventPump(screen.draw, screen.refresh, clock=lambda: screen.now, sleep=screen.sleep)
        screen.pump = pump
        during(pump)
        task = asyncio.create_task(pump.run())
        until = time.monotonic() + 10
        while not done() and time.monotonic() < until:
            await asyncio.sleep(0.001)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(body())


def put_turns(count: int) -> Callable[[EventPump], None]:
    def put(pump: EventPump) -> None:
        for _ in range(count):
            pump.put(enveloped(TurnStarted()))

    return put


def test_pieces_that_wait_are_drawn_as_one_up_to_a_size() -> None:
    screen = Screen()
    parts = [f"{number:03} " for number in range(500)]

    def put(pump: EventPump) -> None:
        for part in parts:
            pump.put(piece(part))

    pumped(screen, put, lambda: sum(map(len, screen.texts())) >= 2_000)
    assert screen.texts() == ["".join(parts[at : at + JOINED // 4]) for at in range(0, 500, JOINED // 4)]


def test_pieces_of_two_agents_and_other_events_keep_their_order() -> None:
    screen = Screen()

    def put(pump: EventPump) -> None:
        for agent, text in [("", "a"), ("", "b"), ("scout", "c"), ("", "d")]:
            pump.put(piece(text, agent))
        pump.put(enveloped(TurnStarted()))
        pump.put(piece("e"))

    pumped(screen, put, lambda: len(screen.drawn) == 5)
    assert screen.texts() == ["ab", "c", "d", "e"]
    assert isinstance(screen.drawn[3][1], TurnStarted)


def test_drawing_goes_on_in_slices_and_refreshes_no_oftener_than_a_frame() -> None:
    screen = Screen(0.002)
    pumped(screen, put_turns(100), lambda: len(screen.drawn) == 100 and screen.slept[-1:] == [FRAME])
    assert screen.slept == [SLICE] * 33 + [FRAME]  # three drawings are a slice
    between = [after - before for before, after in zip(screen.refreshed, screen.refreshed[1:], strict=False)]
    assert len(between) >= 3
    assert min(between[:-1]) > FRAME


def test_a_key_gets_a_quiet_moment_and_the_stream_goes_on_after_it() -> None:
    screen = Screen(0.002)

    def press(event: Event, draw: Callable[[Event], None] = screen.draw) -> None:
        draw(event)
        if len(screen.drawn) == 10 and screen.pump is not None:
            screen.pump.give_way()

    screen.draw = press  # type: ignore[method-assign]
    pumped(screen, put_turns(60), lambda: len(screen.drawn) == 60)
    gaps = [later - at for (at, _), (later, _) in zip(screen.drawn, screen.drawn[1:], strict=False)]
    # The slice that was on its way ends; then there is one pause, and no second one for the same key.
    assert [index for index, gap in enumerate(gaps) if gap > QUIET * 0.8] == [11]


def test_a_key_that_is_held_down_does_not_stop_the_stream() -> None:
    screen = Screen(0.002)

    async def held(seconds: float, sleep: Callable[[float], object] = screen.sleep) -> None:
        if screen.pump is not None:
            screen.pump.give_way()
        await sleep(seconds)  # type: ignore[misc]

    screen.sleep = held  # type: ignore[method-assign]
    pumped(screen, put_turns(60), lambda: len(screen.drawn) == 60)
    assert len(screen.drawn) == 60


def test_an_event_of_another_thread_wakes_it() -> None:
    screen = Screen()

    def put(pump: EventPump) -> None:
        thread = threading.Thread(target=pump.put, args=(piece("from afar"),))
        thread.start()
        thread.join()

    pumped(screen, put, lambda: bool(screen.drawn))
    assert screen.texts() == ["from afar"]


def test_flush_draws_what_waits_and_clear_drops_it() -> None:
    screen = Screen()

    async def body() -> None:
        pump = EventPump(screen.draw, screen.refresh)
        pump.put(piece("seen"))
        pump.flush()
        pump.put(piece("dropped"))
        pump.clear()
        pump.flush()

    asyncio.run(body())
    assert screen.texts() == ["seen"]
