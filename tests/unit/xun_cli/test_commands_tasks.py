"""/tasks in front of real background commands."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.fake_session import places, shown
from xun import Agent, AgentConfig, ToolBox, Workspace
from xun_cli.commands.registry import CommandContext, default_registry
from xun_cli.settings import Settings


@pytest.fixture
def agent(tmp_path: Path):
    folder = tmp_path / "proj"
    folder.mkdir()
    made = Agent(
        toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(folder), config=AgentConfig(auto_confirm=True)
    )
    with made as ready:
        yield ready
    made.workspace.close()


@pytest.fixture
def ctx(agent: Agent[Any], tmp_path: Path) -> CommandContext:
    session = SimpleNamespace(agent=agent, running=True, cwd=tmp_path)
    return CommandContext(session, places(tmp_path / "home"), Settings())  # type: ignore[arg-type]


async def call(agent: Agent[Any], tool: str, **arguments: Any) -> Any:
    return (await agent.toolbox.acall_tool(agent, tool, arguments, None)).unwrap()


async def test_tasks_are_listed_and_stopped(ctx: CommandContext, agent: Agent[Any]) -> None:
    assert await shown(ctx, "/tasks") == "Nothing runs in the background."
    first = (await call(agent, "bash_spawn", command="sleep 7301"))["id"]
    second = (await call(agent, "bash_spawn", command="exit 3"))["id"]
    await call(agent, "bash_wait", id=second, timeout=5)
    rows = (await shown(ctx, "/tasks")).splitlines()
    assert rows[1].split()[:2] == [first, "running"] and rows[1].endswith("sleep 7301")
    assert "exit 3" in rows[2]
    assert default_registry().get("tasks").complete(ctx, "stop ") == [f"stop {first}"]
    assert await shown(ctx, f"/tasks stop {first}") == f"Ended {first}: sleep 7301"
    assert "killed" in await shown(ctx, "/tasks")
    assert "ended already" in await shown(ctx, f"/tasks stop {first}")


@pytest.mark.parametrize(("line", "said"), [("/tasks stop", "stop ID"), ("/tasks end x", "stop ID")])
async def test_wrong_words_are_explained(ctx: CommandContext, line: str, said: str) -> None:
    assert said in await shown(ctx, line)


async def test_an_unknown_task_is_an_error(ctx: CommandContext) -> None:
    result = await default_registry().run(ctx, "/tasks stop task-9")
    assert not result.ok and "task-9" in result.outputs[0].text
