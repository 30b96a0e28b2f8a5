from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xun.errors import ModelReplyInvalid
from xun.models.sse import EventParser, ServerEvent


def parse(*pieces: bytes) -> list[ServerEvent]:
    parser = EventParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    return events + parser.close()


@pytest.mark.parametrize(
    ("text", "events"),
    [
        ("data: a\n\n", ["a"]),
        ("data:a\n\ndata:  b\n\n", ["a", " b"]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
        ("data: a\r\rdata: b\r\r", ["a", "b"]),
        ("data: a\ndata: b\n\n", ["a\nb"]),
        (": ping\n\n: ping\ndata: a\n: ping\n\n", ["a"]),
        ("\ufeffdata: a\n\n", ["a"]),
        ("data: a\n\n\n\n\ndata: b\n\n", ["a", "b"]),
        ("id: 7\nretry: 10\ndata: a\nunknown: x\n\n", ["a"]),
        ("data: x\u2028y\x85z\n\n", ["x\u2028y\x85z"]),
        ("data\n\n", [""]),
        ("data: no end", ["no end"]),
        ("data: one line end\n", ["one line end"]),
        ("event: only\n\n", []),
        ("", []),
    ],
)
def test_events(text, events):
    assert [event.data for event in parse(text.encode())] == events


def test_the_type_belongs_to_its_event_only():
    assert parse(b"event: error\ndata: a\n\ndata: b\n\n") == [ServerEvent("a", "error"), ServerEvent("b")]


def test_bytes_that_are_no_utf8_become_replacement_characters():
    assert parse(b"data: a\xffb\xc3\n\n") == [ServerEvent("a\ufffdb\ufffd")]


STREAM = (
    '\ufeff: hi\r\n\r\ndata: häl\u2028lo 👋\r\n\r\nevent: x\r\ndata: {"a":\r\ndata: 1}\r\n\r\n'
    "data: b\n\ndata: c\r\rdata: [DONE]\n\n"
).encode()


@given(st.lists(st.integers(0, len(STREAM)), max_size=40))
@settings(max_examples=200, deadline=None)
def test_cuts_anywhere_change_nothing(cuts):
    edges = [0, *sorted(cuts), len(STREAM)]
    assert parse(*[STREAM[a:b] for a, b in pairwise(edges)]) == parse(STREAM)


def test_one_byte_at_a_time():
    assert parse(*[STREAM[n : n + 1] for n in range(len(STREAM))]) == parse(STREAM)
    assert [event.data for event in parse(STREAM)] == ["häl\u2028lo 👋", '{"a":\n1}', "b", "c", "[DONE]"]


@pytest.mark.parametrize("piece", [b"x" * 50, b"data: x\n" * 10])
def test_an_event_has_a_limit(piece):
    parser = EventParser(limit=1000)
    with pytest.raises(ModelReplyInvalid, match="1000 bytes"):
        for _ in range(100):
            parser.feed(piece)


def test_many_short_events_have_none():
    parser = EventParser(limit=1000)
    assert sum(len(parser.feed(b"data: 0123456789\n\n")) for _ in range(1000)) == 1000


def test_a_long_event_costs_no_quadratic_time():
    # 16 MB in 4 kB pieces: repeated copies would move some 32 GB.
    parser = EventParser()
    parser.feed(b"data: ")
    for _ in range(4096):
        parser.feed(b"x" * 4096)
    assert len(parser.feed(b"\n\n")[0].data) == 4096 * 4096
