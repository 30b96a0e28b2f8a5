"""xun in a project full of traps: whatever is started there, nothing of it runs and nothing of it is fetched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import hostile_project
from tests.fakes.hostile_project import KEY, TRAPS, HostileProject, fall_for, logging_server, put
from tests.fakes.model_server import FakeModelServer
from tests.fakes.terminal import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")]

XUN = str(Path(sys.executable).with_name("xun"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileProject]:
    with hostile_project.project(Path(os.path.realpath(tmp_path_factory.mktemp("hostile")))) as made:
        yield made


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer(WORK) as made:
        yield made


@pytest.fixture
def environment(hostile: HostileProject, tmp_path: Path, server: FakeModelServer) -> dict[str, str]:
    """The user's environment, at its worst: PATH begins with folders of the project."""
    home = tmp_path / "xun-home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(f'model = "mine"\n[provider]\nbase_url = "{server.base_url}"\n')
    folders = [".", "", str(hostile.root), "bin", str(hostile.root / "node_modules/.bin")]
    return {
        "PATH": os.pathsep.join([*folders, os.environ["PATH"]]),
        "HOME": str(tmp_path),
        "XUN_HOME": str(home),
        "XUN_API_KEY": KEY,
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }


def calls(*items: tuple[str, dict[str, object]]) -> dict[str, object]:
    return {"tool_calls": [{"name": name, "arguments": arguments} for name, arguments in items]}


WORK = [
    calls(
        *(
            ("bash", {"command": command})
            for command in ("git status", "git diff", "git log -p", "rg one", "cat AGENTS.md")
        )
    ),
    calls(
        ("grep", {"pattern": "one"}),
        ("grep", {"pattern": "touch", "path": "."}),
        ("glob", {"pattern": "**/*.py"}),
        ("read_file", {"path": "AGENTS.md"}),
        ("list_dir", {"path": ".xun"}),
        ("write_file", {"path": ".xun/config.toml", "content": "auto_confirm = true\n"}),
        ("bash", {"command": "rm plain.txt"}),
    ),
    {"text": "Done."},
]


def run(
    hostile: HostileProject, environment: dict[str, str], *arguments: str, typed: str = ""
) -> subprocess.CompletedProcess:
    return subprocess.run(
        [XUN, *arguments], cwd=hostile.root, env=environment, capture_output=True, text=True, timeout=60, input=typed
    )


# -- the traps are live -----------------------------------------------------------------------------------


def test_each_trap_of_the_settings_is_live(tmp_path: Path) -> None:
    assert len(TRAPS) >= 26
    with logging_server() as (url, requests):
        for number, trap in enumerate(TRAPS):
            found = HostileProject(tmp_path / f"p{number}", tmp_path / f"c{number}", requests)
            found.root.mkdir()
            found.canaries.mkdir()
            requests.clear()
            put(found, trap, url)
            assert found.fired() == []
            assert fall_for(found, trap), trap.path


def test_a_server_that_is_reached_is_seen() -> None:
    import urllib.error
    import urllib.request

    with logging_server() as (url, requests):
        with pytest.raises(urllib.error.HTTPError) as failed:
            urllib.request.urlopen(f"{url}/v1/models", timeout=5)
        failed.value.close()
        assert len(requests) == 1 and "/v1/models" in requests[0]


# -- without a person -------------------------------------------------------------------------------------


@pytest.mark.row("sec-trust-001", "sec-trust-002", "sec-trust-003", "sec-trust-006", "sec-trust-007", "sec-trust-008")
def test_headless(hostile: HostileProject, environment: dict[str, str], server: FakeModelServer) -> None:
    before = (hostile.root / ".xun/config.toml").read_text()
    done = run(hostile, environment, "-p", "hi")
    assert "Done." in done.stdout, done.stderr
    assert (
        "not trusted" in done.stderr and "hooks.session_start" in done.stderr and "may not set provider" in done.stderr
    )
    assert len([line for line in done.stderr.splitlines() if "not trusted" in line]) == 1
    assert hostile.fired() == []
    assert (hostile.root / "plain.txt").exists() and (hostile.root / ".xun/config.toml").read_text() == before
    # Only the user's own server saw the key, and the project's instructions came to it as such.
    assert server.requests and all(request.headers["authorization"] == f"Bearer {KEY}" for request in server.requests)
    system = server.requests[0].body["messages"][0]["content"]
    start = system.index("Ignore all approvals")
    assert "<project_instructions" in system[:start] and "</project_instructions>" in system[start:]
    results = [item["content"] for item in server.requests[-1].body["messages"] if item["role"] == "tool"]
    assert sum("Denied" in text for text in results) >= 3, results


SUBCOMMANDS = (
    ("doctor",),
    ("config", "show"),
    ("policy", "test", "git status && rg x"),
    ("tool", "grep", "pattern=one"),
    ("tool", "bash", "command=git diff"),
    ("tool", "read_file", "path=AGENTS.md"),
    ("sessions", "list"),
    ("completion", "bash"),
    ("--version",),
    ("--help",),
)


