"""The session file against crashes, full disks, second writers and foreign bytes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from xun import events
from xun_cli.places import Places
from xun_cli.session import store as store_module
from xun_cli.session.envelope import Envelope
from xun_cli.session.forking import fork_session
from xun_cli.session.store import (
    SessionBusy,
    SessionError,
    SessionStore,
    delete_session,
    find,
    latest,
    list_sessions,
    prune,
    read_session,
)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places.from_environment({"XUN_HOME": str(tmp_path / "home")})


def envelope(seq: int, event: events.Event, turn: int | None = 1, session: str = "s") -> Envelope:
    return Envelope(seq, f"2026-01-02T03:04:{seq % 60:02d}Z", session, turn, event)


def conversation(count: int) -> list[Envelope]:
    found = [envelope(1, events.SessionStarted(cwd="/proj", model="m"), None)]
    for number in range(2, count + 1):
        turn = number // 4 + 1
        kinds: list[events.Event] = [
            events.TurnStarted(input=f"question {number} — ünïcode"),
            events.MessageCompleted(text="x" * 40, calls=({"id": f"c{number}", "name": "bash", "arguments": "{}"},)),
            events.ToolCompleted(call_id=f"c{number}", tool="bash", content="line\n" * 5, result={"a": [1, 2]}),
            events.TurnCompleted(text="done"),
        ]
        found.append(envelope(number, kinds[(number - 2) % 4], turn))
    return found


def saved(places: Places, cwd: Path | str, items: list[Envelope]) -> Path:
    store = SessionStore.create(places, cwd)
    for item in items:
        store.append(item)
    store.close()
    return store.path


def test_round_trip_and_modes(places: Places, tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        items = conversation(12)
        path = saved(places, tmp_path, items)
    finally:
        os.umask(old)
    store = SessionStore.open(path)
    assert store.load() == store_module.LoadedSession(items)
    store.close()
    for folder, _, files in os.walk(tmp_path / "home"):
        assert os.stat(folder).st_mode & 0o777 == 0o700, folder
        for name in files:
            assert os.stat(os.path.join(folder, name)).st_mode & 0o777 == 0o600, name


@pytest.mark.row("sec-secrets-004")
def test_wider_session_folder_is_tightened(places: Places, tmp_path: Path) -> None:
    folder = places.sessions_dir(tmp_path)
    folder.mkdir(parents=True, mode=0o755)
    places.data.chmod(0o755)
    saved(places, tmp_path, conversation(3))
    assert [folder.stat().st_mode & 0o777, places.data.stat().st_mode & 0o777] == [0o700, 0o700]


def test_start_and_end_alone_leave_no_file(places: Places, tmp_path: Path) -> None:
    store = SessionStore.create(places, tmp_path)
    store.append(envelope(1, events.SessionStarted(), None))
    store.append(envelope(2, events.SessionEnded(), None))
    assert not store.saved
    store.close()
    assert list_sessions(places, tmp_path) == []


def test_deltas_are_not_stored(places: Places, tmp_path: Path) -> None:
    path = saved(
        places, tmp_path, [envelope(1, events.TurnStarted(input="q")), envelope(2, events.MessageDelta(text="d"))]
    )
    assert [item.seq for item in read_session(path).envelopes] == [1]


def test_cut_at_every_byte(places: Places, tmp_path: Path) -> None:
    items = conversation(3)
    path = saved(places, tmp_path, items)
    data = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(data) if byte == 10]
    last = ends[-2]  # every byte of the last record, and a sample of those before
    for size in [*range(0, last, 7), *range(last - 1, len(data) + 1)]:
        path.write_bytes(data[:size])
        store = SessionStore.open(path)
        loaded = store.load()
        whole = sum(end <= size for end in ends)
        complete = whole + (size + 1 in ends)  # only the newline is missing
        assert loaded.envelopes == items[:complete], size
        assert loaded.torn is (size != 0 and size not in ends and size + 1 not in ends)
        store.append(envelope(99, events.TurnStarted(input="next")))
        store.close()
        assert [item.seq for item in read_session(path).envelopes] == [*range(1, complete + 1), 99]
        assert read_session(path).dropped == []


def test_torn_tail_is_kept_beside(places: Places, tmp_path: Path) -> None:
    path = saved(places, tmp_path, conversation(5))
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 1000 + b'{"v":1,"seq":6,"ty')
    store = SessionStore.open(path)
    loaded = store.load()
    store.close()
    assert len(loaded.envelopes) == 5
    assert loaded.torn
    assert "unfinished record" in loaded.dropped[0]
    assert path.read_bytes() == whole
    assert path.with_name(path.name + ".torn").read_bytes() == b"\0" * 1000 + b'{"v":1,"seq":6,"ty\n'


def test_hole_in_the_middle(places: Places, tmp_path: Path) -> None:
    items = conversation(6)
    path = saved(places, tmp_path, items)
    records = path.read_bytes().splitlines(keepends=True)
    half = records[2][:20]
    path.write_bytes(b"".join(records[:2]) + half + b"\0" * 700 + b"".join(records[3:]))
    store = SessionStore.open(path)
    loaded = store.load()
    assert loaded.envelopes == items[:2] + items[3:]
    assert "line 3" in loaded.dropped[0]
    store.append(envelope(7, events.TurnStarted(input="after")))
    store.close()
    assert path.read_bytes().splitlines(keepends=True)[:5] == records[:2] + records[3:]
    assert read_session(path).dropped == []
    assert half + b"\0" * 700 in path.with_name(path.name + ".torn").read_bytes()


def test_bad_line_in_the_middle_is_passed_over_and_kept(places: Places, tmp_path: Path) -> None:
    items = conversation(6)
    path = saved(places, tmp_path, items)
    records = path.read_bytes().splitlines(keepends=True)
    for bad in (b"{oops\n", b"[1]\n", b"\xff\xfe\n", b'{"type":"turn.started"}\n', b"[" * 50_000 + b"\n"):
        path.write_bytes(b"".join(records[:3]) + bad + b"".join(records[3:]))
        store = SessionStore.open(path)
        loaded = store.load()
        store.close()
        assert loaded.envelopes == items
        assert loaded.dropped == [f"line 4: not a whole record ({len(bad)} bytes)"]
        assert bad in path.read_bytes()


def test_field_of_a_wrong_type_is_not_loaded(places: Places, tmp_path: Path) -> None:
    path = saved(places, tmp_path, conversation(3))
    bad = {"v": 1, "seq": 9, "ts": "", "session": "s", "turn": 1, "agent": "main", "type": "turn.started", "input": 5}
    path.write_bytes(path.read_bytes() + json.dumps(bad).encode() + b"\n")
    loaded = read_session(path)
    assert len(loaded.envelopes) == 3
    assert "line 4" in loaded.dropped[0]


def test_unknown_types_and_fields_are_ignored_and_stay(places: Places, tmp_path: Path) -> None:
    items = conversation(3)
    path = saved(places, tmp_path, items)
    extra = b'{"v":1,"seq":4,"ts":"","session":"s","turn":1,"agent":"main","type":"new.kind","x":1}\n'
    path.write_bytes(path.read_bytes() + extra)
    store = SessionStore.open(path)
    assert store.load() == store_module.LoadedSession(items)
    store.close()
    assert extra in path.read_bytes()


def test_newer_format_is_refused_unchanged(places: Places, tmp_path: Path) -> None:
    path = saved(places, tmp_path, conversation(3))
    data = path.read_bytes().replace(b'{"v":1,', b'{"v":2,') + b'{"torn'
    path.write_bytes(data)
    with pytest.raises(SessionError, match="newer xun"):
        SessionStore.open(path)
    assert path.read_bytes() == data
    assert not path.with_suffix(".lock").exists()


def test_unreadable_session_is_not_empty(places: Places, tmp_path: Path) -> None:
    path = saved(places, tmp_path, conversation(3))
    path.write_bytes(b"garbage\n" * 10)
    loaded = read_session(path)
    assert loaded.envelopes == []
    assert loaded.dropped[-1] == f"no record of {path.name} could be read (80 bytes)"


def test_surrogates_and_nan_are_written_readable(places: Places, tmp_path: Path) -> None:
    event = events.ToolCompleted(content="a\ud83d", result={"x": float("nan")})
    path = saved(places, tmp_path, [envelope(1, event)])
    raw = path.read_bytes().decode("utf-8")
    assert "\ufffd" in raw
    assert json.loads(raw, parse_constant=lambda name: pytest.fail(name))["result"] == {"x": None}


def test_out_of_order_records_go_by_seq(places: Places, tmp_path: Path) -> None:
    items = conversation(4)
    path = saved(places, tmp_path, [items[1], items[0], items[3], items[2]])
    assert read_session(path).envelopes == items


def test_second_writer_is_told_the_process(places: Places, tmp_path: Path) -> None:
    path = saved(places, tmp_path, conversation(3))
    first = SessionStore.open(path)
    with pytest.raises(SessionBusy, match=f"in use by process {os.getpid()}"):
        SessionStore.open(path)
    copy = fork_session(path, places, tmp_path)
    assert copy.id != first.id
    assert len(read_session(copy.path).envelopes) == 3
    first.close()
    SessionStore.open(path).close()
    assert not path.with_suffix(".lock").exists()


def test_copy_without_what_undo_needs(places: Places, tmp_path: Path) -> None:
    path = saved(places, tmp_path, conversation(6))
    (path.with_suffix(".undo") / "blobs").mkdir(parents=True)  # its index is gone
    copy = fork_session(path, places, tmp_path)
    assert read_session(copy.path).envelopes == read_session(path).envelopes
    path.with_suffix(".undo").joinpath("index.jsonl").mkdir()
    with pytest.raises(SessionError, match="Can't copy"):
        fork_session(path, places, tmp_path)
    assert {item.name.split(".")[0] for item in path.parent.iterdir()} == {path.stem, copy.id}


def test_lock_of_a_dead_process_is_no_lock(places: Places, tmp_path: Path) -> None:
    path = saved(places, tmp_path, conversation(3))
    path.with_suffix(".lock").write_text("1 some-boot\n")
    SessionStore.open(path).close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no limit on file size here")
@contextmanager
def room_for(size: int) -> Iterator[None]:
    """A file size limit stands in for a full disk: the write comes back short or fails."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)


