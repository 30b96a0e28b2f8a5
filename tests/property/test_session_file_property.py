"""Properties of the session file: whatever happened to its bytes, whole records stay and the next append is clean."""

from __future__ import annotations

import tempfile

from hypothesis import given, settings
from hypothesis import strategies as st

from xun import events
from xun_cli.places import Places
from xun_cli.prompt_input import with_piped
from xun_cli.session import lines
from xun_cli.session.envelope import Envelope
from xun_cli.session.store import SessionError, SessionStore, read_session

TEXT = st.text(st.characters(codec=None), max_size=40)
EVENTS = st.one_of(
    st.builds(events.TurnStarted, input=TEXT, shown=TEXT),
    st.builds(events.MessageCompleted, text=TEXT, reasoning=TEXT, partial=st.booleans()),
    st.builds(events.Notice, text=TEXT),
    st.builds(
        events.ToolStarted,
        tool=TEXT,
        args=st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | TEXT,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
            max_leaves=6,
        ),
    ),
)

DAMAGE = st.one_of(
    st.tuples(st.just("cut"), st.integers(0, 4000), st.just(b"")),
    st.tuples(st.just("insert"), st.integers(0, 4000), st.binary(min_size=1, max_size=30)),
    st.tuples(st.just("insert"), st.integers(0, 4000), st.integers(1, 600).map(lambda size: b"\0" * size)),
    st.tuples(st.just("overwrite"), st.integers(0, 4000), st.binary(min_size=1, max_size=30)),
)


def envelopes(items: list[events.Event]) -> list[Envelope]:
    return [Envelope(number, "t", "s", 1, event) for number, event in enumerate(items, 1)]


@given(EVENTS)
def test_any_event_is_one_line_and_comes_back(event: events.Event) -> None:
    record = lines.to_bytes(Envelope(1, "t", "s", None, event))
    assert record.count(b"\n") == 1
    assert record.endswith(b"\n")
    record.decode("utf-8")
    back = lines.from_bytes(record)
    assert back is not None
    assert lines.to_bytes(back) == record


@settings(max_examples=150, deadline=None)
@given(st.lists(EVENTS, min_size=1, max_size=6), st.lists(DAMAGE, max_size=3))
def test_damage_never_costs_more_than_the_records_it_touches(
    items: list[events.Event], damage: list[tuple[str, int, bytes]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        places = Places.from_environment({"XUN_HOME": folder})
        store = SessionStore.create(places, folder)
        for envelope in envelopes([events.TurnStarted(input="first"), *items]):
            store.append(envelope)
        store.close()
        data = store.path.read_bytes()
        touched_from = len(data)
        for kind, at, extra in damage:
            place = min(at, len(data))
            touched_from = min(touched_from, place)
            tail = {"cut": b"", "insert": data[place:], "overwrite": data[place + len(extra) :]}[kind]
            data = data[:place] + extra + tail
        store.path.write_bytes(data)
        safe = sum(end <= touched_from for end in ends(data))
        try:
            again = SessionStore.open(store.path)
        except SessionError as error:
            assert "newer xun" in str(error)
            assert store.path.read_bytes() == data
            return
        try:
            loaded = again.load()
            assert [item.seq for item in loaded.envelopes[:safe] if item.seq <= safe] == [*range(1, safe + 1)]
            again.append(Envelope(99, "t", "s", 1, events.Notice(text="next")))
        except SessionError as error:
            assert "newer xun" in str(error)
            return
        finally:
            again.close()
        assert 99 in [item.seq for item in read_session(store.path).envelopes]


def ends(data: bytes) -> list[int]:
    return [place + 1 for place, byte in enumerate(data) if byte == 10]


@given(st.text(max_size=30), st.text(alphabet="`~ab\n \r", max_size=60))
def test_piped_text_can_not_close_its_fence(prompt: str, piped: str) -> None:
    whole = with_piped(prompt, piped)
    if not prompt or not piped.strip():
        assert whole == (piped if piped.strip() and not prompt else prompt)
        return
    head, _, rest = whole.partition("\n\nStandard input:\n")[2].partition("\n")
    assert set(head) == {"`"}
    assert rest.endswith("\n" + head) or rest == head
    body = rest[: -len(head)]
    assert head not in body
    assert piped in body
