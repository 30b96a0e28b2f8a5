"""A status line of the person's own: what it is told, what counts of what it prints, and when it runs."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.scripted_session import ScriptedSession
from xun_cli.frontend.status_command import StatusCommand, Surroundings, status_command, styled
from xun_cli.render.status import Status, status_line
from xun_cli.render.text import plain
from xun_cli.settings import Settings
from xun_cli.trust import never


class FrontEnd:
    """Keeps what a status command asks of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.warnings, self.drawn = folder, list[str](), 0
        self.tasks: set[asyncio.Task[Any]] = set()

    def around(self) -> Surroundings:
        return Surroundings(self.folder, self.spawn, self._draw, self.warnings.append)

    def spawn(self, work: Any) -> None:
        self.tasks.add(asyncio.ensure_future(work))

    def _draw(self) -> None:
        self.drawn += 1

    async def settled(self) -> None:
        await asyncio.gather(*self.tasks)
        self.tasks.clear()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain\nsecond", [("", "plain")]),
        ("\x1b[1;32mgood\x1b[0m rest", [("bold ansigreen", "good"), ("", " rest")]),
        ("\x1b[91mbad\x1b[39m x\x1b[3;4my\x1b[23mz", [("ansibrightred", "bad"), ("", " x"), ("italic underline", "y"),
                                                     ("underline", "z")]),
        ("\x1b[38;5;200mpink\x1b[48;2;1;2;3m", [("", "pink")]),
        ("\x1b[0;38;5;4mblue\x1b[48;2;4;7;31;1mbold", [("", "blue"), ("bold", "bold")]),
        ("\x1b[1;38m\x1b[38;5mx", [("bold", "x")]),
        ("a\x1b]0;title\x07b\x1b[2J", [("", "a<U+001B>]0;title<U+0007>b<U+001B>[2J")]),
        ("\x1b[mx\r\n", [("", "x")]),
        ("", []),
    ],
)  # fmt: skip
def test_only_colours_and_styles_count(text: str, line: list[tuple[str, str]]) -> None:
    assert styled(text) == line


async def test_it_is_told_the_facts_and_runs_when_they_change(tmp_path: Path) -> None:
    front, session = FrontEnd(tmp_path), ScriptedSession(tmp_path)
    command = StatusCommand("tee -a told.jsonl | wc -c; :", front.around())
    status = Status(model="m", mode="ask", branch="main", tokens=10)
    assert command.over(status, session).own == ()
    command.over(Status(model="m", tokens=99), session)  # while it runs, or waits to
    await front.settled()
    shown = command.over(Status(model="m", tokens=99), session)
    await front.settled()
    told = [json.loads(row) for row in (tmp_path / "told.jsonl").read_text().splitlines()]
    assert [item["tokens"] for item in told] == [99]
    assert told[0]["session"] == {"id": "s1", "name": "", "turn": 0} and told[0]["folder"] == str(tmp_path)
    assert plain(shown.own).strip().isdigit() and front.drawn == 1 and front.warnings == []


async def test_a_failure_is_told_once_and_the_usual_line_is_there(tmp_path: Path) -> None:
    front, session = FrontEnd(tmp_path), ScriptedSession(tmp_path)
    command = StatusCommand("echo oh no; exit 3", front.around())
    for tokens in (1, 2):
        shown = command.over(Status(model="m", tokens=tokens), session)
        await front.settled()
        assert shown.own == ()
    assert front.warnings == [
        "ui.status_command ended with exit code 3: oh no. The usual status line is shown until it works."
    ]


async def test_a_run_ends_with_xun(tmp_path: Path) -> None:
    front, session = FrontEnd(tmp_path), ScriptedSession(tmp_path)
    command = StatusCommand("echo $$ > pid; exec sleep 78.125", front.around())
    command.over(Status(model="m"), session)
    pid = tmp_path / "pid"
    async with asyncio.timeout(20):
        while not (pid.exists() and pid.read_text().strip()):
            await asyncio.sleep(0.01)
    [task] = front.tasks
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_what_is_about_safety_stays() -> None:
    own = (("ansigreen", "my line " * 20),)
    line = status_line(Status(model="m", mode="plan", sandbox=("no sandbox", "bad"), own=own), 40)
    assert plain(line).startswith("plan · no sandbox · my line") and len(plain(line)) == 40
    assert plain(status_line(Status(model="m", sandbox=("bwrap", "dim"), own=own), 30)).startswith("ask · my line")
    assert plain(status_line(Status(model="m", own=own, hint="Ctrl-C again ends"), 40)) == "Ctrl-C again ends"


def test_no_project_names_it_and_safe_runs_none(tmp_path: Path) -> None:
    assert never("ui.status_command")
    settings, front, session = Settings(), FrontEnd(tmp_path), ScriptedSession(tmp_path)
    settings.ui.status_command, settings.safe = "touch ran", True
    conversation: Any = front
    conversation.warn = front.warnings.append
    command = status_command(settings, tmp_path, conversation, lambda: None)
    assert command.over(Status(model="m"), session) == Status(model="m") and front.tasks == set()
