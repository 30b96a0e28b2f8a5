"""Runs that stop for a person and go on later: rows 36 to 39 of the table of capabilities."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.runs import calls, of, scripted, stream, tool_texts
from xun import Agent, AgentConfig, Suspend, ToolBox, ToolCallContext, ToolCallFormatError, Workspace, tool_attr
from xun.choice import ChoiceOutcome, ChoiceRequest
from xun.errors import ConfigError
from xun.events import ToolCompleted, TurnCompleted
from xun.models import ScriptedModel


class Bank:
    """Tools that leave traces."""

    def __init__(self) -> None:
        self.traces: list[str] = []

    def look(self, what: str) -> str:
        """Look something up."""
        self.traces.append(f"look {what}")
        return f"saw {what}"

    def tools(self) -> ToolBox:
        @tool_attr(approval=True)
        def pay(amount: int) -> str:
            """Pay."""
            self.traces.append(f"pay {amount}")
            return f"paid {amount}"

        def book(ctx: ToolCallContext[Any], room: str) -> str:
            """Book a room."""
            number = ctx.step("reserve", self.reserve, room)
            day = ctx.ask("Which day?", ["monday", "friday"])
            guests = ctx.ask("How many guests?")
            self.traces.append(f"book {number} {day} {guests}")
            return f"{number} on {day} for {guests}"

        return ToolBox(self.look, pay, book)

    def reserve(self, room: str) -> str:
        self.traces.append(f"reserve {room}")
        return f"{room}-1"


def waiting(bank: Bank, *turns: Any, **options: Any) -> Agent[Any]:
    config = AgentConfig(on_ask="suspend")
    return Agent(model=ScriptedModel(turns), toolbox=bank.tools(), config=config, **options).initialize()


PAY = calls(("look", {"what": "price"}), ("pay", {"amount": 5}), text="I look and pay.")


def test_row_36_a_question_ends_the_run_as_pending_and_an_answer_goes_on() -> None:
    bank = Bank()
    agent = waiting(bank, PAY, {"text": "all done"})
    result = agent.instruct("go").execute()
    assert result.status == "pending" and "agent.resume" in result.unwrap_err().error
    [call] = agent.pending
    assert (call.tool, call.arguments, call.options) == ("pay", {"amount": 5}, ("grant", "once", "deny"))
    assert bank.traces == ["look price"]
    assert agent.resume({call.call_id: True}).unwrap() == "all done"
    assert bank.traces == ["look price", "pay 5"] and agent.pending == []
    request = agent.model.requests[1]
    assert [message.text for message in request.messages if message.role == "tool"] == ["saw price", "paid 5"]


@pytest.mark.parametrize(("answer", "said"), [(False, "no reason given"), ("too much", "too much"), ("deny", "Denied")])
def test_row_36_no_or_a_reason_denies(answer: Any, said: str) -> None:
    bank = Bank()
    agent = waiting(bank, PAY, {"text": "x"})
    agent.instruct("go").execute()
    assert agent.resume({agent.pending[0].call_id: answer}).unwrap() == "x"
    assert said in tool_texts(agent)[1] and bank.traces == ["look price"]


def test_row_36_a_grant_lasts() -> None:
    bank = Bank()
    agent = waiting(bank, PAY, calls(("pay", {"amount": 6})), {"text": "x"})
    agent.instruct("go").execute()
    assert agent.resume({agent.pending[0].call_id: "grant"}).unwrap() == "x"
    assert bank.traces[1:] == ["pay 5", "pay 6"]


def test_row_39_edited_arguments_are_checked_again() -> None:
    bank = Bank()
    agent = waiting(bank, PAY, {"text": "x"})
    agent.instruct("go").execute()
    call_id = agent.pending[0].call_id
    with pytest.raises(ToolCallFormatError, match="amount"):
        agent.resume({call_id: {"amount": "3"}})
    assert agent.pending and bank.traces == ["look price"]
    assert agent.resume({call_id: {"amount": 3}}).unwrap() == "x"
    assert bank.traces[-1] == "pay 3"
    assert 'changed the arguments to {"amount": 3}' in tool_texts(agent)[1]


@pytest.mark.parametrize("answers", [{}, {"nobody": True}])
def test_row_36_answers_must_name_pending_calls(answers: dict[str, Any]) -> None:
    agent = waiting(Bank(), PAY, {"text": "x"})
    agent.instruct("go").execute()
    with pytest.raises(ValueError, match=agent.pending[0].call_id):
        agent.resume(answers)
    assert len(agent.pending) == 1


def test_resume_without_a_waiting_run_is_refused() -> None:
    with pytest.raises(RuntimeError, match="No run"):
        waiting(Bank()).resume({"x": True})


def test_rows_37_and_38_questions_of_a_tool_wait_and_its_steps_run_once() -> None:
    bank = Bank()
    agent = waiting(bank, calls(("book", {"room": "red"})), {"text": "x"})
    agent.instruct("go").execute()
    [call] = agent.pending
    assert (call.question, call.options) == ("Which day?", ("monday", "friday"))
    with pytest.raises(ValueError, match="monday, friday"):
        agent.resume({call.call_id: "sunday"})
    assert agent.resume({call.call_id: "friday"}).status == "pending"
    [call] = agent.pending
    assert call.question == "How many guests?"
    assert agent.resume({call.call_id: "three"}).unwrap() == "x"
    assert bank.traces == ["reserve red", "book red-1 friday three"]


def test_row_37_what_a_chooser_answered_before_is_not_asked_again() -> None:
    asked: list[str] = []

    class Partly:
        async def choose(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
            asked.append(request.prompt)
            if request.prompt == "Which day?":
                return ChoiceOutcome("monday")
            raise Suspend

    bank = Bank()
    agent = Agent(
        model=ScriptedModel([calls(("book", {"room": "red"})), {"text": "x"}]), toolbox=bank.tools(), chooser=Partly()
    ).initialize()
    assert agent.instruct("go").execute().status == "pending"
    assert agent.resume({agent.pending[0].call_id: "two"}).unwrap() == "x"
    assert asked == ["Which day?", "How many guests?"]
    assert bank.traces == ["reserve red", "book red-1 monday two"]


def test_a_chooser_may_return_suspend() -> None:
    class Later:
        async def choose(self, request: ChoiceRequest) -> Any:
            return Suspend()

    agent = Agent(model=ScriptedModel([PAY, {"text": "x"}]), toolbox=Bank().tools(), chooser=Later()).initialize()
    assert agent.instruct("go").execute().status == "pending"


async def test_row_36_for_async_callers_and_in_events() -> None:
    bank = Bank()
    agent = waiting(bank, PAY, {"text": "x"})
    events = await stream(agent)
    assert of(events, TurnCompleted)[0].stop == "pending"
    assert [event.tool for event in of(events, ToolCompleted)] == ["look"]
    assert (await agent.aresume({agent.pending[0].call_id: True})).unwrap() == "x"
    assert bank.traces == ["look price", "pay 5"]


def test_answers_may_come_one_by_one() -> None:
    bank = Bank()
    agent = waiting(bank, calls(("pay", {"amount": 1}), ("pay", {"amount": 2})), {"text": "x"})
    agent.instruct("go").execute()
    first, second = agent.pending
    assert agent.resume({second.call_id: True}).status == "pending"
    assert bank.traces == ["pay 2"] and [call.call_id for call in agent.pending] == [first.call_id]
    assert agent.resume({first.call_id: False}).unwrap() == "x"
    texts = [message.text for message in agent.model.requests[1].messages if message.role == "tool"]
    assert "Denied" in texts[0] and texts[1] == "paid 2"


def test_a_call_that_runs_alone_keeps_its_place_behind_one_that_waits() -> None:
    bank = Bank()
    traces = bank.traces

    @tool_attr(sequential=True)
    def close() -> str:
        """Close."""
        traces.append("close")
        return "closed"

    agent = waiting(bank, calls(("pay", {"amount": 1}), ("close", {}), ("look", {"what": "a"})), {"text": "x"})
    agent.toolbox.register(close)
    agent.instruct("go").execute()
    assert traces == [] and len(agent.pending) == 1
    again = waiting(bank, {"text": "y"}).load_state(json.loads(json.dumps(agent.save())))
    again.toolbox.register(close)
    assert again.resume({again.pending[0].call_id: True}).unwrap() == "y"
    assert traces == ["pay 1", "close", "look a"]


def test_a_new_input_forgets_what_waited() -> None:
    agent = waiting(Bank(), PAY, {"text": "x"})
    agent.instruct("go").execute()
    assert agent.instruct("never mind").execute().unwrap() == "x"
    assert agent.pending == []
    assert "no result" in [message.text for message in agent.model.requests[1].messages if message.role == "tool"][1]


def test_the_run_goes_on_with_its_context_its_tools_and_its_limits() -> None:
    seen: list[Any] = []

    @tool_attr(approval=True)
    def extra(ctx: ToolCallContext[Any]) -> str:
        """Do more."""
        seen.append(ctx.value)
        return "done"

    agent = waiting(Bank(), calls(("extra", {})), calls(("look", {"what": "a"})), {"text": "[1]"})
    agent.instruct("go").execute(list[int], max_iterations=2, context="mine", tools=[extra])
    result = agent.resume({agent.pending[0].call_id: True})
    assert seen == ["mine"] and result.unwrap_err().kind == "step_limit"


def test_the_schema_of_the_run_still_holds() -> None:
    agent = waiting(Bank(), PAY, {"text": "[1]"})
    agent.instruct("go").execute(list[int])
    assert agent.resume({agent.pending[0].call_id: True}).unwrap() == [1]


def test_writes_of_built_in_tools_wait_too(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    turns = [calls(("write_file", {"path": "a.txt", "content": "new\n"})), {"text": "x"}]
    box = ToolBox().with_defaults("fs")
    config = AgentConfig(on_ask="suspend")
    agent = Agent(model=ScriptedModel(turns), toolbox=box, workspace=Workspace(tmp_path), config=config).initialize()
    agent.instruct("go").execute()
    [call] = agent.pending
    assert call.kind == "write" and "+new" in call.message and (tmp_path / "a.txt").read_text() == "old\n"
    assert agent.resume({call.call_id: True}).unwrap() == "x"
    assert (tmp_path / "a.txt").read_text() == "new\n"


def test_a_command_waits_with_its_text_its_folder_and_its_assessment(tmp_path: Path) -> None:
    script = ScriptedModel(
        [calls(("bash", {"command": "touch made"})), {"text": "x"}],
        risk=[{"verdict": "unsure", "reason": "it writes"}] * 2,
    )
    config = AgentConfig(on_ask="suspend")
    box = ToolBox().with_defaults("cmd")
    agent = Agent(model=script, toolbox=box, workspace=Workspace(tmp_path), config=config).initialize()
    agent.instruct("go").execute()
    [call] = agent.pending
    assert call.kind == "command" and call.message.splitlines() == [
        "touch made",
        f"in {tmp_path}",
        "risk assessment: unsure (it writes)",
    ]
    assert not (tmp_path / "made").exists()
    assert agent.resume({call.call_id: True}).unwrap() == "x"
    assert (tmp_path / "made").exists()
    agent.finalize()


def test_a_direct_call_is_denied_since_it_cannot_wait() -> None:
    agent = waiting(Bank())
    assert agent.toolbox.call_tool(agent, "pay", {"amount": 1}).status == "denied"


def test_a_saved_agent_holds_history_permissions_state_and_figures(tmp_path: Path) -> None:
    bank = Bank()
    agent = waiting(bank, PAY, {"text": "x"})
    agent.policy.mode = "auto-edit"
    agent.policy.write_allowlist.add(str(tmp_path), True, source="dialog")
    agent.state["mine"] = {"n": 1}
    agent.state["open"] = object()
    agent.instruct("go").execute()
    saved = json.loads(json.dumps(agent.save()))
    again = waiting(bank, {"text": "y"}).load_state(saved)
    assert again.history == agent.history and again.usage == agent.usage and again.turn == 1
    assert again.policy.mode == "auto-edit" and again.policy.write_allowlist.covers(str(tmp_path / "a")) is not None
    assert again.state["mine"] == {"n": 1} and "open" not in again.state
    assert again.pending == agent.pending
    assert again.save() == saved


@pytest.mark.parametrize("data", [None, {}, {"version": 2}, {"version": 1}, {"version": 1, "history": [{}]}])
def test_what_is_no_saved_agent_is_refused(data: Any) -> None:
    agent = waiting(Bank())
    with pytest.raises(ConfigError):
        agent.load_state(data)
    assert agent.history == []


def test_a_running_agent_is_not_saved() -> None:
    errors: list[str] = []

    def inside(ctx: ToolCallContext[Any]) -> str:
        """Try."""
        try:
            ctx.agent.save()
        except RuntimeError as exc:
            errors.append(str(exc))
        return ""

    scripted(calls(("inside", {})), {"text": "x"}, tools=[inside]).instruct("go").execute()
    assert len(errors) == 1


def test_step_returns_json_also_the_first_time_and_outside_of_runs() -> None:
    values: list[Any] = []

    def stepping(ctx: ToolCallContext[Any]) -> str:
        """Step."""
        values.append(ctx.step("pair", lambda: (1, 2)))
        values.append(ctx.step("pair", lambda: (3, 4)))
        return ""

    agent = scripted(calls(("stepping", {})), {"text": "x"}, tools=[stepping])
    agent.instruct("go").execute()
    assert values == [[1, 2], [1, 2]]
    agent.toolbox.call_tool(agent, "stepping", {})
    assert values[2:] == [[1, 2], [3, 4]]


def test_a_cancelled_run_leaves_nothing_pending() -> None:
    async def go() -> Agent[Any]:
        bank = Bank()

        async def wait() -> str:
            """Wait."""
            await asyncio.sleep(30)
            return ""

        agent = waiting(bank, calls(("pay", {"amount": 1}), ("wait", {})), {"text": "x"})
        agent.toolbox.register(wait)
        task = asyncio.ensure_future(agent.instruct("go").aexecute())
        await asyncio.sleep(0.1)
        agent.cancel("enough")
        assert (await task).status == "cancelled"
        return agent

    assert asyncio.run(go()).pending == []


def test_edited_arguments_approve_the_call_and_answer_nothing_else() -> None:
    made: list[str] = []

    @tool_attr(approval=lambda ctx, arguments: arguments["amount"] > 10)
    def give(ctx: ToolCallContext[Any], amount: int) -> str:
        """Give."""
        ctx.step("note", made.append, "noted")
        made.append(f"{amount} {ctx.ask('To whom?')}")
        return made[-1]

    def agent_of(*turns: Any) -> Agent[Any]:
        agent = waiting(Bank(), *turns)
        agent.toolbox.register(give)
        return agent

    agent = agent_of(calls(("give", {"amount": 20})), {"text": "x"})
    agent.instruct("go").execute()
    agent.resume({agent.pending[0].call_id: {"amount": 5}})
    [call] = agent.pending
    assert call.question == "To whom?" and made == ["noted"]
    agent.resume({call.call_id: {"amount": 30}})
    assert agent.pending[0].question == "To whom?" and made == ["noted"]  # a step is done once, whatever changes
    assert agent.resume({agent.pending[0].call_id: "Ann"}).unwrap() == "x"
    assert made == ["noted", "30 Ann"]


def test_budgets_count_a_call_once_however_often_it_waits() -> None:
    made: list[str] = []

    @tool_attr(max_calls=1)
    def decide(ctx: ToolCallContext[Any]) -> str:
        """Decide."""
        made.append(ctx.ask("Really?", ["yes", "no"]))
        return made[-1]

    def agent_of(*turns: Any) -> Agent[Any]:
        agent = waiting(Bank(), *turns)
        agent.toolbox.register(decide)
        return agent

    agent = agent_of(calls(("decide", {})))
    agent.instruct("go").execute()
    again = agent_of(calls(("decide", {})), {"text": "x"}).load_state(json.loads(json.dumps(agent.save())))
    assert again.resume({again.pending[0].call_id: "yes"}).unwrap() == "x"
    assert made == ["yes"] and "its limit is 1" in tool_texts(again)[1]


PROGRAM = '''
import json, os, sys, time
from pathlib import Path
from xun import Agent, AgentConfig, ToolBox, ToolCallContext, tool_attr
from xun.models import ScriptedModel

folder = Path(sys.argv[1])

def trace(text):
    with (folder / "traces").open("a") as file:
        file.write(text + "\\n")
    return text

def look(what: str) -> str:
    """Look."""
    return trace(f"look {what}")

@tool_attr(approval=True)
def pay(ctx: ToolCallContext, amount: int) -> str:
    """Pay."""
    ctx.step("charge", trace, f"charge {amount}")
    day = ctx.ask("Which day?", ["monday", "friday"])
    return trace(f"pay {amount} {day}")

turns = [{"tool_calls": [{"name": "look", "arguments": {"what": "a"}}, {"name": "pay", "arguments": {"amount": 5}}]}]
first = not (folder / "state.json").exists()
model = ScriptedModel(turns if first else [{"text": "all done"}])
agent = Agent(model=model, toolbox=ToolBox(look, pay), config=AgentConfig(on_ask="suspend")).initialize()
if first:
    result = agent.instruct("go").execute()
else:
    agent.load_state(json.loads((folder / "state.json").read_text()))
    [call] = agent.pending
    result = agent.resume({call.call_id: {"Run the tool pay?": True, "Which day?": "friday"}[call.question]})
if result.status == "pending":
    (folder / "state.new").write_text(json.dumps(agent.save()))
    os.replace(folder / "state.new", folder / "state.json")
    (folder / "waits").touch()
    time.sleep(60)
(folder / "answer").write_text(result.unwrap())
'''


def test_row_36_killed_while_it_waits_it_goes_on_in_a_new_process_and_does_nothing_twice(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    kills = 0
    while not (tmp_path / "answer").exists():
        process = subprocess.Popen([sys.executable, str(program), str(tmp_path)], cwd=os.getcwd())
        deadline = time.monotonic() + 60
        while process.poll() is None and not (tmp_path / "waits").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
            (tmp_path / "waits").unlink()
        assert process.wait(10) in (0, -signal.SIGKILL)
    assert kills == 2 and (tmp_path / "answer").read_text() == "all done"
    assert (tmp_path / "traces").read_text().splitlines() == ["look a", "charge 5", "pay 5 friday"]
