"""Sub-agents: in the background, as tools, waiting with their parent; rows 42 to 44 of the table of capabilities."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.fakes.runs import calls, of, scripted, stream, tool_texts
from xun import Agent, AgentConfig, AgentGetterParam, ToolBox, ToolCallContext, tool_attr
from xun.choice import ChoiceOutcome, ChoiceRequest
from xun.events import SubagentCompleted, SubagentStarted
from xun.models import OpenAIModel, ScriptedModel


def family(getter: Any, *turns: Any, **options: Any) -> Agent[Any]:
    box = ToolBox().with_subagent_provider(getter)
    return Agent(model=ScriptedModel(turns), toolbox=box, **options).initialize()


async def until(happened: Any) -> None:
    """Wait until *happened* gives something true, 10 seconds at most."""
    for _ in range(1000):
        if happened():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


class Gate:
    """A tool that waits until it is let through."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.open = asyncio.Event()
        self.ended: list[str] = []

    async def hold(self) -> str:
        """Wait."""
        self.begun.set()
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        return "let through"


def holding(gate: Gate, answer: str = "answer") -> Any:
    def getter(param: AgentGetterParam) -> Agent[Any]:
        return Agent("child", ScriptedModel([calls(("hold", {})), {"text": answer}]), ToolBox(gate.hold))

    return getter


async def test_row_43_a_spawned_agent_works_beside_its_parent_and_is_waited_for() -> None:
    gate = Gate()

    def release() -> str:
        """Let the child through."""
        loop.call_soon_threadsafe(gate.open.set)
        return ""

    loop = asyncio.get_running_loop()
    agent = family(
        holding(gate),
        calls(("agent_spawn", {"task": "t", "name": "worker"})),
        calls(("agent_wait", {"identifier": "worker#1", "timeout_seconds": 0.05})),
        calls(("agent_list", {})),
        calls(("release", {}), ("agent_wait", {"identifier": "worker#1"})),
        calls(("agent_list", {})),
        {"text": "done"},
    )
    agent.toolbox.register(release)
    events = await stream(agent)
    texts = tool_texts(agent)
    assert json.loads(texts[0]) == {"id": "worker#1"}
    assert json.loads(texts[1]) == {"status": "timeout", "id": "worker#1"}
    assert json.loads(texts[2]) == [{"id": "worker#1", "status": "running", "task": "t"}]
    assert texts[4] == "answer" and json.loads(texts[5])[0]["status"] == "done"
    assert [event.name for event in of(events, SubagentStarted)] == ["worker#1"]
    assert [event.ok for event in of(events, SubagentCompleted)] == [True]
    agent.finalize()


async def test_row_43_a_child_works_on_between_the_runs_of_its_parent() -> None:
    gate = Gate()
    agent = family(holding(gate), calls(("agent_spawn", {"task": "t"})), {"text": "started"})
    seen: list[Any] = []
    agent.listener = seen.append
    assert (await agent.instruct("go").aexecute()).unwrap() == "started"
    gate.open.set()
    agent.model = ScriptedModel([calls(("agent_wait", {"identifier": "agent#1"})), {"text": "got it"}])
    await until(lambda: of(seen, SubagentCompleted))
    await agent.instruct("and?").aexecute()
    assert tool_texts(agent)[-1] == "answer"
    agent.finalize()


async def test_row_42_cancelling_the_parent_reaches_its_children() -> None:
    gate = Gate()
    agent = family(
        holding(gate),
        calls(("agent_spawn", {"task": "t"})),
        calls(("agent_wait", {"identifier": "agent#1"})),
        {"text": "x"},
    )
    run = asyncio.ensure_future(agent.instruct("go").aexecute())
    await asyncio.wait_for(gate.begun.wait(), 5)
    agent.cancel("enough")
    assert (await run).status == "cancelled"
    await until(lambda: gate.ended)
    assert gate.ended == ["cancelled"]
    agent.finalize()


async def test_row_43_finalize_cancels_what_is_left() -> None:
    gate = Gate()
    agent = family(holding(gate), calls(("agent_spawn", {"task": "t"})), {"text": "x"})
    await agent.instruct("go").aexecute()
    await asyncio.wait_for(gate.begun.wait(), 5)
    agent.finalize()
    await until(lambda: gate.ended)
    assert gate.ended == ["cancelled"]


