"""The inline front end in this process: keys by a pipe, a clock that the test moves, a screen of any size."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pyte
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from tests.fakes.scripted_session import ScriptedSession
from tests.fakes.terminal import Screen
from xun_cli.driver import Start, carried
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.repl.app import Repl
from xun_cli.settings import Settings

PATIENCE = 30.0
"""Seconds until what should come is given up: far more than it takes, for a machine with other work."""


class Clock:
    """Gives the seconds that the test has let pass."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class InlineSheet:
    """A running application."""

    def __init__(self, repl: Repl, session: ScriptedSession, keyboard: Any, written: io.StringIO, size: Size) -> None:
        self.repl, self.session, self.keyboard, self.written, self.size = repl, session, keyboard, written, size
        self.ended = asyncio.create_task(repl.run())

    def screen(self) -> Screen:
        screen = Screen(self.size.columns, self.size.rows)
        pyte.Stream(screen).feed(self.written.getvalue())
        return screen

    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self.screen().display)

    async def press(self, text: str, pause: float = 0.02) -> None:
        self.keyboard.send_text(text)
        await asyncio.sleep(pause)

    async def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"it did not come:\n{self.text()}")
            await asyncio.sleep(0.01)

    async def shows(self, text: str) -> str:
        await self.until(lambda: text in self.text())
        return self.text()


@asynccontextmanager
async def inline_sheet(
    folder: Path,
    columns: int,
    rows: int,
    *,
    session: ScriptedSession | None = None,
    settings: Settings | None = None,
    clock: Clock | None = None,
    shown: Path | None = None,
) -> AsyncIterator[InlineSheet]:
    """Run the inline front end; it is ended afterwards. *shown* is the project folder that it believes to be in."""
    session = session or ScriptedSession(folder)
    written, size = io.StringIO(), Size(rows=rows, columns=columns)
    places = Places.from_environment({"XUN_HOME": str(folder / "home")})
    output = Vt100_Output(written, lambda: size, term="xterm")
    output.enable_cpr = False
    with create_pipe_input() as keyboard:
        start = Start(
            StartOptions(cwd=shown or folder),
            settings or Settings(),
            places,
            lambda: session,  # type: ignore[arg-type,return-value]
            lambda options: session,  # type: ignore[arg-type,return-value]
        )
        clock = clock or Clock()
        going = carried(start, clock)
        repl = Repl(start.options, start.settings, going, keyboard=keyboard, output=output, clock=clock)
        sheet = InlineSheet(repl, session, keyboard, written, size)
        await sheet.shows("ask")
        try:
            yield sheet
        finally:
            repl.finish(0)
            await asyncio.wait_for(sheet.ended, 10)
