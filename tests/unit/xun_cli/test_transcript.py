"""Events to lines: the whole of a session as it would be on the screen."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.fakes.scripted_session import DIFF
from xun import events as ev
from xun.choice import FileDiff
from xun_cli.render.text import line_width, plain_lines
from xun_cli.render.transcript import Transcript

SNAPSHOTS = Path(__file__).resolve().parents[2] / "snapshots" / "transcript"
OUTPUT = "".join(f"row {number}\n" for number in range(1, 31))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def transcript(columns: int = 80, clock: Clock | None = None, label: str = "") -> Transcript:
    made = Transcript(lambda: columns, clock=clock or Clock())
    made.cwd = "/proj"
    made.label = label
    return made


def fed(made: Transcript, events: Iterable[ev.Event]) -> str:
    return plain_lines([line for event in events for line in made.feed(event)])


def started(call_id: str, tool: str, **args: object) -> ev.ToolStarted:
    return ev.ToolStarted(call_id=call_id, tool=tool, args=args)


def session() -> list[ev.Event]:
    return [
        ev.TurnStarted(input="fix the failing test"),
        ev.MessageDelta(text="I look at the **test** first.\n\nThen the code"),
        ev.MessageDelta(text=".\n"),
        ev.MessageCompleted(text="..."),
        started("1", "read_file", path="/proj/src/app.py"),
        ev.ToolCompleted(call_id="1", tool="read_file", result={"total_lines": 120}, duration_ms=120),
        started("2", "grep", pattern="def test_\\w+", path="tests"),
        ev.ToolCompleted(call_id="2", tool="grep", result={"matches": [{}], "total": 1, "truncated": False}),
        started("3", "bash", command="pytest -q"),
        ev.RiskAssessed(call_id="3", verdict="allow", reason="runs tests"),
        ev.ToolOutput(call_id="3", text="collecting\n"),
        ev.ToolCompleted(
            call_id="3",
            tool="bash",
            result={"stdout": OUTPUT, "stderr": "1 failed\n", "returncode": 1},
            duration_ms=3200,
        ),
        started("4", "replace", path="/proj/src/app.py", old="print('old')", new="print('new')"),
        ev.ToolCompleted(
            call_id="4",
            tool="replace",
            result={"path": "/proj/src/app.py", "lines": [[7, 7]]},
            files=({"path": "/proj/src/app.py", "action": "update", "added": 1, "removed": 1},),
        ),
        started("5", "write_file", path="/proj/new.txt", content="a\nb\n"),
        ev.ToolCompleted(
            call_id="5",
            tool="write_file",
            result={"created": True},
            files=({"path": "/proj/new.txt", "action": "add", "added": 2, "removed": 0},),
        ),
        started("6", "bash", command="make install"),
        ev.ApprovalRequested(request_id="q", call_id="6", kind="command"),
        ev.ApprovalResolved(request_id="q", call_id="6", kind="command", choice="grant", granted=("make install",)),
        ev.ToolCompleted(call_id="6", tool="bash", result={"stdout": "", "stderr": "", "returncode": 0}),
        started("7", "delete", path="/proj/old.py"),
        ev.ToolCompleted(
            call_id="7",
            tool="delete",
            ok=False,
            status="denied",
            error={"error": "Denied by the user: keep it", "kind": "denied"},
        ),
        ev.Notice(level="warning", text="The context is nearly full."),
        ev.SubagentStarted(name="reviewer#1", task="look at the diff"),
        ev.ToolStarted(agent="reviewer#1", call_id="8", tool="read_file", args={"path": "/proj/src/app.py"}),
        ev.ToolCompleted(agent="reviewer#1", call_id="8", tool="read_file", result={"total_lines": 3}),
        ev.SubagentCompleted(name="reviewer#1", task="look at the diff"),
        ev.Compaction(before=84_000, after=12_000),
        ev.MessageDelta(text="The failure is in `src/app.py`:\n\n1. one\n2. two\n\n```python\nx = 1\n```\n"),
        ev.MessageCompleted(text="..."),
        ev.TurnCompleted(stop="done"),
        ev.TurnStarted(input="a very long request " * 6, shown="a very long request [pasted #1: 16 lines]"),
        ev.Error(kind="auth", message="The key of OPENAI_API_KEY was refused: set another one, then send again."),
        ev.TurnCompleted(stop="error"),
    ]


@pytest.mark.parametrize("columns", [80, 120, 40])
def test_snapshot(columns: int) -> None:
    path = SNAPSHOTS / f"session-{columns}.txt"
    shown = fed(transcript(columns), session()) + "\n"
    if os.environ.get("XUN_UPDATE_SNAPSHOTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")


def test_cut_into_single_characters_the_answer_is_the_same() -> None:
    text = "# A\n\nSome *text* here.\n\n- one\n- two\n\n```sh\nls\n```\nend"
    whole = fed(transcript(), [ev.MessageDelta(text=text), ev.MessageCompleted(text=text)])
    pieces = [ev.MessageDelta(text=char) for char in text]
    assert fed(transcript(), [*pieces, ev.MessageCompleted(text=text)]) == whole
    assert fed(transcript(), [ev.MessageCompleted(text=text)]) == whole


def test_a_retry_voids_the_open_text_and_counts_down() -> None:
    clock = Clock()
    made = transcript(clock=clock)
    fed(made, [ev.TurnStarted(input="x"), ev.MessageDelta(text="half a par")])
    assert fed(made, [ev.Retry(attempt=2, attempts=5, delay=8.0, reason="The server is busy (429).")]) == ""
    assert "try 2 of 5 in 8s · Esc interrupts · The server is busy (429)" in plain_lines(made.live(6))
    clock.now = 5.0
    assert "in 3s" in plain_lines(made.live(6))
    shown = fed(made, [ev.MessageDelta(text="whole\n"), ev.MessageCompleted(text="whole\n")])
    assert "whole" in shown and "half" not in shown


def test_a_narrow_terminal_still_shows_when_the_next_try_is_and_how_to_stop() -> None:
    made = transcript(40, clock=Clock())
    reason = "The connection to http://127.0.0.1:32921/v1 broke in the middle of the answer."
    fed(made, [ev.TurnStarted(input="x"), ev.Retry(attempt=2, attempts=5, delay=8.0, reason=reason)])
    assert "try 2 of 5 in 8s · Esc interrupts" in plain_lines(made.live(6))


def test_the_card_of_a_question_shows_the_answer() -> None:
    made = transcript()
    fed(made, [ev.ToolStarted(call_id="1", tool="ask_preference", args={"question": "Which way?"})])
    done = ev.ToolCompleted(call_id="1", tool="ask_preference", result={"Q": "Which way?", "A": "my \x1bown"})
    assert "Which way?  → my <U+001B>own" in fed(made, [done])


def test_a_command_that_is_still_judged_is_not_called_running() -> None:
    made = transcript()
    fed(made, [ev.TurnStarted(input="x"), started("1", "bash", command="make")])
    live = plain_lines(made.live(6))
    assert "bash  make  checking 0s" in live and "checking the command 0s" in live and "running" not in live
    fed(made, [ev.ApprovalResolved(call_id="1", kind="command", choice="allow", subject="make", source="allowlist")])
    live = plain_lines(made.live(6))
    assert "checking" not in live and "running 0s" in live


def test_a_retry_after_finished_text_says_so() -> None:
    made = transcript()
    fed(made, [ev.TurnStarted(input="x"), ev.MessageDelta(text="one\n\ntwo")])
    assert "begins again" in fed(made, [ev.Retry(reason="cut")])


def test_the_open_part_stays_within_its_rows_and_shows_the_call() -> None:
    made = transcript()
    fed(made, [ev.TurnStarted(input="x"), started("1", "bash", command="sleep 600")])
    for number in range(50):
        made.feed(ev.ToolOutput(call_id="1", text=f"tick {number}\n"))
    for rows in range(1, 9):
        assert len(made.live(rows)) <= rows
    shown = plain_lines(made.live(5))
    assert "bash  sleep 600" in shown and "tick 49" in shown and "Esc interrupts" in shown


def test_an_interrupted_call_is_not_lost() -> None:
    shown = fed(
        transcript(),
        [ev.TurnStarted(input="x"), started("1", "bash", command="sleep 9"), ev.TurnCompleted(stop="interrupted")],
    )
    assert "● bash  sleep 9  cancelled" in shown and "What came so far is kept" in shown


def test_partial_text_is_kept_when_a_turn_ends() -> None:
    shown = fed(
        transcript(),
        [ev.TurnStarted(input="x"), ev.MessageDelta(text="half a sen"), ev.TurnCompleted(stop="interrupted")],
    )
    assert "half a sen" in shown


def test_every_answer_of_the_demo_is_labelled() -> None:
    made = transcript(label="demo (scripted, no model)")
    turn = [ev.TurnStarted(input="x"), ev.MessageDelta(text="hello\n"), ev.TurnCompleted()]
    assert fed(made, [*turn, *turn]).count("demo (scripted, no model)") == 2


def test_a_folded_output_opens_once() -> None:
    made = transcript()
    shown = fed(made, session()[8:12])
    assert "row 1\n" not in shown and "lines hidden, Ctrl-O" in shown
    opened = plain_lines(made.expand())
    assert all(f"row {number}" in opened for number in range(1, 31)) and "1 failed" in opened
    assert made.expand() == []


def test_the_diff_of_a_question_is_on_the_card() -> None:
    made = transcript()
    fed(made, [started("1", "replace", path="/proj/src/app.py")])
    made.attach_files("main", "1", (FileDiff("/proj/src/app.py", "update", DIFF, 2, 1),))
    shown = fed(made, [ev.ToolCompleted(call_id="1", tool="replace", result={})])
    assert "-print('old')" in shown and "+print('more')" in shown


def test_two_agents_may_use_the_same_call_id() -> None:
    made = transcript()
    events = [
        started("1", "bash", command="make main"),
        ev.ToolStarted(agent="helper#1", call_id="1", tool="read_file", args={"path": "a.txt"}),
        ev.ToolCompleted(agent="helper#1", call_id="1", tool="read_file", result={"total_lines": 2}),
        ev.ToolCompleted(call_id="1", tool="bash", result={"stdout": "", "returncode": 0}),
    ]
    assert fed(made, events) == "● helper#1 read_file  a.txt  2 lines\n● bash  make main  exit 0"


def test_todo_line_and_list() -> None:
    made = transcript()
    items = ({"description": "read", "status": "completed"}, {"description": "write", "status": "in_progress"})
    fed(made, [ev.TurnStarted(input="x"), ev.TodoUpdated(items=items)])
    assert "todo 1/2 write" in plain_lines(made.live(6))
    assert plain_lines(made.todo_lines()) == "  ✓ read\n  ▸ write"


def test_queued_messages_are_shown() -> None:
    made = transcript()
    fed(made, [ev.TurnStarted(input="x"), ev.QueueChanged(items=("first", "second\nline", "third"))])
    shown = plain_lines(made.live(8))
    assert "queued: first" in shown and "queued: second line" in shown and "3 queued" in shown


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_every_line_fits(columns: int) -> None:
    made = transcript(columns)
    for event in session():
        lines = [*made.feed(event), *made.live(8)]
        assert all(line_width(line) <= columns for line in lines), plain_lines(lines)


def test_nothing_foreign_gets_through() -> None:
    bad = "\x1b]52;c;Q\x07\x9b31m\r\u202e[red]x[/red]\x00"
    made = transcript()
    shown = fed(
        made,
        [
            ev.TurnStarted(input=bad, shown=bad),
            ev.MessageDelta(text=f"{bad}\n\n`{bad}`\n"),
            started("1", bad, command=bad),
            ev.ToolOutput(call_id="1", text=bad),
        ],
    )
    shown += plain_lines(made.live(20))
    shown += fed(
        made,
        [
            ev.ToolCompleted(call_id="1", tool=bad, result={"stdout": bad, "returncode": 0}),
            started("2", "read_file", path=bad),
            ev.ToolCompleted(call_id="2", tool="read_file", ok=False, status="error", error={"error": bad}),
            ev.Notice(text=bad),
            ev.Error(message=bad),
            ev.TodoUpdated(items=({"description": bad, "status": "x"},)),
            ev.QueueChanged(items=(bad,)),
            ev.Steer(text=bad),
            ev.SubagentCompleted(name=bad, task=bad),
            ev.Retry(reason=bad),
        ],
    )
    shown += plain_lines(made.live(20)) + plain_lines(made.todo_lines())
    assert not [
        char for char in shown if (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0 or char == "\u202e"
    ]
    assert "[red]x[/red]" in shown


@pytest.mark.parametrize("before", ["nothing", "a paragraph", "a card", "a list"])
def test_what_is_open_stands_where_it_will_stand(before: str) -> None:
    transcript = Transcript(lambda: 60, clock=lambda: 0.0)
    shown = transcript.feed(ev.TurnStarted(input="go"))
    if before == "a card":
        shown += transcript.feed(ev.ToolStarted(call_id="1", tool="glob", args={"pattern": "*"}))
        shown += transcript.feed(ev.ToolCompleted(call_id="1", tool="glob", result={"total": 1, "paths": ["a"]}))
    earlier = {"a paragraph": "Before.\n\n", "a list": "- one\n- two\n\n"}.get(before, "")
    for piece in (earlier, "Open", " words"):
        shown += transcript.feed(ev.MessageDelta(text=piece)) if piece else []
        whole = [*shown, *transcript.live_parts(50)[0]]
    shown += transcript.feed(ev.MessageCompleted(text=earlier + "Open words"))
    assert plain_lines(whole) == plain_lines(shown)


def test_the_time_of_a_call_is_not_that_of_the_person_who_was_asked():
    clock = Clock()
    made = transcript(clock=clock)
    fed(made, [ev.TurnStarted(input="go"), started("1", "bash", command="make")])
    fed(made, [ev.ApprovalRequested(request_id="q", call_id="1", kind="command")])
    clock.now = 40.0
    fed(made, [ev.ApprovalResolved(request_id="q", call_id="1", kind="command", choice="once")])
    clock.now = 42.0
    assert "2s" in plain_lines(made.live(3)) and "42s" not in plain_lines(made.live(3)[:1])
    done = ev.ToolCompleted(call_id="1", tool="bash", result={"stdout": "", "returncode": 0}, duration_ms=42_000)
    assert fed(made, [done]).endswith("exit 0  2.0s")
    denied = ev.ToolCompleted(call_id="2", tool="bash", ok=False, status="denied", content="No.", duration_ms=9_000)
    fed(made, [started("2", "bash", command="make"), ev.ApprovalRequested(request_id="r", call_id="2", kind="command")])
    fed(made, [ev.ApprovalResolved(request_id="r", call_id="2", kind="command", choice="deny")])
    assert "9.0s" not in fed(made, [denied])
