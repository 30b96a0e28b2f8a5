"""The rows of stored sessions: what was shown as done is kept, whatever happens to process, disk and bytes."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.strict_api import refused
from xun import Agent, AgentConfig, ToolBox, Workspace, events
from xun.agent.outcome import clip
from xun.models import ScriptedModel
from xun_builtin_tools.cmd.capture import Capture
from xun_builtin_tools.cmd.kept import KeptFile
from xun_builtin_tools.edit.state import EditState
from xun_cli.places import Places
from xun_cli.session import lines
from xun_cli.session.envelope import Envelope
from xun_cli.session.export import export
from xun_cli.session.forking import fork_session
from xun_cli.session.listing import list_sessions
from xun_cli.session.session import Session
from xun_cli.session.store import SessionBusy, SessionError, SessionStore, read_session
from xun_policies.store import PolicyState

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places.from_environment({"XUN_HOME": str(tmp_path / "xun")})


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def conversation(turns: int, size: int) -> list[events.Event]:
    """Return the events of some turns with a tool call each, *size* bytes apiece."""
    made: list[events.Event] = [events.SessionStarted(cwd="/w", model="m")]
    for number in range(1, turns + 1):
        ident = f"c{number}"
        call = {"id": ident, "name": "look", "arguments": '{"path": "größe.txt"}'}
        made += [
            events.TurnStarted(input=f"turn {number} " + "é" * (size // 2)),
            events.MessageCompleted(text="", calls=(call,)),
            events.ToolCompleted(call_id=ident, tool="look", result="x" * size),
            events.MessageCompleted(text=f"answer {number}"),
            events.TurnCompleted(stop="done"),
        ]
    return made


def stored(places: Places, work: Path, made: list[events.Event]) -> Path:
    store = SessionStore.create(places, work)
    for number, event in enumerate(made, 1):
        store.append(Envelope(number, f"2026-01-01T00:00:{number % 60:02}Z", store.id, 1, event))
    store.close()
    return store.path


def session_of(work: Path, turns: list[Any], store: SessionStore | None = None, **config: Any) -> Session:
    agent = Agent(
        model=ScriptedModel(turns),
        toolbox=ToolBox().with_defaults("fs", "framework"),
        workspace=Workspace(work),
        config=AgentConfig(auto_confirm=True, **config),
    ).initialize()
    return Session(agent, store=store, model_name="scripted")


async def resumed(work: Path, path: Path, turns: list[Any]) -> Session:
    store = SessionStore.open(path)
    loaded = store.load()
    session = session_of(work, turns, store)
    session.start(resumed=loaded.envelopes, dropped=loaded.dropped)
    return session


async def ask(session: Session, text: str) -> None:
    await session.submit(text)
    await session.wait_idle()


# -- truncation ---------------------------------------------------------------------------------


def cut_everywhere(path: Path, offsets: Iterator[int] | range) -> None:
    data = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
    copy = path.with_name("copy.jsonl")
    for cut in offsets:
        copy.write_bytes(data[:cut])
        whole = sum(end <= cut for end in ends)
        store = SessionStore.open(copy)
        loaded = store.load()
        seqs = [item.seq for item in loaded.envelopes]
        # One more than the whole lines where only the newline was missing.
        assert seqs in (list(range(1, whole + 1)), list(range(1, whole + 2))), cut
        store.append(Envelope(999, "t", "s", 1, events.Notice(text="next")))
        store.close()
        assert copy.read_bytes().endswith(b"\n")
        assert [item.seq for item in read_session(copy).envelopes] == [*seqs, 999], cut
        for ending in (".jsonl.torn", ".info"):
            path.with_name(f"copy{ending}").unlink(missing_ok=True)


@pytest.mark.row("sec-session-001")
def test_a_log_cut_anywhere_loses_at_most_the_unfinished_record(places, work):
    """P5. Around each end of a record, and at every byte of the last one; all of them in the slow test."""
    path = stored(places, work, conversation(4, 700))
    data = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
    near = {end + more for end in ends for more in (-2, -1, 0, 1)} | set(range(ends[-2], len(data)))
    cut_everywhere(path, iter(sorted(cut for cut in near if 0 < cut <= len(data))))


@pytest.mark.slow
@pytest.mark.row("sec-session-001")
@pytest.mark.timeout(600)
def test_a_log_cut_at_every_byte(places, work):
    path = stored(places, work, conversation(8, 1200))
    assert path.stat().st_size >= 20_000
    cut_everywhere(path, range(1, 20_000))


# -- kill -9 ------------------------------------------------------------------------------------


def forked(body: Callable[[Callable[[str], None]], None]) -> tuple[int, Any]:
    """Run *body* in a child process, which says things to the returned file."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            body(lambda text: os.write(writing, f"{text}\n".encode()) and None)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    return child, os.fdopen(reading, "rb")