def test_row_43_a_run_of_a_blocking_caller_has_children_too() -> None:
    def getter(param: AgentGetterParam) -> Agent[Any]:
        return Agent("child", ScriptedModel([{"text": "answer"}]))

    agent = family(
        getter,
        calls(("agent_spawn", {"task": "t"})),
        calls(("agent_wait", {"identifier": "agent#1"})),
        calls(("agent_resume", {"id": "agent#1", "message": "more"})),
        {"text": "x"},
    )
    agent.instruct("go").execute()
    assert tool_texts(agent)[1:] == ["answer", ""]  # the script of the child is at its end
    agent.finalize()


def test_row_43_a_resumed_child_knows_its_conversation() -> None:
    model = ScriptedModel([{"text": "first"}, {"text": "second"}])
    agent = family(
        lambda param: Agent("child", model),
        calls(("agent_spawn", {"task": "t"})),
        calls(("agent_wait", {"identifier": "agent#1"})),
        calls(("agent_resume", {"id": "agent#1", "message": "more"})),
        {"text": "x"},
    )
    agent.instruct("go").execute()
    assert tool_texts(agent)[2] == "second"
    assert [message.text for message in model.requests[1].messages] == ["t", "first", "more"]
    agent.finalize()


def test_row_43_finalize_ends_a_child_of_a_blocking_caller() -> None:
    ended: list[str] = []

    async def hold() -> str:
        """Wait."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return ""

    agent = family(
        lambda param: Agent("child", ScriptedModel([calls(("hold", {}))]), ToolBox(hold)),
        calls(("agent_spawn", {"task": "t"})),
        calls(("agent_wait", {"identifier": "agent#1", "timeout_seconds": 0.1})),
        {"text": "x"},
    )
    agent.instruct("go").execute()
    agent.finalize()
    assert ended == ["cancelled"]


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("agent_wait", {"identifier": "nobody"}, "no sub-agent 'nobody'"),
        ("agent_wait", {"identifier": "agent#1", "timeout_seconds": -1}, "negative"),
        ("agent_resume", {"id": "nobody", "message": "x"}, "no sub-agent 'nobody'"),
        ("agent_spawn", {"task": "t", "allowed_tools": ["web_*"]}, "no tool 'web_*'"),
        ("agent_spawn", {"task": "t", "model": "another"}, "can't be had"),
    ],
)
def test_row_43_wrong_calls_say_what_is_possible(tool: str, arguments: dict[str, Any], error: str) -> None:
    agent = family(
        lambda param: Agent("child", ScriptedModel([{"text": "a"}])),
        calls(("agent_spawn", {"task": "t"})),
        calls((tool, arguments)),
        {"text": "x"},
    )
    agent.instruct("go").execute()
    assert error in tool_texts(agent)[1]
    agent.finalize()


def test_spawn_outside_of_a_run_is_refused() -> None:
    agent = family(None)
    assert "needs a run" in agent.toolbox.call_tool(agent, "agent_spawn", {"task": "t"}).unwrap_err().error


def test_a_spawned_agent_may_be_given_fewer_tools() -> None:
    def look() -> str:
        """Look."""
        return "seen"

    def burn() -> str:
        """Burn."""
        return "burnt"

    child = ScriptedModel([calls(("burn", {}), ("look", {})), {"text": "a"}])
    agent = family(
        lambda param: Agent("child", child, ToolBox(look, burn)),
        calls(("agent_spawn", {"task": "t", "allowed_tools": ["lo*"]})),
        calls(("agent_wait", {"identifier": "agent#1"})),
        {"text": "x"},
    )
    agent.instruct("go").execute()
    assert [entry["function"]["name"] for entry in child.requests[0].tools] == ["look"]
    read = [message.text for message in child.requests[1].messages if message.role == "tool"]
    assert "disabled" in read[0] and read[1] == "seen"
    agent.finalize()


def test_another_model_of_the_same_server() -> None:
    model = OpenAIModel("a", base_url="http://127.0.0.1:9/v1", api_key="k", headers={"x": "y"}, timeout=5)
    other = model.with_name("b")
    assert (other.name, other.base_url, model.name) == ("b", model.base_url, "a")


def test_children_draw_on_the_purse_of_their_parent() -> None:
    def getter(param: AgentGetterParam) -> Agent[Any]:
        return Agent("child", ScriptedModel([{"text": "a", "usage": {"input": 900, "output": 200}}]))

    agent = family(
        getter,
        calls(("agent_spawn", {"task": "t"})),
        calls(("agent_wait", {"identifier": "agent#1"})),
        {"text": "never"},
        config=AgentConfig(max_tokens=1000),
    )
    result = agent.instruct("go").execute()
    assert result.unwrap_err().kind == "budget" and agent.usage.input == 900
    agent.finalize()


def test_row_17_tools_of_a_run_reach_inherited_children() -> None:
    def extra() -> str:
        """Do more."""
        return "extra done"

    turns = [calls(("agent_run", {"task": "t"})), calls(("extra", {})), {"text": "child"}, {"text": "x"}]
    agent = family(None, *turns)
    assert agent.instruct("go").execute(tools=[extra]).unwrap() == "x"
    read = [message.text for message in agent.model.requests[2].messages if message.role == "tool"]
    assert read == ["extra done"]


# -- agents as tools --------------------------------------------------------------------------------


def test_row_44_an_agent_is_a_tool_of_another() -> None:
    seen: list[Any] = []

    def note(ctx: ToolCallContext[Any]) -> str:
        """Note."""
        seen.append((ctx.agent.name, ctx.value))
        return ""

    reviewer = Agent(model=ScriptedModel([calls(("note", {})), {"text": "fine"}, {"text": "still fine"}]))
    reviewer.toolbox.register(note)
    reviewer.system("You review.")
    box = ToolBox(reviewer.as_tool("review", "Review a change."))
    entry = box.list_tools_json()[0]["function"]
    assert (entry["name"], entry["description"]) == ("review", "Review a change.")
    assert list(entry["parameters"]["properties"]) == ["task"]
    turns = [calls(("review", {"task": "a"})), calls(("review", {"task": "b"})), {"text": "x"}]
    agent = Agent(model=ScriptedModel(turns), toolbox=box).initialize()
    agent.instruct("go").execute(context="value")
    assert tool_texts(agent) == ["fine", "still fine"]
    assert seen == [("review#1", "value")]
    last = reviewer.model.requests[-1].messages
    assert [message.text for message in last] == ["You review.", "b"]  # a conversation of its own
    assert reviewer.history == []


def test_row_44_an_agent_that_calls_itself_comes_to_an_end() -> None:
    model = ScriptedModel([*[calls(("again", {"task": "deeper"}))] * 4, *[{"text": "up"}] * 4])
    box = ToolBox()
    agent = Agent(model=model, toolbox=box).initialize()
    box.register(agent.as_tool("again", "Do it again.", max_depth=3))
    assert agent.instruct("go").execute().unwrap() == "up"
    assert any("deeper than 3" in message.text for message in model.requests[4].messages)


# -- waiting for a person ---------------------------------------------------------------------------


class Trace:
    def __init__(self) -> None:
        self.made: list[str] = []

    def tools(self) -> ToolBox:
        @tool_attr(approval=True)
        def pay(amount: int) -> str:
            """Pay."""
            self.made.append(f"pay {amount}")
            return f"paid {amount}"

        def look(what: str) -> str:
            """Look."""
            self.made.append(f"look {what}")
            return what

        return ToolBox(pay, look)


def payers(trace: Trace) -> Any:
    def getter(param: AgentGetterParam) -> Agent[Any]:
        amount = int(param.name or 1)
        first = calls(("look", {"what": str(amount)}), ("pay", {"amount": amount}))
        done = {"text": f"answer {amount}"}
        config = AgentConfig(on_ask="suspend")
        restored = param.tool_context.agent.state.get("restored")
        return Agent("child", ScriptedModel([done] if restored else [first, done]), trace.tools(), config=config)

    return getter


def test_row_36_a_child_waits_with_its_parent_and_goes_on_in_another_process() -> None:
    trace = Trace()
    agent = family(payers(trace), calls(("agent_run", {"task": "t", "name": "1"})), {"text": "x"})
    assert agent.instruct("go").execute().status == "pending"
    [call] = agent.pending
    assert (call.tool, call.question, call.agent) == ("agent_run", "Run the tool pay?", "1#1")
    saved = json.loads(json.dumps(agent.save()))
    again = family(payers(trace), {"text": "y"}).load_state(saved)
    again.state["restored"] = True
    assert again.resume({call.call_id: True}).unwrap() == "y"
    assert trace.made == ["look 1", "pay 1"] and tool_texts(again) == ["answer 1"]


def test_row_36_several_children_wait_and_none_works_twice() -> None:
    trace = Trace()

    def getter(param: AgentGetterParam) -> Agent[Any]:
        child = payers(trace)(param)
        if param.name == "2":
            child.config.on_ask = "chooser"  # nobody is there: it ends at once
        return child

    parallel = {"tasks": ["a", "b", "c"], "names": ["1", "2", "3"]}
    agent = family(getter, calls(("agent_run_parallel", parallel)), {"text": "x"})
    agent.instruct("go").execute()
    agent.state["restored"] = True
    assert agent.resume({agent.pending[0].call_id: True}).status == "pending"
    assert agent.resume({agent.pending[0].call_id: False}).unwrap() == "x"
    assert trace.made == ["look 1", "look 2", "look 3", "pay 1"]
    values = [item["value"] for item in json.loads(tool_texts(agent)[0])]
    assert values == ["answer 1", "answer 2", "answer 3"]


def test_row_36_waiting_for_a_child_in_the_background_waits_for_the_person() -> None:
    trace = Trace()
    agent = family(
        payers(trace),
        calls(("agent_spawn", {"task": "t", "name": "1"})),
        calls(("agent_wait", {"identifier": "1#1"})),
        {"text": "x"},
    )
    assert agent.instruct("go").execute().status == "pending"
    [call] = agent.pending
    assert (call.tool, call.agent) == ("agent_wait", "1#1")
    assert agent.resume({call.call_id: True}).unwrap() == "x"
    assert trace.made == ["look 1", "pay 1"] and tool_texts(agent)[1] == "answer 1"
    agent.finalize()


async def test_a_child_asks_through_the_chooser_of_its_parent_under_its_own_name() -> None:
    asked: list[str] = []

    class Person:
        async def choose(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
            asked.append(request.agent)
            return ChoiceOutcome("once")

    trace = Trace()

    def getter(param: AgentGetterParam) -> Agent[Any]:
        return Agent("child", ScriptedModel([calls(("pay", {"amount": 1})), {"text": "a"}]), trace.tools())

    agent = family(
        getter,
        calls(("agent_run", {"task": "t", "name": "first"}), ("agent_spawn", {"task": "t", "name": "second"})),
        calls(("agent_wait", {"identifier": "second#2"})),
        {"text": "x"},
        chooser=Person(),
    )
    await agent.instruct("go").aexecute()
    assert sorted(asked) == ["first#1", "second#2"] and trace.made == ["pay 1", "pay 1"]
    agent.finalize()


def test_a_dry_run_reaches_children() -> None:
    made: list[str] = []

    def write() -> str:
        """Write."""
        made.append("written")
        return ""

    child = ScriptedModel([calls(("write", {})), {"text": "a"}])
    agent = family(
        lambda param: Agent("child", child, ToolBox(write)), calls(("agent_run", {"task": "t"})), {"text": "x"}
    )
    agent.toolbox.dry_run = True
    agent.instruct("go").execute()
    assert made == [] and "would_call" in child.requests[1].messages[-1].text


def test_the_sub_agent_tools_are_switched_off_together() -> None:
    agent = scripted({"text": "x"})
    agent.toolbox.with_subagent_provider().disable_subagent()
    assert agent.toolbox.list_tools() == []
    assert len(agent.toolbox.enable_subagent().list_tools()) == 6


def test_row_36_equal_questions_of_one_child_get_their_own_answers() -> None:
    trace = Trace()

    def getter(param: AgentGetterParam) -> Agent[Any]:
        box = trace.tools()

        def twice(ctx: ToolCallContext[Any]) -> str:
            """Ask twice."""
            return f"{ctx.ask('More?', ['yes', 'no'])} {ctx.ask('More?', ['yes', 'no'])}"

        box.register(twice)
        turn = calls(("pay", {"amount": 1}), ("pay", {"amount": 2}), ("twice", {}))
        script = ScriptedModel([{"text": "a"}] if param.tool_context.agent.state.get("restored") else [turn])
        script_of.append(script)
        return Agent("child", script, box, config=AgentConfig(on_ask="suspend"))

    script_of: list[ScriptedModel] = []
    agent = family(getter, calls(("agent_run", {"task": "t"})), {"text": "x"})
    agent.instruct("go").execute()
    agent.state["restored"] = True
    answers = [True, False, "yes", "no"]
    while agent.pending:
        [call] = agent.pending
        agent.resume({call.call_id: answers.pop(0)})
    assert answers == [] and trace.made == ["pay 1"]
    texts = [message.text for message in script_of[-1].requests[-1].messages if message.role == "tool"]
    assert texts[0] == "paid 1" and "Denied" in texts[1] and texts[2] == "yes no"
