"""ask_user: several questions in one call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.persons import Answers
from xun import Agent, AgentConfig, ToolBox, Workspace
from xun_builtin_tools.questions import DONE


def ask(tmp_path: Path, person: Answers | None, *questions: dict[str, Any], **config: Any) -> Any:
    box = ToolBox().with_defaults("framework")
    with Agent(toolbox=box, workspace=Workspace(tmp_path), config=AgentConfig(**config), chooser=person) as agent:
        return box.call_tool(agent, "ask_user", {"questions": list(questions)}, None)


A, B, C = ({"label": label, "description": f"about {label}"} for label in "ABC")


def test_each_kind_of_question_in_order(tmp_path):
    person = Answers("B", "some words", False)
    value = ask(
        tmp_path,
        person,
        {"question": "Which?", "header": "Pick", "options": [A, B]},
        {"question": "Why?", "type": "text"},
        {"question": "Sure?", "type": "yesno"},
        auto_confirm=True,
    ).unwrap()
    assert value == [
        {"question": "Which?", "answer": "B"},
        {"question": "Why?", "answer": "some words"},
        {"question": "Sure?", "answer": False},
    ]
    first = person.asked[0]
    assert first.prompt == "Pick: Which?" and first.message == "A: about A\nB: about B" and first.allow_extra
    assert person.asked[2].kind == "confirm"


@pytest.mark.parametrize(
    ("answers", "chosen"),
    [(["A", DONE], ["A"]), (["C", "my own", DONE], ["C", "my own"]), (["A", "B", "C"], ["A", "B", "C"])],
)
def test_several_of_the_options(tmp_path, answers, chosen):
    person = Answers(*answers)
    question = {"question": "Which?", "options": [A, B, C], "multi_select": True}
    assert ask(tmp_path, person, question).unwrap()[0]["answer"] == chosen
    assert DONE not in [option.value for option in person.asked[0].options]
    assert [option.value for option in person.asked[1].options][-1] == DONE
    assert answers[0] not in [option.value for option in person.asked[1].options]


@pytest.mark.parametrize(
    "question",
    [
        {"question": " ", "type": "text"},
        {"question": "q", "header": "x" * 33, "type": "text"},
        {"question": "q", "options": [A]},
        {"question": "q", "options": [A, A]},
        {"question": "q", "options": [A, {"label": DONE}]},
        {"question": "q", "options": [A, B, C, {"label": "D"}, {"label": "E"}]},
        {"question": "q", "type": "yesno", "options": [A, B]},
        {"question": "q", "type": "text", "multi_select": True},
    ],
)
def test_bad_questions_ask_nothing(tmp_path, question):
    person = Answers()
    info = ask(tmp_path, person, {"question": "fine", "type": "text"}, question).unwrap_err()
    assert "Question 2 " in info.error and person.asked == []


def test_nobody_to_ask(tmp_path):
    assert ask(tmp_path, None, {"question": "q", "type": "text"}).unwrap_err().kind == "denied"
    assert not ask(tmp_path, Answers()).is_ok()
