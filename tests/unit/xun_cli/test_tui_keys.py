"""Keys into the full-screen front end: what reaches the session, what the draft becomes."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.full_screen import full_screen
from xun import events as ev
from xun_cli.settings import Settings
from xun_cli.tui.composer import PASTE_GUARD


async def test_a_message_and_a_queued_one_reach_the_session(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("slow\r")
        await sheet.shows("tick ")
        await sheet.type("and then\r")
        await sheet.until(lambda: len(sheet.session.sent) == 2)
        assert [text for text, _ in sheet.session.sent] == ["slow", "and then"]
        await sheet.shows("queued: and then")
        await sheet.press("up")
        await sheet.shows("› and then")
        assert sheet.session.queue == []


async def test_a_folded_paste_is_sent_in_full_and_deleted_as_a_whole(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        text = "\r\n".join(f"row {number}" for number in range(40))
        await sheet.paste(text)
        await sheet.shows("[pasted #1: 40 lines]")
        await sheet.press("backspace")
        await sheet.gone("[pasted")
        await sheet.paste(text)
        await sheet.type(" end\r")
        await sheet.until(lambda: bool(sheet.session.sent))
        assert sheet.session.sent == [
            (text.replace("\r\n", "\n") + " end", "[pasted #2: 40 lines] end"),
        ]


async def test_a_pasted_command_is_not_run_by_the_enter_behind_it(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.paste("!rm -rf x")
        await sheet.press("enter")
        await sheet.shows("Pasted: Enter runs it.")
        assert sheet.session.shells == []
        sheet.clock.now += PASTE_GUARD + 0.1
        await sheet.press("enter")
        await sheet.until(lambda: sheet.session.shells == ["rm -rf x"])


async def test_newlines_by_every_key_that_makes_one(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("a")
        await sheet.press("ctrl+j")
        await sheet.type("b")
        await sheet.press("f24")  # what the escape sequences of Alt-Enter and its kin are known by
        await sheet.type("c")
        await sheet.press("shift+enter")
        await sheet.type("d\\\r")
        await sheet.type("e\r")
        await sheet.until(lambda: sheet.session.sent == [("a\nb\nc\nd\ne", "")])


async def test_up_and_down_go_through_the_history_and_keep_the_draft(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("first thing\r")
        await sheet.until(lambda: len(sheet.session.sent) == 1)
        await sheet.type("second\r")
        await sheet.until(lambda: len(sheet.session.sent) == 2)
        await sheet.type("draft")
        await sheet.press("up")
        await sheet.shows("› second")
        await sheet.press("up")
        await sheet.shows("› first thing")
        await sheet.press("down", "down")
        await sheet.shows("› draft")


async def test_search_in_the_history(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("first thing\r")
        await sheet.until(lambda: len(sheet.session.sent) == 1)
        await sheet.type("keep me")
        await sheet.press("ctrl+r")
        await sheet.type("fir")
        await sheet.shows("search: fir")
        assert sheet.app.composer.text == "first thing"
        await sheet.type("x")
        await sheet.shows("nothing found for: firx")
        await sheet.press("escape")
        await sheet.gone("nothing found")
        assert sheet.app.composer.text == "keep me"
        await sheet.press("ctrl+r")
        await sheet.type("thing")
        await sheet.press("enter")
        assert sheet.app.composer.text == "first thing" and len(sheet.session.sent) == 1


async def test_slash_commands_are_completed(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("/mo")
        shown = await sheet.shows("/models")
        assert "what is asked before it happens" in shown
        await sheet.press("tab", "tab")
        assert sheet.app.composer.text == "/model"
        await sheet.press("escape")
        assert sheet.app.composer.text == "/mo"
        await sheet.gone("/models")
        await sheet.press("tab", "shift+tab", "shift+tab")
        assert sheet.app.composer.text == "/models"
        row = next(y for y, text in enumerate(sheet.rows()) if text.startswith("   /model "))
        await sheet.click(6, row)
        await sheet.until(lambda: sheet.app.composer.text == "/model")
        assert "/models" not in sheet.screen()


async def test_paths_are_completed_and_their_names_are_made_safe(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text("x")
    (tmp_path / "src" / "ap\x1b[31m\u202e.py").write_text("x")
    async with full_screen(tmp_path) as sheet:
        await sheet.type("look at @src/ap")
        shown = await sheet.shows("src/app.py")
        assert "\x1b" not in shown and "\u202e" not in shown
        await sheet.press("tab")
        await sheet.until(lambda: sheet.app.composer.text.startswith("look at @src/ap"))
        assert len(sheet.app.composer.text) > len("look at @src/ap")


async def test_keys_of_the_settings(tmp_path: Path) -> None:
    settings = Settings()
    settings.keys = {"steer": ["f5"], "newline": ["escape n"], "todo": [], "nonsense": ["x"], "editor": ["c-x c-e"]}
    async with full_screen(tmp_path, settings) as sheet:
        shown = await sheet.shows("keys.nonsense is no action")
        assert "'c-x c-e' is a sequence" in " ".join(shown.split())
        await sheet.type("slow\r")
        await sheet.shows("tick ")
        await sheet.type("one")
        await sheet.press("alt+n")
        await sheet.type("two")
        await sheet.press("f5")
        await sheet.until(lambda: sheet.session.steered == ["one\ntwo"])


async def test_an_edit_can_be_undone(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("one two")
        await sheet.press("ctrl+w")
        assert sheet.app.composer.text == "one "
        await sheet.press("ctrl+underscore")
        assert sheet.app.composer.text == "one two"


async def test_shift_tab_goes_round_the_modes(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        for mode in ("plan", "auto-edit", "ask"):
            await sheet.press("shift+tab")
            await sheet.until(lambda mode=mode: sheet.session.policy.mode == mode)


async def test_escape_interrupts_and_ctrl_c_twice_leaves(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("slow\r")
        await sheet.shows("tick ")
        await sheet.press("escape")
        await sheet.shows("Interrupted")
        assert not sheet.session.running
        await sheet.type("a draft")
        await sheet.press("ctrl+c")
        await sheet.until(lambda: sheet.app.composer.text == "")
        assert sheet.app.is_running
        await sheet.press("up")
        assert sheet.app.composer.text == "a draft"
        await sheet.press("ctrl+u", "ctrl+c")
        await sheet.until(lambda: sheet.app.return_value == 0)


async def test_leaving_while_a_turn_runs_asks_first(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("slow\r")
        await sheet.shows("tick ")
        await sheet.press("ctrl+d")
        await sheet.shows("A turn is running. Leave and end it?")
        sheet.pass_guard()
        await sheet.press("s")
        await sheet.gone("Leave and end it?")
        assert sheet.app.return_value is None
        await sheet.press("ctrl+d")
        await sheet.shows("Leave and end it?")
        sheet.pass_guard()
        await sheet.press("l")
        await sheet.until(lambda: sheet.app.return_value == 0)


async def test_ctrl_o_opens_what_was_folded(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.type("tools\r")
        await sheet.shows("• two")
        assert "test 3 ok" not in sheet.screen()
        await sheet.press("ctrl+o")
        await sheet.shows("test 3 ok")
        await sheet.press("q")
        await sheet.gone("test 3 ok")
        await sheet.type("still typing")
        await sheet.shows("› still typing")


async def test_the_side_panel(tmp_path: Path) -> None:
    async with full_screen(tmp_path, size=(100, 24)) as sheet:
        await sheet.asked("write")
        await sheet.press("o")
        await sheet.shows("Written.")
        todos = ({"description": "write the test", "status": "in_progress"},)
        sheet.session.todos = todos
        sheet.session.emit(ev.TodoUpdated(items=todos))
        sheet.session.emit(ev.SubagentStarted(name="helper#1", task="look around"))
        await sheet.press("ctrl+b")
        shown = await sheet.shows("▸ write the test")
        assert "Todo  0/1" in shown and "src/app.py +2 −1" in shown and "helper#1 look around" in shown
        assert "granted 0 commands, 0 paths" in shown and "Written." in shown
        await sheet.press("ctrl+t")
        await sheet.gone("Todo  0/1")


async def test_characters_that_cannot_be_seen_are_marked_in_the_draft(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        await sheet.paste("a\x1b[31mb\u202ec\x9b你好")
        shown = await sheet.shows("a?[31mb?c?你好")
        assert not any(char in shown for char in "\x1b\u202e\x9b")
        await sheet.press("enter")
        await sheet.until(lambda: sheet.session.sent == [("a\x1b[31mb\u202ec\x9b你好", "")])


async def test_words_by_alt_and_what_was_cut_comes_back(tmp_path: Path) -> None:
    async with full_screen(tmp_path) as sheet:
        composer = sheet.app.composer
        await sheet.type("one two three")
        await sheet.press("alt+b", "alt+b", "alt+z", "ctrl+f")
        assert (composer.text, composer.cursor_location) == ("one two three", (0, 5))
        await sheet.press("alt+d", "alt+f", "ctrl+w", "ctrl+w")
        assert composer.text == "one "
        await sheet.press("ctrl+y")
        assert composer.text == "one t three"
        await sheet.press("ctrl+u", "ctrl+y", "ctrl+y")
        assert composer.text == "one t threeone t three"
        await sheet.press("ctrl+u")
        await sheet.paste("a\r\nb")
        await sheet.press("ctrl+a", "ctrl+p", "ctrl+k", "ctrl+k", "ctrl+k", "ctrl+k")
        assert composer.text == ""
        await sheet.press("ctrl+y")
        assert composer.text == "a\nb"
        composer.put("word " * 40)
        await sheet.press("home", "ctrl+e", "ctrl+a")
        assert composer.cursor_location == (0, 0), "of the line, not of the row"
        await sheet.press("end", "ctrl+u")
        assert composer.text == ""
