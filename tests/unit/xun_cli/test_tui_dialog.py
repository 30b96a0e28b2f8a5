"""Questions in the full-screen front end: the same guards as inline, by keys and by mouse."""

from __future__ import annotations

import asyncio
from pathlib import Path

from textual import events

from tests.fakes.full_screen import Sheet, full_screen
from xun_cli.settings import Settings


def row_of(sheet: Sheet, text: str) -> int:
    return next(y for y, row in enumerate(sheet.rows()) if text in row)


async def test_a_denial_with_its_reason(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.asked("command rm -rf build")
        await sheet.press("down", "tab")
        await sheet.shows("reason ›")
        await sheet.type("too wide\r")
        await sheet.until(lambda: bool(sheet.session.answers))
        outcome = sheet.session.answers[0][1]
        assert (outcome.choice, outcome.source, outcome.reason) == ("deny", "user", "too wide")
        await sheet.shows("Then I leave it.")
        await sheet.type("next")
        await sheet.shows("› next")


async def test_an_edited_command_and_a_grant_with_another_scope(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.asked("command touch one.txt")
        await sheet.press("e", pause=0.1)
        await sheet.shows("command › touch one.txt")
        await sheet.type("x\r")
        await sheet.until(lambda: bool(sheet.session.answers))
        assert sheet.session.answers[0][1].edited == "touch one.txtx"
        await sheet.asked("write")
        await sheet.press("right")
        await sheet.shows("src/ and all below")
        await sheet.press("g")
        await sheet.until(lambda: len(sheet.session.answers) == 2)
        outcome = sheet.session.answers[1][1]
        assert outcome.choice == "grant" and outcome.grants[0].path.endswith("/src") and outcome.grants[0].directory


async def test_keys_of_somebody_who_types_never_answer(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("command make\r")
        await sheet.type("do")
        shown = await sheet.shows("approval waiting, Tab to answer")
        assert "Allow this time only" not in shown
        await sheet.type("g")
        await asyncio.sleep(0.1)
        assert sheet.session.answers == [] and sheet.app.composer.text == "dog"
        await sheet.press("tab")
        await sheet.shows("Allow this time only")
        await sheet.press("o", pause=0.1)
        assert sheet.session.answers == [], "the guard after the focus"
        sheet.clock.now += 0.5
        await sheet.press("o", pause=0.1)
        await sheet.until(lambda: len(sheet.session.answers) == 1)
        assert sheet.app.composer.text == "dog"


async def test_text_that_is_dropped_into_the_terminal_or_pasted_never_answers(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.asked("command make")
        for char in "go!":
            sheet.app.post_message(events.Key(char, char))
        await sheet.shows("› go!")
        await sheet.shows("approval waiting")
        assert sheet.session.answers == []
        await sheet.press("tab")
        sheet.clock.now += 0.6
        await sheet.paste("d\n")
        await sheet.shows("approval waiting")
        assert sheet.session.answers == []


async def test_a_click_on_an_answer_gives_it(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.asked("write")
        await sheet.click(10, row_of(sheet, "@@ -1,3"))
        await asyncio.sleep(0.05)
        assert sheet.session.answers == [], "a click beside the answers"
        await sheet.click(10, row_of(sheet, "Allow and grant"))
        await sheet.until(lambda: len(sheet.session.answers) == 1)
        assert sheet.session.answers[0][1].choice == "grant"


async def test_a_click_before_keys_count_and_the_one_that_brings_the_window_back_answer_nothing(
    tmp_path: Path,
) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("write\r")
        await sheet.shows("Allow this time only")
        await sheet.click(10, row_of(sheet, "Allow this"))
        sheet.clock.now += 0.6
        assert sheet.session.answers == [], "the guard after the focus"
        sheet.app.post_message(events.AppBlur())
        sheet.app.post_message(events.AppFocus())
        await sheet.pilot.pause()
        await sheet.click(10, row_of(sheet, "Allow this"))
        await asyncio.sleep(0.1)
        assert sheet.session.answers == [], "the click that came with the focus"
        await sheet.click(10, row_of(sheet, "Allow this"))
        await sheet.until(lambda: len(sheet.session.answers) == 1)
        assert sheet.session.answers[0][1].choice == "once"


async def test_a_click_turns_the_keys_to_a_waiting_question_first(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("command make\r")
        await sheet.type("x")
        await sheet.shows("approval waiting")
        await sheet.click(10, row_of(sheet, "approval waiting"))
        await sheet.shows("Allow this time only")
        assert sheet.session.answers == []


async def test_the_whole_question_and_how_it_was_judged(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.asked("command " + " && ".join(f"make target-{number}" for number in range(30)))
        shown = sheet.screen()
        assert "lines hidden" in shown and "Allow this time only" in shown and "How it was judged" not in shown
        await sheet.press("ctrl+e")
        await sheet.gone("Allow this time only")
        await sheet.press("end")
        await sheet.shows("30  ")
        await sheet.press("q")
        await sheet.shows("Allow this time only")
        await sheet.press("?", pause=0.1)
        await sheet.shows("explained:")
        assert sheet.session.answers == []


async def test_several_questions_come_one_after_the_other(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("two\r")
        await sheet.shows("1 more waiting")
        sheet.pass_guard()
        await sheet.press("o")
        await sheet.shows("helper#1")
        sheet.pass_guard()
        await sheet.press("d")
        await sheet.shows("once and deny.")


async def test_a_free_question_takes_another_answer(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.asked("ask", "Which database do you want?")
        await sheet.press("tab")
        await sheet.shows("answer ›")
        await sheet.type("duckdb\r")
        await sheet.shows("You chose duckdb.")


async def test_escape_denies_and_ends_the_turn(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.asked("command make")
        await sheet.press("escape")
        await sheet.shows("Interrupted")
        assert sheet.session.answers[0][1].choice == "deny"


async def test_the_answers_are_visible_on_a_phone(tmp_path: Path) -> None:
    async with full_screen(tmp_path, size=(40, 10)) as sheet:
        await sheet.asked("command " + "make everything; " * 20, "this time only")
        shown = sheet.screen()
        assert "this time only" in shown and "Deny" in shown and "make everything" in shown and "›" in shown
        assert all(len(row) <= 40 for row in sheet.rows())
        await sheet.press("d")
        await sheet.shows("Then I leave it.")


async def test_a_hostile_command_is_shown_for_what_it_is(tmp_path: Path) -> None:
    async with full_screen(tmp_path, size=(100, 30)) as sheet:
        await sheet.type("nasty\r")
        shown = await sheet.shows("<U+001B>[2Kls")
        assert "\x1b" not in shown and "\x9b" not in shown and "\x07" not in shown
        assert "▸d  Deny" in shown, "deny is preselected"
        await sheet.until(lambda: "[red]x[/red] [/]" in "\n".join(
            "".join(text for _, text in line) for line in sheet.app.transcript._rows.lines
        ))  # fmt: skip
        await sheet.press("escape")


async def test_no_question_takes_keys_from_an_open_view(tmp_path: Path) -> None:
    settings = Settings()
    async with full_screen(tmp_path, settings) as sheet:
        await sheet.type("tools\r")
        await sheet.shows("• two")
        await sheet.press("ctrl+o")
        await sheet.shows("test 3 ok")
        await sheet.session.submit("command make")
        await sheet.until(lambda: bool(sheet.session.pending()))
        await sheet.press("o", "enter", pause=0.6)
        assert sheet.session.answers == []
        await sheet.press("q")
        await sheet.shows("approval waiting")