def thirty_turns(work: Path, places: Places) -> Callable[[Callable[[str], None]], None]:
    turns: list[Any] = []
    for number in range(30):
        call = {"name": "write_file", "arguments": {"path": f"f{number}.txt", "content": "x" * 2000}}
        turns += [{"tool_calls": [call]}, {"text": f"answer {number}"}]

    async def play(say: Callable[[str], None]) -> None:
        store = SessionStore.create(places, work)
        session = session_of(work, turns, store)
        session.start()
        for number in range(30):
            await ask(session, f"turn {number}")
            say(f"{store.path} {number + 1}")
        await session.close()

    return lambda say: asyncio.run(play(say))


def killed_somewhere(work: Path, places: Places, moments: int) -> None:
    chance = random.Random(7)
    for _ in range(moments):
        child, said = forked(thirty_turns(work, places))
        for _ in range(chance.randrange(1, 12)):
            last = said.readline()
        time.sleep(chance.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        last = (said.read().splitlines() or [last])[-1]
        said.close()
        path, shown = last.decode().rsplit(None, 1)
        loaded = read_session(Path(path))
        done = [item for item in loaded.envelopes if item.event.type == "turn.completed"]
        assert len(done) >= int(shown)
        store = SessionStore.open(Path(path))
        agent = session_of(work, [], store)
        agent.start(resumed=store.load().envelopes)
        assert refused([*agent.agent.normaliser(agent.agent.history)]) == []
        store.close()
        agent.agent.finalize()


@pytest.mark.row("sec-session-002")
def test_a_killed_process_keeps_every_turn_that_was_shown(work, places):
    """P5."""
    killed_somewhere(work, places, 5)


@pytest.mark.slow
@pytest.mark.row("sec-session-002")
@pytest.mark.timeout(1200)
def test_a_process_killed_at_two_hundred_moments(work, places):
    killed_somewhere(work, places, 200)


def rewriting(path: Path, workspace: Path) -> Callable[[Callable[[str], None]], None]:
    def body(say: Callable[[str], None]) -> None:
        session = session_of(workspace, [])
        journal = EditState.of(session.agent).journal
        journal.persist_to(workspace.parent / "undo")
        say("begin")
        for number in range(10_000):
            content = f"{number % 10}" * 50_000
            box = session.agent.toolbox
            box.call_tool(session.agent, "write_file", {"path": str(path), "content": content}, None)

    return body


def killed_while_writing(work: Path, moments: int) -> None:
    target = work / "target.txt"
    target.write_text("0" * 50_000)
    target.chmod(0o640)
    chance = random.Random(3)
    for _ in range(moments):
        child, said = forked(rewriting(target, work))
        said.readline()
        time.sleep(0.02 + chance.random() * 0.1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        said.close()
        content = target.read_text()
        assert len(content) == 50_000 and len(set(content)) == 1
        assert target.stat().st_mode & 0o777 == 0o640
        session = session_of(work, [])
        EditState.of(session.agent).journal.persist_to(work.parent / "undo")
        session.agent.finalize()
        content = target.read_text()
        assert len(content) == 50_000 and len(set(content)) == 1
        assert [path.name for path in work.iterdir()] == ["target.txt"]


@pytest.mark.row("sec-session-015")
def test_a_file_whose_writer_is_killed_is_old_or_new(work):
    """P10."""
    killed_while_writing(work, 6)


@pytest.mark.slow
@pytest.mark.row("sec-session-015")
@pytest.mark.timeout(600)
def test_a_writer_killed_at_a_hundred_moments(work):
    killed_while_writing(work, 100)


# -- damage -------------------------------------------------------------------------------------


@pytest.mark.row("sec-session-003", "sec-session-004")
@pytest.mark.parametrize(
    "hole", [b"\0" * 700, b"\0" * 700 + b"\n", b'{"v":1,"seq":3,\n', b"not json\n", b"[1]\n", b"\xff\n"]
)
@pytest.mark.parametrize("at", [1, 4, 9])
async def test_good_lines_after_a_hole_are_kept_and_it_is_told(places, work, hole, at):
    path = stored(places, work, conversation(2, 50))
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(rows[:at]) + hole + b"".join(rows[at:]))
    session = await resumed(work, path, [{"text": "go on"}])
    told = [item.event.text for item in session.history() if item.event.type == "notice"]
    assert len(told) == 1 and f"line {at + 1}" in told[0] and "damaged" in told[0]
    assert [item.seq for item in session.history()[:11]] == list(range(1, 12))
    await ask(session, "more")
    await session.close()
    torn = path.with_name(path.name + ".torn")
    assert b"\0" not in hole or b"\0" * 700 in torn.read_bytes()
    assert b"\0" in hole or hole in path.read_bytes()
    assert read_session(path).envelopes[-1].event.type == "session.ended"


@pytest.mark.row("sec-session-005")
@pytest.mark.parametrize("room", [0, 1, 120, 400])
async def test_a_full_disk_is_told_at_once_and_the_next_record_is_clean(places, work, room):
    import resource

    store = SessionStore.create(places, work)
    session = session_of(work, [{"text": "one"}, {"text": "two"}, {"text": "three"}], store)
    session.start()
    seen: list[str] = []
    session.subscribe(lambda item: seen.append(getattr(item.event, "text", "")))
    await ask(session, "first")
    before = store.path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    # A limit on the size of files stands in for the full disk: the write comes back short, or fails.
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + room, hard))
    try:
        await ask(session, "second")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)
    assert any("Can't write the session" in text and "free some space" in text for text in seen)
    partial = store.path.read_bytes()
    assert partial.startswith(before) and partial.endswith(b"\n")
    await ask(session, "third")
    assert [message.text for message in session.agent.history if message.role == "user"] == ["first", "second", "third"]
    await session.close()
    loaded = read_session(store.path)
    assert not loaded.dropped and not loaded.torn
    assert [item.event.input for item in loaded.envelopes if item.event.type == "turn.started"][-1] == "third"


