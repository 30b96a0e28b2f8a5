"""Keys into the application, through prompt_toolkit's pipe input: what reaches the session, what is written."""

from __future__ import annotations

import asyncio
import errno
import io
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pyte
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.base import PipeInput
from prompt_toolkit.output.vt100 import Vt100_Output

from tests.fakes.inline_sheet import PATIENCE, Clock
from tests.fakes.scripted_session import ScriptedSession
from tests.fakes.terminal import Screen
from xun import events as ev
from xun_cli.driver import Start, carried
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.repl.app import GONE, Repl
from xun_cli.repl.composer import PASTE_GUARD
from xun_cli.settings import Settings

COLUMNS, ROWS = 80, 24


class Sheet:
    """A running application with its keyboard and what it has written."""

    def __init__(
        self, repl: Repl, session: ScriptedSession, keyboard: PipeInput, written: io.StringIO, clock: Clock
    ) -> None:
        self.repl, self.session, self.keyboard, self.written, self.clock = repl, session, keyboard, written, clock
        self.ended = asyncio.create_task(repl.run())

    def screen(self) -> str:
        screen = Screen(COLUMNS, ROWS)
        pyte.Stream(screen).feed(self.written.getvalue())
        return "\n".join(row.rstrip() for row in screen.display)

    async def press(self, text: str, pause: float = 0.02) -> None:
        self.keyboard.send_text(text)
        await asyncio.sleep(pause)

    async def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"it did not come:\n{self.screen()}")
            await asyncio.sleep(0.01)

    async def shows(self, text: str) -> str:
        await self.until(lambda: text in self.screen())
        return self.screen()


@asynccontextmanager
async def running(
    tmp_path: Path, settings: Settings | None = None, session: ScriptedSession | None = None
) -> AsyncIterator[Sheet]:
    session = session or ScriptedSession(tmp_path)
    written = io.StringIO()
    places = Places.from_environment({"XUN_HOME": str(tmp_path / "home")})
    output = Vt100_Output(written, lambda: Size(rows=ROWS, columns=COLUMNS), term="xterm")
    output.enable_cpr = False
    with create_pipe_input() as keyboard:
        start = Start(
            StartOptions(cwd=tmp_path),
            settings or Settings(),
            places,
            lambda: session,  # type: ignore[arg-type,return-value]
            lambda options: session,  # type: ignore[arg-type,return-value]
        )
        clock = Clock()
        going = carried(start, clock)
        repl = Repl(start.options, start.settings, going, keyboard=keyboard, output=output, clock=clock)
        sheet = Sheet(repl, session, keyboard, written, clock)
        await sheet.shows("scripted · ask")
        try:
            yield sheet
        finally:
            repl.finish(0)
            await asyncio.wait_for(sheet.ended, 10)


async def test_a_message_and_a_queued_one_reach_the_session(tmp_path: Path) -> None:
    async with running(tmp_path) as sheet:
        await sheet.press("slow\r")
        await sheet.shows("tick 1")
        await sheet.press("and then\r")
        await sheet.until(lambda: len(sheet.session.sent) == 2)
        assert [text for text, _ in sheet.session.sent] == ["slow", "and then"]
        assert sheet.session.queue == ["and then"]


async def test_a_folded_paste_is_sent_in_full(tmp_path: Path) -> None:
    async with running(tmp_path) as sheet:
        text = "\n".join(f"row {number}" for number in range(40))
        await sheet.press(f"\x1b[200~{text}\x1b[201~")
        await sheet.shows("[pasted #1: 40 lines]")
        await sheet.press(" end\r")
        await sheet.until(lambda: bool(sheet.session.sent))
        assert sheet.session.sent == [(text + " end", "[pasted #1: 40 lines] end")]


