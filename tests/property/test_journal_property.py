"""A change of the front end in any moment of a turn loses nothing and repeats nothing."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.xun_cli.test_journal import a_turn, again, drawn, transcript
from xun_cli.frontend.journal import Journal
from xun_cli.render.text import plain


@settings(max_examples=40, deadline=None)
@given(size=st.integers(3, 60), turns=st.integers(1, 2), data=st.data())
def test_a_change_in_any_moment_shows_everything_once(size: int, turns: int, data: st.DataObject) -> None:
    events = [event for _ in range(turns) for event in a_turn(size)]
    at = data.draw(st.integers(0, len(events)))
    whole = drawn(Journal(), events)
    journal, made, before = Journal(), transcript(), []
    for event in events[:at]:
        journal.add_event(event, 0.0)
        before += made.feed(event)
    seen = journal.mark()
    for event in events[at:]:
        journal.add_event(event, 0.0)
    shown = [plain(line) for line in before] + again(journal, seen)
    assert [row for row in shown if row] == [row for row in whole if row]
