"""What a newcomer without a key sees, on a real tmux pane."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.e2e]

LABEL = "demo (scripted, no model)"


def test_replace_shows_a_diff_waits_writes_and_undo_brings_the_bytes_back(pane, project):
    before = (project / "notes.txt").read_bytes()
    screen = pane()
    screen.wait(LABEL)
    screen.type("replace alpha with omega in notes.txt")
    screen.press("Enter")
    shown = screen.wait("Allow this time only")
    assert "-alpha beta" in shown and "+omega beta" in shown
    assert (project / "notes.txt").read_bytes() == before, "nothing is written before the answer"
    wait_for_guard()
    screen.type("o")
    screen.wait("/undo takes it back")
    assert (project / "notes.txt").read_text() == "omega beta\nbeta gamma\n"
    screen.type("/undo")
    screen.press("Enter")
    confirm(screen)
    wait_until(lambda: (project / "notes.txt").read_bytes() == before)
    screen.type("/quit")
    screen.press("Enter")
    assert screen.exit_code() == 0
    assert LABEL in screen.text()


def test_t49_deny_changes_nothing(pane, project):
    before = (project / "notes.txt").read_bytes()
    screen = pane()
    screen.wait(LABEL)
    screen.type("replace alpha with omega in notes.txt")
    screen.press("Enter")
    screen.wait("Allow this time only")
    wait_for_guard()
    screen.type("d")
    screen.wait("enied")
    assert (project / "notes.txt").read_bytes() == before


def test_reading_and_searching_just_happen(pane):
    screen = pane()
    screen.wait(LABEL)
    screen.type("find beta")
    screen.press("Enter")
    shown = screen.wait("notes.txt")
    assert "Allow" not in shown


def test_t03_the_normal_screen_is_used_and_no_mouse_is_captured(pane):
    screen = pane()
    screen.wait(LABEL)
    assert not screen.alternate()


def test_ctrl_c_once_stays_twice_leaves_with_the_way_back(pane):
    screen = pane()
    screen.wait(LABEL)
    screen.type("list files")
    screen.press("Enter")
    screen.wait("notes.txt")
    screen.press("C-c")
    assert not screen.dead()
    screen.press("C-c")
    screen.exit_code()
    assert "xun -r" in screen.text() or "xun --resume" in screen.text()


def test_forty_columns(pane):
    screen = pane(size=(40, 12))
    screen.wait("demo")
    screen.type("replace alpha with omega in notes.txt")
    screen.press("Enter")
    shown = screen.wait("Deny")
    assert "rant" in shown and "Allow this time only" in shown


def wait_for_guard() -> None:
    """Wait past the guard against stray keys, as a person who reads the question does."""
    import time

    time.sleep(0.8)


def wait_until(condition, seconds: float = 30.0) -> None:
    import time

    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def confirm(screen) -> None:
    screen.wait("Yes")
    wait_for_guard()
    screen.type("y")
