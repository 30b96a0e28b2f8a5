"""Statements 107 to 125 of the tool contract: what asks, what is remembered, what runs unasked."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fake_session import FakeSession, places
from tests.fakes.persons import Answers
from xun import Agent, AgentConfig, CancelledError, ChoiceOutcome, ToolBox, Workspace
from xun.choice import ChoiceRequest
from xun.models import ScriptedModel
from xun.tools.context import CallScope, ToolCallContext
from xun_builtin_tools import gate
from xun_cli.commands.registry import CommandContext, default_registry
from xun_cli.settings import Settings
from xun_policies.errors import Denied
from xun_policies.store import PolicyState

Make = Callable[..., Agent[Any]]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Agent[Any]] = []
    (tmp_path / "old").write_text("old\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "f").write_text("f\n")

    def build(*answers: Any, risk: Any = (), **config: Any) -> Agent[Any]:
        agent = Agent(
            model=ScriptedModel([], risk=list(risk)),
            toolbox=ToolBox().with_defaults("fs", "patch", "cmd", "framework"),
            workspace=Workspace(tmp_path),
            config=AgentConfig(**config),
            chooser=Answers(*answers),
        ).initialize()
        made.append(agent)
        return agent

    yield build
    for agent in made:
        agent.finalize()
        agent.workspace.close()


def call(agent: Agent[Any], tool: str, **arguments: Any) -> Any:
    return agent.toolbox.call_tool(agent, tool, arguments)


def asked(agent: Agent[Any]) -> list[ChoiceRequest]:
    chooser = agent.chooser
    assert isinstance(chooser, Answers)
    return chooser.asked


def write(agent: Agent[Any], path: str, content: str = "new\n") -> Any:
    return call(agent, "write_file", path=path, content=content)


# -- writes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"path": "old", "content": "x"}),
        ("move", {"src": "folder/f", "dst": "old"}),
        ("copy", {"src": "folder/f", "dst": "old"}),
        ("delete", {"path": "old"}),
    ],
)
def test_107_what_is_lost_asks_with_three_options_in_order(make: Make, tool: str, arguments: dict[str, str]):
    agent = make("deny")
    assert call(agent, tool, **arguments).status == "denied"
    (request,) = asked(agent)
    assert [option.value for option in request.options] == ["grant", "once", "deny"]
    assert (Path(agent.workspace.workdir) / "old").read_text() == "old\n"


def test_107_new_file_asks_nothing(make: Make):
    agent = make()
    assert write(agent, "made").is_ok() and call(agent, "copy", src="old", dst="copied").is_ok() and not asked(agent)


def test_108_temporary_folder_asks_nothing(make: Make):
    agent = make()
    path = str(agent.workspace.tempdir.path / "t")
    assert write(agent, path, "1").is_ok() and write(agent, path, "2").is_ok()
    assert call(agent, "delete", path=path).is_ok() and not asked(agent)


def test_109_grant_covers_later_writes(make: Make):
    agent = make("grant")
    assert write(agent, "old", "1").is_ok() and write(agent, "old", "2").is_ok() and len(asked(agent)) == 1


def test_109_grant_of_a_folder_covers_all_below(make: Make):
    agent = make("deny")
    agent.policy.write_allowlist.add(str(agent.workspace.resolve("folder").path), True, source="test")
    (agent.workspace.resolve("folder").path / "deep").mkdir()
    (agent.workspace.resolve("folder").path / "deep" / "g").write_text("g")
    assert write(agent, "folder/f").is_ok() and write(agent, "folder/deep/g").is_ok() and not asked(agent)
    assert write(agent, "old").status == "denied"


def test_110_once_asks_again(make: Make):
    agent = make("once", "once")
    assert write(agent, "old", "1").is_ok() and write(agent, "old", "2").is_ok() and len(asked(agent)) == 2
    assert len(agent.policy.write_allowlist) == 0


def test_111_deny_changes_nothing(make: Make):
    agent = make("deny")
    result = write(agent, "old")
    assert result.is_err() and result.status == "denied"
    assert agent.workspace.resolve("old").path.read_text() == "old\n"


def test_112_auto_confirm_writes_and_grants_nothing(make: Make):
    agent = make(auto_confirm=True)
    assert write(agent, "old").is_ok() and agent.workspace.resolve("old").path.read_text() == "new\n"
    assert len(agent.policy.write_allowlist) == 0 and not asked(agent)


def test_113_ask_preference_asks_also_under_auto_confirm(make: Make):
    agent = make("b", auto_confirm=True)
    assert call(agent, "ask_preference", question="Which?", choices=["a", "b"]).unwrap() == {"Q": "Which?", "A": "b"}
    wrong = call(agent, "ask_preference", question="Which?", choices=["a", "b"], default_choice="c")
    assert wrong.is_err() and "none of the choices" in wrong.unwrap_err().error and len(asked(agent)) == 1


def test_114_policy_is_in_the_state_of_that_agent(make: Make):
    agent, other = make("grant"), make()
    policy = agent.state["__builtin_tool_policy"]
    assert isinstance(policy, PolicyState) and policy is agent.policy
    write(agent, "old")
    assert len(policy.write_allowlist) == 1 and len(policy.command_allowlist) == 0
    assert len(other.state["__builtin_tool_policy"].write_allowlist) == 0
    stored = json.loads(json.dumps(policy.to_json()))
    assert stored["v"] == 1
    restored = Agent(workspace=agent.workspace, state={"__builtin_tool_policy": stored}).initialize()
    assert len(restored.policy.write_allowlist) == 1
    restored.finalize()


def test_114_sub_agent_has_its_own(make: Make):
    seen: list[Any] = []

    def look(ctx: ToolCallContext[Any]) -> str:
        """Look."""
        seen.append(ctx.agent.state["__builtin_tool_policy"])
        return "seen"

    parent = make()
    parent.model = ScriptedModel(
        [
            {"tool_calls": [{"name": "agent_run", "arguments": {"task": "look"}}]},
            {"tool_calls": [{"name": "look", "arguments": {}}]},
            {"text": "child"},
            {"text": "done"},
        ]
    )
    parent.toolbox.register(look).with_subagent_provider()
    parent.policy.write_allowlist.add("/granted", True, source="test")
    parent.instruct("go").execute().unwrap()
    assert len(seen) == 1 and seen[0] is not parent.policy and len(seen[0].write_allowlist) == 0


@pytest.mark.parametrize(("kind", "entry"), [("cmd_allowlist", "npm test"), ("path_allowlist", "src")])
async def test_115_policy_commands(tmp_path: Path, kind: str, entry: str):
    session = FakeSession(tmp_path)
    ctx = CommandContext(session, places(tmp_path / "home"), Settings())  # type: ignore[arg-type]

    async def run(line: str) -> str:
        result = await default_registry().run(ctx, line)
        assert result.ok
        return "\n".join(output.plain() for output in result.outputs)

    assert entry not in await run(f"/policy {kind}")
    await run(f"/policy {kind}_add {entry}")
    assert entry in await run(f"/policy {kind}")
    await run(f"/policy {kind}_remove {entry}")
    assert entry not in await run(f"/policy {kind}")


# -- commands: what is checked -----------------------------------------------------------------


def runs_unasked(agent: Agent[Any], command: str) -> bool:
    ctx: ToolCallContext[Any] = ToolCallContext(agent, "bash", None)
    before = len(asked(agent))
    agent.chooser.answers.append("deny")  # type: ignore[union-attr]
    with contextlib.suppress(Denied):
        gate.command(ctx, command, str(agent.workspace.workdir))
    return len(asked(agent)) == before


@pytest.fixture
def agent(make: Make) -> Agent[Any]:
    return make()


UNASKED = """
116 ls
116 cat f
116 git status
116 git diff --cached
116 python -m pytest -q
118 ls; pwd
118 ls && pwd
118 ls || pwd
118 ls | head
118 (ls)
120 echo '$(rm x)'
121 ls >/dev/null
121 ls 2>/dev/null
121 ls 1>/dev/null
121 ls 2>&1
121 ls &>/dev/null
121 ls >>/dev/null
"""
ASSESSED = r"""
116 git statusx
116 git push
116 rm f
118 ls; rm f
118 ls && rm f
118 ls || rm f
118 ls | rm f
118 (rm f)
119 /bin/ls
119 ./ls
120 echo `ls`
120 ls\nrm f
120 ls\rrm f
120 $(rm x)
120 echo $(ls)
120 echo "$(ls)"
121 ls > f
121 ls >> f
121 cat < f
121 cat << E\nE
121 ls &
122 cat <(rm -rf x)
122 ls |& sh
122 ls;>f
122 ls >| f
122 $VAR f
122 LD_PRELOAD=x ls
122 PATH=. ls
"""


def rows(text: str) -> list[Any]:
    lines = [line.partition(" ") for line in text.strip().splitlines()]
    return [
        pytest.param(command.replace("\\n", "\n").replace("\\r", "\r"), id=f"{number} {command}")
        for number, _, command in lines
    ]


@pytest.mark.parametrize("command", rows(UNASKED))
def test_116_118_120_121_runs_unasked(agent: Agent[Any], command: str):
    assert runs_unasked(agent, command)


@pytest.mark.parametrize("command", rows(ASSESSED))
def test_116_118_119_120_121_122_is_assessed(agent: Agent[Any], command: str):
    assert not runs_unasked(agent, command)


@pytest.mark.parametrize(
    ("free", "guarded"),
    [
        ("curl -s http://localhost:8000/", "curl https://example.org/?q=secret"),
        ("wget --version", "wget https://example.org"),
        ("sed -n 1,5p old", "sed -i s/a/b/ old"),
        ("journalctl -n 5", "journalctl --vacuum-size=1"),
    ],
)
def test_117_listed_with_a_guard(agent: Agent[Any], free: str, guarded: str):
    """They are in the list, but free only in the forms that read: the resolution in docs/tools.md says why."""
    assert runs_unasked(agent, free) and not runs_unasked(agent, guarded)


@pytest.mark.parametrize("command", ["echo 'a", 'echo "a', "ls ;; ls", "if ls"])
def test_122_what_is_no_command_never_runs_unasked(agent: Agent[Any], command: str):
    assert not runs_unasked(agent, command)


# -- commands: assessment and refusal ----------------------------------------------------------


def test_123_verdicts_settle_what_is_asked(make: Make):
    allowed = make(risk=[{"verdict": "allow", "reason": "fine"}])
    assert call(allowed, "bash", command="touch a").is_ok() and not asked(allowed)
    unsure = make("once", risk=[{"verdict": "unsure", "reason": "?"}])
    assert call(unsure, "bash", command="touch b").is_ok() and asked(unsure)[0].default == "once"
    rejected = make("deny", risk=[{"verdict": "reject", "reason": "no"}])
    assert call(rejected, "bash", command="touch c").status == "denied" and asked(rejected)[0].default == "deny"
    failing = make("deny", risk=[{"text": "no verdict at all"}])
    assert call(failing, "bash", command="touch d").status == "denied" and asked(failing)[0].default == "once"


def test_123_assessor_only_reads(make: Make):
    agent = make("deny", risk=[{"verdict": "unsure", "reason": "?"}])
    call(agent, "bash", command="touch a")
    model = agent.model
    assert isinstance(model, ScriptedModel)
    offered = {tool["function"]["name"] for tool in model.requests[0].tools}
    assert offered and offered <= {"read_file", "list_dir", "glob", "grep"}


def test_124_auto_confirm_runs_unsure_and_refuses_reject(make: Make, tmp_path: Path):
    agent = make(
        auto_confirm=True, risk=[{"verdict": "unsure", "reason": "?"}, {"verdict": "reject", "reason": "bad idea"}]
    )
    assert call(agent, "bash", command="touch one").is_ok() and (tmp_path / "one").exists()
    refused = call(agent, "bash", command="touch two")
    assert refused.status == "denied" and "bad idea" in refused.unwrap_err().error and not (tmp_path / "two").exists()


def test_125_refusal_says_by_whom_and_why(make: Make):
    agent = make(ChoiceOutcome("deny", reason="use pathlib"))
    assert "Denied by the user: use pathlib" in call(agent, "bash", command="touch a").unwrap_err().error
    agent.chooser = None
    assert "nobody can be asked" in call(agent, "bash", command="touch a").unwrap_err().error


# -- commands: the result ----------------------------------------------------------------------


def test_126_result(make: Make):
    agent = make()
    value = call(agent, "bash", command="echo out; ls nothing_of_this_name; false").unwrap()
    assert value["stdout"] == "out\n" and "nothing_of_this_name" in value["stderr"] and value["returncode"] == 1
    assert isinstance(value["duration"], float)


def test_126_timeout_is_an_error_and_kills_the_group(make: Make, tmp_path: Path):
    agent = make(auto_confirm=True)
    result = call(agent, "bash", command="(sleep 1; touch late) & sleep 30", timeout=0.3)
    assert result.status == "timeout" and "0.3 s" in result.unwrap_err().error
    time.sleep(1.2)
    assert not (tmp_path / "late").exists()


def test_126_cancelled_run_kills_the_command(make: Make):
    agent = make(auto_confirm=True)
    cancelled: list[str] = []
    ctx: ToolCallContext[Any] = ToolCallContext(
        agent, "bash", None, scope=CallScope(cancelled=lambda: cancelled[0] if cancelled else None)
    )
    threading.Timer(0.3, lambda: cancelled.append("enough")).start()
    bash = agent.toolbox.get("bash")
    assert bash is not None
    started = time.monotonic()
    with pytest.raises(CancelledError, match="enough"):
        bash.prepare(ctx, {"command": "sleep 30"})()
    assert time.monotonic() - started < 10


_CTRL_C = """
import sys, threading, os, signal, time
from pathlib import Path
from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.models import ScriptedModel
folder = Path(sys.argv[1])
turns = [{"tool_calls": [{"name": "bash", "arguments": {"command": "touch begun; sleep 1.5; touch late"}}]}]
agent = Agent(model=ScriptedModel(turns), toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(folder),
              config=AgentConfig(auto_confirm=True))
