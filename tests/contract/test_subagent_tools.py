"""Statements 127 and 128 of the tool contract: sub-agents."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.fakes.runs import tool_texts
from xun import Agent, AgentGetterParam, ToolBox
from xun.models import ScriptedModel


def ask(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": tool, "arguments": arguments}]}


def child_of(*turns: Any) -> Agent[Any]:
    return Agent("child", ScriptedModel(turns))


def run(getter: Any, call: dict[str, Any], *, max_depth: int = 2) -> list[str]:
    """Run an agent that makes one call, and return what it reads of it."""
    box = ToolBox().with_subagent_provider(getter, max_depth)
    parent = Agent(model=ScriptedModel([call, {"text": "done"}]), toolbox=box).initialize()
    assert parent.instruct("go").execute(context={"shared": True}).unwrap() == "done"
    parent.finalize()
    return tool_texts(parent)


def test_127_getter_gets_context_and_name_and_gives_a_fresh_agent():
    params: list[AgentGetterParam] = []

    def getter(param: AgentGetterParam) -> Agent[Any]:
        params.append(param)
        return child_of({"text": "the child's answer"})

    assert run(getter, ask("agent_run", task="do it", name="worker")) == ["the child's answer"]
    (param,) = params
    assert param.name == "worker" and param.tool_context.tool_name == "agent_run"
    assert param.tool_context.value == {"shared": True}


def test_127_error_in_the_child_is_an_error_of_the_call():
    def endless(param: AgentGetterParam) -> Agent[Any]:
        return child_of(*[ask("nothing")] * 50)

    def broken(param: AgentGetterParam) -> Agent[Any]:
        raise ValueError("no agent today")

    def nobody(param: AgentGetterParam) -> Any:
        return None

    assert "failed" in run(endless, ask("agent_run", task="x"))[0]
    assert "no agent today" in run(broken, ask("agent_run", task="x"))[0]
    assert "no Agent" in run(nobody, ask("agent_run", task="x"))[0]


def test_127_a_getter_may_begin_with_what_the_parent_has():
    def getter(param: AgentGetterParam) -> Agent[Any]:
        child = Agent.inherit(param.tool_context.agent, param.name, model=False, system=False)
        child.model = ScriptedModel([{"text": "mine"}])
        return child.system("Be brief.")

    assert run(getter, ask("agent_run", task="x")) == ["mine"]


def test_127_what_is_inherited_can_be_chosen():
    parent = Agent("p", ScriptedModel([]), ToolBox().with_defaults("system")).system("Be kind.")
    whole, bare = (
        Agent.inherit(parent),
        Agent.inherit(
            parent, "c", model=False, toolbox=False, workspace=False, config=False, chooser=False, system=False
        ),
    )
    mine = (parent.model, parent.toolbox, parent.workspace, parent.config)
    assert (whole.model, whole.toolbox, whole.workspace, whole.config) == mine and whole.system_text() == "Be kind."
    assert (bare.name, bare.model, bare.system_text(), bare.toolbox.list_tools()) == ("c", None, "", [])
    assert bare.workspace is not parent.workspace and bare.config is not parent.config
    assert whole.parent is bare.parent is parent and whole.state is not parent.state


@pytest.mark.parametrize(("max_depth", "answer"), [(2, "grandchild"), (1, "deeper than 1")])
def test_127_generations_are_limited(max_depth: int, answer: str):
    def getter(param: AgentGetterParam) -> Agent[Any]:
        box = ToolBox().with_subagent_provider(lambda _: child_of({"text": "grandchild"}), max_depth)
        return Agent("child", ScriptedModel([ask("agent_run", task="deeper"), {"text": "child"}]), box)

    seen: list[str] = []

    def watching(param: AgentGetterParam) -> Agent[Any]:
        child = getter(param)
        child.hooks.before_finalize.add(lambda agent: seen.extend(tool_texts(agent)))
        return child

    assert run(watching, ask("agent_run", task="x"), max_depth=max_depth) == ["child"]
    assert len(seen) == 1 and answer in seen[0]


def test_127_two_generations_by_default():
    box = ToolBox().with_subagent_provider()
    turns = [ask("agent_run", task="one"), ask("agent_run", task="two"), ask("agent_run", task="three")]
    answers = [{"text": "second"}, {"text": "first"}, {"text": "done"}]
    parent = Agent(model=ScriptedModel([*turns, *answers]), toolbox=box).initialize()
    assert parent.instruct("go").execute().unwrap() == "done"
    model = parent.model
    assert isinstance(model, ScriptedModel)
    refused = [m.text for request in model.requests for m in request.messages if "deeper than 2" in m.text]
    assert refused
    parent.finalize()


def parallel(*tasks: str, **more: Any) -> list[str]:
    def getter(param: AgentGetterParam) -> Agent[Any]:
        if param.name == "bad":
            raise ValueError("no agent today")
        return child_of({"text": f"answer of {param.name}"})

    return run(getter, ask("agent_run_parallel", tasks=list(tasks), **more))


def test_128_results_are_in_the_order_of_the_tasks():
    (text,) = parallel("x", "y", "z", names=["a", "b", "c"])
    values = [(item["is_ok"], item["value"]) for item in json.loads(text)]
    assert values == [(True, "answer of a"), (True, "answer of b"), (True, "answer of c")]


def test_128_one_that_fails_does_not_stop_the_rest():
    (text,) = parallel("x", "y", "z", names=["a", "bad", "c"])
    assert text.startswith("["), text
    items = json.loads(text)
    assert [item["is_ok"] for item in items] == [True, False, True]
    assert "no agent today" in items[1]["value"]["error"]


def test_128_names_must_match():
    (text,) = parallel("x", "y", names=["a"])
    assert "1 entries for 2 tasks" in text


def test_128_tasks_may_come_as_text():
    def getter(param: AgentGetterParam) -> Agent[Any]:
        return child_of({"text": "ok"})

    (text,) = run(getter, ask("agent_run_parallel", tasks='["x", "y"]'))
    assert [item["value"] for item in json.loads(text)] == ["ok", "ok"]


def test_many_tasks_at_once_are_worked_on_sixteen_at_a_time_and_answered_in_order():
    working: list[int] = [0]
    most: list[int] = [0]

    async def work(n: int) -> int:
        """Work for a moment."""
        working[0] += 1
        most[0] = max(most[0], working[0])
        await asyncio.sleep(0.02)
        working[0] -= 1
        return n

    def getter(param: AgentGetterParam) -> Agent[Any]:
        agent = child_of(ask("work", n=1), {"text": f"answer of {param.name}"})
        agent.toolbox = ToolBox(work)
        return agent

    names = [f"n{number}" for number in range(40)]
    (text,) = run(getter, ask("agent_run_parallel", tasks=names, names=names))
    assert [item["value"] for item in json.loads(text)] == [f"answer of {name}" for name in names]
    assert 1 < most[0] <= 16
