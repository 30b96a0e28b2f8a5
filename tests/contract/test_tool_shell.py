"""A class tool as an example: the shell in the agent's environment that is kept over turns."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from tests.fakes.runs import calls, scripted, tool_texts
from xun import (
    Agent,
    AgentConfig,
    ToolBox,
    ToolCallContext,
    Workspace,
)
from xun.tools import StatefulTool, ToolRegistry
from xun_builtin_tools import gate


class ShellArgs(BaseModel):
    command: str = Field(description="What to run.")


class ShellConfig(BaseModel):
    command_timeout: float = 20
    env_vars: dict[str, str] = {}


class Shell(StatefulTool):
    """Run a command in a shell that stays: its folder, exports and jobs last to the next call."""

    name = "shell"
    args_model = ShellArgs
    config_model = ShellConfig

    def start(self) -> None:
        self.process: Any = None

    def run(self, ctx: ToolCallContext[Any], args: ShellArgs) -> str:
        if self.process is None:
            self.cwd = str(ctx.agent.workspace.workdir)
            # The tool names no provider: the shell runs in whatever environment the agent has.
            self.process = ctx.agent.environment.spawn(["bash", "--noprofile", "--norc"], cwd=self.cwd, stdin=True)
            for name, value in self.config.env_vars.items():
                self.process.write_stdin(f"export {name}={shlex.quote(value)}\n".encode())
        approved = gate.command(ctx, args.command, self.cwd, None)
        mark = f"--{time.monotonic_ns()}--"
        text = f"{{ {approved.text}\n}} 2>&1 </dev/null; printf '\\n%s %s %s\\n' {mark} $? \"$PWD\"\n"
        self.process.write_stdin(text.encode())
        output, status = self._until(mark)
        return f"{output}[exit code] {status}"

    def _until(self, mark: str) -> tuple[str, str]:
        lines = []
        end = time.monotonic() + self.config.command_timeout
        while time.monotonic() < end:
            line = self.process.stdout.readline().decode()
            if line.startswith(mark):
                _, status, self.cwd = line.split(maxsplit=2)
                self.cwd = self.cwd.rstrip("\n")
                output = "".join(lines)[:-1]
                return output if output.endswith("\n") or not output else f"{output}\n", status
            lines.append(line)
        raise TimeoutError(f"no answer within {self.config.command_timeout:g} s")

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.close()


def shell_box(**config: Any) -> ToolBox:
    registry = ToolRegistry()
    registry.register("stateful_shell", Shell)
    return ToolBox.from_specs([{"name": "stateful_shell", "command_timeout": 20, **config}], registry=registry)


def shell(box: ToolBox, agent: Agent[Any], command: str) -> str:
    return str(box.call_tool(agent, "shell", {"command": command}).unwrap())


@pytest.fixture
def place(tmp_path: Path) -> Agent[Any]:
    (tmp_path / "sub").mkdir()
    return Agent(workspace=Workspace(tmp_path), config=AgentConfig(auto_confirm=True)).initialize()


def test_shell_keeps_folder_exports_and_jobs_between_calls(place: Agent[Any]):
    box = shell_box(env_vars={"PAGER": "cat"})
    with place, box.entered(retry=3, timeout=60):
        assert shell(box, place, "cd sub && pwd") == f"{place.workspace.workdir}/sub\n[exit code] 0"
        assert shell(box, place, "export GREETING=hello") == "[exit code] 0"
        assert shell(box, place, "sleep 60 & echo started") == "started\n[exit code] 0"
        assert shell(box, place, 'echo "$GREETING $PAGER"; pwd; jobs | wc -l; false').splitlines() == [
            "hello cat",
            f"{place.workspace.workdir}/sub",
            "1",
            "[exit code] 1",
        ]


def test_shell_over_the_turns_of_a_conversation(place: Agent[Any]):
    agent = scripted(
        calls(("shell", {"command": "cd sub"})),
        {"text": "moved"},
        calls(("shell", {"command": "pwd"})),
        {"text": "here"},
        workspace=place.workspace,
        config=place.config,
    )
    agent.toolbox = shell_box()
    agent.instruct("go to sub").execute().unwrap()
    agent.instruct("where are you?").execute().unwrap()
    agent.finalize()
    assert tool_texts(agent) == ["[exit code] 0", f"{place.workspace.workdir}/sub\n[exit code] 0"]


def test_shell_asks_for_each_command_where_it_runs(place: Agent[Any], tmp_path: Path):
    box, agent = shell_box(), Agent(workspace=Workspace(tmp_path)).initialize()
    with agent:
        assert shell(box, agent, "cd sub; pwd").startswith(f"{agent.workspace.workdir}/sub")
        denied = box.call_tool(agent, "shell", {"command": "touch made"})
        assert denied.status == "denied" and list(tmp_path.rglob("made")) == []
        assert shell(box, agent, "pwd").startswith(f"{agent.workspace.workdir}/sub")


def test_two_agents_have_two_shells(place: Agent[Any]):
    box = shell_box()
    other = Agent(workspace=place.workspace, config=place.config).initialize()
    with place, other:
        shell(box, place, "cd sub")
        assert shell(box, other, "pwd") == f"{place.workspace.workdir}\n[exit code] 0"