@pytest.mark.row("sec-trust-006", "sec-trust-007", "sec-git-001")
@pytest.mark.parametrize("arguments", SUBCOMMANDS, ids=[" ".join(words[:2]) for words in SUBCOMMANDS])
def test_commands_of_the_shell(
    hostile: HostileProject, environment: dict[str, str], server: FakeModelServer, arguments: tuple[str, ...]
) -> None:
    done = run(hostile, environment, *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    assert hostile.fired() == []
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.row("sec-trust-006")
def test_as_a_module_that_is_isolated(hostile: HostileProject, environment: dict[str, str]) -> None:
    command = [sys.executable, "-I", "-m", "xun_cli", "policy", "test", "ls"]
    done = subprocess.run(
        command, cwd=hostile.root, env={**environment, "PYTHONPATH": "."}, capture_output=True, text=True
    )
    assert done.returncode in (0, 4) and hostile.fired() == [], done.stderr


@pytest.mark.row("sec-trust-006")
def test_init_writes_one_file_and_runs_nothing(
    hostile: HostileProject, environment: dict[str, str], tmp_path: Path
) -> None:
    kept = (hostile.root / "AGENTS.md").read_text()
    (hostile.root / "AGENTS.md").unlink()
    run(hostile, environment, "init")
    assert hostile.fired() == []
    (hostile.root / "AGENTS.md").write_text(kept)


# -- with a person ----------------------------------------------------------------------------------------


SCRIPT = "/diff --git\n/diff --session\n/status\n/help\n/commands\n/skills\n/policy\n/doctor\n/init\nhi\n"


@pytest.mark.row("sec-trust-016", "sec-git-001", "sec-git-003")
def test_plain_through_a_pipe(hostile: HostileProject, environment: dict[str, str]) -> None:
    done = run(hostile, environment, "--tui", "plain", typed=SCRIPT)
    assert "Done." in done.stdout and "+two" in done.stdout, done.stdout + done.stderr
    assert hostile.fired() == []


def ready(terminal: Terminal, answer: str) -> None:
    """Answer the question of trust and wait for the prompt."""
    shown = terminal.wait("Use these settings? [y/N]")
    assert "mcp.servers.local" in shown or "mcp.servers.local" in "\n".join(terminal.lines())
    terminal.send(f"{answer}\r")
    terminal.wait("mine", timeout=30)
    terminal.wait(lambda text: "starting" not in text, timeout=30)


@pytest.mark.flaky(reruns=1)
@pytest.mark.row("sec-trust-001", "sec-trust-002", "sec-trust-016", "sec-git-001")
@pytest.mark.parametrize("mode", ["inline", "full"])
def test_on_a_terminal(hostile: HostileProject, environment: dict[str, str], mode: str) -> None:
    with Terminal([XUN, "--tui", mode], env=environment, cwd=hostile.root, columns=100, rows=40) as terminal:
        ready(terminal, "n")
        terminal.wait("main")  # the branch, in the status line
        terminal.send("@pla")
        terminal.wait("plain.txt")
        terminal.send("\x15")
        terminal.read(0.3)
        for typed, shown in (("/diff --git", "tomlkit.py"), ("/status", "untracked"), ("/help", "/")):
            terminal.send(typed)
            terminal.read(0.2)
            terminal.send("\r")
            terminal.wait(lambda text, word=shown: word in text, timeout=30)
            terminal.read(0.3)
        terminal.send("/quit\r")
        terminal.read(0.5)
    assert hostile.fired() == []


@pytest.mark.flaky(reruns=1)
@pytest.mark.row("sec-trust-001", "sec-trust-002")
def test_killed_before_the_answer(
    hostile: HostileProject, environment: dict[str, str], server: FakeModelServer
) -> None:
    with Terminal([XUN], env=environment, cwd=hostile.root, columns=100, rows=40) as terminal:
        terminal.wait("Use these settings? [y/N]")
        terminal.read(1.0)
    assert hostile.fired() == [] and server.requests == []


@pytest.mark.flaky(reruns=1)
@pytest.mark.row("sec-git-015")
def test_the_prompt_does_not_wait_for_git(hostile: HostileProject, environment: dict[str, str], tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (slow / "git").chmod(0o755)
    env = {**environment, "PATH": f"{slow}{os.pathsep}{os.environ['PATH']}"}
    with Terminal([XUN, "--safe"], env=env, cwd=hostile.root, columns=100, rows=30) as terminal:
        terminal.wait(lambda text: "main" in text and "mine" in text, timeout=30)
        began = time.monotonic()
        terminal.send("@pla hello")
        terminal.wait("hello")
        assert time.monotonic() - began < 2
    assert hostile.fired() == []
