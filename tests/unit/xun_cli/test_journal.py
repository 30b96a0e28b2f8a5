"""What a conversation has shown can be drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xun import events as ev
from xun_cli.frontend.journal import Journal
from xun_cli.render.text import plain
from xun_cli.render.transcript import Transcript
from xun_cli.session.envelope import Envelope

TEXT = "# Title\n\nA paragraph with `code` and **bold**.\n\n- one\n- two\n\n```py\nx = 1\n```\n\nThe end.\n"


def transcript() -> Transcript:
    return Transcript(lambda: 60, clock=lambda: 0.0)


def pieces(size: int) -> list[ev.Event]:
    return [ev.MessageDelta(text=TEXT[at : at + size]) for at in range(0, len(TEXT), size)]


def a_turn(size: int) -> list[ev.Event]:
    return [
        ev.TurnStarted(input="do it"),
        *pieces(size),
        ev.MessageCompleted(text=TEXT),
        ev.ToolStarted(call_id="1", tool="bash", args={"command": "make"}),
        ev.ToolOutput(call_id="1", text="building\n"),
        ev.ToolOutput(call_id="1", text="done\n"),
        ev.ToolCompleted(
            call_id="1", tool="bash", result={"stdout": "building\ndone\n", "stderr": "", "returncode": 0}
        ),
        *pieces(size),
        ev.MessageCompleted(text=TEXT),
        ev.TurnCompleted(stop="done"),
    ]


def drawn(journal: Journal, events: Sequence[ev.Event]) -> list[str]:
    made, lines = transcript(), []
    for event in events:
        journal.add_event(event, 0.0)
        lines += made.feed(event)
    return [plain(line) for line in lines]


def again(journal: Journal, seen: int) -> list[str]:
    made, lines = transcript(), []
    for entry in journal.entries[journal.turn_start(seen) if seen else 0 :]:
        row = entry.draw(made)
        lines += row if entry.number > seen else []
    return [plain(line) for line in lines]


def test_a_finished_turn_is_kept_without_its_pieces() -> None:
    journal = Journal()
    lines = drawn(journal, a_turn(7))
    kinds = [entry.event.type for entry in journal.entries if entry.event is not None]
    assert "message.delta" not in kinds and "tool.output" not in kinds
    assert again(journal, 0) == lines


def test_pieces_that_are_not_the_whole_message_stay() -> None:
    journal = Journal()
    drawn(journal, [ev.TurnStarted(input="x"), ev.MessageDelta(text="a part"), ev.MessageCompleted(text="another")])
    assert [entry.event.type for entry in journal.entries if entry.event is not None][1] == "message.delta"


def test_what_is_ours_is_drawn_at_the_width_of_the_day() -> None:
    journal = Journal()
    journal.add_own(lambda made: [[("", "x" * made.columns)]], 0.0)
    assert again(journal, 0) == ["x" * 60]
    assert plain(journal.entries[0].draw(Transcript(lambda: 30))[0]) == "x" * 30


def test_numbers_go_on_after_a_reset() -> None:
    journal = Journal()
    drawn(journal, a_turn(50))
    before = journal.last
    journal.reset()
    journal.add_event(ev.Notice(text="x"), 0.0)
    assert journal.entries[0].number == before + 1


def test_what_stood_between_turns_stays_when_a_conversation_goes_back_and_forth():
    journal = Journal()

    def own(text: str) -> None:
        journal.add_own(lambda made: [[("", text)]], 0.0)

    def words() -> list[str]:
        return [
            entry.event.input if entry.event else plain(entry.make(None)[0]) for entry in journal.entries if kept(entry)
        ]

    def kept(entry: Any) -> bool:
        return entry.event is None or entry.event.type == "turn.started"

    events = [ev.TurnStarted(input="one"), ev.TurnStarted(input="two"), ev.Rewound(turn=2, after_seq=1)]
    events += [ev.TurnStarted(input="three"), ev.Rewound(turn=3, after_seq=4, restores=3)]
    own("before")
    for at, event in enumerate(events[:3]):
        journal.add_event(event, 0.0)
        own(f"own {at}")
    history = [Envelope(seq, "", "s", None, event) for seq, event in enumerate(events, 1)]
    journal.recount(history[:3])
    assert words() == ["before", "one", "own 0", "own 2"]
    for event in events[3:]:
        journal.add_event(event, 0.0)
    journal.recount(history)
    assert words() == ["before", "one", "own 0", "two", "own 1"]
