"""The inline front end on a real pseudo terminal, with a scripted session behind it."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.demo_terminal import demo_terminals
from tests.fakes.terminal import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")]

GUARD = 0.7
Start = Callable[..., Terminal]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    yield from demo_terminals(tmp_path)


def test_the_prompt_takes_keys_before_anything_heavy_is_imported(start: Start, tmp_path: Path) -> None:
    names = tmp_path / "modules"
    terminal = start("--delay", "1.5", "--modules", str(names), ready="starting")
    assert len([row for row in terminal.text().split("\n")[:4] if row]) <= 4
    terminal.send("hello\r")
    terminal.wait("goes out as soon as xun is ready")
    terminal.wait("You said")
    loaded = set(names.read_text().split("\n"))
    heavy = {"pydantic", "openai", "rich", "pygments", "git", "pathspec", "importlib.metadata", "markdown_it", "httpx"}
    assert not loaded & heavy


def test_leaving_does_not_wait_for_the_start(start: Start) -> None:
    terminal = start("--delay", "30", ready="starting")
    terminal.send("\x04")
    assert terminal.end(timeout=5) == 0
    assert terminal.modes_left_on() == set()


def test_t01_a_long_answer_flickers_not_and_every_line_is_there_once(start: Start) -> None:
    terminal = start()
    terminal.send("stream 500 0\r")
    terminal.wait("number 0500", timeout=30)
    terminal.wait(lambda shown: "answering" not in shown)
    assert not re.search(rb"\x1b\[[23]J", terminal.raw)
    ups = [int(match) for match in re.findall(rb"\x1b\[(\d+)A", terminal.raw)]
    assert max(ups, default=0) <= 8
    found = re.findall(r"number (\d{4})", " ".join(terminal.lines()))
    assert found == [f"{number:04d}" for number in range(1, 501)]
    assert b"\x1b[?1049h" not in terminal.raw
    assert not re.search(rb"\x1b\[\?100[0236]h", terminal.raw)


def test_a_command_question_answered_with_a_key(start: Start) -> None:
    terminal = start()
    terminal.send("command make install\r")
    terminal.wait("Run this command?")
    terminal.read(GUARD)
    terminal.send("o")
    shown = terminal.wait("Done.")
    assert "● bash  make install" in shown and "Run this command?" not in shown


def test_t20_keys_typed_as_a_question_appears_stay_in_the_draft(start: Start) -> None:
    terminal = start()
    terminal.send("write\rgo")
    shown = terminal.wait("Tab to answer")
    assert "› go" in shown
    terminal.send("\t")
    terminal.wait("Allow this time only")
    terminal.read(GUARD)
    terminal.send("d")
    shown = terminal.wait("Not written.")
    assert "› go" in shown
    terminal.send("\x03")
    terminal.wait(lambda shown: "› go" not in shown)
    terminal.send("write\r")
    terminal.wait("Allow this time only")
    terminal.send("od")  # at once: meant for something else
    shown = terminal.wait("Tab to answer")
    assert "› od" in shown and shown.count("Not written.") == 1


def test_a_denial_with_a_reason(start: Start) -> None:
    terminal = start()
    terminal.send("command rm -rf build\r")
    terminal.wait("Run this command?")
    terminal.read(GUARD)
    terminal.send("\x1b[B\t")
    terminal.wait("reason ›")
    terminal.send("use make clean\r")
    terminal.wait("Denied by the user: use make clean")


def test_escape_interrupts_and_keeps_the_text(start: Start) -> None:
    terminal = start()
    terminal.send("slow\r")
    terminal.wait("tick 3")
    terminal.send("a draft")
    terminal.send("\x1b")
    shown = terminal.wait("Interrupted. What came so far is kept.")
    assert "I start a long command" in shown and "sleep 600  cancelled" in shown
    assert "› a draft" in shown


def test_a_message_queues_while_a_turn_runs_and_comes_back(start: Start) -> None:
    terminal = start()
    terminal.send("slow\r")
    terminal.wait("tick 1")
    terminal.send("next thing\r")
    terminal.wait("queued: next thing")
    terminal.send("\x1b[A")
    shown = terminal.wait("› next thing")
    assert "queued" not in shown
    terminal.send("\x13")
    terminal.wait("» next thing")


def test_t07_one_ctrl_c_never_leaves_and_the_second_does_with_the_way_back(start: Start) -> None:
    terminal = start()
    terminal.send("hello\r")
    terminal.wait("You said")
    terminal.send("some text\x03")
    terminal.wait(lambda shown: "some text" not in shown.split("You said")[1])
    terminal.read(2.2)
    terminal.send("\x03")
    terminal.wait("Ctrl-C again leaves")
    terminal.send("\x03")
    assert terminal.end() == 0
    assert "xun -r s1" in terminal.text()
    assert terminal.modes_left_on() == set()


def test_two_ctrl_c_on_a_running_turn_stop_it_and_stay(start: Start) -> None:
    terminal = start()
    terminal.send("slow\r")
    terminal.wait("tick 1")
    terminal.send("\x03\x03")
    terminal.wait("Interrupted. What came so far is kept.")
    terminal.send("hello\r")
    terminal.wait("You said")


def test_a_paste_submits_nothing_and_arrives_whole(start: Start) -> None:
    terminal = start()
    terminal.send("\x1b[200~one\r\ntwo\rthree\n\x1b[201~")
    shown = terminal.wait("three")
    assert "You said" not in shown
    terminal.send("\r")
    shown = terminal.wait("> one")
    assert "  two" in shown and "  three" in shown


@pytest.mark.parametrize("newline", ["\n", "\x1b\r", "\x1b[13;2u", "\x1b[27;2;13~", "\\\r"])
def test_t19_every_newline_key(start: Start, newline: str) -> None:
    terminal = start()
    terminal.send(f"first{newline}second")
    shown = terminal.wait("second")
    assert "› first\n  second" in shown
    terminal.send("\r")
    terminal.wait("> first\n  second")


def test_hostile_text_never_reaches_the_terminal(start: Start) -> None:
    terminal = start()
    before = len(terminal.raw)
    terminal.send("nasty\r")
    shown = terminal.wait("Run this command?")
    written = terminal.raw[before:]
    for bad in (
        b"\x1b]52",
        b"\x1b]0;title",
        b"\x1b]8;",
        b"\x1bc",
        b"\x1b[6n",
        "\x9b".encode(),
        "\x9d".encode(),
        "\u202e".encode(),
    ):
        assert bad not in written
    assert b"\x1b[31mx" not in written
    assert "rm -rf build<U+000D><U+001B>[2Kls" in shown
    assert re.search(r"▸d\s+Deny", shown)


def test_t39_no_color_means_no_colour_bytes(start: Start) -> None:
    terminal = start(NO_COLOR="1")
    terminal.send("tools\r")
    terminal.wait("● two" if False else "• two")
    terminal.send("command\r")
    terminal.wait("Run this command?")
    codes = {code for match in re.findall(rb"\x1b\[([\d;]*)m", terminal.raw) for code in match.split(b";")}
    assert not {code for code in codes if re.fullmatch(rb"[349]\d|10\d|[34]8", code)}


def test_t39_colours_are_the_sixteen_of_the_terminal(start: Start) -> None:
    terminal = start()
    terminal.send("tools\r")
    terminal.wait("• two")
    before = len(terminal.raw)
    terminal.send("command\r")
    terminal.wait("Run this command?")
    assert re.search(rb"\x1b\[[\d;]*33[;m]", terminal.raw[before:]), "the dialog is coloured too"
    assert not re.search(rb"\x1b\[[\d;]*[34]8;[25]", terminal.raw)
    assert re.search(rb"\x1b\[[\d;]*3[1-6]m", terminal.raw)


def test_t41_ten_rows_of_forty_columns(start: Start) -> None:
    terminal = start(columns=40, rows=10)
    terminal.send("command\r")
    shown = terminal.wait("Run this command?")
    assert all(word in shown for word in ("grant", "this time only", "Deny", "›"))
    terminal.read(GUARD)
    terminal.send("\x05")
    shown = terminal.wait("q back")
    assert "lines" in shown and "Deny" not in shown
    terminal.send("G")
    terminal.wait("Deny: the model is told")
    terminal.send("q")
    shown = terminal.wait("this time only")
    assert all(word in shown for word in ("grant", "Deny", "›"))
    terminal.send("o")
    terminal.wait("Done.")


def test_t18_wide_characters_keep_the_cursor_right(start: Start) -> None:
    terminal = start(columns=20)
    terminal.send("你好你好你好你好你ab")
    terminal.wait("ab")
    assert terminal.screen.cursor.x == 4 and terminal.screen.display[terminal.screen.cursor.y].startswith("  ab")
    terminal.send("\x7f\x7f\x7f")
    terminal.wait(lambda shown: "ab" not in shown)
    assert terminal.screen.cursor.x == 18


def test_t08_idle_costs_nothing(start: Start) -> None:
    terminal = start()
    terminal.send("hello\r")
    terminal.wait("You said")
    terminal.read(2.5)
    before = terminal.cpu_seconds()
    terminal.read(3.0)  # half a minute: test_t08 of the long sessions
    assert terminal.cpu_seconds() - before <= 0.015


def test_an_error_of_ours_in_a_command_ends_nothing(start: Start) -> None:
    terminal = start()
    terminal.send("!break\r")
    terminal.wait("✗ RuntimeError: an error of ours")
    terminal.send("hello\r")
    terminal.wait("You said")


def test_t38_a_terminated_process_leaves_the_terminal_clean(start: Start) -> None:
    terminal = start()
    terminal.send("slow\r")
    terminal.wait("tick 1")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.end() == 143
    assert terminal.modes_left_on() == set()


def test_t38_an_error_of_ours_leaves_the_terminal_clean_and_is_told(start: Start) -> None:
    terminal = start("--crash", ready="")
    assert terminal.end() == 1
    assert terminal.modes_left_on() == set()
    assert "ZeroDivisionError" in terminal.text()


def test_t38_suspend_gives_the_terminal_its_modes_back(start: Start) -> None:
    terminal = start(shell=True)
    terminal.send("half a draft\x1a")
    terminal.wait("Stopped")
    assert terminal.modes_left_on() <= {"2004"}  # bash's own prompt switches paste mode on
    terminal.send("stty -a\r")
    assert "-icanon" not in terminal.wait("icanon")
    terminal.send("clear; fg\r")
    terminal.wait("› half a draft")
    terminal.send(" goes on\r")
    terminal.wait("You said a draft goes on")


def test_slash_and_path_completion(start: Start) -> None:
    terminal = start()
    terminal.send("/he")
    terminal.wait("/help")
    terminal.send("\x1b")
    terminal.send("\x03")
    terminal.send("see @app")
    terminal.wait("@src/app.py")
    terminal.send("\t")
    terminal.wait("› see @src/app.py")


def test_an_unknown_command_never_reaches_the_model(start: Start) -> None:
    terminal = start()
    terminal.send("/hlep\r")
    shown = terminal.wait("Unknown command /hlep")
    assert "/help" in shown and "You said" not in shown


def test_the_demo_is_labelled_at_each_answer(start: Start) -> None:
    label = "demo (scripted, no model)"
    terminal = start("--model", label, ready=label)
    terminal.send("hello\r")
    terminal.wait(f"· {label}")


def test_a_new_session_in_the_same_process(start: Start) -> None:
    terminal = start()
    terminal.send("hello\r")
    terminal.wait("You said")
    terminal.send("/clear\r")
    terminal.wait("a new session; /resume s1 goes back")
    terminal.send("again\r")
    terminal.wait(lambda shown: shown.count("You said") == 2)
    terminal.send("\x04")
    assert terminal.end() == 0
    assert "xun -r s2" in terminal.text()


def test_leaving_while_a_turn_runs_asks(start: Start) -> None:
    terminal = start()
    terminal.send("slow\r")
    terminal.wait("tick 1")
    terminal.send("\x04")
    terminal.wait("Leave and end it?")
    terminal.read(GUARD)
    terminal.send("s")
    terminal.wait("tick")
    terminal.send("\x04")
    terminal.wait("Leave and end it?")
    terminal.read(GUARD)
    terminal.send("l")
    assert terminal.end() == 0


def test_t44_a_bell_when_nobody_looks(start: Start) -> None:
    terminal = start()
    terminal.send("\x1b[O")
    terminal.send("write\r")
    terminal.wait("Write src/app.py?")
    terminal.read(GUARD)
    assert terminal.raw.count(b"\x07") == 1
    terminal.send("d")
    terminal.wait("Not written.")
    terminal.read(0.3)
    assert terminal.raw.count(b"\x07") == 2
    terminal.send("\x1b[I")
    terminal.send("hello\r")
    terminal.wait("You said")
    terminal.read(0.3)
    assert terminal.raw.count(b"\x07") == 2


def test_the_draft_goes_to_an_editor_and_back(start: Start, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nprintf "written elsewhere" >> "$1"\n')
    editor.chmod(0o700)
    terminal = start(EDITOR=str(editor))
    terminal.send("a draft, \x07")
    terminal.wait("› a draft, written elsewhere")


def test_redrawing_never_clears_the_screen(start: Start) -> None:
    terminal = start()
    terminal.send("write\r")
    terminal.wait("Write src/app.py?")
    terminal.send("\x0c")
    terminal.read(GUARD)
    terminal.send("\x0co")
    terminal.wait("Written.")
    terminal.send("\x0c/redraw\r")
    terminal.wait(lambda shown: shown.count("Written.") == 2)
    assert not re.search(rb"\x1b\[[23]J", terminal.raw)


def test_the_shell_of_the_person(start: Start) -> None:
    terminal = start()
    terminal.send("!echo hi\r")
    terminal.wait("shell output")


def test_modes_go_round(start: Start) -> None:
    terminal = start()
    terminal.send("\x1b[Z")
    terminal.wait(lambda shown: "Mode plan" in shown or "scripted · plan" in shown)


def test_an_editor_that_fails_leaves_the_draft_and_no_focus_report_reaches_it(start: Start, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text("#!/bin/sh\nexit 3\n")
    editor.chmod(0o700)
    terminal = start(EDITOR=str(editor))
    terminal.send("my draft\x07")
    shown = terminal.wait("editor.sh ended with exit code 3: nothing was taken.")
    assert "› my draft" in shown
    at = len(terminal.raw)
    terminal.send("\x07")
    terminal.wait(lambda shown: shown.count("nothing was taken") == 2)
    off, on = terminal.raw.index(b"\x1b[?1004l", at), terminal.raw.rindex(b"\x1b[?1004h")
    assert at < off < on
    terminal.send("\x15")
    terminal.read(0.2)
    editor.write_text("#!/bin/sh\nsleep 60\n")
    terminal.send("x\x07")
    terminal.read(1.0)
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.end() == 143
    assert terminal.modes_left_on() == set()
