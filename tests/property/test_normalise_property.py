"""Whatever the history holds, a request made of it can be sent."""

from __future__ import annotations

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.sizes import examples
from xun.agent.history import Normaliser, normalise
from xun.messages import Message, ToolCall

# Small pools: a thousand histories are to be quick, and clashes of ids frequent.
TEXT = st.sampled_from(["", "a", " ", "\ud800", "x\udfff", "\ud83d\ude00", "\U0001f600", "line\nline", "\0"])
IDS = st.sampled_from(["", "1", "2", "1_2", "1_2_2", "call", "call_2", "\ud800", "?", "\udfff", "a b"])
NAMES = st.sampled_from(["", "a.b", "a_b", "x" * 80, "\ud800", "ünïcode", "-", "t"])
ARGUMENTS = st.sampled_from(
    ["", " ", "{}", '{"a": 1}', "[1]", "null", "{", '{"a": "\ud800"}', "\ud800", "{}{}", "[" * 5000]
)
CALLS = st.lists(st.builds(ToolCall, IDS, NAMES, ARGUMENTS), max_size=3).map(tuple)
MESSAGES = st.one_of(
    st.builds(Message, st.just("user"), TEXT),
    st.builds(Message, st.just("system"), TEXT),
    st.builds(Message, st.just("assistant"), TEXT, tool_calls=CALLS),
    st.builds(Message, st.just("tool"), TEXT, tool_call_id=IDS, tool_name=NAMES),
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(MESSAGES, max_size=9))
def test_normalised_history_can_be_sent(history: list[Message]):
    messages = normalise(history)
    open_calls: list[tuple[str, str]] = []
    seen: set[str] = set()
    for message in messages:
        json.dumps([message.text, [call.arguments for call in message.tool_calls]], ensure_ascii=False).encode()
        if message.role == "tool":
            assert open_calls.pop(0) == (message.tool_call_id, message.tool_name)
            continue
        assert not open_calls
        assert message.role != "assistant" or message.text or message.tool_calls
        for call in message.tool_calls:
            assert call.id and call.id not in seen and call.id.encode()
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call.name)
            assert isinstance(json.loads(call.arguments), dict)
            seen.add(call.id)
        open_calls = [(call.id, call.name) for call in message.tool_calls]
    assert not open_calls
    assert normalise(messages) == messages
    # Nothing that somebody said is lost.
    said = [m.text.encode("utf-8", "replace").decode() for m in history if m.role == "user" and m.text]
    assert [message.text for message in messages if message.role == "user"] == said
    assert sum(len(m.tool_calls) for m in messages) == sum(len(m.tool_calls) for m in history)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(MESSAGES, max_size=9), st.lists(st.integers(0, 9), max_size=5), st.lists(MESSAGES, max_size=4))
def test_growing_history_gives_the_same(history: list[Message], stops: list[int], other: list[Message]):
    normaliser = Normaliser()
    for stop in [*sorted(stops), len(history)]:
        assert normaliser(history[:stop]) == normalise(history[:stop])
    # Replaced, as after a compaction; then changed in the middle.
    for changed in (other + history[-2:], history[:1] + other + history[2:], []):
        assert normaliser(changed) == normalise(changed)