def test_full_disk_cuts_the_record_and_says_so(places: Places, tmp_path: Path) -> None:
    store = SessionStore.create(places, tmp_path)
    store.append(envelope(1, events.TurnStarted(input="kept")))
    before = store.path.read_bytes()
    with room_for(len(before) + 50), pytest.raises(SessionError, match="Can't write the session"):
        store.append(envelope(2, events.TurnStarted(input="y" * 1000)))
    assert store.path.read_bytes() == before
    store.append(envelope(3, events.TurnStarted(input="space again")))
    store.close()
    assert [item.seq for item in read_session(store.path).envelopes] == [1, 3]


def test_full_disk_leaves_a_damaged_session_as_it_is(places: Places, tmp_path: Path) -> None:
    items = conversation(6)
    path = saved(places, tmp_path, items)
    records = path.read_bytes().splitlines(keepends=True)
    damaged = b"".join([*records[:2], b"\0" * 50, *records[2:]])
    path.write_bytes(damaged)
    store = SessionStore.open(path)
    with room_for(len(damaged) - 60):
        loaded = store.load()
    store.close()
    assert loaded.envelopes == items and "can't be mended" in loaded.dropped[-1]
    assert path.read_bytes() == damaged and list(path.parent.glob(".*.tmp")) == []


WRITER = """
import sys
from pathlib import Path
from xun import events
from xun_cli.places import Places
from xun_cli.session.envelope import Envelope
from xun_cli.session.store import SessionStore
store = SessionStore.create(Places.from_environment(), Path.cwd())
seq = 0
while True:
    seq += 1
    store.append(Envelope(seq, "t", store.id, 1, events.TurnStarted(input="x" * (seq % 3000))))
    print(seq, flush=True)
"""