def call_of(*ids: str, name: str = "read_file", arguments: str = "{}") -> events.MessageCompleted:
    return events.MessageCompleted(calls=tuple({"id": item, "name": name, "arguments": arguments} for item in ids))


def result_of(ident: str, text: str = "r") -> events.ToolCompleted:
    return events.ToolCompleted(call_id=ident, tool="read_file", result=text)


USER = events.TurnStarted(input="do it")
HISTORIES: dict[str, list[events.Event]] = {
    "two calls without a result": [USER, call_of("a", "b", "c"), result_of("a")],
    "a result without a call": [USER, result_of("x"), events.MessageCompleted(text="hm")],
    "a result twice": [USER, call_of("a"), result_of("a"), result_of("a", "again")],
    "a result before its call": [USER, result_of("a"), call_of("a")],
    "a result after the next message": [USER, call_of("a"), events.MessageCompleted(text="on"), result_of("a")],
    "one id in two messages": [USER, call_of("a"), result_of("a"), call_of("a"), result_of("a", "2")],
    "one id twice in a message": [USER, call_of("a", "a"), result_of("a"), result_of("a", "2")],
    "no id": [USER, call_of(""), result_of("")],
    "a steer before the result": [USER, call_of("a"), events.Steer(text="also"), result_of("a")],
    "a lone surrogate": [events.TurnStarted(input="x\ud83dy"), events.MessageCompleted(text="\udc00")],
    "a NUL in a name": [USER, call_of("a", name="lo\0ok"), result_of("a")],
    "control characters in arguments": [USER, call_of("a", arguments='{"p": "\x01\x1b[31m"}'), result_of("a")],
    "arguments that are none": [USER, call_of("a", arguments="{'p'"), result_of("a", "\ud83d")],
    "a long name": [USER, call_of("a", name="x" * 300), result_of("a")],
    "an empty answer": [USER, events.MessageCompleted(text=""), events.MessageCompleted(text=" \n")],
    "a summary of nothing": [events.Compaction(summary="s", kept=5), USER],
    "a summary that keeps too many": [USER, call_of("a"), result_of("a"), events.Compaction(summary="s", kept=99)],
    "a summary between a call and its result": [
        USER,
        call_of("a"),
        events.Compaction(summary="s", kept=1),
        result_of("a"),
    ],
    "a rewind to nowhere": [USER, call_of("a"), events.Rewound(turn=9, after_seq=2)],
}


