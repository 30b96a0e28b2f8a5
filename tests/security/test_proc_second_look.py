"""Processes that hide: no variable, no session, no parent and no file leads back to what started them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.environment.tags import bearers, mark_of, marked, owner_tag

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="marks of processes are of Linux")

TWICE = (
    "import os\n"
    "if not os.fork():\n os.setsid()\n if not os.fork():\n"
    "  os.closerange(0, 99); os.execve('/bin/sleep', ['sleep', '7{}'], {{}})\n os._exit(0)\nos.wait()"
)


def running(number: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0].endswith(b"sleep") and words[1:2] == [number.encode()]:
                found.append(entry.name)
    return found


@pytest.mark.row("sec-proc-005")
@pytest.mark.parametrize("environment", ["local", "sandbox"])
def test_what_cleared_its_variables_and_left_its_session_is_ended(tmp_path: Path, environment: str) -> None:
    unique = f"{os.getpid() % 10_000:04}{'1' if environment == 'local' else '2'}"
    config = AgentConfig(auto_confirm=True, environment=environment)
    commands = [
        f"setsid env -i /bin/sleep 5{unique} >/dev/null 2>&1 & echo a",
        f"env -i setsid setsid sleep 6{unique} >/dev/null 2>&1 & disown; echo b",
        f'python3 -c "{TWICE.format(unique)}"; echo c',
    ]
    with Agent(toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(tmp_path), config=config) as agent:
        for command in commands:
            value = agent.toolbox.call_tool(agent, "bash", {"command": command, "timeout": 20}, None).unwrap()
            assert value["returncode"] == 0, value
        if environment == "local":
            until = time.monotonic() + 5
            while not all(running(f"{first}{unique}") for first in "567") and time.monotonic() < until:
                time.sleep(0.02)
            assert all(running(f"{first}{unique}") for first in "567")
    assert not any(running(f"{first}{unique}") for first in "567")


def test_a_mark_is_of_one_owner_and_of_one_process() -> None:
    one, other = owner_tag(), owner_tag()
    assert mark_of(f"{one}.1") != mark_of(f"{one}.2") != mark_of(f"{other}.2")
    assert mark_of(f"{one}.7") >> 20 == mark_of(one) >> 20 < 1 << 40
    assert list(bearers(one)) == []


def test_only_a_bash_is_started_by_another_one() -> None:
    assert marked(["/usr/bin/git", "status"], owner_tag()) == ["/usr/bin/git", "status"]
    words = marked(["/bin/bash", "-c", "x $0 `y`"], owner_tag())
    assert words[-3:] == ["/bin/bash", "-c", "x $0 `y`"] and "`" not in words[5]


def test_the_text_variables_and_exit_code_are_those_of_the_command(tmp_path: Path) -> None:
    config = AgentConfig(auto_confirm=True)
    with Agent(toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(tmp_path), config=config) as agent:
        command = 'printf \'%s|\' "$0" "$#" "$SHLVL" "$-"; tr \'\\0\' \'|\' </proc/$$/cmdline; exit 7'
        value = agent.toolbox.call_tool(agent, "bash", {"command": command}, None).unwrap()
    assert value["stdout"] == f"/bin/bash|0|1|hBc|/bin/bash|--noprofile|--norc|-c|{command}|"
    assert value["returncode"] == 7
