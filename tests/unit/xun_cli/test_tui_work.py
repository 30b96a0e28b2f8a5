"""Sub-agents and background commands in the full-screen front end: opened from the panel, followed while they work."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.full_screen import full_screen
from xun import events as ev


async def test_a_click_on_the_panel_opens_a_sub_agent_that_is_followed(tmp_path: Path) -> None:
    async with full_screen(tmp_path, size=(100, 24)) as sheet:
        session = sheet.session
        session.turn = 1
        session.emit(ev.TurnStarted(input="go"))
        session.emit(ev.SubagentStarted(name="helper#1", task="look around"))
        session.emit(ev.MessageCompleted(agent="helper#1", text="I begin."))
        await sheet.press("ctrl+b")
        await sheet.shows("helper#1 look around")
        await sheet.click(80, 5)
        await sheet.shows("Sub-agents and background commands")
        await sheet.press("enter")
        await sheet.shows("I begin.")
        session.emit(ev.MessageCompleted(agent="helper#1", text="I go on."))
        await sheet.shows("I go on.")
        await sheet.press("q", "escape")
        await sheet.shows("Policy")
        await sheet.type("/agents\r")
        await sheet.shows("Sub-agents and background commands")
        await sheet.press("escape")