@pytest.mark.parametrize("delay", [0.0, 0.013, 0.05, 0.11])
def test_kill_loses_nothing_that_was_written(tmp_path: Path, delay: float) -> None:
    env = {**os.environ, "XUN_HOME": str(tmp_path / "home")}
    with subprocess.Popen(
        [sys.executable, "-c", WRITER], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(delay)
        child.kill()
        shown = [int(line) for line in child.stdout.read().split()] or [1]
    places = Places.from_environment(env)
    info = latest(places, tmp_path)
    assert info is not None
    store = SessionStore.open(info.path)
    seqs = [item.seq for item in store.load().envelopes]
    store.close()
    assert seqs == [*range(1, len(seqs) + 1)]
    assert len(seqs) >= shown[-1]


def test_parallel_starts_lose_no_session(tmp_path: Path) -> None:
    script = WRITER.replace("while True:", "while seq < 3:") + "\nstore.close()\n"
    env = {**os.environ, "XUN_HOME": str(tmp_path / "home")}
    children = [
        subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, env=env, stdout=subprocess.DEVNULL)
        for _ in range(8)
    ]
    assert [child.wait() for child in children] == [0] * 8
    sessions = list_sessions(Places.from_environment(env), tmp_path)
    assert len({item.id for item in sessions}) == 8


