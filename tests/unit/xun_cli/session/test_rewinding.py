"""Going back, summing up and copying: what counts afterwards, live and on resume, and that nothing is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.agent.compaction import MARK
from xun.errors import EditError, ModelError
from xun.messages import Message
from xun.models import ScriptedModel
from xun_builtin_tools.edit.state import EditState
from xun_cli.places import Places
from xun_cli.session.forking import fork_session
from xun_cli.session.listing import list_sessions
from xun_cli.session.rewinding import live
from xun_cli.session.searching import search_sessions
from xun_cli.session.session import Session
from xun_cli.session.store import SessionError, SessionStore, read_session


def write(path: str, content: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "write_file", "arguments": {"path": path, "content": content}}]}


def todo(text: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "write_todos", "arguments": {"todos": [{"description": text}]}}]}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places.from_environment({"XUN_HOME": str(tmp_path / "xun")})


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def make(work: Path, store: SessionStore | None, turns: list[Any], resumed: bool = False, **config: Any) -> Session:
    agent = Agent(
        model=ScriptedModel(turns),
        toolbox=ToolBox().with_defaults("fs", "patch", "framework"),
        workspace=Workspace(work),
        config=AgentConfig(auto_confirm=True, **config),
    )
    agent.initialize()
    session = Session(agent, store=store, model_name="scripted")
    loaded = store.load() if store is not None and resumed else None
    if store is not None:
        EditState.of(agent).journal.persist_to(store.path.with_suffix(".undo"))
    session.start(resumed=loaded.envelopes if loaded else ())
    return session


async def ask(session: Session, text: str) -> None:
    await session.submit(text)
    await session.wait_idle()


THREE = [
    write("a.txt", "one\n"),
    {"text": "made a"},
    write("a.txt", "two\n"),
    todo("later"),
    {"text": "changed a"},
    write("b.txt", "b\n"),
    {"text": "made b"},
]


async def three_turns(work: Path, store: SessionStore | None, *more: Any) -> Session:
    session = make(work, store, [*THREE, *more])
    for text in ("make a", "change a", "make b"):
        await ask(session, text)
    return session


async def test_going_back_with_files_and_on_from_there(places, work):
    store = SessionStore.create(places, work)
    session = await three_turns(work, store, {"text": "another way"})
    points = session.rewind_points()
    assert [(point.turn, point.text) for point in points] == [(1, "make a"), (2, "change a"), (3, "make b")]
    assert [Path(path).name for path in points[1].files] == ["b.txt", "a.txt"]
    shown = session.rewind_preview(2)
    assert {(Path(item.path).name, item.action) for item in shown} == {("a.txt", "update"), ("b.txt", "delete")}
    assert (work / "a.txt").read_text() == "two\n"

    paths = await session.rewind_to(2, files=True)
    assert sorted(Path(path).name for path in paths) == ["a.txt", "b.txt"]
    assert (work / "a.txt").read_text() == "one\n" and not (work / "b.txt").exists()
    assert [message.text for message in session.agent.history if message.role == "user"] == ["make a"]
    assert session.todos == () and [point.turn for point in session.rewind_points()] == [1]

    await ask(session, "do it differently")
    assert session.turn == 4
    sent = session.agent.model.requests[-1].messages
    assert "change a" not in [message.text for message in sent]
    history = list(session.agent.history)
    await session.close()

    # All of it is still stored, and what counts is the same after a resume.
    texts = [item.event.input for item in read_session(store.path).envelopes if item.event.type == "turn.started"]
    assert texts == ["make a", "change a", "make b", "do it differently"]
    again = make(work, SessionStore.open(store.path), [], resumed=True)
    assert again.agent.history == history and again.turn == 4 and again.todos == ()
    assert again.usage.requests == session.usage.requests
    await again.close()


def asked(session: Session) -> list[str]:
    return [message.text for message in session.agent.history if message.role == "user"]


async def test_going_back_is_taken_back_with_its_files(places, work):
    store = SessionStore.create(places, work)
    session = await three_turns(work, store)
    before, todos = list(session.agent.history), session.todos
    assert session.last_rewind() is None
    with pytest.raises(SessionError, match="no rewind"):
        await session.take_rewind_back()
    await session.rewind_to(3, files=True)
    await session.rewind_to(2, files=True)
    assert session.last_rewind().turns == (2,) and session.last_rewind().again
    assert [Path(path).name for path in await session.take_rewind_back(files=True)] == ["a.txt"]
    assert asked(session) == ["make a", "change a"] and not (work / "b.txt").exists()
    await session.take_rewind_back(files=True)
    assert session.agent.history == before and session.todos == todos and session.last_rewind() is None
    assert (work / "a.txt").read_text() == "two\n" and (work / "b.txt").exists()
    await session.close()
    again = make(work, SessionStore.open(store.path), [], resumed=True)
    assert again.agent.history == before and again.last_rewind() is None
    await again.close()


async def test_what_was_asked_after_going_back_is_not_lost_when_that_is_taken_back(places, work):
    store = SessionStore.create(places, work)
    session = await three_turns(work, store, write("c.txt", "c\n"), {"text": "another way"})
    await session.rewind_to(2, files=True)
    await ask(session, "do it differently")
    found = session.last_rewind()
    assert (found.turns, found.since, found.again) == ((2, 3), (4,), False)
    with pytest.raises(SessionError, match="written to since"):
        await session.take_rewind_back(files=True)
    assert asked(session) == ["make a", "do it differently"]
    await session.take_rewind_back()
    assert asked(session) == ["make a", "change a", "make b"]
    await session.close()
    again = make(work, SessionStore.open(store.path), [], resumed=True)
    assert again.last_rewind().turns == (4,)
    await again.take_rewind_back()
    assert asked(again) == ["make a", "do it differently"]
    await again.close()


async def test_going_back_in_the_conversation_only(work):
    session = await three_turns(work, None)
    assert await session.rewind_to(3) == []
    assert (work / "b.txt").exists() and session.todos[0]["description"] == "later"
    assert session.agent.history[-1].text == "changed a"
    await session.close()


async def test_a_file_that_was_changed_since_stops_all_of_it(work):
    session = await three_turns(work, None)
    (work / "a.txt").write_text("mine\n")
    before = list(session.agent.history)
    with pytest.raises(EditError, match=r"a\.txt"):
        session.rewind_preview(2)
    with pytest.raises(EditError, match=r"a\.txt"):
        await session.rewind_to(2, files=True)
    assert (work / "a.txt").read_text() == "mine\n" and (work / "b.txt").exists()
    assert session.agent.history == before and len(session.rewind_points()) == 3
    await session.close()


async def test_there_is_no_such_turn_or_one_runs(work):
    session = await three_turns(work, None, {"text": "slow", "delay": 0.3})
    with pytest.raises(SessionError, match=r"no turn 9 .* the turns are: 1, 2, 3"):
        await session.rewind_to(9)
    await session.rewind_to(3)
    with pytest.raises(SessionError):
        await session.rewind_to(3)
    await session.submit("more")
    with pytest.raises(RuntimeError, match="after this turn"):
        await session.rewind_to(1)
    await session.close()


async def test_going_back_before_a_summary_brings_the_messages_back(work):
    long = "words " * 500
    turns = [{"text": f"one {long}"}, {"text": f"two {long}"}, {"text": "three"}, {"text": "the notes"}, {"text": "4"}]
    session = make(work, None, turns)
    for text in ("first", "second", "third"):
        await ask(session, text)
    event = await session.compact("everything")
    assert event is not None and session.agent.history[0].text.startswith(MARK)
    await ask(session, "fourth")
    assert session.agent.history[0].text.startswith(MARK)
    # The summary stands after the second turn in the file: going back before it, it does not count.
    await session.rewind_to(2)
    assert [message.text[:5] for message in session.agent.history] == ["first", "one w"]
    assert [item.event.type for item in live(session.history())].count("compaction") == 0
    await session.close()


async def test_a_summary_is_the_same_after_a_resume_and_undo_still_works(places, work):
    store = SessionStore.create(places, work)
    long = "words " * 500
    session = make(work, store, [*THREE, {"text": long}, {"text": "the notes"}])
    for text in ("make a", "change a", "make b", f"tell {long}"):
        await ask(session, text)
    # What the person ran is in no turn's calls; it must not shift what is kept.
    await session.run_shell("echo hi")
    event = await session.compact()
    assert event is not None
    history = list(session.agent.history)
    assert "The todo list as it stands:\n- [pending] later" in history[0].text
    assert session.context_pct is None
    paths = EditState.of(session.agent).journal.undo_last_turns(1)
    assert [Path(path).name for path in paths] == ["b.txt"]
    await session.close()
    again = make(work, SessionStore.open(store.path), [], resumed=True)
    assert again.agent.history == history
    await again.close()


async def test_messages_wait_while_it_is_summed_up_and_it_can_be_interrupted(work):
    long = "words " * 500
    notes = [{"text": "notes", "delay": 0.2}, {"text": "after"}, {"text": "x", "delay": 9}]
    turns = [{"text": long}, {"text": "two"}, *notes]
    session = make(work, None, turns)
    await ask(session, "first")
    await ask(session, "second")
    summing = asyncio.create_task(session.compact())
    await asyncio.sleep(0.05)
    assert session.running
    with pytest.raises(RuntimeError):
        await session.compact()
    await session.submit("third")
    assert session.queue == ["third"]
    assert await summing is not None
    await session.wait_idle()
    assert session.agent.history[-1].text == "after" and session.queue == []
    before = [Message("user", long), Message("assistant", "yes")]
    session.agent.history = [*before, *before]
    summing = asyncio.create_task(session.compact())
    await asyncio.sleep(0.05)
    assert session.interrupt()
    with pytest.raises(asyncio.CancelledError):
        await summing
    assert session.agent.history == [*before, *before] and not session.running
    await session.close()


async def test_a_summary_that_fails_leaves_the_conversation(work):
    long = "words " * 500
    session = make(work, None, [{"text": long}, {"text": "two"}, {"text": ""}], retry_attempts=1)
    await ask(session, "first")
    await ask(session, "second")
    with pytest.raises(ModelError):
        await session.compact()
    assert len(session.agent.history) == 4 and not session.running
    await session.close()


async def test_a_copy_has_the_records_the_undo_journal_and_a_name_of_its_own(places, work):
    store = SessionStore.create(places, work)
    session = await three_turns(work, store)
    journal = EditState.of(session.agent).journal
    # A call of the running process is under way: a copy must not take it back.
    index = store.path.with_suffix(".undo") / "index.jsonl"
    begun = index.read_text().splitlines()[1].replace('"number": 1', '"number": 99')
    with index.open("a") as file:
        file.write(begun + "\n")
    info = fork_session(store.path, places, work, "other way")
    assert (info.name, info.turns) == ("other way", 3) and info.id != session.id
    with pytest.raises(SessionError, match="called 'other way' already"):
        fork_session(store.path, places, work, "other way")
    copy = make(work, SessionStore.open(info.path), [], resumed=True)
    assert copy.agent.history == session.agent.history and copy.name == "other way"
    assert (work / "a.txt").read_text() == "two\n"
    mine = EditState.of(copy.agent).journal
    assert len(mine.entries) == len(journal.entries) == 3
    mine.undo_last_turns(1)
    assert not (work / "b.txt").exists()
    # The old session is as it was.
    assert len(journal.entries) == 3 and len(read_session(store.path).envelopes) == len(session.history())
    await copy.close()
    twice = fork_session(info.path, places, work)
    assert twice.name == "other way (copy)"
    assert fork_session(info.path, places, work).name == "other way (copy 2)"
    await session.close()


async def test_search_finds_what_was_said_called_and_named(places, work):
    store = SessionStore.create(places, work)
    session = await three_turns(work, store)
    await ask(session, 'what of "Größe"\nand more?')
    await session.close()
    sessions = list_sessions(places, work)
    assert [(hit.who, hit.turn) for hit in search_sessions(sessions, "MAKE A")] == [("user", 1)]
    assert search_sessions(sessions, "b.txt")[0].who == "tool"
    assert 'of "Größe" and more' in search_sessions(sessions, '"GRÖSSE" and')[0].text
    assert search_sessions(sessions, "nowhere") == [] and search_sessions(sessions, "  ") == []
    assert [hit.who for hit in search_sessions(sessions, "made")] == ["assistant", "assistant"]
