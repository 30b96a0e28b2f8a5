"""When a key answers a question, and what the answer holds."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.scripted_session import command_request, write_request
from xun.choice import ChoiceOutcome, ChoiceRequest, Option, WriteGrant
from xun_cli.frontend.dialog import Dialog
from xun_cli.frontend.grant_text import GrantTextError, grants_text, parse_grants


class Desk:
    """A dialog with a clock in hand and a record of what it did."""

    def __init__(self, *requests: ChoiceRequest, columns: int = 100) -> None:
        self.now = 100.0
        self.draft = ""
        self.open = list(requests)
        self.answers: list[tuple[str, ChoiceOutcome[Any]]] = []
        self.interrupts = 0
        self.running = True
        self.dialog = Dialog(
            self.answer,
            self.interrupt,
            has_draft=lambda: bool(self.draft),
            size=lambda: (columns, 20),
            clock=lambda: self.now,
        )

    def answer(self, request_id: str, outcome: ChoiceOutcome[Any]) -> bool:
        self.answers.append((request_id, outcome))
        self.open = [request for request in self.open if request.id != request_id]
        self.dialog.update(self.open)
        return True

    def interrupt(self) -> bool:
        self.interrupts += 1
        return self.running

    def ask(self, wait: float = 1.0) -> Desk:
        self.dialog.update(self.open)
        self.now += wait
        return self

    def press(self, *keys: str) -> Desk:
        for key in keys:
            if not self.dialog.key(key):
                self.draft += key
        return self

    @property
    def choice(self) -> Any:
        return self.answers[-1][1].choice if self.answers else None


@pytest.mark.parametrize(
    ("key", "choice"),
    [("g", "grant"), ("1", "grant"), ("o", "once"), ("2", "once"), ("d", "deny"), ("3", "deny"), ("enter", "once")],
)
def test_keys_of_the_three_answers(key: str, choice: str) -> None:
    desk = Desk(write_request()).ask().press(key)
    assert desk.choice == choice
    assert desk.interrupts == 0


@pytest.mark.parametrize("key", ["y", "n", "Y", "N", " ", "x", "a"])
def test_other_letters_answer_nothing(key: str) -> None:
    assert Desk(write_request()).ask().press(key).answers == []


@pytest.mark.parametrize("key", ["escape", "c-c"])
def test_escape_and_ctrl_c_deny_and_interrupt(key: str) -> None:
    desk = Desk(write_request()).ask(wait=0.0).press(key)
    assert desk.choice == "deny" and desk.interrupts == 1


def test_arrows_and_enter() -> None:
    assert Desk(write_request()).ask().press("down", "enter").choice == "deny"
    assert Desk(write_request()).ask().press("up", "enter").choice == "grant"


def test_an_unavailable_grant_is_skipped_and_refused_with_its_reason() -> None:
    desk = Desk(command_request("cat x > y")).ask().press("g")
    assert desk.answers == [] and desk.dialog.state.problem.startswith("Not offered here: ")
    assert desk.press("down", "down", "enter").choice == "once"


def test_a_key_within_half_a_second_stays_in_the_draft() -> None:
    desk = Desk(write_request()).ask(wait=0.4).press("o")
    assert desk.answers == [] and desk.draft == "o"
    assert not desk.dialog.focused


def test_a_question_opens_unfocused_while_somebody_types() -> None:
    desk = Desk(write_request())
    desk.dialog.guard.typed()
    desk.now += 0.6
    desk.ask()
    assert not desk.dialog.focused
    desk.now += 5
    assert desk.dialog.focus()
    desk.press("o")
    assert desk.answers == [] and desk.draft == ""
    desk.now += 0.6
    assert desk.press("o").choice == "once"


def test_a_draft_keeps_the_question_unfocused() -> None:
    desk = Desk(write_request())
    desk.draft = "half a sentence"
    assert not desk.ask().dialog.focused


def test_the_enter_that_sent_the_draft_is_no_typing() -> None:
    desk = Desk(write_request())
    desk.dialog.guard.typed()
    desk.dialog.guard.sent()
    assert desk.ask().dialog.focused


def test_a_burst_of_characters_never_answers() -> None:
    desk = Desk(write_request()).ask()
    for char in "good idea":
        if not desk.dialog.focused or not desk.dialog.key(char, burst=char != "a"):
            desk.draft += char
    assert desk.answers == [] and desk.draft == "good idea"


def test_a_paste_never_answers() -> None:
    desk = Desk(write_request()).ask()
    desk.dialog.paste()
    assert not desk.dialog.focused and desk.answers == []


def test_deny_with_a_reason() -> None:
    desk = Desk(write_request()).ask().press("down", "tab")
    assert desk.dialog.field == "reason"
    desk.dialog.submit_field("  keep the old name ")
    assert desk.answers[0][1] == ChoiceOutcome("deny", "user", reason="keep the old name")


def test_leaving_the_reason_field_keeps_the_question() -> None:
    desk = Desk(write_request()).ask().press("tab")
    desk.dialog.back()
    assert desk.dialog.focused and desk.dialog.field == "" and desk.answers == []


def test_an_edited_command_is_allowed_once_only() -> None:
    desk = Desk(command_request("rm -rf build")).ask().press("e")
    assert desk.dialog.field == "edit" and desk.dialog.field_text == "rm -rf build"
    desk.dialog.submit_field("rm -rf build/tmp")
    assert desk.answers[0][1] == ChoiceOutcome("once", "user", edited="rm -rf build/tmp")


@pytest.mark.parametrize("text", ["rm -rf build", "   "])
def test_an_unchanged_or_empty_edit_answers_nothing(text: str) -> None:
    desk = Desk(command_request("rm -rf build")).ask().press("e")
    desk.dialog.submit_field(text)
    assert desk.answers == [] and desk.dialog.focused


def test_the_scope_of_a_write_grant() -> None:
    desk = Desk(write_request()).ask().press("right", "enter")
    assert desk.answers[0][1] == ChoiceOutcome("grant", "user", grants=(WriteGrant("/proj/src", True),))
    desk = Desk(write_request()).ask().press("right", "right", "right", "left", "left", "g")
    assert desk.answers[0][1].grants == (WriteGrant("/proj/src/app.py"),)


def test_a_narrower_command_grant() -> None:
    request = command_request("npm test -- --watch")
    desk = Desk(request).ask().press("up", "tab")
    assert desk.dialog.field == "grant" and desk.dialog.field_text == "npm test"
    desk.dialog.submit_field("npm test --")
    desk.press("g")
    assert [grant.tokens for grant in desk.answers[0][1].grants or ()] == [("npm", "test", "--")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("npm", "wider"),
        ("yarn test", "begins none"),
        ("", "Nothing"),
        ("npm 'test", "quote"),
        ("npm test -- --other", "begins none"),
    ],
)
def test_a_grant_that_does_not_fit_is_refused_in_words(text: str, problem: str) -> None:
    with pytest.raises(GrantTextError, match=problem):
        parse_grants(text, command_request("npm test -- --watch"))


def test_grants_come_back_from_their_text() -> None:
    request = command_request("npm test && make install")
    grants = request.command.grants if request.command else ()
    assert len(grants) == 2
    assert parse_grants(grants_text(grants), request) == grants


def test_several_wait_in_order() -> None:
    desk = Desk(write_request(id="a"), command_request("make", id="b")).ask()
    assert desk.dialog.state.waiting == 1
    desk.press("o")
    assert desk.dialog.request is not None and desk.dialog.request.id == "b" and desk.dialog.focused
    desk.press("o")
    assert [item for item, _ in desk.answers] == ["a"]
    assert desk.draft == "o"


def test_a_question_that_is_gone_closes() -> None:
    desk = Desk(write_request()).ask()
    desk.dialog.update([])
    assert not desk.dialog.open and not desk.dialog.key("o")


def test_a_free_question() -> None:
    request = ChoiceRequest("q", "choice", "Which?", (Option("x", "X"), Option("y", "Y")), allow_extra=True)
    assert Desk(request).ask().press("2").choice == "y"
    desk = Desk(request).ask().press("3")
    assert desk.dialog.field == "answer"
    desk.dialog.submit_field("something else")
    assert desk.choice == "something else"


def test_a_question_without_options_takes_text() -> None:
    desk = Desk(ChoiceRequest("q", "choice", "Name?", ())).ask().press("enter")
    assert desk.dialog.field == "answer"
    desk.dialog.submit_field("  ")
    assert desk.answers == [] and desk.dialog.field == "answer", "blanks are no answer"


def test_a_confirmation_has_its_own_keys() -> None:
    request = ChoiceRequest(
        "q", "confirm", "Undo?", (Option(True, "Yes", "y"), Option(False, "No", "n")), default=False
    )
    desk = Desk(request).ask()
    assert desk.dialog.state.selected == 1
    assert desk.press("y").choice is True


def test_views_open_and_close() -> None:
    desk = Desk(command_request("make")).ask().press("c-e")
    assert desk.dialog.state.view == "full"
    desk.press("?")
    assert desk.dialog.state.view == "explain"
    desk.press("escape")
    assert desk.dialog.state.view == "" and desk.answers == [] and desk.interrupts == 0


def test_side_by_side_needs_a_wide_terminal() -> None:
    assert "140" in Desk(write_request()).ask().press("s").dialog.state.problem
    assert Desk(write_request(), columns=150).ask().press("s").dialog.state.split


def test_escape_from_a_question_of_a_command_is_no_choice() -> None:
    request = ChoiceRequest("q", "choice", "Which?", (Option("x", "X"), Option("y", "Y")))
    desk = Desk(request)
    desk.running = False
    assert desk.ask().press("escape").answers == [("q", ChoiceOutcome(None, "user"))]
    desk = Desk(request).ask().press("escape")
    assert desk.answers == [] and desk.interrupts == 1


def test_who_has_just_pasted_is_typing() -> None:
    desk = Desk(write_request())
    desk.dialog.paste()
    assert not desk.ask().dialog.focused
