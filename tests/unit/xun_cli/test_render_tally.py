"""What a turn says of itself at its end, and what cards say instead of notes of their own."""

from __future__ import annotations

import pytest

from xun import events as ev
from xun_cli.render.calls import Call
from xun_cli.render.cards import card_lines
from xun_cli.render.tally import Tally, time_words, token_words
from xun_cli.render.text import cut_middle, cut_path, plain, plain_lines, width
from xun_cli.render.transcript import Transcript


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def transcript(clock: Clock | None = None) -> Transcript:
    return Transcript(lambda: 80, clock=clock or Clock())


def shown(made: Transcript, *events: ev.Event) -> str:
    return plain_lines([line for event in events for line in made.feed(event)])


def test_a_long_turn_says_what_it_took_without_the_time_of_the_person() -> None:
    clock = Clock()
    made = transcript(clock)
    shown(made, ev.TurnStarted(input="go"), ev.ToolStarted(call_id="1", tool="bash", args={"command": "make"}))
    shown(made, ev.ApprovalRequested(request_id="q", call_id="1", kind="command"))
    clock.now = 60.0
    shown(made, ev.ApprovalResolved(request_id="q", call_id="1", kind="command", choice="once"))
    shown(made, ev.ToolCompleted(call_id="1", tool="bash", result={"stdout": "", "returncode": 0}))
    shown(made, ev.UsageUpdated(input=20_000, output=400, cost_usd=0.1), ev.UsageUpdated(input=4_000, cost_usd=0.02))
    assert "· worked 1m 25s · 1 call · 24.4k tokens · $0.12" in shown(made, ev.TurnCompleted(duration_ms=145_000))
    shown(made, ev.TurnStarted(input="again"), ev.UsageUpdated(input=10))
    assert "worked 12s · 10 tokens" in shown(made, ev.TurnCompleted(duration_ms=12_000))


def test_questions_that_are_open_at_the_same_time_count_once() -> None:
    clock = Clock()
    made = transcript(clock)
    shown(made, ev.TurnStarted(input="go"))
    for number in "12":
        shown(made, ev.ToolStarted(call_id=number, tool="bash", args={"command": "make"}, agent=f"a#{number}"))
        shown(made, ev.ApprovalRequested(request_id=number, call_id=number, kind="command", agent=f"a#{number}"))
        clock.now += 5.0
    for number in "12":
        clock.now += 30.0
        shown(made, ev.ApprovalResolved(request_id=number, call_id=number, choice="once", agent=f"a#{number}"))
    assert "worked 20s" in shown(made, ev.TurnCompleted(duration_ms=90_000))


def test_a_quick_turn_says_nothing() -> None:
    made = transcript()
    assert "worked" not in shown(made, ev.TurnStarted(input="go"), ev.TurnCompleted(duration_ms=9_900))
    assert Tally(waited=5.0).words(14.0) == ""


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0s"), (59.9, "59s"), (60, "1m 00s"), (3599, "59m 59s"), (3725, "1h 02m")]
)
def test_times(seconds: float, words: str) -> None:
    assert time_words(seconds) == words


@pytest.mark.parametrize(("tokens", "words"), [(999, "999"), (1_000, "1.0k"), (999_949, "999.9k"), (999_950, "1.0M")])
def test_tokens(tokens: int, words: str) -> None:
    assert token_words(tokens) == words


def test_what_a_card_says_is_not_said_twice() -> None:
    made = transcript()
    args = {"command": "python -m http.server"}
    assert shown(made, ev.ToolStarted(call_id="1", tool="bash_spawn", args=args)) == ""
    assert shown(made, ev.TaskStarted(id="task-1", command="python -m http.server")) == ""
    card = shown(made, ev.ToolCompleted(call_id="1", tool="bash_spawn", result={"id": "task-1"}))
    assert card == "● bash_spawn  python -m http.server  in the background as task-1"
    assert "task-2 started: sleep 9" in shown(made, ev.TaskStarted(id="task-2", command="sleep 9"))


def test_the_answer_of_a_sub_agent_is_on_the_card_of_its_call() -> None:
    made = transcript()
    task = "Count the words"
    shown(
        made,
        ev.ToolStarted(call_id="1", tool="agent_run", args={"task": task}),
        ev.SubagentStarted(name="a", task=task),
    )
    assert shown(made, ev.SubagentCompleted(name="a", task=task)) == "◆ a finished"
    card = shown(made, ev.ToolCompleted(call_id="1", tool="agent_run", result="Four words.\n" + "more\n" * 20))
    assert "  Four words." in card and "lines hidden" in card
    assert "b finished: else" in shown(made, ev.SubagentCompleted(name="b", task="else"))


def test_a_path_loses_its_middle_and_a_command_its_end() -> None:
    assert cut_path("src/deep/module.py", 80) == "src/deep/module.py"
    assert cut_path("src/deep/module.py", 14) == "src…/module.py"
    assert cut_path("src/deep/module.py", 11) == "…/module.py"
    assert cut_path("module_with_a_long_name.py", 12) == "module_…e.py"
    assert cut_middle("abcdef", 0) == "" and cut_path("a/bcdef", 1) == "…"
    done = ev.ToolCompleted(call_id="1", tool="read_file", result={"total_lines": 400})
    call = Call("1", "read_file", {"path": "src/deep/module_with_a_long_name.py"}, done=done)
    assert "…/module_with_a_long_name.py  400 lines" in plain(card_lines(call, 54, "/p")[0])
    command = Call("2", "bash", {"command": "grep -rn something/very/long src/and/more"})
    assert command.shown("/p", 12) == "grep -rn so…"


@pytest.mark.parametrize("limit", range(1, 30))
def test_what_is_cut_fits(limit: int) -> None:
    for text in ("src/deep/module.py", "/", "a/", "日本/語のファイル名.py", "x" * 50):
        assert width(cut_path(text, limit)) <= limit and width(cut_middle(text, limit)) <= limit


def test_a_percentage_at_the_right_end_stays_on_its_row() -> None:
    stdout = "." + " " * 72 + "[100%]\nname    size\n" + "x" * 90
    done = ev.ToolCompleted(call_id="1", tool="bash", result={"stdout": stdout, "returncode": 0})
    rows = plain_lines(card_lines(Call("1", "bash", {"command": "pytest"}, done=done), 60, "/p")).split("\n")
    assert rows[1].endswith("[100%]") and width(rows[1]) == 60
    assert rows[2] == "  name    size" and rows[3] == "  " + "x" * 58
