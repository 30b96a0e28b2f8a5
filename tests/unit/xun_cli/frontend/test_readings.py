"""What is read on the whole screen: all of it, and nothing of it as anything but text."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.scripted_session import command_request, write_request
from xun import events as ev
from xun.choice import FileDiff
from xun_cli.frontend.choosing import Worker, session_picker, work_picker
from xun_cli.frontend.following import Going, going_pager
from xun_cli.frontend.full_screen import FullScreen
from xun_cli.frontend.journal import Journal
from xun_cli.frontend.pager import Pager
from xun_cli.frontend.readings import agent_pager, command_pager, output_pager, question_pager, turn_sections
from xun_cli.render.calls import Call
from xun_cli.render.diff import split_files
from xun_cli.render.text import line_width, plain_lines
from xun_cli.session.envelope import Envelope
from xun_cli.session.listing import SessionInfo

HOSTILE = "a\x1b]52;c;ZQ==\x07b\x9b31mc\u202ed\u200be\r\x1b[2Jf\ud800g[red]h[/]"


def everything(view: FullScreen, columns: int = 80, rows: int = 24) -> str:
    """Return all that a view shows, page by page."""
    seen: list[str] = []
    view.draw(columns, rows)
    view.key("home")
    for _ in range(60):
        lines = view.draw(columns, rows)
        assert len(lines) == rows and all(line_width(line) <= columns for line in lines)
        page = plain_lines(lines)
        if seen and page == seen[-1]:
            break
        seen.append(page)
        view.key("pagedown")
    return "\n".join(seen)


def history(*events: ev.Event, turn: int = 1) -> list[Envelope]:
    return [Envelope(number, "2026-11-29T10:00:00+00:00", "s", turn, event) for number, event in enumerate(events, 1)]


def session_pager(items: list[Envelope], *, name: str, cwd: str, journal: Journal | None = None) -> Pager:
    """Return the transcript as the front ends show it."""
    parts = lambda history: turn_sections(history, cwd)  # noqa: E731
    going = Going(lambda: items, journal or Journal(), parts, cwd=cwd, clock=lambda: 0.0)
    return going_pager(going, name=name)


def test_a_turn_that_is_read_again_took_as_long_as_it_did() -> None:
    items = history(
        ev.TurnStarted(input="go"),
        ev.ToolStarted(call_id="c", tool="bash", args={"command": "make"}),
        ev.ApprovalRequested(request_id="q", call_id="c", kind="command"),
        ev.ApprovalResolved(request_id="q", call_id="c", kind="command", choice="once"),
        ev.ToolCompleted(call_id="c", tool="bash", result={"stdout": "", "returncode": 0}, duration_ms=67_000),
        ev.TurnCompleted(duration_ms=80_000),
    )
    seconds = ("00:00", "00:05", "00:06", "01:06", "01:12", "01:20")
    items = [replace(item, ts=f"2026-11-29T10:{at}+00:00") for item, at in zip(items, seconds, strict=True)]
    section = turn_sections(items, "/proj")[0]
    text = plain_lines(section.lines(60, False))
    assert "worked 20s" in text and "6.0s" in text
    assert replace(items[0], ts="yesterday").at == 0.0


def views() -> list[FullScreen]:
    done = ev.ToolCompleted(call_id="c", tool=HOSTILE, content=HOSTILE, display=HOSTILE)
    call = Call("c", HOSTILE, {"path": HOSTILE}, "main", 0.0)
    call.done = done
    said = (
        ev.TurnStarted(input=HOSTILE),
        ev.MessageCompleted(text=HOSTILE),
        ev.ToolStarted(call_id="c", tool=HOSTILE, args={"command": HOSTILE}),
        done,
        ev.Error(message=HOSTILE),
        ev.Notice(text=HOSTILE),
    )
    info = SessionInfo("id", HOSTILE, Path("/x"), HOSTILE, "", "", 1, HOSTILE, HOSTILE)
    worker = Worker("agent", HOSTILE, HOSTILE, HOSTILE)
    diff = f"@@ -1 +1 @@\n-{HOSTILE}\n+{HOSTILE}"
    return [
        question_pager(command_request(f"ls {HOSTILE}"), split_from=140),
        question_pager(
            write_request(files=(FileDiff(f"/proj/{HOSTILE}", "update", diff, note=HOSTILE),)),
            split_from=60,
            split=True,
        ),
        output_pager(call, "/proj"),
        session_pager(history(*said), name=HOSTILE, cwd="/proj"),
        agent_pager(
            lambda: [replace(item, event=replace(item.event, agent="x#1")) for item in history(*said)],
            "x#1",
            HOSTILE,
            "/proj",
        ),
        command_pager(HOSTILE, HOSTILE, lambda: HOSTILE),
        session_picker([info]),
        work_picker(lambda: [worker], lambda item: HOSTILE),
    ]


@pytest.mark.parametrize("number", range(8))
def test_hostile_text_is_shown_as_text(number: int) -> None:
    shown = everything(views()[number])
    bad = {char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Cs") and char != "\n"}
    assert not bad and "<U+001B>" in shown


def test_all_of_a_long_command_and_how_it_was_judged_is_there() -> None:
    command = "\n".join(f"echo line{number}" for number in range(300))
    shown = everything(question_pager(command_request(command), split_from=140))
    assert all(f"echo line{number}" in shown for number in range(300))
    assert "Nothing was run" in shown


def test_every_file_of_a_write_is_a_section() -> None:
    files = tuple(FileDiff(f"/proj/f{n}.py", "update", f"@@ -1 +1 @@\n-old {n}\n+new {n}", 1, 1) for n in range(5))
    view = question_pager(write_request(files=files), split_from=140)
    shown = everything(view)
    assert all(f"new {n}" in shown and f"f{n}.py" in shown for n in range(5))


def test_a_session_is_shown_whole_and_what_it_went_back_from_is_not() -> None:
    long = "\n".join(f"out {number}" for number in range(400))
    events = [
        ev.TurnStarted(input="first"),
        ev.ToolStarted(call_id="c", tool="bash", args={"command": "make"}),
        ev.ToolCompleted(call_id="c", tool="bash", result={"stdout": long, "stderr": "", "returncode": 0}),
        ev.MessageCompleted(text="one"),
        ev.TurnCompleted(),
    ]
    later = [ev.TurnStarted(input="second"), ev.MessageCompleted(text="dropped"), ev.TurnCompleted()]
    items = history(*events)
    items += [replace(item, seq=item.seq + 10, turn=2) for item in history(*later)]
    shown = everything(session_pager(items, name="s", cwd="/proj"))
    assert "out 0\n" in shown and "out 399" in shown and "hidden" not in shown and "dropped" in shown
    back = Envelope(20, "", "s", 2, ev.Rewound(turn=2, after_seq=items[4].seq))
    shown = everything(session_pager([*items, back], name="s", cwd="/proj"))
    assert "first" in shown and "dropped" not in shown


def test_a_long_session_opens_at_once() -> None:
    import time

    text = "Some **words** of an answer.\n\n- a\n- b\n\n```python\nx = 1\n```\n" * 20
    items: list[Envelope] = []
    for turn in range(1, 301):
        events = history(
            ev.TurnStarted(input=f"ask {turn}"), ev.MessageCompleted(text=text), ev.TurnCompleted(), turn=turn
        )
        items += [replace(item, seq=item.seq + turn * 10) for item in events]
    before = time.process_time()
    view = session_pager(items, name="s", cwd="/proj")
    view.draw(80, 24)
    view.key("home")
    view.draw(80, 24)
    assert time.process_time() - before < 0.5, "only what is looked at is drawn"


def test_the_files_of_a_question_are_told_apart() -> None:
    diff = "--- /p/a\n@@ -1,2 +1,2 @@\n--- not a header\n+++ x\n same\n--- /p/b\n@@ -1 +1 @@\n-x\n+y"
    assert split_files(diff) == [
        ("/p/a", "@@ -1,2 +1,2 @@\n--- not a header\n+++ x\n same"),
        ("/p/b", "@@ -1 +1 @@\n-x\n+y"),
    ]
    assert split_files("") == []


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        ({"path": "/p/a", "text": "one\ntwo\n", "total_lines": 2, "next_offset": None}, "one\n  two"),
        ({"paths": ["a.py", "b.py"], "total": 2, "truncated": False}, "a.py\n  b.py"),
        ({"matches": [{"path": "a.py", "line": 3, "text": "x = 1"}], "total": 1}, "a.py:3: x = 1"),
        ({"other": 1}, "as the model has it"),
    ],
)
def test_what_a_tool_gave_back_is_read_as_text(result: dict[str, object], wanted: str) -> None:
    call = Call("c", "read_file", {"path": "a"}, "main", 0.0)
    call.done = ev.ToolCompleted(call_id="c", tool="read_file", result=result, content="as the model has it")
    assert wanted in everything(output_pager(call, "/p"))


def test_the_newest_turn_grows_piece_by_piece_and_nothing_is_there_twice() -> None:
    journal, items = Journal(), []

    def happens(event: ev.Event, turn: int) -> None:
        if event.type in ev.STORED:
            items.append(Envelope(len(items) + 1, "", "s", turn, event))
        journal.add_event(event, 0.0)

    def shown(columns: int = 60) -> str:
        return plain_lines(view.draw(columns, 30))

    happens(ev.TurnStarted(input="one"), 1)
    view = session_pager(items, name="s", cwd="/proj", journal=journal)
    happens(ev.MessageDelta(text="A paragraph.\n\nAn open"), 1)
    assert shown().count("A paragraph.") == 1 and "An open" in shown()
    happens(ev.MessageDelta(text=" one."), 1)
    happens(ev.ToolStarted(call_id="c", tool="bash", args={"command": "make"}), 1)
    assert "An open one." in shown() and "make" in shown()
    happens(ev.ToolCompleted(call_id="c", tool="bash", result={"stdout": "built", "stderr": "", "returncode": 0}), 1)
    happens(ev.MessageCompleted(text="A paragraph.\n\nAn open one."), 1)
    happens(ev.TurnCompleted(), 1)
    happens(ev.TurnStarted(input="two"), 2)
    happens(ev.MessageDelta(text="The second answer."), 2)
    for columns in (60, 40):
        text = shown(columns)
        assert [text.count(word) for word in ("> one", "built", "> two", "The second answer.")] == [1] * 4
    view.key("/")
    for char in "second":
        view.key(char)
    view.key("enter")
    assert "is not there" not in shown()
