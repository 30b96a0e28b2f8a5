"""What the full-screen front end looks like in its main states, at three sizes.

``XUN_UPDATE_SNAPSHOTS=1`` writes the pictures anew: look at the difference before you commit it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.fakes.full_screen import Sheet, full_screen
from tests.fakes.scripted_session import ScriptedSession
from xun import events as ev

SNAPSHOTS = Path(__file__).resolve().parents[2] / "snapshots" / "tui"
SIZES = ((80, 24), (120, 40), (40, 10))


async def welcome(sheet: Sheet) -> None:
    """Nothing was typed yet."""


async def streaming(sheet: Sheet) -> None:
    await sheet.type("wait 60\r")
    await sheet.shows("thinking")
    for text in ("# A title\n\nA paragraph with `code`.\n\n", "- one\n- two\n\n", "and the open en"):
        sheet.session.emit(ev.MessageDelta(text=text))
    await sheet.shows("and the open en")
    await sheet.session.submit("a message that waits")
    await sheet.shows("queued: a message")


async def tool_cards(sheet: Sheet) -> None:
    await sheet.type("tools\r")
    await sheet.until(lambda: not sheet.session.running)
    await sheet.shows("• two")


async def command_question(sheet: Sheet) -> None:
    await sheet.asked("command", "this time only")


async def write_question(sheet: Sheet) -> None:
    await sheet.asked("write", "this time only")


async def denied(sheet: Sheet) -> None:
    await sheet.asked("command make install", "this time only")
    await sheet.press("down", "tab")
    await sheet.shows("reason ›")
    await sheet.type("not now\r")
    await sheet.shows("Then I leave it.")


async def reason(sheet: Sheet) -> None:
    await sheet.asked("command make install", "this time only")
    await sheet.press("down", "tab")
    await sheet.shows("reason ›")
    await sheet.type("because")


async def an_error(sheet: Sheet) -> None:
    await sheet.type("fail\r")
    await sheet.until(lambda: sheet.session.turn == 1 and not sheet.session.running)
    await sheet.shows("refused")


async def side_panel(sheet: Sheet) -> None:
    await sheet.asked("write", "this time only")
    await sheet.press("o")
    await sheet.shows("Written.")
    todos = (
        {"description": "read the code", "status": "completed"},
        {"description": "write the test", "status": "in_progress"},
        {"description": "run it", "status": "pending"},
    )
    sheet.session.todos = todos
    sheet.session.emit(ev.TodoUpdated(items=todos))
    await sheet.press("ctrl+b")
    await sheet.shows("1/3")


async def menu(sheet: Sheet) -> None:
    await sheet.type("/re")
    await sheet.shows("/resume")
    await sheet.press("tab")


async def resumed(sheet: Sheet) -> None:
    await sheet.shows("resumed s1")


STATES: tuple[Callable[[Sheet], Awaitable[None]], ...] = (
    welcome, streaming, tool_cards, command_question, write_question, denied, reason, an_error, side_panel, menu,
    resumed,
)  # fmt: skip


def earlier(folder: Path) -> ScriptedSession:
    session = ScriptedSession(folder)
    session.turn = 1
    session.emit(ev.TurnStarted(input="an old request"))
    session.emit(ev.MessageCompleted(text="An **old** answer."))
    session.emit(ev.TurnCompleted(stop="done"))
    session.emit(ev.SessionStarted(resumed=True))
    return session


def settled(text: str, folder: Path) -> str:
    """Take away what differs from run to run: the folder, the time, the spinner."""
    text = re.sub(r"(xun \S+  ).*", r"\1<folder>", text)
    text = re.sub(
        r"in /\S*" + re.escape(folder.name) + r"\S*|in …?\S*" + re.escape(folder.name[-12:]), "in <folder>", text
    )
    text = re.sub(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", "*", text)
    return re.sub(r"\b\d+(?:\.\d)?s\b", "0s", text)


async def at_size(sheet: Sheet, size: tuple[int, int]) -> None:
    """Give the terminal another size and wait until everything is drawn for it."""
    await sheet.pilot.resize_terminal(*size)
    await sheet.until(lambda: sheet.app.size == size)
    await sheet.pilot.pause()
    await sheet.until(lambda: sheet.app.transcript._filling is None or sheet.app.transcript._filling.done())
    sheet.app.face.paint()
    await sheet.pilot.pause()


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
async def test_snapshot(state: Callable[[Sheet], Awaitable[None]], tmp_path: Path) -> None:
    session = earlier(tmp_path) if state is resumed else None
    async with full_screen(tmp_path, session=session, size=SIZES[0]) as sheet:
        await state(sheet)
        for size in SIZES:
            await at_size(sheet, size)
            path = SNAPSHOTS / f"{state.__name__}-{size[0]}x{size[1]}.txt"
            shown = settled(sheet.screen(), tmp_path) + "\n"
            if os.environ.get("XUN_UPDATE_SNAPSHOTS"):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(shown, encoding="utf-8")
            assert shown == path.read_text(encoding="utf-8")
        sheet.session.interrupt()
