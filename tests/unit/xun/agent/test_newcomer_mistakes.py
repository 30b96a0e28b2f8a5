"""What the SDK says to somebody who comes from elsewhere and gets a part wrong."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from xun import Agent, AgentConfig, ChoiceOutcome, ErrorInfo, Result, ToolBox, ToolCallContext
from xun.errors import ConfigError
from xun.models import ScriptedModel


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"model": "gpt-5"}, r"model must be a model, such as OpenAIModel\('gpt-5-mini'\).*, not 'gpt-5'"),
        ({"toolbox": [add]}, r"toolbox must be a ToolBox, such as ToolBox\(function, \.\.\.\), not list"),
        ({"workspace": "src"}, "workspace must be a Workspace"),
        ({"config": {"max_tokens": 3}}, "config must be an AgentConfig"),
        ({"chooser": lambda request: None}, "chooser must be an object with `async def choose"),
        ({"hooks": []}, "hooks must be a Hooks"),
    ],
)
def test_a_part_of_another_kind_is_refused_where_the_agent_is_made(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        Agent(**parts)


def test_a_list_of_tools() -> None:
    with pytest.raises(TypeError, match=r"got list: give tools one by one, ToolBox\(\*tools\)"):
        ToolBox([add])  # type: ignore[arg-type]


@pytest.mark.parametrize("turns", [{"text": "hi"}, "hi", b"hi", 3])
def test_a_script_that_is_no_list(turns: Any) -> None:
    with pytest.raises(ConfigError, match="turns must be a list of objects, such as"):
        ScriptedModel(turns)


class Plain:
    def choose(self, request: Any) -> Any:
        return ChoiceOutcome("once")


class Wrong:
    async def choose(self, request: Any) -> Any:
        return True


def careful(ctx: ToolCallContext[Any]) -> str:
    """Ask."""
    return ctx.ask("Sure?", ["yes", "once"])


@pytest.mark.parametrize(("chooser", "said"), [(Plain(), "once"), (Wrong(), "choose() of Wrong must return a Choice")])
def test_choosers(chooser: Any, said: str) -> None:
    turns = [{"tool_calls": [{"name": "careful", "arguments": {}}]}, {"text": "ok"}]
    with Agent(model=ScriptedModel(turns), toolbox=ToolBox(careful), chooser=chooser) as agent:
        agent.instruct("go").execute().unwrap()
        assert said in agent.history[2].text


class Answer(BaseModel):
    summary: str
    risk: int = Field(ge=0, le=10)


def test_what_a_model_reads_of_an_answer_that_does_not_fit() -> None:
    script = ScriptedModel([{"text": '{"risk": 11}'}, {"text": "no"}, {"text": '{"summary": "s", "risk": 1}'}])
    with Agent(model=script) as agent:
        assert agent.instruct("go").execute(schema=Answer).unwrap() == Answer(summary="s", risk=1)
        first, second = (
            message.text for message in agent.history if message.role == "user" and "schema" in message.text
        )
    assert "\n".join(first.splitlines()[:2]) == (
        "The answer does not meet the schema: summary: field required\nrisk: input should be less than or equal to 10"
    )
    assert "invalid JSON" in second and "errors.pydantic.dev" not in first + second


def test_a_schema_that_is_none() -> None:
    with Agent(model=ScriptedModel([{"text": "3"}])) as agent:
        with pytest.raises(ConfigError, match="'Answer' is nothing that"):
            agent.instruct("go").execute(schema="Answer")
        assert agent.instruct("go").execute(schema=int) == Result.Ok(3), "the agent can be used all the same"


def test_the_steps_that_are_named_are_those_of_this_run() -> None:
    call = {"tool_calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}], "usage": {"input": 1000, "output": 0}}
    with Agent(
        model=ScriptedModel([call] * 3), toolbox=ToolBox(add), config=AgentConfig(max_tokens=1500)
    ) as agent:  # fmt: skip
        assert agent.instruct("go").execute().unwrap_err().kind == "budget"
        error = agent.instruct("go").execute(max_iterations=1).unwrap_err()
    assert error.error == "The run used all of its one step without an answer; it called add once."


def test_a_result_reads_as_it_is_made() -> None:
    assert repr(Result.Ok([1])) == "Result.Ok([1])"
    assert repr(Result.Err(ErrorInfo("no"), "denied")).endswith("kind='error', facts=None), status='denied')")
