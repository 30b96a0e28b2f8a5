"""P6: whatever a session file holds, summaries and ways back included, all servers take the next request."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.sizes import examples
from tests.fakes.strict_api import refused
from xun import events as ev
from xun.agent.compaction import find_cut, summary_message
from xun.agent.handoff import begun_anew, kept_after
from xun.agent.history import from_events, normalise
from xun.messages import Message, estimate_tokens
from xun_cli.session.envelope import Envelope
from xun_cli.session.rewinding import live

TEXT = st.sampled_from(["a", "b c", " ", "", "\ud83d", "long " * 400, "\0", "[Compacted: no]"])
SAID = st.sampled_from(["a", "b c", "\ud83d", "long " * 400])
IDS = st.sampled_from(["1", "2", "3", "", "1_2", "\udc00"])
CALLS = st.lists(
    st.fixed_dictionaries(
        {
            "id": IDS,
            "name": st.sampled_from(["t", "a.b", "", "x" * 90]),
            "arguments": st.sampled_from(["{}", "", "{", "[1]", '{"path": "a"}']),
        }
    ),
    max_size=3,
).map(tuple)
EVENTS = st.one_of(
    st.builds(ev.TurnStarted, input=SAID),
    st.builds(ev.MessageCompleted, text=TEXT, calls=CALLS),
    st.builds(ev.ToolCompleted, call_id=IDS, tool=st.sampled_from(["t", "shell"]), content=SAID),
    st.builds(ev.Steer, text=SAID),
    st.builds(ev.ContextAdded, text=SAID),
    st.builds(ev.Compaction, summary=SAID, kept=st.none() | st.integers(0, 9)),
    st.builds(ev.Rewound, turn=st.just(1), after_seq=st.integers(0, 9)),
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(EVENTS, max_size=12))
def test_a_resumed_session_can_go_on(made: list[ev.Event]) -> None:
    stored = [Envelope(number, "t", "s", 1, event) for number, event in enumerate(made, 1)]
    history = [*from_events([item.event for item in live(stored)]), Message("user", "go on")]
    assert refused(normalise(history)) == []


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(EVENTS, max_size=12), st.integers(0, 900))
def test_a_summary_parts_no_call_from_its_result_and_comes_back_as_it_was(made: list[ev.Event], keep: int) -> None:
    history = from_events(made)
    cut = find_cut(history, keep)
    if not cut:
        return
    older, rest = history[:cut], history[cut:]
    assert rest and rest[0].role != "tool"
    text = summary_message("notes", older, [])
    kept = kept_after(history, cut)
    assert begun_anew(history, text, kept) == [Message("user", text), *rest]
    assert from_events([*made, ev.Compaction(summary=text, kept=kept)]) == [Message("user", text), *rest]
    assert refused(normalise([Message("user", text), *rest, Message("user", "go on")])) == []
    assert estimate_tokens(older) > 0
