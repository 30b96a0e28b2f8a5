"""Approval of single tools, and plan mode: row 35 of the table of capabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.persons import Answers
from tests.fakes.runs import calls, scripted, tool_texts
from xun import Agent, AgentConfig, ToolBox, ToolCallContext, tool_attr
from xun.choice import ChoiceOutcome
from xun.models import ScriptedModel

MADE = "made"


def pay_tool(**attr: Any) -> Callable[..., Any]:
    def pay(ctx: ToolCallContext[Any], amount: int) -> str:
        """Pay."""
        ctx.agent.state.setdefault(MADE, []).append(amount)
        return f"paid {amount}"

    return tool_attr(**attr)(pay)


def agent_with(tool: Any, *outcomes: ChoiceOutcome[Any], **options: Any) -> Agent[Any]:
    chooser = Answers(*outcomes) if outcomes else None
    return Agent(toolbox=ToolBox(tool), chooser=chooser, **options).initialize()


def made(agent: Agent[Any]) -> list[int]:
    return agent.state.get(MADE, [])


def pay(agent: Agent[Any], amount: int = 1) -> Any:
    return agent.toolbox.call_tool(agent, "pay", {"amount": amount})


def test_row_35_the_question_has_three_options_and_shows_the_arguments() -> None:
    agent = agent_with(pay_tool(approval=True, destructive=True), ChoiceOutcome("once"))
    assert pay(agent).unwrap() == "paid 1"
    [request] = agent.chooser.asked
    assert [option.value for option in request.options] == ["grant", "once", "deny"]
    assert (request.tool, request.default, request.agent) == ("pay", "once", "main")
    assert request.message == "What it does can't be taken back.\namount: 1"


def test_arguments_are_whole_and_none_passes_for_another() -> None:
    def note(title: str, body: str, tags: list[str], number: str, blank: str) -> str:
        """Note."""
        return title

    agent = agent_with(tool_attr(approval=True)(note), ChoiceOutcome("once"))
    body = 'first\ntags: ["forged"]\n' + "x" * 30_000 + " "
    given = {"title": "Fix it", "body": body, "tags": ["a", "ü"], "number": "3", "blank": " "}
    assert agent.toolbox.call_tool(agent, "note", given).is_ok()
    [request] = agent.chooser.asked
    assert request.message == (
        'title: Fix it\nbody:\n    first\n    tags: ["forged"]\n    ' + "x" * 30_000 + ' \ntags: ["a", "ü"]\n'
        'number: "3"\nblank: " "'
    )


def test_row_35_once_is_for_one_call_and_a_grant_for_the_session() -> None:
    answers = [ChoiceOutcome("once"), ChoiceOutcome("grant")]
    agent = agent_with(pay_tool(approval=True), *answers)
    for amount in range(4):
        assert pay(agent, amount).is_ok()
    assert len(agent.chooser.asked) == 2
    again = Agent(toolbox=ToolBox(pay_tool(approval=True))).load_state(agent.save()).initialize()
    assert pay(again).is_ok()


def test_row_35_only_a_person_grants() -> None:
    answers = [ChoiceOutcome("grant", "auto", decided_by="rule"), ChoiceOutcome("deny")]
    agent = agent_with(pay_tool(approval=True), *answers)
    assert pay(agent).is_ok() and pay(agent).status == "denied"
    assert made(agent) == [1]


def test_row_35_denied_is_an_err_with_the_reason_and_the_tool_does_not_run() -> None:
    agent = agent_with(pay_tool(approval=True), ChoiceOutcome("deny", reason="too much"))
    result = pay(agent)
    assert result.status == "denied" and "too much" in result.unwrap_err().error
    assert made(agent) == []


def test_row_35_nobody_to_ask_is_a_denial_that_says_how_to_allow() -> None:
    agent = agent_with(pay_tool(approval=True))
    result = pay(agent)
    assert result.status == "denied" and "auto_confirm" in result.unwrap_err().error and made(agent) == []


def test_row_35_auto_confirm_allows_and_grants_nothing() -> None:
    agent = agent_with(pay_tool(approval=True), config=AgentConfig(auto_confirm=True))
    assert pay(agent).is_ok()
    agent.config.auto_confirm = False
    assert pay(agent).status == "denied"


def test_row_35_a_rule_says_when() -> None:
    seen: list[Any] = []

    def over_ten(ctx: ToolCallContext[Any], arguments: dict[str, Any]) -> bool:
        seen.append((ctx.tool_name, ctx.value))
        return arguments["amount"] > 10

    agent = agent_with(pay_tool(approval=over_ten), ChoiceOutcome("deny"))
    assert agent.toolbox.call_tool(agent, "pay", '{"amount": 10}', "value").is_ok()
    assert pay(agent, 11).status == "denied"
    assert seen[0] == ("pay", "value") and made(agent) == [10]


def test_row_35_a_rule_that_fails_asks() -> None:
    agent = agent_with(pay_tool(approval=lambda ctx, arguments: arguments["nothing"]), ChoiceOutcome("deny"))
    assert pay(agent).status == "denied" and len(agent.chooser.asked) == 1


def test_row_35_bad_arguments_are_refused_before_anyone_is_asked() -> None:
    agent = scripted(calls(("pay", {"amount": "1"})), {"text": "x"}, tools=[pay_tool(approval=True)])
    agent.chooser = Answers()
    agent.instruct("go").execute()
    assert "invalid arguments" in tool_texts(agent)[0] and agent.chooser.asked == []


@pytest.mark.parametrize("blocking", [True, False])
async def test_row_35_in_a_run_the_model_reads_the_denial(blocking: bool) -> None:
    import asyncio

    turns = [calls(("pay", {"amount": 1}), ("pay", {"amount": 2})), {"text": "x"}]
    agent = Agent(model=ScriptedModel(turns), toolbox=ToolBox(pay_tool(approval=True, sequential=True))).initialize()
    agent.chooser = Answers(ChoiceOutcome("deny", reason="no"), ChoiceOutcome("once"))
    agent.instruct("go")
    await (asyncio.to_thread(agent.execute) if blocking else agent.aexecute())
    first, second = tool_texts(agent)
    assert "Denied by the user: no" in first and second == "paid 2" and made(agent) == [2]
    assert [request.call_id for request in agent.chooser.asked] == ["call_1", "call_2"]
    agent.finalize()


async def test_row_35_async_callers_are_asked_too() -> None:
    agent = agent_with(pay_tool(approval=True), ChoiceOutcome("deny"))
    assert (await agent.toolbox.acall_tool(agent, "pay", {"amount": 1})).status == "denied"


def test_auto_n_answers_the_question() -> None:
    agent = agent_with(pay_tool(approval=True))
    agent.policy.auto_remaining = 1
    assert pay(agent).is_ok()
    assert pay(agent).status == "denied"


def test_auto_n_does_not_answer_for_what_cannot_be_taken_back() -> None:
    agent = agent_with(pay_tool(approval=True, destructive=True))
    agent.policy.auto_remaining = 1
    assert pay(agent).status == "denied" and agent.policy.auto_remaining == 1


def test_decisions_are_in_the_log_and_those_of_no_person_in_the_stream() -> None:
    agent = agent_with(pay_tool(approval=True), ChoiceOutcome("deny"), config=AgentConfig(auto_confirm=True))
    told: list[Any] = []
    agent.listener = told.append
    pay(agent)
    agent.config.auto_confirm = False
    pay(agent)
    log = [(record.tool, record.decision, record.source) for record in agent.policy.log]
    assert log == [("pay", "allow", "auto_confirm"), ("pay", "deny", "user")]
    assert [(event.choice, event.source) for event in told] == [("once", "auto_confirm")]


def test_plan_mode_refuses_what_cannot_be_taken_back() -> None:
    agent = agent_with(pay_tool(destructive=True), ChoiceOutcome("once"))
    agent.policy.mode = "plan"
    result = pay(agent)
    assert result.status == "denied" and "plan mode" in result.unwrap_err().error
    assert agent.chooser.asked == []


@pytest.mark.parametrize("attr", [{"read_only": True}, {"pure": True}])
def test_plan_mode_lets_through_what_changes_nothing(attr: dict[str, bool]) -> None:
    agent = agent_with(pay_tool(**attr))
    agent.policy.mode = "plan"
    assert pay(agent).is_ok()


def test_plan_mode_asks_each_time_for_a_tool_that_does_not_say() -> None:
    agent = agent_with(pay_tool(), ChoiceOutcome("once"), ChoiceOutcome("deny"))
    agent.policy.mode = "plan"
    assert pay(agent).is_ok() and pay(agent).status == "denied"
    assert not agent.chooser.asked[0].options[0].available
    agent.policy.mode = "ask"
    assert pay(agent).is_ok()


def test_plan_mode_leaves_built_in_tools_to_their_own_gate() -> None:
    agent = Agent(toolbox=ToolBox().with_defaults("framework")).initialize()
    agent.policy.mode = "plan"
    assert agent.toolbox.call_tool(agent, "write_todos", {"todos": []}).is_ok()
