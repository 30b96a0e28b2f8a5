from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace


@pytest.fixture
def agent(tmp_path):
    made = Agent(
        toolbox=ToolBox().with_defaults("cmd"),
        workspace=Workspace(tmp_path),
        config=AgentConfig(auto_confirm=True),
    )
    with made as ready:
        yield ready
    made.workspace.close()


def run(agent, command, **arguments):
    return agent.toolbox.call_tool(agent, "bash", {"command": command, **arguments}, None)


def value(agent, command, **arguments):
    return run(agent, command, **arguments).unwrap()


def test_output_and_exit_code(agent):
    got = value(agent, "echo out; echo err >&2; exit 3")
    assert (got["stdout"], got["stderr"], got["returncode"], got["truncated"]) == ("out\n", "err\n", 3, False)
    assert got["duration"] >= 0


def test_it_runs_in_the_workspace_and_in_cwd(agent, tmp_path):
    (tmp_path / "sub").mkdir()
    assert value(agent, "pwd")["stdout"].strip() == str(tmp_path.resolve())
    assert value(agent, "pwd", cwd="sub")["stdout"].strip() == str((tmp_path / "sub").resolve())


def test_a_cwd_outside_is_refused(agent):
    error = run(agent, "pwd", cwd="/etc").unwrap_err()
    assert error.kind == "outside" and "/etc" in error.error


def test_reading_input_ends_at_once(agent):
    started = time.monotonic()
    assert value(agent, "cat; read x; echo done")["stdout"] == "done\n"
    assert time.monotonic() - started < 30


def test_start_up_files_and_bash_env_do_not_run(agent, tmp_path, monkeypatch):
    hostile = tmp_path / "hostile.sh"
    hostile.write_text(f"touch {tmp_path}/canary\n")
    monkeypatch.setenv("BASH_ENV", str(hostile))
    monkeypatch.setenv("ENV", str(hostile))
    value(agent, "true")
    assert not (tmp_path / "canary").exists()


def test_secrets_of_the_environment_are_not_passed_on(agent, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "hush-hush")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hush-hush")
    monkeypatch.setenv("PLAIN", "visible")
    assert "hush-hush" not in value(agent, "env")["stdout"]


def test_a_timeout_ends_the_whole_tree(agent, tmp_path):
    result = run(agent, f"echo begun; (sleep 300; touch {tmp_path}/late) & setsid sleep 301 & sleep 302", timeout=0.5)
    error = result.unwrap_err()
    assert result.status == "timeout" and error.kind == "timeout"
    assert "0.5 s" in error.error and "begun" in error.error
    assert_nothing_left(agent)


def test_background_children_do_not_hold_the_call_and_end_with_the_agent(tmp_path):
    made = Agent(toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(tmp_path), config=AgentConfig(True))
    started = time.monotonic()
    with made as agent:
        got = value(agent, "sleep 303 & setsid sleep 304 & echo back")
        assert got["stdout"] == "back\n" and "still run" in got["note"]
        assert time.monotonic() - started < 60
    assert_nothing_left(agent)
    made.workspace.close()


def assert_nothing_left(agent) -> None:
    tag = f"XUN_PROCESS_TAG={agent.environment.tag}".encode()
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        left = [pid for pid in os.listdir("/proc") if pid.isdigit() and tag in environment(pid)]
        if not left:
            return
        time.sleep(0.05)
    raise AssertionError(f"still running: {left}")


def environment(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def test_long_output_is_cut_and_kept_in_a_file(agent):
    got = value(agent, "seq 1 20000")
    assert got["truncated"] and len(got["stdout"]) < 17_000
    assert got["stdout"].startswith("1\n2\n") and got["stdout"].endswith("20000\n")
    whole = Path(got["output_file"]).read_text()
    assert whole == "".join(f"{n}\n" for n in range(1, 20001))


@pytest.mark.parametrize("timeout", [0, -1, 3601])
def test_a_timeout_out_of_range_is_refused(agent, timeout):
    assert "timeout must be" in run(agent, "true", timeout=timeout).unwrap_err().error


def test_an_empty_command_is_refused(agent):
    assert run(agent, "  \n").unwrap_err().kind == "spawn"


def test_the_exact_text_reaches_bash(agent):
    text = "printf '%s|' \"a  b\" 'c\td' e\\ f"
    assert value(agent, text)["stdout"] == "a  b|c\td|e f|"


def test_cancelling_the_run_ends_the_command(tmp_path):
    from xun.models import ScriptedModel

    calls = [{"name": "bash", "arguments": {"command": "echo begun; sleep 305"}}]
    made = Agent(
        model=ScriptedModel([{"tool_calls": calls}]),
        toolbox=ToolBox().with_defaults("cmd"),
        workspace=Workspace(tmp_path),
        config=AgentConfig(auto_confirm=True, risk_enabled=False),
    )
    with made as agent:
        timer = threading.Timer(1.0, agent.cancel, ["stop it"])
        timer.start()
        started = time.monotonic()
        result = agent.instruct("go").execute()
        timer.join()
        assert result.status == "cancelled" and time.monotonic() - started < 60
        assert_nothing_left(agent)
        assert agent.history[-1].role == "tool" and "interrupted" in agent.history[-1].text
    made.workspace.close()
