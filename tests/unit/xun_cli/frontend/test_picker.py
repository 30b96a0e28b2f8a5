"""The view to choose in, and what can be chosen."""

from __future__ import annotations

from pathlib import Path

import pytest

from xun import events as ev
from xun.choice import FileDiff
from xun_cli.frontend.choosing import (
    TurnPoint,
    age,
    policy_picker,
    rewind_kind_picker,
    rewind_picker,
    session_picker,
    work_picker,
    workers,
)
from xun_cli.frontend.picker import Act, Picker, Row
from xun_cli.render.text import line_width, plain_lines
from xun_cli.session.envelope import Envelope
from xun_cli.session.listing import SessionInfo
from xun_policies.store import PolicyState


def shown(view: Picker, columns: int = 80, rows: int = 24) -> str:
    lines = view.draw(columns, rows)
    assert len(lines) == rows
    assert all(line_width(line) <= columns for line in lines)
    return plain_lines(lines)


def picker(count: int = 30, **more: object) -> Picker:
    rows = [Row(number, f"item {number}", (f"f{number}",)) for number in range(count)]
    return Picker("Which?", lambda: rows, empty="nothing here", **more)  # type: ignore[arg-type]


def press(view: Picker, *keys: str) -> None:
    for key in keys:
        view.key(key)


def test_typing_narrows_and_enter_chooses() -> None:
    view = picker()
    press(view, *"item 2")
    assert "▸ f2" in shown(view) and "item 3\n" not in shown(view)
    press(view, "down", "enter")
    assert view.closed and view.result == 12


def test_escape_clears_the_search_first_and_then_closes() -> None:
    view = picker()
    press(view, "x", "y")
    assert "nothing fits “xy”" in shown(view)
    press(view, "enter")
    assert not view.closed
    press(view, "escape")
    assert not view.closed and "item 0" in shown(view)
    press(view, "escape")
    assert view.closed and view.result is None


def test_the_chosen_row_stays_in_sight() -> None:
    view = picker(100)
    shown(view, 40, 10)
    for key in ("end", "pageup", "home", "pagedown", "up", "down"):
        press(view, key)
        assert "▸" in shown(view, 40, 10)


def test_an_act_runs_for_the_chosen_row_and_says_so() -> None:
    rows = [Row(number, f"item {number}") for number in range(3)]

    def drop(row: Row) -> str:
        rows.remove(row)
        return f"gone: {row.title}"

    view = Picker("", lambda: rows, empty="nothing", choose="", acts={"delete": Act("Del drops", drop)})
    press(view, "down", "delete")
    text = shown(view)
    assert "gone: item 1" in text and [row.title for row in rows] == ["item 0", "item 2"]
    press(view, "enter")
    assert not view.closed
    press(view, "delete", "delete", "delete")
    assert "nothing" in shown(view)


@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (10, 4), (40, 10), (80, 24), (160, 50)])
def test_any_size_is_filled_exactly(columns: int, rows: int) -> None:
    shown(picker(), columns, rows)
    shown(picker(0), columns, rows)


def test_hostile_titles_are_shown_as_text() -> None:
    rows = [Row(1, "a\x1b]0;x\x07\u202eb\nc", ("\x9b31m",), search="\x1b")]
    text = shown(Picker("t", lambda: rows, empty=""))
    assert "\x1b" not in text and "\x9b" not in text and "\u202e" not in text and "<U+001B>" in text


def info(number: int, **more: str) -> SessionInfo:
    values = {"name": "", "first_input": f"do thing {number}", "model": "gpt-5", "cwd": "/proj"} | more
    return SessionInfo(
        id=f"id{number}",
        path=Path("/x"),
        started="2026-11-29T10:00:00+00:00",
        updated=f"2026-11-29T1{number}:00:00+00:00",
        turns=number,
        **values,
    )


NOON = 1796040000.0  # 2026-11-30T12:00:00Z


