"""The full-screen front end over a scripted session, without a terminal, with a clock that the test moves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from textual import events
from textual.pilot import Pilot

from tests.fakes.inline_sheet import PATIENCE, Clock
from tests.fakes.scripted_session import ScriptedSession
from xun_cli.driver import Start, carried
from xun_cli.frontend.outcome import Carried
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.settings import Settings
from xun_cli.tui.app import FullScreen
from xun_cli.tui.keys import register_sequences

NAMES = {"\r": "enter", "\x1b": "escape", "\t": "tab", "\x7f": "backspace", " ": "space"}


class Sheet:
    """A running application."""

    def __init__(
        self, app: FullScreen, pilot: Pilot[object], session: ScriptedSession, going: Carried, clock: Clock
    ) -> None:
        self.app, self.pilot, self.session, self.going, self.clock = app, pilot, session, going, clock

    def rows(self) -> list[str]:
        """Return what is on the screen."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    def screen(self) -> str:
        return "\n".join(self.rows())

    async def press(self, *keys: str, pause: float = 0.02) -> None:
        """Press keys by Textual's names."""
        await self.pilot.press(*keys)
        await asyncio.sleep(pause)

    async def type(self, text: str) -> None:
        """Type *text*; a carriage return is Enter."""
        await self.pilot.press(*(NAMES.get(char, char) for char in text))

    async def click(self, x: int, y: int) -> None:
        """Press and release the mouse button, as a terminal reports it."""
        for kind in (events.MouseDown, events.MouseUp):
            self.app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, screen_x=x, screen_y=y))
            await self.pilot.pause()

    async def paste(self, text: str) -> None:
        self.app.post_message(events.Paste(text))
        await self.pilot.pause()

    async def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"it did not come:\n{self.screen()}")
            await asyncio.sleep(0.01)

    async def shows(self, text: str) -> str:
        await self.until(lambda: text in self.screen())
        return self.screen()

    async def gone(self, text: str) -> str:
        await self.until(lambda: text not in self.screen())
        return self.screen()

    async def asked(self, what: str, prompt: str = "Allow this time only") -> None:
        """Send *what*, and let the time pass until the question takes keys."""
        self.app.composer.put(what)
        await self.press("enter")
        await self.shows(prompt)
        self.pass_guard()

    def pass_guard(self) -> None:
        """Let the time pass until keys count in the question."""
        self.clock.now += self.app.face.dialog.guard.left


@asynccontextmanager
async def full_screen(
    tmp_path: Path,
    settings: Settings | None = None,
    session: ScriptedSession | None = None,
    size: tuple[int, int] = (80, 24),
) -> AsyncIterator[Sheet]:
    """Run the application until the block ends."""
    session = session or ScriptedSession(tmp_path)
    start = Start(
        StartOptions(cwd=tmp_path),
        settings or Settings(),
        Places.from_environment({"XUN_HOME": str(tmp_path / "home")}),
        lambda: session,  # type: ignore[arg-type,return-value]
        lambda options: session,  # type: ignore[arg-type,return-value]
    )
    going = carried(start)
    register_sequences()
    clock = Clock()
    app = FullScreen(start.options, start.settings, going, clock=clock)
    async with app.run_test(size=size) as pilot:
        sheet = Sheet(app, pilot, session, going, clock)
        await sheet.until(lambda: going.conversation.session is not None)
        await sheet.shows("scripted")
        yield sheet
        app.face.end()
    await going.conversation.close(0)
