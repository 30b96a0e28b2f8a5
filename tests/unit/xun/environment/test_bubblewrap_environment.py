"""A table of real commands in the real sandbox."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.environment.base import EnvironmentUnusable
from xun.environment.bubblewrap import BubblewrapEnvironment


def usable() -> bool:
    found = shutil.which("bwrap")
    words = ["--unshare-all", "--unshare-user", "--disable-userns", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    return found is not None and subprocess.run([found, *words], capture_output=True, check=False).returncode == 0


needs_bwrap = pytest.mark.skipif(not usable(), reason="no bwrap, or this machine does not let it work")


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "project").mkdir()
    made = Workspace(tmp_path / "project")
    yield made
    made.close()


@pytest.fixture
def environment(workspace):
    made = BubblewrapEnvironment(workspace)
    yield made
    made.close()


def finished(process):
    out, err = process.stdout.read().decode(), process.stderr.read().decode()
    code = process.wait(20)
    process.close()
    return code, out, err


def run(environment, command, **options):
    return finished(environment.spawn(command, **options))


@needs_bwrap
def test_it_runs_in_the_workspace_with_its_exit_code(environment, workspace):
    assert run(environment, "pwd; echo e >&2; exit 5") == (5, f"{workspace.workdir}\n", "e\n")
    assert run(environment, ["printf", "%s|", "a b", "*"])[1] == "a b|*|"


@needs_bwrap
@pytest.mark.parametrize(
    "command",
    [
        "cat /etc/passwd > /dev/null",
        "echo x > /dev/null",
        "echo x > made && cat made",
        'echo x > "$TEMPORARY/made"',
        "mkdir -p a/b && mv a c && rm -r c",
        "echo x > /tmp/private && cat /tmp/private",
        "python3 -c 'print(1)'",
        "grep -q '^NoNewPrivs:\t1' /proc/self/status",
        "grep -q '^CapEff:\t0*$' /proc/self/status",
        "echo gitfile > .gitignore",
    ],
)
def test_what_works(environment, workspace, command):
    env = {"PATH": os.environ["PATH"], "TEMPORARY": str(workspace.tempdir.path)}
    assert run(environment, command, env=env)[0] == 0


@needs_bwrap
@pytest.mark.parametrize(
    "command",
    [
        "echo x > /etc/xun-was-here",
        "touch ~/xun-was-here",
        "cat ~/.ssh/id_test",
        "cat ~/.netrc | grep hush",
        "ls /tmp | grep canary",
        "(exec 3<> /dev/tcp/127.0.0.1/$PORT)",
        "mkdir .git/hooks/x",
        "echo x >> .git/config",
        "mv .git elsewhere",
        "rm -rf .git/hooks && ln -s /tmp .git/hooks",
        "touch .xun/config.toml",
        "rmdir .xun",
        "mv .xun elsewhere",
        "unshare -Ur true",
        "mount -t tmpfs none /mnt",
        "kill -0 $OUTSIDE",
    ],
)
def test_what_does_not(environment, workspace, isolated_environment, command):
    (isolated_environment / ".ssh").mkdir()
    (isolated_environment / ".ssh/id_test").write_text("key")
    (isolated_environment / ".netrc").write_text("hush")
    (workspace.workdir / ".git/hooks").mkdir(parents=True)
    (workspace.workdir / ".git/config").write_text("[core]\n")
    canary = Path(tempfile.mkdtemp(prefix="canary", dir="/tmp"))
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(isolated_environment),
        "PORT": str(port),
        "OUTSIDE": str(os.getpid()),
    }
    try:
        assert run(environment, command, env=env)[0] != 0
    finally:
        server.close()
        canary.rmdir()
    assert (workspace.workdir / ".git/config").read_text() == "[core]\n"


@needs_bwrap
@pytest.mark.parametrize(
    "command", ["echo x > ../outside", "chmod 777 ..", "mv ../other ../gone", "rm -rf /tmp /var/tmp"]
)
def test_what_stays_inside(environment, workspace, tmp_path, command):
    """Beside a workspace in /tmp there is the private /tmp, where everything may be done."""
    (tmp_path / "other").write_text("mine")
    mode = tmp_path.stat().st_mode
    run(environment, command)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "project"]
    assert (tmp_path / "other").read_text() == "mine" and tmp_path.stat().st_mode == mode


@needs_bwrap
def test_network_can_be_allowed(workspace):
    environment = BubblewrapEnvironment(workspace, network=True)
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]  # the system takes the connection, before anyone accepts it
    assert run(environment, f"(exec 3<> /dev/tcp/127.0.0.1/{port})")[0] == 0
    server.close()
    environment.close()


@needs_bwrap
def test_git_works_and_what_had_to_be_made_goes_again(environment, workspace):
    subprocess.run(["git", "init", "-q", str(workspace.workdir)], check=True)
    shutil.rmtree(workspace.workdir / ".git/hooks", ignore_errors=True)
    identity = "git -c user.name=a -c user.email=a@b.c"
    script = f"test -d .xun && echo x > a && git add a && {identity} commit -q -m m && git log --oneline"
    code, out, err = run(environment, script)
    assert code == 0 and out.endswith(" m\n"), err
    assert not (workspace.workdir / ".xun").exists() and not (workspace.workdir / ".git/hooks").exists()


@needs_bwrap
def test_there_is_no_way_to_make_a_repository_of_the_folder(environment, workspace):
    assert run(environment, "git init -q")[0] != 0
    environment.close()
    assert list(workspace.workdir.iterdir()) == []


@needs_bwrap
def test_a_link_in_the_place_of_git_is_refused(environment, workspace, tmp_path):
    (tmp_path / "real").mkdir()
    (workspace.workdir / ".git").symlink_to(tmp_path / "real")
    with pytest.raises(EnvironmentUnusable, match="symbolic link"):
        environment.spawn("true")


@needs_bwrap
def test_kill_ends_the_sandbox(environment):
    process = environment.spawn("setsid sleep 440 & echo up; sleep 441")
    assert process.stdout.read(3) == b"up\n"
    process.kill()
    process.close()
    assert gone("sleep\x00440") and gone("sleep\x00441")


@needs_bwrap
def test_background_processes_end_with_their_command(environment):
    process = environment.spawn("setsid sleep 442 > /dev/null 2>&1 & echo up")
    assert process.wait(20) == 0 and not process.left_running()
    process.close()
    assert gone("sleep\x00442")


@needs_bwrap
def test_it_does_not_end_with_the_thread_that_asked_for_it(environment):
    started = []
    thread = threading.Thread(target=lambda: started.append(environment.spawn("sleep 1; echo still")))
    thread.start()
    thread.join()
    assert finished(started[0])[1] == "still\n"


def gone(words: str) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if not any(words in _command(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
            return True
        time.sleep(0.05)
    return False


def _command(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_text()
    except OSError:
        return ""


@needs_bwrap
def test_code_runs_in_it(environment):
    out: list[bytes] = []
    environment.run_code(
        "try:\n    open('/etc/xun-was-here', 'w')\nexcept OSError as e:\n    print(e.strerror)",
        tools=[],
        call_tool=lambda name, arguments: pytest.fail("no tool"),
        write=lambda data, stream: out.append(data),
    )
    assert out == [b"Read-only file system\n"]


@needs_bwrap
def test_bash_runs_in_it(workspace):
    config = AgentConfig(auto_confirm=True, environment="bubblewrap")
    with Agent(toolbox=ToolBox().with_defaults("cmd"), workspace=workspace, config=config) as agent:
        value = agent.toolbox.call_tool(agent, "bash", {"command": "echo x > ok; echo x > /etc/xun-was-here"}, None)
        assert value.unwrap()["returncode"] == 1 and "Read-only" in value.unwrap()["stderr"]
        result = agent.toolbox.call_tool(agent, "bash", {"command": "sleep 443", "timeout": 0.5}, None)
        assert result.status == "timeout"
    assert (workspace.workdir / "ok").exists() and gone("sleep\x00443")


def test_without_bwrap_it_says_so(environment, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentUnusable, match="needs the program bwrap"):
        environment.spawn("true")


def test_a_bwrap_of_the_project_is_none(environment, workspace, monkeypatch, tmp_path):
    planted = workspace.workdir / "bwrap"
    planted.write_text(f"#!/bin/sh\ntouch {tmp_path}/canary\n")
    planted.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/bwrap").symlink_to(planted)
    monkeypatch.setenv("PATH", f"{workspace.workdir}:.:{tmp_path}/bin")
    monkeypatch.chdir(workspace.workdir)
    with pytest.raises(EnvironmentUnusable, match="outside of the workspace"):
        environment.spawn("true")
    assert not (tmp_path / "canary").exists()


def test_a_bwrap_that_does_not_work_is_told(environment, monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    broken = tmp_path / "bin/bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(EnvironmentUnusable, match="setting up uid map: Permission denied"):
        environment.spawn("true")
