"""The transcript of the full-screen front end: scrolling, other widths, old messages, selection."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from textual import events
from textual.geometry import Offset
from textual.selection import Selection

from tests.fakes.full_screen import Sheet, full_screen
from tests.fakes.scripted_session import ScriptedSession
from xun import events as ev
from xun_cli.frontend.notify import Notifier
from xun_cli.frontend.signs import Signs
from xun_cli.render.text import plain, plain_lines
from xun_cli.settings import Settings


def long_session(folder: Path, turns: int) -> ScriptedSession:
    session = ScriptedSession(folder)
    for number in range(1, turns + 1):
        session.turn = number
        session.emit(ev.TurnStarted(input=f"request {number:03d}"))
        session.emit(ev.MessageCompleted(text=f"Answer {number:03d} with **some** text.\n\n- a\n- b"))
        session.emit(ev.TurnCompleted(stop="done"))
    session.emit(ev.SessionStarted(resumed=True))
    return session


def held(sheet: Sheet) -> str:
    return "\n".join(plain(line) for line in sheet.app.transcript._rows.lines)


async def test_a_turn_of_a_session_that_goes_on_took_as_long_as_it_did(tmp_path: Path) -> None:
    session = long_session(tmp_path, 0)
    session.turn, session._history[:] = 1, []
    for event in (
        ev.TurnStarted(input="go"),
        ev.ToolStarted(call_id="c", tool="bash", args={"command": "make"}),
        ev.ApprovalRequested(request_id="q", call_id="c", kind="command"),
        ev.ApprovalResolved(request_id="q", call_id="c", kind="command", choice="once"),
        ev.TurnCompleted(duration_ms=80_000),
    ):
        session.emit(event)
    times = ("00:00", "00:06", "00:06", "01:06", "01:20")
    session._history = [
        replace(item, ts=f"2026-11-29T10:{at}+00:00") for item, at in zip(session._history, times, strict=True)
    ]
    session.emit(ev.SessionStarted(resumed=True))
    async with full_screen(tmp_path, session=session) as sheet:
        await sheet.shows("worked 20s")
        assert "worked 20s" in plain_lines(sheet.going.conversation._drawn_again())


async def test_keys_scroll_with_the_composer_focused_and_new_output_does_not_pull(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("stream 60\r")
        await sheet.until(lambda: sheet.session.turn == 1 and not sheet.session.running)
        await sheet.shows("line number 0060")
        await sheet.press("home")
        await sheet.shows("> stream 60")
        top = sheet.rows()[0]
        await sheet.session.submit("echo more")
        await sheet.until(lambda: "You said" in held(sheet))
        await asyncio.sleep(0.1)
        assert sheet.rows()[0] == top and "You said" not in sheet.screen()
        assert "more below" in sheet.screen()
        await sheet.press("pagedown")
        assert sheet.rows()[0] != top
        await sheet.press("end")
        await sheet.shows("You said more.")
        assert "more below" not in sheet.screen() and sheet.app.transcript.follows
        await sheet.press("pageup")
        await sheet.type("x\r")
        await sheet.shows("You said nothing.")
        assert sheet.app.transcript.follows, "who sends wants to see the answer"


async def test_the_wheel_scrolls(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("stream 60\r")
        await sheet.shows("line number 0060")
        wheel = events.MouseScrollUp(None, 5, 5, 0, 0, 0, False, False, False, screen_x=5, screen_y=5)
        for _ in range(3):
            sheet.app.post_message(wheel)
        await sheet.gone("line number 0060")
        await sheet.shows("more below")
        assert not sheet.app.transcript.follows


async def test_home_and_end_move_in_the_draft_first(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("stream 60\r")
        await sheet.shows("line number 0060")
        await sheet.type("abc")
        await sheet.press("home")
        assert sheet.app.composer.cursor_location == (0, 0) and "line number 0060" in sheet.screen()
        await sheet.press("home")
        await sheet.shows("> stream 60")


async def test_only_the_newest_messages_are_held_and_older_ones_come_back(tmp_path: Path) -> None:
    settings = Settings()
    settings.ui.max_mounted = 40
    session = long_session(tmp_path, 60)
    async with full_screen(tmp_path, settings, session) as sheet:
        await sheet.shows("resumed s1: 60 turns")
        view = sheet.app.transcript
        await sheet.until(lambda: view.messages >= 40)
        await asyncio.sleep(0.1)
        assert view.messages < 50 and "request 060" in held(sheet) and "request 001" not in held(sheet)
        for number in range(30):
            session.emit(ev.Notice(text=f"remark {number}"))
        await sheet.shows("remark 29")
        assert view.messages <= 50 and "request 060" in held(sheet), "the oldest have gone, not the newest"
        for _ in range(20):
            await sheet.press("ctrl+home", pause=0.05)
            if "request 001" in held(sheet):
                break
        await sheet.press("ctrl+home")
        shown = await sheet.shows("> request 001")
        assert "Answer 001 with some text." in shown
        texts = [row for row in held(sheet).split("\n") if row.startswith("> request")]
        assert texts == [f"> request {number:03d}" for number in range(1, 61)]


async def test_everything_is_drawn_again_at_another_width_once(tmp_path: Path) -> None:
    async with full_screen(tmp_path, size=(100, 24)) as sheet:
        await sheet.type("stream 200 0.01\r")
        await sheet.until(lambda: "number 0030" in held(sheet))
        await sheet.pilot.resize_terminal(60, 24)
        await sheet.until(lambda: "number 0100" in held(sheet))
        assert all(len(row) <= 60 for row in sheet.rows())
        await sheet.pilot.resize_terminal(100, 24)
        await sheet.until(lambda: not sheet.session.running)
        await sheet.until(lambda: "number 0200" in held(sheet) and "> stream" in held(sheet))
        words = held(sheet).replace("\n", " ")
        assert [words.count(f"number {number:04d}") for number in range(1, 201)] == [1] * 200
        rows = [row for row in held(sheet).split("\n") if "number 0100" in row]
        assert "number 0101" in rows[0] or "number 0099" in rows[0], "at the new width"


async def test_a_selection_is_the_text_without_our_line_breaks(tmp_path: Path) -> None:
    settings = Settings()
    async with full_screen(tmp_path, settings) as sheet:
        await sheet.type("x\r")
        await sheet.shows("You said nothing.")
        view = sheet.app.transcript
        long = " ".join(["word"] * 40)
        sheet.going.conversation.own_lines(lambda transcript: [[("", long)], [("", "end")]])
        count = len(view._rows.lines)
        text, _ = view.get_selection(Selection(Offset(0, count - 4), Offset(3, count - 1)))
        assert text.endswith(f"{long}\nend")


async def test_what_is_selected_is_copied_and_said_how(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("x\r")
        await sheet.shows("You said nothing.")
        y = next(y for y, row in enumerate(sheet.rows()) if "You said" in row)
        await sheet.pilot.mouse_down(offset=(1, y))
        await sheet.pilot.hover(offset=(9, y))
        await sheet.pilot.mouse_up(offset=(9, y))
        await sheet.until(lambda: "characters" in sheet.rows()[-1])
        assert "OSC 52" in sheet.rows()[-1] or "Copied" in sheet.rows()[-1]


async def test_two_clicks_select_a_word_and_three_a_row(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("x\r")
        await sheet.shows("You said nothing.")
        sheet.going.conversation.own_lines(lambda transcript: [[("", "你好 see src/app.py now")]])
        await sheet.shows("src/app.py")
        row = next(y for y, text in enumerate(sheet.rows()) if "src/app.py" in text)
        await sheet.click(12, row)
        await sheet.click(12, row)
        await sheet.until(lambda: sheet.app.screen.get_selected_text() == "src/app.py")
        await sheet.click(12, row)
        await sheet.until(lambda: sheet.app.screen.get_selected_text() == "你好 see src/app.py now")
        await sheet.pilot.resize_terminal(60, 24)
        await sheet.until(lambda: not sheet.app.screen.get_selected_text())


async def test_the_wheel_scrolls_an_open_view(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("tools\r")
        await sheet.shows("• two")
        await sheet.press("ctrl+o")
        await sheet.shows("test 0 ok")
        down = events.MouseScrollDown(None, 5, 5, 0, 0, 0, False, False, False, screen_x=5, screen_y=5)
        sheet.app.post_message(down)
        await sheet.gone("test 0 ok")
        await sheet.press("q")


async def test_nothing_hostile_reaches_the_screen_and_markup_is_text(tmp_path: Path) -> None:
    async with full_screen(tmp_path, size=(100, 40)) as sheet:
        await sheet.type("nasty\r")
        await sheet.shows("Allow this time only")
        text = "".join(sheet.rows()) + held(sheet).replace("\n", "")
        assert not any(char < " " or "\x7f" <= char <= "\x9f" or char in "\u202e" for char in text)
        assert "[red]x[/red] [/]" in held(sheet)
        await sheet.press("escape")


async def test_a_resumed_session_that_was_killed_is_at_rest(tmp_path: Path) -> None:
    session = ScriptedSession(tmp_path)
    session.turn = 1
    for event in (
        ev.TurnStarted(input="an old request"),
        ev.MessageCompleted(text="An **old** answer."),
        ev.ToolStarted(call_id="1", tool="bash", args={"command": "sleep 9"}),
        ev.SessionStarted(resumed=True),
        ev.Notice(level="warning", text="This session was damaged: a torn line."),
    ):
        session.emit(event)
    async with full_screen(tmp_path, session=session) as sheet:
        shown = await sheet.shows("damaged")
        assert "> an old request" in shown and "An old answer." in shown
        assert "resumed s1: 1 turn" in shown
        assert not sheet.app.face.transcript.running and "sleep 9" not in shown
        assert held(sheet).count("damaged") == 1


async def test_the_open_transcript_goes_on_with_the_turn_and_with_the_next_one(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        session = sheet.session

        def says(text: str) -> None:
            for at in range(0, len(text), 20):
                session.emit(ev.MessageDelta(text=text[at : at + 20]))

        rows = [f"row {number:03d}\n\n" for number in range(80)]
        session.turn = 1
        session.emit(ev.TurnStarted(input="count"))
        says("".join(rows[:40]))
        await sheet.type("/transcript\r")
        await sheet.shows("q back")
        says("".join(rows[40:60]))
        await sheet.shows("row 059")
        await sheet.press("home")
        top = sheet.rows()[1]
        assert top == "> count"
        says("".join(rows[60:]))
        session.emit(ev.MessageCompleted(text="".join(rows)))
        session.emit(ev.TurnCompleted())
        session.turn = 2
        session.emit(ev.TurnStarted(input="next"))
        session.emit(ev.MessageDelta(text="Said next."))
        await sheet.press("down", "up", pause=0.1)
        assert sheet.rows()[1] == top, "what is read stays where it is"
        await sheet.press("end")
        shown = await sheet.shows("Said next.")
        assert shown.index("row 079") < shown.index("> next")
        await sheet.press("q")
        await sheet.gone("q back")
        assert "Said next." in sheet.screen()


async def test_another_theme_is_seen_at_once(tmp_path: Path) -> None:
    settings = Settings()
    async with full_screen(tmp_path, settings) as sheet:

        def mark() -> str | None:
            strips = sheet.app.screen._compositor.render_strips()
            segments = [segment for strip in strips for segment in strip if segment.text.startswith("› ")]
            return segments[0].style.color.name if segments[0].style and segments[0].style.color else None

        await sheet.until(lambda: mark() == "cyan")
        settings.ui.theme = "light-safe"  # as /theme does
        sheet.app.face.refresh()
        await sheet.until(lambda: mark() == "blue")


async def test_after_an_error_of_ours_the_title_is_the_former_one(tmp_path: Path) -> None:
    written: list[str] = []
    signs = Signs(written.append, title=True, progress=True, clock=lambda: 0.0)
    async with full_screen(tmp_path) as sheet:
        sheet.app.face.notifier = Notifier("off", "unfocused", written.append, signs=signs)
        sheet.app.face.notifier.start()
        signs.show("proj", "working")
        written.clear()
        sheet.app._fatal_error()
        assert "".join(written) == "\x1b]9;4;0\x1b\\\x1b]0;\x1b\\\x1b[23;0t"
