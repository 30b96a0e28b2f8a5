"""The full-screen front end on a real terminal: modes, signals, the mouse, switching."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.terminal import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")]

DEMO = str(Path(__file__).resolve().parents[1] / "fakes" / "repl_demo.py")
ROOT = Path(__file__).resolve().parents[2]
Start = Callable[..., Terminal]


@pytest.fixture
def demo(project: Path, environment: dict[str, str]) -> Iterator[Start]:
    started: list[Terminal] = []

    def start(*arguments: str, columns: int = 80, rows: int = 24, **more: str) -> Terminal:
        env = {**environment, "PYTHONPATH": str(ROOT), **more}
        command = [sys.executable, DEMO, str(project), "--tui", "full", *arguments]
        terminal = Terminal(command, env=env, cwd=project, columns=columns, rows=rows)
        started.append(terminal)
        terminal.wait("scripted · ask")
        return terminal

    yield start
    for terminal in started:
        terminal.__exit__()


def test_nothing_heavy_is_loaded_before_the_first_frame(demo: Start, project: Path) -> None:
    demo("--modules", str(project / "modules"))
    loaded = {name.partition(".")[0] for name in (project / "modules").read_text().split()}
    assert "textual" in loaded
    assert not loaded & {"prompt_toolkit", "openai", "pydantic", "httpx", "git", "pathspec", "markdown_it", "pygments"}


def test_t03_the_alternate_screen_is_on_and_gone_at_the_exit(pane) -> None:
    screen = pane("--demo", "--tui", "full")
    screen.wait("demo")
    assert screen.alternate()
    screen.type("hello")
    screen.press("Enter")
    screen.wait("· demo (scripted, no model)")
    screen.press("C-d")
    assert screen.exit_code() == 0
    assert not screen.alternate() and "xun -r " in screen.text()


def test_the_setting_and_the_variable_choose_it_and_the_flag_wins(pane) -> None:
    screen = pane("--demo", XUN_TUI="full")
    screen.wait("demo")
    assert screen.alternate()
    screen = pane("--demo", "--tui", "inline", XUN_TUI="full")
    screen.wait("demo")
    assert not screen.alternate()
    screen = pane("--demo", "--config", "ui.mode=full")
    screen.wait("demo")
    assert screen.alternate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_t38_a_signal_leaves_no_mode_on(demo: Start, number: int) -> None:
    terminal = demo()
    terminal.send("slow\r")
    terminal.wait("tick ")
    os.kill(terminal.pid, number)
    assert terminal.end() == 128 + number
    assert terminal.modes_left_on() == set()
    assert terminal.raw.rstrip().endswith(b"s1") and b"xun -r" in terminal.raw


def test_a_crash_gives_the_terminal_back_and_says_where_the_report_is(demo: Start, project: Path) -> None:
    command = [sys.executable, DEMO, str(project), "--tui", "full", "--crash"]
    env = {**os.environ, "XUN_HOME": str(project / "home"), "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    with Terminal(command, env=env, cwd=project, columns=200) as terminal:
        assert terminal.end() == 1
        assert terminal.modes_left_on() == set()
        assert "ZeroDivisionError" in terminal.text() and "locals" not in terminal.text()


def test_the_editor_has_the_terminal_and_gives_the_draft_back(demo: Start, project: Path) -> None:
    editor = project / "editor.sh"
    editor.write_text(
        '#!/bin/sh\necho EDITING\nstty -a | grep -o " -\\?icanon"\nsleep 1\nprintf "edited\\ntext\\n" > "$1"\n'
    )
    editor.chmod(0o755)
    terminal = demo(EDITOR=str(editor), TERM="xterm-256color")
    terminal.send("slow\r")
    terminal.wait("tick ")
    terminal.send("first\x07")
    terminal.wait("EDITING")
    assert terminal.wait("icanon").split("EDITING")[1].split()[0] == "icanon", "ordinary modes"
    shown = terminal.wait("› edited")
    assert "  text" in shown and "first" not in shown.split("╭")[1]
    terminal.send("\x1b")
    terminal.wait("Interrupted")


def test_t38_ctrl_z_stops_it_and_fg_brings_it_back(pane, project: Path) -> None:
    screen = pane("--demo", "--tui", "full")
    screen.wait("demo")
    screen.close()
    # Job control needs a shell above it.
    script = project / "shell.sh"
    script.write_text(f"set -m\n{sys.executable} -m xun_cli --demo --tui full\necho STOPPED\nread x\nfg\n")
    shell = type(screen)(["bash", str(script)], project, screen._env)
    try:
        shell.wait("demo (scripted")
        shell.type("draft")
        shell.wait("› draft")
        shell.press("C-z")
        shell.wait("STOPPED")
        assert not shell.alternate()
        shell.press("Enter")
        shell.wait("› draft")
        assert shell.alternate()
        shell.type(" goes on")
        shell.wait("› draft goes on")
    finally:
        shell.close()


def test_being_continued_without_a_stop_changes_nothing(demo: Start) -> None:
    terminal = demo()
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.send("still here\r")
    terminal.wait("You said here.")
    assert terminal.raw.count(b"\x1b[?1049h") == 1
    terminal.send("\x04")
    assert terminal.end() == 0 and terminal.modes_left_on() == set()


def test_a_terminal_that_goes_away_ends_it(project: Path, environment: dict[str, str]) -> None:
    import pexpect

    env = {**environment, "PYTHONPATH": str(ROOT)}
    child = pexpect.spawn(sys.executable, [DEMO, str(project), "--tui", "full"], env=env, cwd=str(project), timeout=20)
    child.expect("scripted")
    child.send("stream 2000 0.005\r")
    child.expect("line number 0010")
    os.kill(child.pid, signal.SIGCONT)  # as a hang-up brings one with it
    child.ptyproc.fileobj.close()
    until = time.monotonic() + 10
    while child.isalive() and time.monotonic() < until:
        time.sleep(0.05)
    gone = not child.isalive()
    if not gone:
        child.kill(signal.SIGKILL)
    assert gone


def test_t47_the_click_that_brings_the_window_back_answers_nothing(demo: Start) -> None:
    terminal = demo()
    terminal.send("write\r")
    shown = terminal.wait("Allow this time only")
    terminal.read(0.8)
    row = next(y for y, text in enumerate(shown.split("\n"), 1) if "Allow this time only" in text)
    click = f"\x1b[<0;12;{row}M\x1b[<0;12;{row}m"
    terminal.send("\x1b[O")
    terminal.read(0.2)
    terminal.send("\x1b[I" + click)
    terminal.read(0.5)
    assert "Allow this time only" in terminal.text()
    terminal.send(click)
    terminal.wait("Written.")


def test_escape_sequences_of_alt_enter_make_a_newline(demo: Start) -> None:
    terminal = demo()
    terminal.send("one\x1b\rtwo\x1b[13;2uthree\x1b[27;2;13~four")
    terminal.wait(lambda shown: "› one" in shown and "  four" in shown)
    terminal.send("\r")
    shown = terminal.wait("You said")
    assert "> one" in shown and "  two" in shown and "  three" in shown


def test_a_bracketed_paste_submits_nothing(demo: Start) -> None:
    terminal = demo()
    terminal.send("\x1b[200~one\r\ntwo\r\nthree\x1b[201~")
    shown = terminal.wait("three")
    terminal.read(0.3)
    assert "You said" not in terminal.text() and "› one" in shown
    terminal.send("\r")
    terminal.wait("You said")


def test_t44_the_bell_rings_once_when_nobody_looks(demo: Start) -> None:
    terminal = demo()
    terminal.send("wait 1\r")
    terminal.wait("thinking")
    terminal.send("\x1b[O")
    terminal.wait("waited")
    terminal.read(0.5)
    assert re.sub(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)", b"", terminal.raw).count(b"\x07") == 1


def test_t18_the_terminals_cursor_is_at_the_caret(demo: Start) -> None:
    terminal = demo(columns=40)
    terminal.send("你好ab")
    shown = terminal.wait("你")
    terminal.read(0.3)
    row = next(y for y, text in enumerate(shown.split("\n")) if "你" in text)
    assert (terminal.screen.cursor.y, terminal.screen.cursor.x) == (row, 4 + 6)


def test_t41_a_phone(demo: Start) -> None:
    terminal = demo(columns=40, rows=10, COLUMNS="80", LINES="24")  # stale: those of the shell that exported them
    terminal.send("write\r")
    shown = terminal.wait("this time only")
    assert "Deny" in shown and "›" in shown
    terminal.read(0.8)
    terminal.send("d")
    terminal.wait("Not written.")


def test_no_color_means_no_colour_codes(demo: Start) -> None:

    terminal = demo(NO_COLOR="1")
    terminal.send("tools\r")
    terminal.wait("• two")
    codes = re.findall(rb"\x1b\[([\d;]*)m", terminal.raw)
    numbers = {part for code in codes for part in code.split(b";") if part}
    assert numbers <= {b"0", b"1", b"2", b"3", b"4", b"7", b"9"}, numbers


def test_only_the_colours_of_the_terminal_are_used(demo: Start) -> None:
    terminal = demo()
    terminal.send("write\r")
    terminal.wait("Allow this time only")
    assert b"38;2;" not in terminal.raw and b"48;2;" not in terminal.raw and b"38;5;" not in terminal.raw


def test_nothing_hostile_is_written(demo: Start) -> None:
    terminal = demo(columns=100, rows=40)
    terminal.send("nasty\r")
    terminal.wait("Run this command?")
    for bad in (b"\x1b]0;title", b"\x1b]52;", b"\x1bc", b"\x1b[6n", b"\x1b]8;;http", "\u202e".encode(), b"\xc2\x9b"):
        assert bad not in terminal.raw, bad


def test_without_textual_the_inline_front_end_says_why(project: Path, environment: dict[str, str]) -> None:
    folder = project / "blocked" / "textual"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('no textual here', name='textual')\n")
    env = {**environment, "PYTHONPATH": f"{folder.parent}{os.pathsep}{ROOT}"}
    command = [sys.executable, DEMO, str(project), "--tui", "full"]
    with Terminal(command, env=env, cwd=project, columns=100) as terminal:
        terminal.wait("scripted · ask")
        assert "textual can't be loaded" in terminal.text() and b"?1049h" not in terminal.raw


def test_where_it_cannot_draw_the_inline_front_end_says_why(project: Path, environment: dict[str, str]) -> None:
    command = ["sh", "-c", f"exec {sys.executable} {DEMO} {project} --tui full 2>{project}/errors"]
    with Terminal(command, env={**environment, "PYTHONPATH": str(ROOT)}, cwd=project, columns=110) as terminal:
        terminal.wait("scripted · ask")
        assert "standard error is no terminal" in terminal.text() and b"?1049h" not in terminal.raw


def test_t48_everything_goes_over_while_a_turn_runs(demo: Start) -> None:
    terminal = demo(columns=100)
    terminal.send("\x1b[Z")
    terminal.wait("· plan")
    terminal.send("stream 600 0.1\r")  # a minute: it runs until it is interrupted
    terminal.wait("line number 0004")
    terminal.send("later\r")
    terminal.wait("queued: later")
    terminal.send("/tui inline\r")
    terminal.wait(lambda text: "╭" not in text and "queued: later" in text and "· plan" in text)
    terminal.send("/tui full\r")
    terminal.wait(lambda text: "╭" in text and "queued: later" in text and "· plan" in text)
    terminal.send("\x1b")
    terminal.wait("You said nothing.", 30)
    terminal.send("\x1b[5~\x1b[1;5H")
    terminal.wait("> stream 600")


def test_t48_line_by_line_and_back(demo: Start) -> None:
    terminal = demo(columns=100)
    terminal.send("hello\r")
    terminal.wait("You said")
    terminal.send("/tui plain\r")
    shown = terminal.wait("Line by line from here on")
    assert "> hello" in terminal.wait("> hello") and "╭" not in shown
    terminal.send("again and again\r")
    terminal.wait("You said and again.")
    terminal.send("/tui full\r")
    shown = terminal.wait(lambda text: "╭" in text and "You said and again." in text)
    assert "> hello" in shown and "> again and again" in shown
    terminal.send("/quit\r")
    assert terminal.end() == 0 and terminal.modes_left_on() == set()


def test_t48_an_open_question_and_the_draft_go_over(demo: Start) -> None:
    terminal = demo(columns=100)
    terminal.send("command make all\r")
    terminal.wait("Allow this time only")
    terminal.read(0.7)
    terminal.send("\x1b[Z")  # keys back to the composer
    terminal.wait("approval waiting")
    terminal.send("/tui inline\r")
    terminal.wait(lambda text: "╭" not in text and "make all" in text and "Allow this time only" in text)
    terminal.read(0.8)
    terminal.send("o")
    terminal.wait("Done.")


def test_keys_that_come_in_one_piece_take_effect_in_order(demo: Start) -> None:
    terminal = demo()
    for typed, left in (
        ("abc\x15de", "› de"),
        ("abx\x7fc", "› abc"),
        ("bc\x01a\x05d", "› abcd"),
        ("one two\x17x", "› one x"),
    ):
        terminal.send(f"\x15{typed}")
        terminal.wait(
            lambda shown, left=left: any(line.split("│")[1:2] == [f" {left}".ljust(78)] for line in shown.split("\n"))
        )
