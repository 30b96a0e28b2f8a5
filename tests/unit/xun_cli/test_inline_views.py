"""Full-screen views over the inline front end: questions that come meanwhile, ends, errors."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fakes.inline_sheet import Clock, inline_sheet
from tests.fakes.scripted_session import write_request
from xun import events as ev
from xun_cli.frontend.pager import Pager, Section
from xun_cli.repl.app import GONE
from xun_cli.settings import Settings, UiSettings

IN, OUT = "\x1b[?1049h", "\x1b[?1049l"


async def test_a_question_that_comes_while_a_view_is_open_takes_no_key_of_it(tmp_path: Path) -> None:
    clock = Clock()
    async with inline_sheet(tmp_path, 80, 24, clock=clock) as sheet:
        await sheet.press("wait 60\r")
        await sheet.until(lambda: sheet.session.running)
        await sheet.press("\x1b[5~")
        await sheet.shows("Transcript")
        asked = asyncio.create_task(sheet.session.choose(write_request()))
        await sheet.shows("an approval waits")
        clock.now += 10  # whatever the time
        await sheet.press("god\r")
        assert sheet.session.pending()
        await sheet.press("q")
        shown = await sheet.shows("Tab to answer")
        assert "Allow this time only" not in shown and sheet.session.pending()
        await sheet.press("\t")
        await sheet.shows("Allow this time only")
        asked.cancel()


async def test_what_becomes_final_meanwhile_is_read_in_the_view_and_printed_once_afterwards(tmp_path: Path) -> None:
    async with inline_sheet(tmp_path, 80, 24) as sheet:
        await sheet.press("/transcript\r")
        await sheet.shows("Nothing was said yet.")
        sheet.session.emit(ev.TurnStarted(input="meanwhile"))
        sheet.session.emit(ev.MessageDelta(text="It is"))
        await sheet.shows("It is")
        sheet.session.emit(ev.MessageDelta(text=" done."))
        sheet.session.emit(ev.MessageCompleted(text="It is done."))
        sheet.session.emit(ev.TurnCompleted())
        shown = await sheet.shows("It is done.")
        assert "q back" in shown and "scripted · ask" not in shown
        await sheet.press("\x1b")
        await sheet.shows("scripted · ask")
        await sheet.shows("It is done.")
        assert sheet.text().count("It is done.") == 1 and sheet.text().count("> meanwhile") == 1
        assert not sheet.screen().alternate


async def test_a_keyboard_that_goes_away_in_a_view_ends_the_front_end(tmp_path: Path) -> None:
    async with inline_sheet(tmp_path, 80, 24) as sheet:
        await sheet.press("/transcript\r")
        await sheet.shows("Nothing was said yet.")
        sheet.keyboard.close()
        outcome = await asyncio.wait_for(asyncio.shield(sheet.ended), 10)
        assert outcome.code == GONE
        assert sheet.written.getvalue().rindex(OUT) > sheet.written.getvalue().rindex(IN)


async def test_an_error_of_ours_in_a_view_gives_the_terminal_back(tmp_path: Path) -> None:
    def broken(columns: int, split: bool) -> list[list[tuple[str, str]]]:
        if split:
            raise ZeroDivisionError("a bug of a view")
        return [[("", "a view")]]

    async with inline_sheet(tmp_path, 80, 24) as sheet:
        sheet.repl.conversation.spawn(sheet.repl.overlays.show(Pager([], [Section(broken)], split_from=1)))
        await sheet.shows("a view")
        await sheet.press("s")
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(asyncio.shield(sheet.ended), 10)
        written = sheet.written.getvalue()
        assert written.rindex(OUT) > written.rindex(IN)
        sheet.ended = asyncio.create_task(asyncio.sleep(0))


async def test_a_second_view_does_not_open_over_the_first(tmp_path: Path) -> None:
    async with inline_sheet(tmp_path, 80, 24) as sheet:
        await sheet.press("/transcript\r")
        await sheet.shows("Nothing was said yet.")
        assert await sheet.repl.overlays.show(Pager([], [Section(lambda columns, split: [])])) is None
        await sheet.press("q")
        await sheet.shows("scripted · ask")


async def test_the_settings_say_how_a_diff_is_shown_first(tmp_path: Path) -> None:
    for diff, columns, words in (
        ("auto", 100, "s one column"),
        ("unified", 100, "s side by side"),
        ("auto", 80, "q back"),
    ):
        ui = UiSettings(diff=diff, diff_split_min=100)
        async with inline_sheet(tmp_path, columns, 24, settings=Settings(ui=ui), clock=(clock := Clock())) as sheet:
            await sheet.press("write\r")
            await sheet.shows("Write src/app.py?")
            clock.now += 1
            await sheet.press("\x05")
            assert words in await sheet.shows("q back")
    ui = UiSettings(diff="split", diff_split_min=70)
    async with inline_sheet(tmp_path, 80, 24, settings=Settings(ui=ui)) as sheet:
        await sheet.press("write\r")
        assert "│ 2 +print('new')" in await sheet.shows("Write src/app.py?")


async def test_policy_is_told_as_text_until_there_is_something_to_look_through(tmp_path: Path) -> None:
    async with inline_sheet(tmp_path, 100, 30) as sheet:
        await sheet.press("/policy\r")
        await sheet.shows("> /policy")
        assert not sheet.screen().alternate
        sheet.session.policy.command_allowlist.add(["make"], source="dialog")
        await sheet.press("/policy\r")
        await sheet.shows("Permissions of this session")
        assert sheet.screen().alternate
        await sheet.press("\x1b")
        await sheet.shows("scripted · ask")


async def test_an_end_that_comes_as_a_view_opens_is_not_lost(tmp_path: Path) -> None:
    async with inline_sheet(tmp_path, 80, 24) as sheet:
        sheet.repl.conversation.spawn(sheet.repl.overlays.show(Pager([], [Section(lambda columns, split: [])])))
        await asyncio.sleep(0)
        assert sheet.repl.overlays.open
        sheet.repl.finish(0)
        outcome = await asyncio.wait_for(asyncio.shield(sheet.ended), 10)
        assert outcome.code == 0