def test_sessions_show_age_turns_model_and_first_input() -> None:
    view = session_picker([info(2), info(1, name="login bug")], now=NOON)
    text = shown(view)
    assert "1 d  2 turns  gpt-5  do thing 2" in text and "1 turn   gpt-5  login bug" in text
    assert "id2" in text and "/proj" in text
    press(view, *"login", "enter")
    assert view.result.id == "id1"


@pytest.mark.parametrize(
    ("stamp", "words"),
    [
        ("2026-11-30T11:59:40+00:00", "now"),
        ("2026-11-30T11:55:00+00:00", "5 min"),
        ("2026-11-30T09:00:00+00:00", "3 h"),
        ("2026-11-20T12:00:00+00:00", "10 d"),
        ("2025-10-20T12:00:00+00:00", "1 y"),
        ("", ""),
        ("nonsense", ""),
    ],
)
def test_ages(stamp: str, words: str) -> None:
    assert age(stamp, NOON) == words


def test_permissions_are_taken_back_by_key() -> None:
    policy = PolicyState()
    policy.command_allowlist.add(["npm", "test"], source="dialog", when="2026-11-29T10:00:00+00:00")
    policy.write_allowlist.add("/proj/src", True, "user", "2026-11-29T10:00:00+00:00")
    policy.excluded.add("git log")
    asked: list[str] = []
    view = policy_picker(lambda: policy, lambda number: asked.append(number) or "taken back")  # type: ignore[func-returns-value]
    text = shown(view)
    assert "c1  command  dialog  npm test" in text and "w1  write" in text and "git log (built in, left out)" in text
    assert "npm test: and whatever follows it" in text and "a dialog" in text
    press(view, "down", "delete")
    assert asked == ["w1"]
    press(view, "down", "delete")
    assert asked == ["w1"] and "built-in" in shown(view)


def envelope(seq: int, event: ev.Event) -> Envelope:
    return Envelope(seq, "2026-11-29T10:00:00+00:00", "s", 1, event)


def test_workers_have_the_state_of_their_last_event() -> None:
    history = [
        envelope(1, ev.SubagentStarted(name="helper#1", task="look")),
        envelope(2, ev.TaskStarted(id="task-1", command="make watch")),
        envelope(3, ev.SubagentCompleted(name="helper#1", task="look", ok=False)),
        envelope(4, ev.SubagentStarted(name="helper#2", task="again")),
        envelope(5, ev.TaskCompleted(id="task-1", command="make watch", exit=2)),
    ]
    assert [(item.name, item.state) for item in workers(history)] == [
        ("helper#2", "works"),
        ("task-1", "exit 2"),
        ("helper#1", "failed"),
    ]
    view = work_picker(lambda: workers(history), lambda item: f"stop {item.name}")
    press(view, "down", "delete")
    assert "stop task-1" in shown(view)
    press(view, "enter")
    assert view.result.name == "task-1"


def test_turns_to_go_back_to_and_what_goes_back() -> None:
    points = [TurnPoint(1, "first"), TurnPoint(2, "second\nwith more", files=2)]
    view = rewind_picker(points, now=NOON)
    assert shown(view).index("second with more") < shown(view).index("first")
    press(view, "enter")
    assert view.result is points[1]
    changes = [FileDiff("/proj/a.py", "update", "@@ -1 +1 @@\n-new\n+old", 1, 1)]
    kind = rewind_kind_picker(points[1], changes, "", "/proj")
    press(kind, "down")
    assert "a.py  +1 −1" in shown(kind) and "+old" in shown(kind)
    press(kind, "enter")
    assert kind.result == "both"
    refused = rewind_kind_picker(points[1], [], "a.py was changed since", "/proj")
    assert "can't be put back: a.py was changed since" in shown(refused)
    press(refused, "down", "enter")
    assert refused.closed and not refused.result


def test_what_fits_by_its_title_comes_before_what_fits_by_its_id() -> None:
    rows = [Row(1, "something else", search="a33b"), Row(2, "bug 33"), Row(3, "bug 133")]
    picker = Picker("Which?", lambda: rows, empty="none")
    picker.typed("33")
    assert [row.value for row in picker._found()] == [2, 3, 1]
