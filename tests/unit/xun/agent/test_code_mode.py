"""What the model sees in code mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.runs import calls, stream, tool_texts
from xun import Agent, AgentConfig, ToolBox, Workspace, tool_attr
from xun.models import ScriptedModel


def plain(n: int) -> int:
    """Be plain."""
    return n


@tool_attr(expose="direct")
def straight() -> int:
    """Be direct."""
    return 1


@tool_attr(expose="code")
def coded() -> int:
    """Be for code."""
    return 2


@tool_attr(expose="command")
def commanded() -> int:
    """Be for the person."""
    return 3


@tool_attr(ends_run=True)
def finish(answer: str) -> str:
    """End the run."""
    return answer


ALL = (plain, straight, coded, commanded, finish)


@pytest.fixture
def make(tmp_path):
    made = []

    def build(*turns, tools=ALL, code_mode=True, **options):
        agent = Agent(
            model=ScriptedModel([*turns, {"text": "done"}]),
            toolbox=ToolBox(*tools),
            workspace=Workspace(tmp_path),
            config=AgentConfig(auto_confirm=True, risk_enabled=False, code_mode=code_mode, **options),
        )
        made.append(agent)
        return agent.initialize()

    yield build
    for agent in made:
        agent.finalize()
        agent.workspace.close()


def offered(agent: Agent[Any], index: int = 0) -> list[str]:
    return [tool["function"]["name"] for tool in agent.model.requests[index].tools]


def system(agent: Agent[Any], index: int = 0) -> str:
    first = agent.model.requests[index].messages[0]
    return first.text if first.role == "system" else ""


def stub_path(agent: Agent[Any], index: int = 0) -> Path:
    [path] = [word for word in system(agent, index).split() if word.endswith(".pyi")]
    return Path(path)


async def test_the_list_holds_what_is_direct_and_run_code(make):
    agent = make()
    await stream(agent)
    assert offered(agent) == ["straight", "finish", "run_code"]


async def test_without_code_mode_it_holds_neither_code_nor_commands(make):
    agent = make(code_mode=False)
    await stream(agent)
    assert offered(agent) == ["plain", "straight", "finish"] and system(agent) == ""


async def test_the_stub_holds_all_others_and_is_named_in_the_system_text(make):
    agent = make()
    await stream(agent.system("Be brief."))
    text = stub_path(agent).read_text()
    assert system(agent).startswith("Be brief.\n\n") and "plain, coded." in system(agent)
    assert text == ToolBox(*ALL).stub() and "async def plain(*, n: int) -> int:" in text and "async def coded" in text
    assert not any(name in text for name in ("straight", "commanded", "finish", "run_code("))
    assert agent.workspace.resolve(stub_path(agent)).in_tempdir  # where read_file may read it


async def test_the_path_stays_while_the_tools_do(make):
    agent = make(calls(("straight", {})))
    await stream(agent)
    await stream(agent)
    paths = [stub_path(agent, index) for index in range(3)]
    assert len(set(paths)) == 1
    agent.toolbox.disable("coded")
    await stream(agent)
    assert stub_path(agent, 3) != paths[0] and "coded" not in stub_path(agent, 3).read_text()
    agent.toolbox.enable("coded")
    await stream(agent)
    assert stub_path(agent, 4) == paths[0]


async def test_a_stub_that_was_changed_is_written_again(make):
    agent = make()
    await stream(agent)
    stub_path(agent).write_text("nonsense")
    await stream(agent)
    assert "async def plain" in stub_path(agent, 1).read_text()


async def test_a_tool_for_one_run_is_in_its_stub(make):
    def extra() -> int:
        """Be there once."""
        return 1

    agent = make()
    await stream(agent, tools=[extra])
    await stream(agent)
    assert "async def extra" in stub_path(agent, 0).read_text()
    assert "async def extra" not in stub_path(agent, 1).read_text()


async def test_a_disabled_run_code_falls_back_to_direct_calls(make):
    agent = make()
    agent.toolbox.with_defaults("code").disable("run_code")
    await stream(agent)
    assert offered(agent) == ["plain", "straight", "finish"] and system(agent) == ""


async def test_the_toolbox_of_the_caller_is_left_as_it_is(make):
    agent = make()
    await stream(agent)
    assert agent.toolbox.get("run_code") is None


@pytest.mark.parametrize(
    ("code_mode", "tool", "said"),
    [
        (True, "plain", "7"),  # a model that names it all the same means well
        (True, "coded", "called from code only: use run_code with await tools.coded(...)"),
        (True, "commanded", "is not for the model"),
        (False, "coded", "is not for the model"),
        (False, "commanded", "is not for the model"),
        (False, "run_code", "There is no tool named 'run_code'"),
    ],
)
async def test_what_a_model_calls_without_being_offered_it(make, code_mode, tool, said):
    arguments = {"n": 7} if tool == "plain" else {}
    agent = make(calls((tool, arguments)), code_mode=code_mode)
    await stream(agent)
    assert said in tool_texts(agent)[0]


def test_the_person_calls_every_tool(make):
    agent = make()
    for name, value in (("coded", 2), ("commanded", 3)):
        assert agent.toolbox.call_tool(agent, name, {}, None).unwrap() == value


def test_an_unknown_exposure_names_the_four():
    with pytest.raises(ValueError, match="auto, direct, code, command"):
        tool_attr(expose="nobody")  # type: ignore[arg-type]


def test_the_built_in_tools_that_stay_direct():
    box = ToolBox().with_defaults()
    names = {entry["function"]["name"] for entry in box.list_tools_json(code_mode=True)}
    assert {"bash", "read_file", "write_file", "replace", "multi_edit", "apply_patch", "run_code"} <= names
    assert not names & {"grep", "glob", "list_dir", "delete", "write_todos"}