async def test_ctrl_o_opens_what_was_folded_and_ctrl_t_shows_the_list(tmp_path: Path) -> None:
    async with running(tmp_path) as sheet:
        await sheet.press("tools\r")
        await sheet.until(lambda: not sheet.session.running)
        await sheet.shows("• two")
        assert "test 3 ok" not in sheet.written.getvalue()
        await sheet.press("\x0f")
        await sheet.shows("1–22 of 41 lines")
        assert "test 3 ok" in sheet.screen()
        await sheet.press("q")
        await sheet.shows("scripted · ask")
        assert "test 3 ok" not in sheet.screen()
        sheet.session.emit(ev.TodoUpdated(items=({"description": "write the test", "status": "pending"},)))
        await sheet.press("\x14", 0.1)
        await sheet.press("\x14")
        await sheet.shows("○ write the test")


async def test_shift_tab_goes_round_the_modes(tmp_path: Path) -> None:
    async with running(tmp_path) as sheet:
        for mode in ("plan", "auto-edit", "ask"):
            await sheet.press("\x1b[Z")
            await sheet.until(lambda mode=mode: sheet.session.policy.mode == mode)


async def test_a_session_that_was_killed_in_a_turn_goes_on_at_rest(tmp_path: Path) -> None:
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
    session.todos = ({"description": "the rest", "status": "pending"},)
    async with running(tmp_path, session=session) as sheet:
        shown = await sheet.shows("damaged")
        assert "> an old request" in shown and "An old answer." in shown
        assert "resumed s1: 1 turn" in shown
        assert not sheet.repl.transcript.running and "sleep 9" not in shown
        assert shown.count("damaged") == 1
        await sheet.press("\x14")
        await sheet.shows("○ the rest")


async def test_the_answer_of_a_command_comes_after_what_it_caused(tmp_path: Path) -> None:
    async with running(tmp_path) as sheet:
        await sheet.press("/mode plan\r")
        await sheet.shows("scripted · plan")
        entries = sheet.repl.conversation.journal.entries
        await sheet.until(lambda: "policy.changed" in [entry.event.type for entry in entries if entry.event])
        kinds = [entry.event.type if entry.event else "own" for entry in entries]
        assert kinds[-3:] == ["own", "policy.changed", "own"]


async def test_leaving_asks_only_while_a_turn_runs(tmp_path: Path) -> None:
    async with running(tmp_path) as sheet:
        await sheet.press("slow\r")
        await sheet.shows("tick 1")
        await sheet.press("\x04")
        await sheet.shows("Leave and end it?")
        sheet.session.interrupt()
        await sheet.shows("The turn is over. Ctrl-D leaves.")
        await sheet.until(lambda: sheet.repl.dialog.request is None)
        await sheet.press("slow\r")
        await sheet.until(lambda: sheet.session.running)
        await sheet.press("\x04")
        sheet.session.interrupt()  # it ends in the same moment
        await sheet.until(sheet.ended.done)


async def test_up_brings_back_what_was_sent(tmp_path: Path) -> None:
    async with running(tmp_path) as sheet:
        await sheet.press("hello\r")
        await sheet.shows("You said")
        await sheet.press("\x1b[A")
        await sheet.shows("› hello")


async def test_search_in_the_history(tmp_path: Path) -> None:
    async with running(tmp_path) as sheet:
        await sheet.press("first thing\r")
        await sheet.until(lambda: len(sheet.session.sent) == 1)
        await sheet.press("\x12fir")
        await sheet.shows("search: fir")
        await sheet.press("\r")
        await sheet.shows("› first thing")


async def test_keys_of_the_settings(tmp_path: Path) -> None:
    settings = Settings()
    settings.keys = {"steer": ["f5"], "newline": ["f6"], "todo": [], "nonsense": ["x"]}
    async with running(tmp_path, settings) as sheet:
        assert "keys.nonsense is no action" in sheet.screen()
        await sheet.press("slow\r")
        await sheet.shows("tick 0")
        await sheet.press("one\x1b[17~two\x1b[15~")
        await sheet.until(lambda: sheet.session.steered == ["one\ntwo"])


