"""What is forbidden to an agent, a sub-agent of it may not do either."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xun import Agent, AgentConfig, AgentGetterParam, ToolBox, Workspace
from xun.choice import ChoiceOutcome, ChoiceRequest
from xun.models import ScriptedModel


class Person:
    """Says no, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def choose(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
        self.asked.append(request.kind)
        return ChoiceOutcome("deny", "user")


@pytest.mark.parametrize(
    ("tool", "arguments", "seen"),
    [("write_file", {"path": "new.txt", "content": "x"}, []), ("bash", {"command": "ls"}, ["command"])],
)
def test_plan_mode_and_exclusions_hold_for_sub_agents(
    tmp_path: Path, tool: str, arguments: dict[str, Any], seen: list[str]
) -> None:
    model = ScriptedModel(
        [
            {"tool_calls": [{"name": "agent_run", "arguments": {"task": "do it"}}]},
            {"tool_calls": [{"name": tool, "arguments": arguments}]},
            {"text": "I could not."},
            {"text": "done"},
        ]
    )
    box = ToolBox().with_defaults("fs", "cmd").with_subagent_provider()
    person = Person()
    with Agent(model=model, toolbox=box, workspace=Workspace(tmp_path), chooser=person) as agent:
        agent.policy.mode = "plan"
        agent.policy.excluded.add("ls")
        assert agent.instruct("go").execute().unwrap() == "done"
        told = " ".join(message.text for request in model.requests for message in request.messages)
        agent.workspace.close()
    assert "Denied" in told and person.asked == seen
    assert list(tmp_path.iterdir()) == []


def test_a_sub_agent_draws_on_the_purse_of_its_parent() -> None:
    call = {"name": "note", "arguments": {}}
    works = {"tool_calls": [call], "usage": {"input": 50, "output": 10}}
    inner = ScriptedModel([works] * 9)

    def note() -> str:
        """Note."""
        return "noted"

    def getter(param: AgentGetterParam) -> Agent[Any]:
        return Agent(model=inner, toolbox=ToolBox(note))  # with limits of its own: none

    outer = ScriptedModel([{"tool_calls": [{"name": "agent_run", "arguments": {"task": "work"}}]}, {"text": "done"}])
    box = ToolBox().with_subagent_provider(getter)
    with Agent(model=outer, toolbox=box, config=AgentConfig(max_tokens=100)) as agent:
        result = agent.instruct("go").execute()
        told = agent.history[-1].text
    assert len(inner.requests) == 2 and "with its sub-agents" in told
    assert result.unwrap_err().kind == "budget"


def test_leaving_plan_mode_holds_for_a_sub_agent_that_runs(tmp_path: Path) -> None:
    box = ToolBox().with_defaults("fs").with_subagent_provider()
    agent: Agent[Any] = Agent(toolbox=box, workspace=Workspace(tmp_path))

    def leave() -> str:
        """Leave plan mode."""
        agent.policy.mode = "ask"
        return "left"

    write = {"name": "write_file", "arguments": {"path": "new.txt", "content": "x"}}
    agent.model = ScriptedModel(
        [
            {"tool_calls": [{"name": "agent_run", "arguments": {"task": "do it"}}]},
            {"tool_calls": [write]},
            {"tool_calls": [{"name": "leave", "arguments": {}}]},
            {"tool_calls": [write]},
            {"text": "It is written."},
            {"text": "done"},
        ]
    )
    box.register(leave)
    with agent as ready:
        ready.policy.mode = "plan"
        assert ready.instruct("go").execute().unwrap() == "done"
        seen = [message.text for message in ready.model.requests[-2].messages if message.role == "tool"]
        ready.workspace.close()
    assert "plan mode" in seen[0] and "left" in seen[1] and (tmp_path / "new.txt").read_text() == "x"