def press():
    while not (folder / "begun").exists():
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
try:
    agent.initialize().instruct("go").execute()
except KeyboardInterrupt:
    print("interrupted")
agent.finalize()
"""


def test_126_ctrl_c_goes_through_and_kills_the_child(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", _CTRL_C, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.stdout == "interrupted\n", done.stderr
    time.sleep(1.5)
    assert (tmp_path / "begun").exists() and not (tmp_path / "late").exists()


# -- what stands elsewhere in the contract -----------------------------------------------------


_NT = """
import os
from xun import ToolBox
import xun.tools.registry, xun_builtin_tools.cmd
os.name = "nt"
one, two = ToolBox().with_defaults("cmd"), ToolBox().with_defaults("cmd")
os.name = "posix"
print([tool.name for tool in one.list_tools()], [tool.name for tool in two.list_tools()])
"""


def test_056_no_bash_on_windows_and_one_notice():
    done = subprocess.run([sys.executable, "-c", _NT], capture_output=True, text=True, check=True)
    notice, names = done.stdout.splitlines()
    assert "Windows" in notice and "skipped" in notice and "bash" not in names


def test_093_image_of_a_cancelled_run_does_not_come_up_in_another():
    from tests.fakes.runs import calls, scripted
    from xun import defer_tool_image

    png = (
        b"\x89PNG\r\n\x1a\n" + (13).to_bytes(4, "big") + b"IHDR" + (1).to_bytes(4, "big") * 2 + bytes(9)
        + (0).to_bytes(4, "big") + b"IEND" + bytes(4)
    )  # fmt: skip

    def picture(ctx: ToolCallContext[Any]) -> str:
        """Take a picture, and have the run end."""
        defer_tool_image(ctx, png)
        ctx.agent.cancel("enough")
        return "taken"

    agent = scripted(calls(("picture", {})), {"text": "second"}, tools=[picture])
    assert agent.instruct("go").execute().status == "cancelled"
    assert agent.instruct("again").execute().unwrap() == "second"
    assert not any(message.images for message in agent.history)
    assert len(agent.hooks.after_execution_step) == 0
    agent.finalize()


def test_101_paths_of_files_are_absolute(make: Make, tmp_path: Path):
    agent = make("once")
    read = call(agent, "read_file", path="old").unwrap()
    written = write(agent, "made").unwrap()
    assert read["path"] == str(tmp_path / "old") and written["path"] == str(tmp_path / "made")
    changed = call(agent, "replace", path="old", old="old", new="new").unwrap()
    assert changed["path"] == str(tmp_path / "old") and os.path.isabs(call(agent, "temp_dir").unwrap())


def test_each_statement_of_the_contract_has_a_test():
    names = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        for line in path.read_text("utf-8").splitlines():
            head = line.strip().removeprefix("async ")
            if head.startswith("def test_"):
                names |= {part for part in head.split("(")[0].split("_") if len(part) == 3 and part.isdigit()}
    missing = [number for number in range(1, 129) if f"{number:03}" not in names]
    assert missing == []