@pytest.mark.row("sec-session-006", "sec-session-007", "sec-session-008")
@pytest.mark.parametrize("kind", HISTORIES)
async def test_a_resumed_history_is_one_that_the_strictest_server_takes(places, work, kind):
    path = stored(places, work, [events.SessionStarted(cwd=str(work)), *HISTORIES[kind]])
    session = await resumed(work, path, [{"text": "fine"}])
    await ask(session, "go on")
    [request] = session.agent.model.requests
    assert refused(request.messages) == [], request.messages
    assert session.agent.last_result.unwrap() == "fine"
    await session.close()
    if kind == "two calls without a result":
        answers = [message for message in request.messages if message.role == "tool"]
        assert [item.tool_call_id for item in answers] == ["a", "b", "c"]
        assert "ended before" in answers[1].text and answers[1].text == answers[2].text


JUNK: list[Any] = [None, True, -1, 1e300, "", "x", "\ud83d", [], {}, [1], ["a"], {"a": 1}, [None], "!!!", 10**20]
PICTURE = ({"media_type": "image/png", "data": "aGk="},)
EVERY_KIND: list[events.Event] = [
    events.SessionStarted(cwd="/w", model="m", name="n"),
    events.PolicyChanged(op="allow", list="commands", entry="ls", state=PolicyState().to_json()),
    events.TurnStarted(input="hi", attachments=PICTURE, shown="h"),
    events.MessageCompleted(text="a", calls=({"id": "c1", "name": "read_file", "arguments": "{}"},), reasoning="r"),
    events.ToolStarted(call_id="c1", tool="read_file", args={"path": "a"}),
    events.ToolCompleted(call_id="c1", tool="read_file", result={"x": [1]}, files=({"path": "a", "added": 1},)),
    events.UsageUpdated(input=1, output=1, context_pct=2.0),
    events.TodoUpdated(items=({"description": "d", "status": "pending"},)),
    events.SubagentStarted(name="s#1", task="t"),
    events.ApprovalResolved(call_id="c1", kind="command", choice="once", subject="ls", granted=("a",)),
    events.ContextAdded(text="c", attachments=PICTURE),
    events.Compaction(before=1, after=1, summary="s", kept=1),
    events.Steer(text="s"),
    events.MessageCompleted(text="end"),
    events.Rewound(turn=1, after_seq=30, files=("a",)),
    events.SessionEnded(usage={"input": 1}, denied=({"a": 1},)),
]


