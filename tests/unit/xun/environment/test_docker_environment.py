"""The docker environment, against a docker command that runs everything here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.docker_command import install
from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.environment.base import CodeFailed, EnvironmentUnusable
from xun.environment.docker import DEFAULT_IMAGE, DockerEnvironment
from xun.result import Result


@pytest.fixture
def bin_folder(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    install(folder)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "project").mkdir()
    made = Workspace(tmp_path / "project")
    yield made
    made.close()


@pytest.fixture
def environment(bin_folder, workspace):
    made = DockerEnvironment(workspace)
    yield made
    made.close()


def asked(folder: Path, kind: str = "") -> list[list[str]]:
    words = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    return [line for line in words if not kind or line[0] == kind]


def finished(process):
    out, err = process.stdout.read(), process.stderr.read()
    code = process.wait(10)
    process.close()
    return code, out, err


def test_a_command_runs_in_the_container(environment, workspace, bin_folder):
    (workspace.workdir / "sub").mkdir()
    process = environment.spawn("pwd; echo $IN_CONTAINER; echo e >&2; exit 4", cwd=str(workspace.workdir / "sub"))
    assert finished(process) == (4, f"{workspace.workdir}/sub\n1\n".encode(), b"e\n")
    assert finished(environment.spawn(["printf", "%s|", "a b", "*"]))[1] == b"a b|*|"
    assert len(asked(bin_folder, "run")) == 1  # one container for all


def test_the_container_is_shut_in(environment, workspace, bin_folder):
    (workspace.workdir / ".git").mkdir()
    (workspace.workdir / ".git/HEAD").touch()
    finished(environment.spawn("true"))
    [run] = asked(bin_folder, "run")
    line = " ".join(run)
    for words in ("--network none", "--cap-drop ALL", "no-new-privileges", f"--user {os.getuid()}:{os.getgid()}"):
        assert words in line
    mounts = [run[i + 1] for i, word in enumerate(run) if word == "--mount"]
    root = str(workspace.workdir)

    def mount(path, *more):
        return ",".join(f'"{field}"' for field in ("type=bind", f"source={path}", f"target={path}", *more))

    assert mounts == [
        mount(root),
        mount(workspace.tempdir.path),
        mount(f"{root}/.git"),
        mount(f"{root}/.git/hooks", "readonly"),
        mount(f"{root}/.git/config", "readonly"),
        mount(f"{root}/.xun", "readonly"),
    ]
    assert run[-3:] == ["--entrypoint", "cat", DEFAULT_IMAGE]


def test_what_had_to_be_made_goes_again(environment, workspace, bin_folder):
    finished(environment.spawn("touch made"))
    assert sorted(path.name for path in workspace.workdir.iterdir()) == [".git", ".xun", "made"]
    environment.close()
    assert [path.name for path in workspace.workdir.iterdir()] == ["made"]
    [remove] = asked(bin_folder, "rm")
    [run] = asked(bin_folder, "run")
    assert remove[-1] == run[run.index("--name") + 1]


def test_the_container_ends_with_a_process_that_is_killed(bin_folder, tmp_path):
    """Its program waits for the end of its input, and the pipe is closed by the system whatever happens to us."""
    script = (
        "import os, signal, sys\nfrom xun import Workspace\nfrom xun.environment import DockerEnvironment\n"
        "environment = DockerEnvironment(Workspace(sys.argv[1]))\nenvironment.spawn('true').wait()\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    (tmp_path / "project").mkdir()
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "project")], check=False)
    assert done.returncode == -signal.SIGKILL and len(asked(bin_folder, "run")) == 1
    deadline = time.monotonic() + 5
    while any(path.name.startswith("xun-") for path in bin_folder.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_container_that_ended_is_started_anew(environment, bin_folder):
    finished(environment.spawn("true"))
    environment._container._keeper.kill()
    environment._container._keeper.wait()
    assert finished(environment.spawn("echo anew"))[1] == b"anew\n"
    assert len(asked(bin_folder, "run")) == 2


def test_network_and_image_are_chosen(bin_folder, workspace):
    made = DockerEnvironment(workspace, "debian:12", network=True)
    finished(made.spawn("true"))
    [run] = asked(bin_folder, "run")
    assert "--network" not in run and "debian:12" in run
    made.close()


def test_variables_arrive_and_those_of_this_machine_do_not(environment, bin_folder, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    given = {"HOME": "/home/me", "TOKEN_OF_MINE": "hush", "DOCKER_HOST": "tcp://evil", "CI": "1"}
    out = finished(environment.spawn("env", env=given))[1].decode().splitlines()
    assert {"TOKEN_OF_MINE=hush", "CI=1", "DOCKER_HOST=tcp://evil"} <= set(out)
    assert "HOME=/home/me" not in out
    line = asked(bin_folder, "exec")[-1]
    assert "hush" not in " ".join(line), "everyone can read an argument list"


def test_the_client_is_not_steered_by_the_command(environment, bin_folder, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///mine.sock")
    from xun.environment.docker import _variables

    words, client = _variables({"DOCKER_HOST": "tcp://evil", "LD_PRELOAD": "evil.so"})
    assert client["DOCKER_HOST"] == "unix:///mine.sock" and "LD_PRELOAD" not in client
    assert words == ["--env", "DOCKER_HOST=tcp://evil", "--env", "LD_PRELOAD=evil.so"]


def test_input_is_passed_on(environment):
    process = environment.spawn("cat", stdin=True)
    process.write_stdin(b"through")
    process.close_stdin()
    assert finished(process)[1] == b"through"
    assert finished(environment.spawn("cat; echo end"))[1] == b"end\n"


def test_kill_ends_what_runs_inside(environment, workspace):
    process = environment.spawn("setsid sleep 430 & echo $! > pid; echo up; sleep 431")
    assert process.stdout.read(3) == b"up\n"
    inner = int((workspace.workdir / "pid").read_text())
    # The client alone can do nothing for those inside: first what is done in the container itself.
    environment.end(process.tag, 0)
    assert ended(inner) and environment.count(process.tag) == 0
    process.kill()
    assert process.poll() is not None
    process.close()


def test_grace_is_given_inside(environment, workspace):
    process = environment.spawn("trap 'touch asked; exit 0' TERM; echo up; sleep 432 & wait")
    process.stdout.read(3)
    process.kill(grace=3)
    assert (workspace.workdir / "asked").exists()
    process.close()


def test_what_is_left_running_is_told(environment):
    process = environment.spawn("setsid sleep 433 > /dev/null 2>&1 & echo up")
    assert process.wait(10) == 0 and process.left_running()
    process.kill()
    assert not process.left_running()
    process.close()


def test_a_container_that_does_not_answer_is_removed(environment, bin_folder):
    process = environment.spawn("echo up; sleep 434")
    process.stdout.read(3)
    (bin_folder / "gone").touch()
    process.kill()
    (bin_folder / "gone").unlink()
    assert process.poll() is not None and len(asked(bin_folder, "rm")) == 1
    process.close()
    assert finished(environment.spawn("echo anew"))[1] == b"anew\n"
    assert len(asked(bin_folder, "run")) == 2


def ended(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_code_runs_with_the_python_of_the_image(environment, bin_folder):
    out: list[bytes] = []
    environment.run_code(
        "import os\nprint(os.environ['IN_CONTAINER'])",
        tools=[],
        call_tool=lambda name, arguments: pytest.fail("no tool"),
        write=lambda data, stream: out.append(data),
    )
    assert out == [b"1\n"]
    line = asked(bin_folder, "exec")[0]
    assert "--interactive" in line and line[line.index("-I") - 1] == "python3"


def test_code_fails_inside_as_anywhere(environment):
    with pytest.raises(CodeFailed, match="ZeroDivisionError"):
        environment.run_code("1 / 0", tools=[], call_tool=Result.Ok, write=lambda data, stream: None)


def test_without_the_command_it_says_so(workspace, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentUnusable, match="needs the docker command"):
        DockerEnvironment(workspace).spawn("true")


def test_a_docker_of_the_project_is_none(workspace, monkeypatch):
    install(workspace.workdir / "bin")
    monkeypatch.setenv("PATH", f"{workspace.workdir}/bin:bin")
    with pytest.raises(EnvironmentUnusable, match="outside of the workspace"):
        DockerEnvironment(workspace).spawn("true")
    assert not (workspace.workdir / "bin/log").exists()


def test_without_an_engine_it_says_so(environment, bin_folder):
    (bin_folder / "down").touch()
    with pytest.raises(EnvironmentUnusable) as caught:
        environment.spawn("true")
    assert "needs a running engine" in str(caught.value) and "Cannot connect" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_image_that_can_not_be_had_is_told(environment, bin_folder, workspace):
    (bin_folder / "no-image").touch()
    with pytest.raises(EnvironmentUnusable, match="Unable to find image"):
        environment.spawn("true")
    assert list(workspace.workdir.iterdir()) == []


def test_bash_runs_in_it_and_names_no_provider(bin_folder, workspace):
    config = AgentConfig(auto_confirm=True, environment="docker:some/image:2")
    with Agent(toolbox=ToolBox().with_defaults("cmd"), workspace=workspace, config=config) as agent:
        value = agent.toolbox.call_tool(agent, "bash", {"command": "echo $IN_CONTAINER"}, None).unwrap()
        assert (value["stdout"], value["returncode"]) == ("1\n", 0)
        result = agent.toolbox.call_tool(agent, "bash", {"command": "sleep 435", "timeout": 0.5}, None)
        assert result.status == "timeout"
    assert "some/image:2" in asked(bin_folder, "run")[0] and len(asked(bin_folder, "rm")) == 1


def test_an_unusable_environment_is_an_error_of_the_tool(bin_folder, workspace):
    (bin_folder / "down").touch()
    config = AgentConfig(auto_confirm=True, environment="docker")
    with Agent(toolbox=ToolBox().with_defaults("cmd"), workspace=workspace, config=config) as agent:
        error = agent.toolbox.call_tool(agent, "bash", {"command": "true"}, None).unwrap_err()
    assert error.kind == "spawn" and "needs a running engine" in error.error
