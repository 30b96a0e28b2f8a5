"""Title and progress: what is written to which terminal, and when."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from xun_cli.frontend.notify import Notifier
from xun_cli.frontend.signs import AGAIN, Signs, show_state, shows_progress, signs_for

KEEP, BACK = "\x1b[22;0t", "\x1b]0;\x1b\\\x1b[23;0t"


class Line:
    """A terminal that keeps what is written, and a clock."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.now = 0.0

    def signs(self, *, title: bool = True, progress: bool = False) -> Signs:
        return Signs(self.written.append, title=title, progress=progress, clock=lambda: self.now)

    def taken(self) -> str:
        text = "".join(self.written)
        self.written.clear()
        return text


def test_the_title_follows_the_state_and_the_former_one_comes_back() -> None:
    line = Line()
    signs = line.signs()
    signs.show("proj", "idle")
    assert line.taken() == ""
    signs.start()
    for state, title in (("idle", "proj"), ("working", "● proj"), ("waiting", "▲ proj"), ("working", "● proj")):
        signs.show("proj", state)  # type: ignore[arg-type]
        assert line.taken().removeprefix(KEEP) == f"\x1b]0;{title}\x1b\\"
        signs.show("proj", state)  # type: ignore[arg-type]
        assert line.taken() == ""
    signs.stop()
    assert line.taken() == BACK
    signs.stop()
    signs.show("proj", "idle")
    assert line.taken() == ""
    signs.start()
    signs.show("proj", "working")
    assert line.taken() == f"{KEEP}\x1b]0;● proj\x1b\\"


def test_progress_is_repeated_while_it_lasts_and_taken_back() -> None:
    line = Line()
    signs = line.signs(title=False, progress=True)
    signs.start()
    signs.show("proj", "idle")
    assert line.taken() == ""
    signs.show("proj", "working")
    assert line.taken() == "\x1b]9;4;3\x1b\\"
    line.now = AGAIN - 0.1
    signs.show("proj", "working")
    assert line.taken() == ""
    line.now = AGAIN
    signs.show("proj", "working")
    assert line.taken() == "\x1b]9;4;3\x1b\\"
    signs.show("proj", "waiting")
    assert line.taken() == "\x1b]9;4;4;100\x1b\\"
    signs.show("proj", "idle")
    line.now = 9 * AGAIN
    signs.show("proj", "idle")
    assert line.taken() == "\x1b]9;4;0\x1b\\"
    signs.show("proj", "working")
    line.taken()
    signs.stop()
    assert line.taken() == "\x1b]9;4;0\x1b\\"


def test_a_name_cannot_end_the_title() -> None:
    line = Line()
    signs = line.signs()
    signs.start()
    signs.show("a\x07b\x1b]52;c;eA==\x07\u202e" + "x" * 200, "idle")
    body = line.taken().removeprefix(f"{KEEP}\x1b]0;").removesuffix("\x1b\\")
    assert body.isprintable() and len(body) <= 60


@pytest.mark.parametrize(
    ("environ", "shows"),
    [
        ({}, False),
        ({"TERM_PROGRAM": "ghostty"}, True),
        ({"TERM_PROGRAM": "ghostty", "TMUX": "/tmp/x,1,0"}, False),
        ({"TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.6.6"}, True),
        ({"TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.5.11"}, False),
        ({"TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "beta"}, False),
        ({"VTE_VERSION": "7900"}, True),
        ({"VTE_VERSION": "7600"}, False),
        ({"VTE_VERSION": "²"}, False),
        ({"WT_SESSION": "1"}, True),
    ],
)
def test_which_terminals_draw_progress(environ: dict[str, str], shows: bool) -> None:
    assert shows_progress(environ) is shows


@pytest.mark.parametrize(
    ("term", "title", "written"), [("xterm", True, True), ("linux", True, False), ("xterm", False, False)]
)
def test_where_titles_are_written(term: str, title: bool, written: bool) -> None:
    line = Line()
    signs = signs_for(title, "off", {"TERM": term, "TERM_PROGRAM": "ghostty"}, line.written.append, lambda: 0.0)
    signs.start()
    signs.show("proj", "working")
    assert bool(line.taken()) is written


def test_they_begin_and_end_with_the_reports_even_where_nothing_rings() -> None:
    line = Line()
    notifier = Notifier("off", "unfocused", line.written.append, signs=line.signs())
    notifier.start()
    assert line.taken() == KEEP
    notifier.stop()
    assert line.taken() == BACK


@pytest.mark.parametrize(
    ("name", "question", "running", "title"),
    [("", False, False, "proj · xun"), ("fix it", False, True, "● fix it · xun"), ("", True, True, "▲ proj · xun")],
)
def test_the_state_of_a_conversation(name: str, question: bool, running: bool, title: str) -> None:
    line = Line()
    signs = line.signs()
    signs.start()
    line.taken()
    conversation: Any = SimpleNamespace(session=SimpleNamespace(name=name))
    transcript: Any = SimpleNamespace(running=running)
    dialog: Any = SimpleNamespace(open=question)
    show_state(signs, conversation, transcript, dialog, Path("/x/proj"))
    assert line.taken() == f"\x1b]0;{title}\x1b\\"