def places_in(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places_in(item, (*at, key))


async def odd_records(places: Places, work: Path, count: int, seed: int) -> None:
    """Change or take away one value of one record, and go on with the session."""
    chance = random.Random(seed)
    base = [Envelope(number, "t", "s", 1, event).to_json() for number, event in enumerate(EVERY_KIND, 1)]
    for _ in range(count):
        rows = json.loads(json.dumps(base))
        row = rows[chance.randrange(len(rows))]
        at = chance.choice([place for place in places_in(row) if place[0] != "v"])
        holder = row
        for key in at[:-1]:
            holder = holder[key]
        if chance.random() < 0.15:
            del holder[at[-1]]
        else:
            holder[at[-1]] = chance.choice(JUNK)
        path = stored(places, work, [events.TurnStarted(input="x")])
        path.write_text("".join(json.dumps(item) + "\n" for item in rows))
        session = await resumed(work, path, [{"text": "fine"}])
        await ask(session, "go on")
        assert session.last_result.unwrap() == "fine", (row, at)
        assert refused(session.agent.model.requests[0].messages) == [], (row, at)
        session.rewind_points()
        assert export(session.history(), "html")
        await session.close()


@pytest.mark.row("sec-session-004")
async def test_a_record_with_an_odd_value_ends_no_resume(places, work):
    await odd_records(places, work, 20, 1)


@pytest.mark.slow
@pytest.mark.row("sec-session-004")
@pytest.mark.timeout(1200)
async def test_records_with_odd_values_of_any_kind(places, work):
    await odd_records(places, work, 2_000, 2)


WIDE = ["👩‍👩‍👧‍👦" * 40, "a\r\n" * 60, "é" * 100, "\u1f9e\u0301" * 60, "x" * 7 + "🇩🇪" * 40]


@pytest.mark.row("sec-session-009")
def test_output_cut_at_any_place_is_valid(tmp_path):
    for text in WIDE:
        for limit in range(1, 40):
            json.dumps(clip(text, limit), ensure_ascii=False).encode()
            capture = Capture(limit, lambda: KeptFile(tmp_path / os.urandom(4).hex(), 100_000))
            data = text.encode()
            for start in range(0, len(data), 7):
                capture.feed(data[start : start + 7])
            capture.feed(b"", final=True)
            json.dumps(capture.text, ensure_ascii=False).encode()


# -- several processes --------------------------------------------------------------------------


@pytest.mark.row("sec-session-010")
def test_a_second_process_is_told_who_writes_and_may_go_on_in_a_copy(places, work):
    path = stored(places, work, conversation(2, 50))

    def hold(say: Callable[[str], None]) -> None:
        store = SessionStore.open(path)
        say("open")
        for number in range(100, 400):
            store.append(Envelope(number, "t", "s", 1, events.Notice(text="x" * 3000)))
            say("written")
            time.sleep(0.005)

    child, said = forked(hold)
    said.readline()
    with pytest.raises(SessionBusy, match=f"in use by process {child}.*--fork"):
        SessionStore.open(path)
    for _ in range(3):
        said.readline()
        copy = fork_session(path, places, work)
        store = SessionStore.open(copy.path)
        loaded = store.load()
        assert not loaded.dropped and [item.seq for item in loaded.envelopes[:11]] == list(range(1, 12))
        store.append(Envelope(999, "t", "s", 1, events.Notice(text="mine")))
        store.close()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    said.close()
    assert not any(item.seq == 999 for item in read_session(path).envelopes)
    SessionStore.open(path).close()


@pytest.mark.row("sec-session-011")
def test_twenty_starts_at_once_lose_no_session(places, work):
    def one(say: Callable[[str], None]) -> None:
        stored(places, work, conversation(1, 100))

    children = [forked(one) for _ in range(20)]
    for child, said in children:
        assert os.waitpid(child, 0)[1] == 0
        said.close()
    found = list_sessions(places, work)
    assert len(found) == 20 and {item.turns for item in found} == {1}
    assert all(not read_session(item.path).dropped for item in found)


# -- other versions and sizes -------------------------------------------------------------------


@pytest.mark.row("sec-session-012")
async def test_what_a_newer_version_wrote(places, work):
    path = stored(places, work, conversation(1, 50))
    strange = b'{"v":1,"seq":50,"ts":"t","session":"s","turn":1,"agent":"main","type":"later.invented","x":1}\n'
    more = (
        b'{"v":1,"seq":51,"ts":"t","session":"s","turn":1,"agent":"main","type":"notice","text":"n","later":{"a":1}}\n'
    )
    path.write_bytes(path.read_bytes() + strange + more + b"\0" * 60 + b"\n")
    session = await resumed(work, path, [{"text": "fine"}])
    await ask(session, "go on")
    await session.close()
    # The hole made a rewrite necessary: what this version does not know came through it.
    data = path.read_bytes()
    assert strange in data and more in data and b"\0" not in data
    newer = path.with_name("newer.jsonl")
    newer.write_bytes(data + strange.replace(b'"v":1', b'"v":9'))
    before = newer.read_bytes()
    with pytest.raises(SessionError, match="newer xun"):
        read_session(newer)
    newer.write_bytes(before.replace(b'"v":1', b'"v":9', 1))
    before = newer.read_bytes()
    with pytest.raises(SessionError, match="update xun"):
        SessionStore.open(newer)
    assert newer.read_bytes() == before


def large(places: Places, work: Path, records: int, size: int) -> Path:
    path = stored(places, work, conversation(1, 50))
    row = lines.to_bytes(Envelope(7, "2026-01-02T00:00:00Z", "s", 1, events.ToolCompleted(tool="t", result="x" * size)))
    with path.open("ab") as file:
        for _ in range(records // 100):
            file.write(row * 100)
    path.with_suffix(".info").unlink()
    return path


@pytest.mark.row("sec-session-013")
def test_a_large_session_is_listed_and_resumed_quickly(places, work):
    path = large(places, work, 5_000, 4_000)
    begun = time.process_time()
    assert list_sessions(places, work)[0].turns == 1
    listed = time.process_time() - begun
    store = SessionStore.open(path)
    assert len(store.load().envelopes) > 5_000
    store.close()
    assert listed < 0.3 and time.process_time() - begun < 5


@pytest.mark.slow
@pytest.mark.row("sec-session-013")
def test_a_session_of_two_hundred_megabytes(places, work):
    path = large(places, work, 50_000, 4_000)
    assert path.stat().st_size > 200_000_000
    begun = time.process_time()
    assert list_sessions(places, work)
    assert time.process_time() - begun < 0.3
    store = SessionStore.open(path)
    assert len(store.load().envelopes) > 50_000
    store.close()
    assert time.process_time() - begun < 5


@pytest.mark.row("sec-session-014")
@pytest.mark.parametrize("content", [b"", b"garbage", b"\0" * 50, b"[]", b'{"size": "x"}', b'{"size":1,"turns":"9"}'])
def test_a_damaged_summary_is_made_again_from_the_log(places, work, content):
    path = stored(places, work, conversation(3, 50))
    info = path.with_suffix(".info")
    good = list_sessions(places, work)
    info.write_bytes(content)
    assert list_sessions(places, work) == good
    info.unlink()
    info.symlink_to("/dev/null")
    assert list_sessions(places, work) == good


@pytest.mark.row("sec-session-016")
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace shows what is on the disk when")
def test_what_is_shown_as_saved_was_synced_before(places, work, tmp_path):
    """The power-cut model: of a turn whose end was shown nothing is left to be written to the disk."""
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        f"sys.path[:0] = {[str(ROOT), str(ROOT / 'builtin_tools'), str(ROOT / 'policies')]!r}\n"
        "from pathlib import Path\n"
        "from xun import events\n"
        "from xun_cli.places import Places\n"
        "from xun_cli.session.store import SessionStore\n"
        "from xun_cli.session.envelope import Envelope\n"
        f"places, work = Places.from_environment({{'XUN_HOME': {str(tmp_path / 'xun')!r}}}), Path({str(work)!r})\n"
        "from xun import Agent, ToolBox, Workspace\n"
        "from xun.models import ScriptedModel\n"
        "from xun_cli.session.session import Session\n"
        "import asyncio, os\n"
        "async def play():\n"
        "    model = ScriptedModel([{'text': 'a'}, {'text': 'b'}])\n"
        "    agent = Agent(model=model, workspace=Workspace(work)).initialize()\n"
        "    session = Session(agent, store=SessionStore.create(places, work))\n"
        "    session.start()\n"
        "    session.subscribe(lambda e: e.event.type == 'turn.completed' and os.write(1, b'SHOWN\\n'))\n"
        "    for text in 'xy':\n"
        "        await session.submit(text)\n"
        "        await session.wait_idle()\n"
        "asyncio.run(play())\n"
    )
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-y", "-s", "400", "-e", "trace=write,fdatasync,fsync", "-o", str(trace)]
    done = subprocess.run([*command, sys.executable, "-I", str(program)], capture_output=True, text=True, timeout=60)
    if "ptrace" in done.stderr:
        pytest.skip(f"strace may not look: {done.stderr.strip()}")
    assert done.stdout == "SHOWN\n" * 2, done.stderr
    unsynced: list[str] = []
    shown = 0
    for row in trace.read_text(errors="replace").splitlines():
        if ".jsonl>" in row and " write(" in row:
            unsynced.append(row)
        elif ".jsonl>" in row and "sync(" in row:
            unsynced.clear()
        elif "SHOWN" in row:
            assert unsynced == []
            shown += 1
    assert shown == 2
