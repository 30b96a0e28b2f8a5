"""Scrollback and resizing in a terminal that wraps lines anew: tmux."""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Pane

pytestmark = [pytest.mark.e2e]

DEMO = Path(__file__).resolve().parents[1] / "fakes" / "repl_demo.py"


@pytest.fixture
def demo(project: Path, environment: dict[str, str]) -> Iterator[Callable[..., Pane]]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    opened: list[Pane] = []

    def start(size: tuple[int, int]) -> Pane:
        path = ":".join(entry for entry in sys.path if entry)
        command = ["env", f"PYTHONPATH={path}", sys.executable, str(DEMO), str(project)]
        made = Pane(command, project, environment, size)
        opened.append(made)
        made.wait("scripted · ask")
        return made

    yield start
    for item in opened:
        item.close()


def numbers(text: str) -> list[str]:
    return re.findall(r"number\s+(\d{4})", text)


def settles(condition: Callable[[], bool], pane: Pane) -> None:
    """Wait until *condition* holds and goes on to hold."""
    held, until = 0, time.monotonic() + 10
    while held < 5:
        held = held + 1 if condition() else 0
        assert time.monotonic() < until, pane.text()
        time.sleep(0.1)


def test_t02_every_line_is_once_in_the_scrollback(demo: Callable[..., Pane]) -> None:
    pane = demo((80, 24))
    pane.type("stream 300 0.001")
    pane.press("Enter")
    pane.wait("number 0300", 40)
    pane.wait("answering", gone=True)
    assert numbers(pane.text()) == [f"{number:04d}" for number in range(1, 301)]
    assert not pane.alternate()


@pytest.mark.parametrize("sizes", [((100, 24), (60, 24), (100, 24)), ((80, 24), (40, 12), (120, 30))])
def test_t13_resizing_while_it_streams_duplicates_and_loses_nothing(
    demo: Callable[..., Pane], sizes: tuple[tuple[int, int], ...]
) -> None:
    pane = demo(sizes[0])
    pane.type("stream 90 0.03")
    pane.press("Enter")
    pane.wait("number 0020")
    for width, height in sizes[1:]:
        pane._tmux("resize-window", "-x", str(width), "-y", str(height))
        time.sleep(0.7)
    pane.wait("number 0090", 40)
    pane.wait("answering", gone=True)
    text = pane.text()
    assert numbers(text) == [f"{number:04d}" for number in range(1, 91)], text
    assert text.count("scripted · ask") == 1
    assert text.count("Ask for something") == 1


def test_resizing_with_a_view_open_leaves_the_normal_screen_as_it_was(demo: Callable[..., Pane]) -> None:
    pane = demo((100, 30))
    pane.type("stream 40 0.001")
    pane.press("Enter")
    pane.wait("number 0040")
    pane.type("write")
    pane.press("Enter")
    pane.wait("Allow this time only")
    time.sleep(0.7)
    pane.press("C-e")
    pane.wait("q back")
    assert pane.alternate()
    for width, height in ((150, 30), (40, 10), (100, 30)):
        pane._tmux("resize-window", "-x", str(width), "-y", str(height))
        settles(lambda height=height: pane.text(history=False).rstrip("\n").count("\n") == height - 1, pane)
        assert ("s one column" in pane.text(history=False)) == (width == 150)
    pane.press("q")
    pane.wait("Allow this time only")
    assert not pane.alternate()
    text = pane.text()
    assert numbers(text) == [f"{number:04d}" for number in range(1, 41)], text
    for once in ("> write", "Allow this time only", "scripted · ask"):
        assert text.count(once) == 1, text
    assert "q back" not in text
    pane._tmux("resize-window", "-x", "44", "-y", "30")  # the inline front end hears of sizes again
    settles(lambda: "─ Write src/app.py?" in pane.text() and "┌ Write" not in pane.text(history=False), pane)
    pane.press("o")
    pane.wait("Written.")


def test_resizing_with_a_question_open_keeps_it_whole(demo: Callable[..., Pane]) -> None:
    pane = demo((100, 30))
    pane.type("write")
    pane.press("Enter")
    pane.wait("Allow this time only")
    for width in (60, 44, 100):
        pane._tmux("resize-window", "-x", str(width), "-y", "30")
        settles(lambda: pane.text().count("Allow this time only") == 1, pane)
    pane._tmux("resize-window", "-x", "40", "-y", "10")
    settles(lambda: pane.text(history=False).count("Allow this time only") == 1, pane)
    pane.press("o")
    pane.wait("Written.")