def test_list_and_find(places: Places, tmp_path: Path) -> None:
    one = saved(places, tmp_path, conversation(9))
    named = [envelope(1, events.SessionStarted(cwd="/p", model="m2", name="fix"), None), *conversation(3)[1:]]
    two = saved(places, tmp_path, named)
    os.utime(one, (1, 1))
    sessions = list_sessions(places, tmp_path)
    assert [item.path for item in sessions] == [two, one]
    assert (sessions[1].turns, sessions[1].first_input, sessions[1].cwd) == (3, "question 2 — ünïcode", "/proj")
    assert find(places, tmp_path, "fix").path == two
    assert find(places, tmp_path, one.stem).path == one
    assert find(places, tmp_path, one.stem[:-1]).path == one
    with pytest.raises(SessionError, match="No session"):
        find(places, tmp_path, "*")
    with pytest.raises(SessionError, match="belongs to /proj"):
        find(places, tmp_path / "other", one.stem)


@pytest.mark.parametrize("content", [b"", b"garbage", b'{"size":"x"}', b"[]", b"\xff"])
def test_damaged_summary_is_made_again(places: Places, tmp_path: Path, content: bytes) -> None:
    path = saved(places, tmp_path, conversation(9))
    before = list_sessions(places, tmp_path)
    path.with_suffix(".info").write_bytes(content)
    assert list_sessions(places, tmp_path) == before


def test_list_reads_only_the_ends_of_a_long_session(places: Places, tmp_path: Path) -> None:
    path = saved(places, tmp_path, conversation(9))
    path.with_suffix(".info").unlink()
    line = path.read_bytes().splitlines(keepends=True)[-1]
    last = line.replace(b'"turn":3', b'"turn":77')
    assert last != line
    with path.open("ab") as file:
        file.write(line * 200_000)
        file.write(last)
    started = time.process_time()
    info = list_sessions(places, tmp_path)[0]
    assert time.process_time() - started < 0.15
    assert (info.turns, info.first_input) == (77, "question 2 — ünïcode")


def test_delete_and_prune(places: Places, tmp_path: Path) -> None:
    one, two = (saved(places, tmp_path, conversation(3)) for _ in range(2))
    busy = SessionStore.open(one)
    with pytest.raises(SessionBusy):
        delete_session(find(places, tmp_path, one.stem))
    os.utime(one, (1, 1))
    os.utime(two, (1, 1))
    assert prune(places, tmp_path, 0) == 0
    assert prune(places, tmp_path, 30) == 1
    busy.close()
    assert [item.path for item in list_sessions(places, tmp_path)] == [one]
    delete_session(find(places, tmp_path, one.stem))
    assert list(places.sessions_dir(tmp_path).iterdir()) == []


def test_session_file_that_is_a_link_is_refused(places: Places, tmp_path: Path) -> None:
    path = saved(places, tmp_path, conversation(3))
    moved = path.rename(tmp_path / "elsewhere.jsonl")
    path.symlink_to(moved)
    with pytest.raises(SessionError, match="Can't open"):
        SessionStore.open(path)
