"""No command reads what a person types or draws on their terminal, whichever tool runs it."""

from __future__ import annotations

import shutil

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace

READERS = ("cat", "read x; echo $x", 'python3 -c "input()"', "sort", "passwd", "python3", "bash", "sh -i", "mapfile y")
TERMINALS = (
    "read x </dev/tty",
    "sudo -k true",
    "less f",
    "top",
    "ssh-keygen",
    "stty sane",
    "tput cols </dev/tty",
)


@pytest.fixture
def agent(tmp_path):
    (tmp_path / "f").write_text("text\n")
    made = Agent(
        toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(tmp_path), config=AgentConfig(auto_confirm=True)
    )
    with made as ready:
        yield ready
    made.workspace.close()


def call(agent, tool, **arguments):
    return agent.toolbox.call_tool(agent, tool, arguments, None).unwrap()


def ends(agent, tool: str, command: str) -> bool:
    """Run a command; tell whether it came to its end by itself."""
    if tool == "bash_spawn":
        return call(agent, "bash_wait", id=call(agent, tool, command=command)["id"], timeout=50)["status"] == "done"
    return agent.toolbox.call_tool(agent, tool, {"command": command, "timeout": 50}, None).is_ok()


@pytest.mark.row("sec-proc-001", "sec-proc-002")
@pytest.mark.parametrize("tool", ["bash", "bash_spawn", "shell"])
def test_what_wants_input_or_a_terminal_ends_by_itself(agent, tool):
    for command in (*READERS, *TERMINALS):
        if shutil.which(command.split()[0]) or command.split()[0] in ("read", "mapfile"):
            assert ends(agent, tool, command), command


@pytest.mark.parametrize("tool", ["bash", "shell"])
def test_an_editor_that_waits_for_ever_is_ended(agent, tool):
    if shutil.which("vi") is None:
        pytest.skip("no vi here")
    result = agent.toolbox.call_tool(agent, tool, {"command": "vi f", "timeout": 0.5}, None)
    assert result.is_ok() or result.status == "timeout"  # Some editors give up by themselves.
    assert call(agent, tool, command="echo on")["stdout"] == "on\n"


@pytest.mark.row("sec-proc-002")
@pytest.mark.parametrize("tool", ["bash", "shell"])
def test_a_commit_without_a_message_opens_no_editor(agent, tool):
    if shutil.which("git") is None:
        pytest.skip("no git here")
    begin = "git init -q . && git add f && git -c user.name=a -c user.email=a@b.invalid commit"
    got = call(agent, tool, command=begin, timeout=5)
    assert got["returncode"] != 0
    assert "message" in got["stdout"] + got.get("stderr", "")
