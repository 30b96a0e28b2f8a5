"""vi's keys in the full-screen composer: the modes as they are seen, and what other keys go on doing."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.full_screen import full_screen
from xun_cli.settings import Settings


def vi_settings() -> Settings:
    settings = Settings()
    settings.ui.editing = "vi"
    return settings


async def test_it_begins_in_insert_mode_and_shows_the_mode(tmp_path: Path) -> None:
    async with full_screen(tmp_path, vi_settings()) as sheet:
        await sheet.shows("I › ")
        await sheet.type("one two thre\x1b")
        await sheet.shows("N › one two thre")
        await sheet.type("bcwTHREE\x1b0x$p")
        assert sheet.app.composer.text == "ne two THREEo"
        await sheet.type("uu")
        await sheet.shows("N › one two THREE")
        await sheet.press("ctrl+r")
        await sheet.shows("N › ne two THREE")
        assert sheet.app.composer.cursor_location[1] < len(sheet.app.composer.text), "on a character"
        await sheet.press("enter")
        await sheet.until(lambda: sheet.session.sent == [("ne two THREE", "")])
        await sheet.type("ix")  # a new prompt is typed into
        await sheet.shows("I › ix")


async def test_escape_leaves_insert_mode_first_and_interrupts_then(tmp_path: Path) -> None:
    async with full_screen(tmp_path, vi_settings()) as sheet:
        await sheet.type("slow\r")
        await sheet.shows("tick ")
        await sheet.press("escape")
        await sheet.shows("N › ")
        assert sheet.session.running
        await sheet.type("2\x1b")
        assert sheet.session.running, "Esc took the count back"
        await sheet.press("escape")
        await sheet.shows("Interrupted")


async def test_history_and_search_in_normal_mode(tmp_path: Path) -> None:
    async with full_screen(tmp_path, vi_settings()) as sheet:
        for text in ("first", "second"):
            await sheet.type(f"{text}\r")
            await sheet.until(lambda text=text: sheet.session.sent[-1:] == [(text, "")])
        await sheet.type("draft\x1bk")
        await sheet.shows("N › second")
        await sheet.type("kj")
        await sheet.shows("N › second")
        await sheet.type("j")
        await sheet.shows("N › draft")
        await sheet.type("A.")
        await sheet.press("alt+b")  # Esc and b in one piece
        await sheet.type("x")
        await sheet.shows("N › raft.")
        await sheet.type("u")
        await sheet.type("/fir")
        await sheet.shows("search: fir")
        await sheet.press("enter")
        await sheet.shows("N › first")
        assert len(sheet.session.sent) == 2


async def test_two_lines_a_paste_and_a_click(tmp_path: Path) -> None:
    async with full_screen(tmp_path, vi_settings()) as sheet:
        await sheet.paste("one\r\ntwo")
        await sheet.type("\x1bkddp")
        assert sheet.app.composer.text == "two\none"
        await sheet.paste("!")
        await sheet.type("x")
        assert sheet.app.composer.text == "two\n!ne", "a paste is text in every mode"
        sheet.app.composer.move_cursor((0, 3))  # where a click behind the line puts it
        await sheet.type("x")
        assert sheet.app.composer.text == "tw\n!ne"


async def test_a_question_and_its_field_take_no_commands(tmp_path: Path) -> None:
    async with full_screen(tmp_path, vi_settings()) as sheet:
        await sheet.asked("write")
        await sheet.press("down", "tab")
        await sheet.shows("reason ›")
        await sheet.type("dd x")
        assert sheet.app.field.text == "dd x"
        await sheet.press("escape", "escape")
        await sheet.shows("I › ")


async def test_completions_are_offered_while_typing_and_not_for_commands(tmp_path: Path) -> None:
    async with full_screen(tmp_path, vi_settings()) as sheet:
        await sheet.type("/mode x")
        await sheet.type("\x7f\x7f")
        await sheet.shows("/models")
        await sheet.press("escape")
        await sheet.gone("/models")
        await sheet.shows("N › /mode")
        await sheet.type("x")
        await sheet.shows("N › /mod")
        await sheet.pilot.pause()
        assert "/models" not in sheet.screen()


async def test_keys_of_the_settings_and_of_the_front_end_stay(tmp_path: Path) -> None:
    settings = vi_settings()
    settings.keys = {"todo": ["c-r"]}
    async with full_screen(tmp_path, settings) as sheet:
        await sheet.type("stream 60\r")
        await sheet.shows("line number 0060")
        await sheet.type("abc\x1b")
        await sheet.press("ctrl+r")
        await sheet.shows("There is no todo list.")
        await sheet.press("home")
        assert sheet.app.composer.cursor_location == (0, 0) and sheet.app.transcript.follows
        await sheet.press("home")
        await sheet.shows("> stream 60")
        await sheet.press("end", "end")
        assert sheet.app.composer.cursor_location == (0, 2) and sheet.app.transcript.follows
        await sheet.press("shift+tab")
        await sheet.until(lambda: sheet.session.policy.mode == "plan")
