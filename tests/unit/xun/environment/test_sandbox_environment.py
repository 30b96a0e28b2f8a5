"""The sandbox as an everyday place to work in; what it must hold is in tests/security."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from pathlib import Path

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.environment import EnvironmentRegistry, EnvironmentUnusable, SandboxEnvironment
from xun.environment.bwrap import Bubblewrap
from xun.environment.confinement import in_view
from xun.environment.gitfolders import governing
from xun.environment.landlock import rights
from xun.environment.mounts import Inside, arguments
from xun.errors import ConfigError
from xun_policies.shell.environment import child_environment


def usable() -> bool:
    folder = tempfile.mkdtemp()
    wall = Bubblewrap(lambda: [folder], lambda: [folder])
    try:
        wall.test(child_environment(os.environ))
    except EnvironmentUnusable:
        return False
    finally:
        wall.close()
        os.rmdir(folder)
    return True


needs_bwrap = pytest.mark.skipif(not usable(), reason="no bwrap, or this machine does not let it work")


@pytest.fixture
def make():
    made = []

    def begin(folder: Path, **options) -> SandboxEnvironment:
        workspace = Workspace(folder)
        made.append((SandboxEnvironment(workspace, **options), workspace))
        return made[-1][0]

    yield begin
    for environment, workspace in made:
        environment.close()
        workspace.close()


def run(environment, command: str, view: str = "closed", **variables: str) -> tuple[int, str]:
    env = {**child_environment(os.environ), **variables}
    process = in_view(environment, view).spawn(f"exec 2>&1; {command}", env=env)
    text = process.stdout.read().decode(errors="replace")
    code = process.wait(30)
    process.close()
    return code, text


@needs_bwrap
@pytest.mark.parametrize("place", ["home", "link", "temporary", "in the workspace"])
def test_a_workspace_anywhere_works(make, tmp_path, isolated_environment, place):
    folder = {"home": isolated_environment, "temporary": Path(tempfile.mkdtemp(dir="/tmp"))}.get(
        place, tmp_path / "real"
    )
    folder.mkdir(exist_ok=True)
    (tmp_path / "link").symlink_to(folder)
    environment = make(tmp_path / "link" if place == "link" else folder)
    assert run(environment, "pwd; echo x > made; cat made") == (0, f"{os.path.realpath(folder)}\nx\n")
    assert sorted(path.name for path in folder.iterdir()) == ["made"]
    if place == "temporary":
        shutil.rmtree(folder)


@needs_bwrap
def test_what_is_installed_in_hidden_folders_can_be_read(make, tmp_path, isolated_environment, monkeypatch):
    """The home folder of a test is in /tmp, and so may be a Python environment."""
    (tmp_path / "project").mkdir()
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/pyvenv.cfg").touch()
    (tmp_path / "venv/lib").write_text("lib\n")
    tool = tmp_path / "venv/bin/own-tool"
    tool.write_text(f"#!/bin/sh\ncat {tmp_path}/venv/lib ~/.settings\n")
    tool.chmod(0o755)
    (isolated_environment / ".settings").write_text("mine\n")
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    environment = make(tmp_path / "project")
    assert run(environment, "own-tool") == (0, "lib\nmine\n")
    assert run(environment, f"touch ~/x || touch {tmp_path}/venv/x")[0] != 0


@needs_bwrap
def test_more_folders_can_be_opened_and_missing_ones_are_made(make, tmp_path, isolated_environment):
    (tmp_path / "project").mkdir()
    environment = make(tmp_path / "project", writable=["~/.cache/uv", str(tmp_path / "new/one")])
    assert run(environment, f"touch ~/.cache/uv/a {tmp_path}/new/one/b; echo $UV_CACHE_DIR $GOCACHE")[1].strip() == (
        "/tmp/.cache-gocache"
    )
    assert (isolated_environment / ".cache/uv/a").exists() and (tmp_path / "new/one/b").exists()
    (tmp_path / "file").touch()
    other = make(tmp_path / "project", writable=[str(tmp_path / "file/x")])
    for use in (lambda: other.spawn("true"), lambda: other.wall):  # never a weaker wall instead
        with pytest.raises(EnvironmentUnusable, match=r"file/x of sandbox.writable"):
            use()


@needs_bwrap
def test_a_link_in_the_workspace_does_not_choose_a_weaker_wall(make, tmp_path):
    (tmp_path / ".git").symlink_to("/tmp")
    environment = make(tmp_path)
    assert environment.wall == "bubblewrap"
    with pytest.raises(EnvironmentUnusable, match=r"\.git is a symbolic link"):
        environment.spawn("true")


@needs_bwrap
def test_a_cache_that_is_named_stays(make, tmp_path):
    code, text = run(make(tmp_path), "echo $npm_config_cache", npm_config_cache="/own")
    assert (code, text) == (0, "/own\n")


@needs_bwrap
def test_all_that_runs_is_asked_before_it_is_killed(make, tmp_path):
    environment = make(tmp_path)
    process = environment.spawn("trap 'echo bye > said; exit 7' TERM; echo up; while :; do sleep 0.05; done")
    assert process.stdout.read(3) == b"up\n"
    process.kill(grace=5.0)
    process.close()
    assert (tmp_path / "said").read_text() == "bye\n"


@needs_bwrap
def test_what_a_command_leaves_ends_with_it(make, tmp_path):
    environment = make(tmp_path)
    assert run(environment, "setsid sleep 447 > /dev/null 2>&1 & echo up")[0] == 0
    deadline = time.monotonic() + 5
    while _runs(b"sleep\x00447") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(b"sleep\x00447")


def _runs(words: bytes) -> bool:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            found.append(entry.name.isdigit() and words in (entry / "cmdline").read_bytes())
        except OSError:
            continue
    return any(found)


@needs_bwrap
def test_the_machine_is_seen_only_where_it_is_asked_for(make, tmp_path):
    environment = make(tmp_path)
    look = f"test -e /proc/{os.getpid()}/status"
    assert run(environment, look)[0] != 0 and run(environment, look, "network")[0] != 0
    assert run(environment, look, "machine")[0] == 0
    assert run(environment, "touch /etc/xun-was-here", "machine")[0] != 0
    assert run(environment, look, "outside")[0] == 0


@needs_bwrap
def test_a_command_that_only_reads_finds_the_workspace_as_it_is(make, tmp_path):
    """The placeholder of .git would make rg obey ignore files outside of a repository, and stop at it inside of one."""
    (tmp_path / ".gitignore").write_text("ignored\n")
    environment = make(tmp_path)
    assert run(environment, "ls -A", "reading") == (0, ".gitignore\n")
    assert run(environment, "touch x", "reading")[0] != 0
    assert run(environment, "echo b > /tmp/s; echo a | sort - /tmp/s", "reading") == (0, "a\nb\n")
    assert run(environment, f"test -e /proc/{os.getpid()}/status", "reading")[0] != 0


@needs_bwrap
def test_what_a_killed_one_left_goes_with_the_next_command(make, tmp_path):
    (tmp_path / ".git").mkdir()
    assert run(make(tmp_path), "touch .git/x || touch made")[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


@needs_bwrap
def test_commands_side_by_side_leave_nothing_behind(make, tmp_path):
    environment = make(tmp_path)
    codes: list[int] = []
    threads = [
        threading.Thread(target=lambda n=n: codes.append(run(environment, f"sleep 0.{n}; test -d .git")[0]))
        for n in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0] * 5 and list(tmp_path.iterdir()) == []


@needs_bwrap
def test_a_repository_that_was_made_outside_works_inside(make, tmp_path):
    environment = make(tmp_path)
    held = environment.spawn("read x", stdin=True)  # what the sandbox needs is there meanwhile
    assert run(environment, "git init -q", "outside")[0] == 0
    identity = "git -c user.name=a -c user.email=a@b.c"
    script = f"echo x > a && git add a && {identity} commit -qm one && git log --oneline | wc -l"
    assert run(environment, script) == (0, "1\n")
    held.close_stdin()
    held.wait(10)
    held.close()
    environment.close()
    assert run(environment, "git status --short") == (0, "")


@needs_bwrap
def test_code_and_tools_work_in_it(tmp_path):
    environment = EnvironmentRegistry().make("sandbox", Workspace(tmp_path))
    config = AgentConfig(auto_confirm=True, environment=environment)
    box = ToolBox().with_defaults("cmd", "code")
    with Agent(toolbox=box, workspace=Workspace(tmp_path), config=config) as agent:
        opening = "try:\n    open('/etc/xun-was-here', 'w')\nexcept OSError as e:\n    print(e.strerror)"
        code = f"open('made', 'w').write('x')\n{opening}"
        assert box.call_tool(agent, "run_code", {"code": code}, None).unwrap() == "Read-only file system\n"
        failed = box.call_tool(agent, "run_code", {"code": "open('/etc/xun-was-here', 'w')"}, None).unwrap_err().error
        assert "Only bash has that parameter" in failed
        task = box.call_tool(agent, "bash_spawn", {"command": "touch /etc/xun-was-here"}, None).unwrap()
        over = box.call_tool(agent, "bash_wait", {"id": task["id"]}, None).unwrap()
        assert over["exit_code"] == 1 and 'sandbox="off"' in over["note"]
        value = box.call_tool(agent, "bash", {"command": "cat made; touch /etc/xun-was-here"}, None).unwrap()
        assert value["stdout"] == "x" and 'sandbox="off"' in value["note"]
    environment.close()


def test_the_registry_makes_it():
    workspace = Workspace()
    made = EnvironmentRegistry().make("sandbox:required", workspace)
    assert isinstance(made, SandboxEnvironment) and made.mode == "required" and not made.known
    with pytest.raises(ConfigError, match="sandbox can be followed by :required only"):
        EnvironmentRegistry().make("sandbox:open", workspace)
    workspace.close()


def test_the_root_folder_as_the_workspace_is_mounted_writable():
    given = arguments(Inside("closed", ("/", "/tmp/own")))
    assert given[given.index("/") - 1] == "--bind" and given.count("/") == 2
    assert given[-3:] == ["--bind", "/tmp/own", "/tmp/own"]


@pytest.mark.parametrize(
    ("version", "files", "net", "scoped"),
    [(1, 0x1FF2, 0, 0), (2, 0x3FF2, 0, 0), (3, 0x7FF2, 0, 0), (4, 0x7FF2, 2, 0), (5, 0xFFF2, 2, 0), (6, 0xFFF2, 2, 3)],
)
def test_landlock_asks_for_what_a_kernel_knows(version, files, net, scoped):
    """The bits are those of linux/landlock.h; a kernel refuses what it does not know."""
    found = rights(version, "closed", hides=False)
    assert (found.files, found.net, found.scoped) == (files, net, scoped)
    assert rights(version, "network", hides=False).net == 0
    assert rights(version, "closed", hides=True).files == files | 4


def test_a_repository_above_governs_and_one_inside_does_not(tmp_path):
    for name in ("objects", "refs", "sub"):
        (tmp_path / "r/.git" / name).mkdir(parents=True)
    (tmp_path / "r/.git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "r/below/deep").mkdir(parents=True)
    found = governing(str(tmp_path / "r/below/deep"))
    assert found is not None and found.own == found.common == str(tmp_path / "r/.git")
    assert governing(str(tmp_path / "r")) is None
    (tmp_path / "r/below/.git").symlink_to(tmp_path)
    assert governing(str(tmp_path / "r/below/deep")) is None


@pytest.mark.parametrize("text", ["", "x", "gitdir:", "gitdir: ../away", "gitdir: \0", "gitdir: " + "a" * 5000])
def test_a_git_file_that_says_nothing_true_counts_for_nothing(tmp_path, text):
    (tmp_path / ".git").write_text(text)
    assert governing(str(tmp_path)) is None