async def test_vi_keys(tmp_path: Path) -> None:
    settings = Settings()
    settings.ui.editing = "vi"
    async with running(tmp_path, settings) as sheet:
        await sheet.press("abc", 0.05)
        await sheet.press("\x1b", 0.3)
        await sheet.press("0x", 0.1)
        await sheet.shows("N › bc")
        await sheet.press("u\x12", 0.1)
        await sheet.shows("N › bc")
        await sheet.press("\r", 0.1)
        await sheet.until(lambda: sheet.session.sent == [("bc", "")])
        await sheet.press("ix")  # a new prompt is typed into
        await sheet.shows("I › ix")


async def test_an_answer_reaches_the_session_with_its_reason(tmp_path: Path) -> None:
    async with running(tmp_path) as sheet:
        await sheet.press("command rm -rf build\r")
        await sheet.shows("Run this command?")
        sheet.clock.now += 0.6
        await sheet.press("\x1b[B\t")
        await sheet.shows("reason ›")
        await sheet.press("too wide\r")
        await sheet.until(lambda: bool(sheet.session.answers))
        outcome = sheet.session.answers[0][1]
        assert (outcome.choice, outcome.source, outcome.reason) == ("deny", "user", "too wide")


async def test_an_edited_command_reaches_the_session(tmp_path: Path) -> None:
    async with running(tmp_path) as sheet:
        await sheet.press("command rm -rf build\r")
        await sheet.shows("Run this command?")
        sheet.clock.now += 0.6
        await sheet.press("e")
        await sheet.shows("command › rm -rf build")
        await sheet.press("/tmp\r")
        await sheet.until(lambda: bool(sheet.session.answers))
        assert sheet.session.answers[0][1].edited == "rm -rf build/tmp"


async def test_a_dropped_text_never_answers(tmp_path: Path) -> None:
    async with running(tmp_path) as sheet:
        await sheet.press("write\r")
        await sheet.shows("Write src/app.py?")
        sheet.clock.now += 0.6
        await sheet.press("good old text")
        await sheet.shows("› good old text")
        assert sheet.session.answers == []


async def test_the_draft_outlives_turns_questions_and_errors(tmp_path: Path) -> None:
    async with running(tmp_path) as sheet:
        await sheet.press("slow\r")
        await sheet.shows("tick 0")
        await sheet.press("my draft")
        await sheet.press("\x1b", 0.3)
        await sheet.shows("Interrupted.")
        sheet.session.emit(ev.Error(message="The server is gone."))
        await sheet.shows("The server is gone.")
        assert sheet.repl.composer.text == "my draft"


async def test_a_command_that_ends_its_own_paste_is_not_run(tmp_path: Path) -> None:
    async with running(tmp_path) as sheet:
        await sheet.press("\x1b[200~!touch made\x1b[201~\r")
        await sheet.shows("Pasted: Enter runs it.")
        await sheet.press("\x15\x1b[200~look\x1b[201~\r!touch made\r")
        await sheet.until(lambda: bool(sheet.session.sent))
        assert [text for text, _ in sheet.session.sent] == ["look"]
        assert sheet.session.shells == []
        sheet.clock.now += PASTE_GUARD + 0.1
        await sheet.press("\r")
        await sheet.until(lambda: bool(sheet.session.shells))


async def test_the_history_search_shows_what_it_found_alone(tmp_path: Path) -> None:
    async with running(tmp_path) as sheet:
        await sheet.press("plain words\r")
        await sheet.until(lambda: bool(sheet.session.sent) and not sheet.session.running)
        await sheet.shows("Ask for something")
        await sheet.press("\x12pla")
        await sheet.shows("search: pla")
        await sheet.until(lambda: "Ask for something" not in sheet.screen())
        assert "› plain words\n" in sheet.screen()


async def test_a_terminal_that_is_gone_ends_xun_without_a_crash(tmp_path: Path) -> None:
    async with running(tmp_path) as sheet:
        loop = asyncio.get_running_loop()
        loop.call_exception_handler({"message": "", "exception": OSError(errno.EIO, "Input/output error")})
        await sheet.until(lambda: sheet.ended.done())
        assert sheet.ended.result()[0] == GONE
