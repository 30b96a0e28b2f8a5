"""What a person is told of a session whose process was killed, and which session was the last one."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from xun import Agent, ToolBox, Workspace
from xun.events import Notice
from xun.models import ScriptedModel
from xun_cli.places import Places
from xun_cli.session.envelope import Envelope
from xun_cli.session.listing import latest, list_sessions
from xun_cli.session.session import Session
from xun_cli.session.store import SessionError, SessionStore, read_session

CALL = {"tool_calls": [{"name": "hold", "arguments": {"command": "make " + "x" * 200}}]}


def session_of(work: Path, turns: list[Any], tool: Callable[..., Any], store: SessionStore | None = None) -> Session:
    agent = Agent(model=ScriptedModel(turns), toolbox=ToolBox(tool), workspace=Workspace(work)).initialize()
    return Session(agent, store=store, model_name="scripted")


def hold(command: str) -> str:
    """Hold."""
    return command


async def recorded(work: Path, places: Places, turns: list[Any]) -> list[Envelope]:
    store = SessionStore.create(places, work)
    session = session_of(work, turns, hold, store)
    session.start()
    await session.submit("go")
    await session.wait_idle()
    await session.close()
    return read_session(store.path).envelopes


def told(work: Path, envelopes: list[Envelope]) -> list[str]:
    session = session_of(work, [], hold)
    session.start(resumed=envelopes)
    session.agent.finalize()
    return [item.event.text for item in session.history()[len(envelopes) :] if isinstance(item.event, Notice)]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places.from_environment({"XUN_HOME": str(tmp_path / "home")})


async def test_a_turn_that_was_cut_is_told_wherever_it_was_cut(tmp_path: Path, places: Places) -> None:
    records = await recorded(tmp_path, places, [CALL, {"text": "fine"}])
    kinds = [item.event.type for item in records]
    for length in range(kinds.index("turn.started") + 1, kinds.index("turn.completed") + 1):
        [text] = told(tmp_path, records[:length])
        under_way = "tool.started" in kinds[:length] and "tool.completed" not in kinds[:length]
        assert "has no end" in text and ("hold (make xxx" in text) == under_way and len(text) < 300
    assert told(tmp_path, records) == []
    assert told(tmp_path, records[: kinds.index("turn.started")]) == []


def test_sessions_of_a_clock_that_was_set_back_are_not_the_last_ones(tmp_path: Path, places: Places) -> None:
    for _ in range(3):
        asyncio.run(recorded(tmp_path, places, [{"text": "fine"}]))
    names = [info.path for info in list_sessions(places, tmp_path)]
    now = time.time()
    for path, moment in zip(names, (now + 90_000, now - 50, now - 10), strict=True):
        os.utime(path, (moment, moment))
    assert [info.path for info in list_sessions(places, tmp_path)] == [names[2], names[1], names[0]]
    last = latest(places, tmp_path)
    assert last is not None and last.path == names[2]


def test_a_session_that_cannot_be_locked_says_the_way_out(tmp_path: Path, places: Places) -> None:
    [path] = [
        item.path
        for _ in (1,)
        if asyncio.run(recorded(tmp_path, places, [{"text": "x"}]))
        for item in list_sessions(places, tmp_path)
    ]
    path.with_suffix(".lock").mkdir()
    with pytest.raises(SessionError, match=r"begin a new one.*XUN_HOME"):
        SessionStore.open(path)
