"""bash_spawn and its relatives, and a bash call that goes on in the background."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.events import TaskCompleted, TaskStarted
from xun.models import ScriptedModel
from xun_builtin_tools.cmd.logs import LOG_BYTES, TAIL_BYTES, TaskLog


def make(folder: Path, **config) -> Agent:
    made = Agent(
        toolbox=ToolBox().with_defaults("cmd"),
        workspace=Workspace(folder),
        config=AgentConfig(auto_confirm=True, **config),
    )
    made.told = []
    made.listener = made.told.append
    return made


@pytest.fixture
def agent(tmp_path):
    made = make(tmp_path)
    with made as ready:
        yield ready
    made.workspace.close()


def run(agent, name, **arguments):
    return agent.toolbox.call_tool(agent, name, arguments, None)


def value(agent, name, **arguments):
    return run(agent, name, **arguments).unwrap()


def spawn(agent, command, **arguments) -> str:
    return value(agent, "bash_spawn", command=command, **arguments)["id"]


def wait_for(condition, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


def left_of(agent) -> list[str]:
    tag = f"XUN_PROCESS_TAG={agent.environment.tag}".encode()
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and tag in _environment(pid)]


def _environment(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def test_only_bash_is_in_the_everyday_request(agent):
    offered = {tool.name for tool in agent.toolbox.list_tools() if not tool.attr.deferred}
    assert offered == {"bash"}
    assert {tool.name for tool in agent.toolbox.list_tools()} >= {"bash_spawn", "bash_output", "bash_wait", "bash_kill"}


def test_a_command_goes_on_and_its_output_is_read_in_parts(agent, tmp_path):
    started = time.monotonic()
    task = value(agent, "bash_spawn", command="echo one; until [ -e go ]; do sleep 0.05; done; echo two >&2; exit 4")
    assert time.monotonic() - started < 30
    wait_for(lambda: Path(task["stdout_log"]).read_text() == "one\n")
    first = value(agent, "bash_output", id=task["id"])
    assert first == {"status": "running", "exit_code": None, "next_offset": 4, "output": "one\n"}
    (tmp_path / "go").touch()
    done = value(agent, "bash_wait", id=task["id"], timeout=5)
    assert (done["status"], done["exit_code"], done["output"]) == ("done", 4, "one\ntwo\n")
    rest = value(agent, "bash_output", id=task["id"], offset=first["next_offset"])
    assert (rest["output"], rest["next_offset"]) == ("two\n", 8)
    assert Path(task["stderr_log"]).read_text() == "two\n"
    assert value(agent, "bash_output", id=task["id"], offset=8)["output"] == ""


def test_waiting_has_a_limit_and_the_command_goes_on(agent):
    name = spawn(agent, "sleep 7101")
    started = time.monotonic()
    assert value(agent, "bash_wait", id=name, timeout=0.3)["status"] == "running"
    assert 0.3 <= time.monotonic() - started < 30
    assert value(agent, "bash_wait", id=name, timeout=0)["status"] == "running"


def test_killing_ends_the_whole_tree(agent):
    name = spawn(agent, "sleep 7102 & setsid sleep 7103 & sleep 7104")
    wait_for(lambda: len(left_of(agent)) >= 4)
    assert value(agent, "bash_kill", id=name)["status"] == "killed"
    assert left_of(agent) == []
    assert value(agent, "bash_kill", id=name)["status"] == "killed"


def test_killing_reaches_what_an_ended_command_left(agent):
    name = spawn(agent, "sleep 7105 & echo up")
    assert value(agent, "bash_wait", id=name, timeout=5)["status"] == "done"
    assert left_of(agent) != []
    value(agent, "bash_kill", id=name)
    assert left_of(agent) == []


def test_the_list_and_the_events(agent):
    name = spawn(agent, "exit 3")
    value(agent, "bash_wait", id=name, timeout=5)
    other = spawn(agent, "sleep 7106")
    rows = [(row["id"], row["status"], row["exit_code"], row["command"]) for row in value(agent, "bash_running")]
    assert rows == [(name, "done", 3, "exit 3"), (other, "running", None, "sleep 7106")]
    wait_for(lambda: any(isinstance(event, TaskCompleted) for event in agent.told))
    events = [event for event in agent.told if isinstance(event, TaskStarted | TaskCompleted)]
    told = [(event.type, event.id, getattr(event, "exit", "-")) for event in events]
    assert sorted(told) == sorted(
        [("task.started", name, "-"), ("task.completed", name, 3), ("task.started", other, "-")]
    )


def test_everything_ends_with_the_agent(tmp_path):
    made = make(tmp_path)
    with made as agent:
        for _ in range(3):
            spawn(agent, "trap '' TERM; setsid sleep 7107 & sleep 7108")
        wait_for(lambda: len(left_of(agent)) >= 9)
        started = time.monotonic()
    assert left_of(agent) == [] and time.monotonic() - started < 30
    assert sum(isinstance(event, TaskCompleted) for event in agent.told) == 3
    made.workspace.close()


def test_reading_input_ends_at_once_and_there_is_no_terminal(agent):
    done = value(agent, "bash_wait", id=spawn(agent, "cat; read x; read y </dev/tty; echo end"), timeout=5)
    assert done["status"] == "done"
    # Its error came over another pipe, so either may be read first.
    assert "end\n" in done["output"] and "/dev/tty" in done["output"]


def test_a_flood_is_capped_and_its_newest_end_kept(tmp_path):
    log = TaskLog(tmp_path, room=1000)
    sink = log.sink("stdout")
    lines = "".join(f"{n}\n" for n in range(100_000))
    for start in range(0, len(lines), 4096):
        sink.feed(lines[start : start + 4096].encode())
    assert log.stdout.read_bytes() == lines[:1000].encode()
    assert log.size == len(lines) and log.read(-50, 50).text == lines[-50:]
    first = log.read(990, 100)
    assert (first.text, first.next_offset, first.skipped) == (lines[990:1000], 1000, 0)
    gap = log.read(1000, 100)
    assert gap.skipped == len(lines) - TAIL_BYTES - 1000
    assert gap.text == lines[1000 + gap.skipped :][:100]
    log.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_stops_the_log_and_not_the_command(agent):
    log = TaskLog(Path(agent.workspace.tempdir.path))
    log.close()  # From now on each write fails, as on a full disk.
    assert log.sink("stdout").feed(b"more") == "more" and log.read(0, 10).text == "more"


def test_what_was_dropped_is_said(agent):
    name = spawn(agent, "head -c 68000000 /dev/zero | tr '\\0' 'a'; echo; echo end")
    done = value(agent, "bash_wait", id=name, timeout=60)
    assert done["output"].endswith("aaa\nend\n") and done["status"] == "done"
    files = list(Path(agent.workspace.tempdir.path).glob("task-*.log"))
    assert len(files) == 3 and all(file.stat().st_size <= LOG_BYTES for file in files)
    assert "are gone" in value(agent, "bash_output", id=name, offset=LOG_BYTES)["note"]


def test_binary_output_is_valid_text_and_pages_hold_whole_characters(agent):
    name = spawn(agent, "printf '\\xff\\xfe\\x80'; printf 'h\\xc3\\xa9\\xe2\\x82\\xac'")
    value(agent, "bash_wait", id=name, timeout=5)
    whole = value(agent, "bash_output", id=name)["output"]
    assert whole == "\ufffd\ufffd\ufffdhé€"
    offset, parts = 0, []
    while (page := value(agent, "bash_output", id=name, offset=offset, limit=4))["next_offset"] > offset:
        parts.append(page["output"])
        offset = page["next_offset"]
    assert "".join(parts) == whole


def test_wrong_arguments_are_named(agent):
    assert "known are: none" in run(agent, "bash_output", id="task-9").unwrap_err().error
    assert "from 0 to" in run(agent, "bash_wait", id="task-9", timeout=-1).unwrap_err().error
    name = spawn(agent, "true")
    assert f"known are: {name}" in run(agent, "bash_kill", id="nope").unwrap_err().error
    assert "limit" in run(agent, "bash_output", id=name, limit=0).unwrap_err().error
    assert run(agent, "bash_spawn", command=" ").unwrap_err().kind == "spawn"
    assert run(agent, "bash_spawn", command="true", cwd="/etc").unwrap_err().kind == "outside"


def test_a_dry_run_starts_and_ends_nothing(agent):
    name = spawn(agent, "sleep 7112")
    agent.toolbox.dry_run = True
    assert value(agent, "bash_spawn", command="sleep 7113")["dry_run"] is True
    assert value(agent, "bash_kill", id=name)["would_end"] == name
    agent.toolbox.dry_run = False
    assert [row["status"] for row in value(agent, "bash_running")] == ["running"]


def test_so_many_run_and_no_more(agent):
    for _ in range(16):
        spawn(agent, "sleep 7109")
    error = run(agent, "bash_spawn", command="true").unwrap_err()
    assert "16 commands" in error.error and "bash_kill" in error.error
    assert run(agent, "bash", command="true", on_timeout="background").is_err()


def test_a_spawned_command_passes_the_same_gate(tmp_path):
    made = Agent(toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(tmp_path))
    with made as agent:
        refused = run(agent, "bash_spawn", command="touch made")
        assert refused.status == "denied" and not (tmp_path / "made").exists()
        assert list(Path(agent.workspace.tempdir.path).glob("task-*")) == []
        assert run(agent, "bash_spawn", command="ls").is_ok()
    made.workspace.close()


def test_a_command_that_passes_its_limit_goes_on(agent, tmp_path):
    command = "echo early; until [ -e go ]; do sleep 0.05; done; echo late"
    kept = value(agent, "bash", command=command, timeout=0.4, on_timeout="background")
    assert (kept["status"], kept["returncode"], kept["stdout"]) == ("running", None, "early\n")
    (tmp_path / "go").touch()
    done = value(agent, "bash_wait", id=kept["id"], timeout=5)
    assert (done["status"], done["exit_code"], done["output"]) == ("done", 0, "early\nlate\n")


def test_a_command_within_its_limit_leaves_no_log(agent):
    got = value(agent, "bash", command="echo out; echo err >&2; exit 3", on_timeout="background")
    assert (got["stdout"], got["stderr"], got["returncode"]) == ("out\n", "err\n", 3)
    assert list(Path(agent.workspace.tempdir.path).glob("task-*")) == [] and value(agent, "bash_running") == []


def test_parent_and_sub_agent_do_not_share_logs(agent, tmp_path):
    other = Agent(toolbox=agent.toolbox, workspace=agent.workspace, config=agent.config)
    with other:
        first, second = spawn(agent, "echo a"), spawn(other, "echo b")
        assert first != second
        assert value(other, "bash_wait", id=second, timeout=5)["output"] == "b\n"
        assert run(agent, "bash_wait", id=second).is_err()


def test_cancelling_a_run_ends_the_waiting_and_not_the_command(tmp_path):
    import threading

    calls = [{"name": "bash_spawn", "arguments": {"command": "sleep 7110"}}]
    waits = [{"name": "bash_wait", "arguments": {"id": "task-1"}}]
    made = make(tmp_path, risk_enabled=False)
    made.model = ScriptedModel([{"tool_calls": calls}, {"tool_calls": waits}])
    with made as agent:
        timer = threading.Timer(1.0, agent.cancel, ["stop it"])
        timer.start()
        started = time.monotonic()
        assert agent.instruct("go").execute().status == "cancelled"
        timer.join()
        assert time.monotonic() - started < 60
        assert value(agent, "bash_running")[0]["status"] == "running"
    assert left_of(agent) == []
    made.workspace.close()


@pytest.mark.parametrize("environment", ["bubblewrap"])
def test_background_commands_run_where_the_agent_runs_them(tmp_path, environment):
    import shutil

    if shutil.which("bwrap") is None:
        pytest.skip("no bwrap here")
    made = make(tmp_path, environment=environment)
    with made as agent:
        name = spawn(agent, "echo inside; touch /etc/xun-was-here; sleep 7111")
        wait_for(lambda: "inside" in value(agent, "bash_output", id=name)["output"])
        wait_for(lambda: "ead-only" in value(agent, "bash_output", id=name)["output"])
        assert value(agent, "bash_kill", id=name)["status"] == "killed"
    made.workspace.close()
