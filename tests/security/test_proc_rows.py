"""The process rows of the security corpus: commands that read, flood, fork, stay, and attack.

Those about a terminal in front of a person are in the tests of the front ends; `test_every_row.py` says where.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.headless import Headless, call
from tests.fakes.room import Room
from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.environment.tags import carriers
from xun.models import ScriptedModel

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc here")


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent[Any]]:
    made: Agent[Any] = Agent(
        toolbox=ToolBox().with_defaults("cmd", "fs", "search"),
        workspace=Workspace(tmp_path),
        config=AgentConfig(auto_confirm=True),
    )
    with made as ready:
        yield ready
    made.workspace.close()


def bash(agent: Agent[Any], command: str, tool: str = "bash", **more: Any) -> Any:
    return agent.toolbox.call_tool(agent, tool, {"command": command, **more}, None)


def alive(agent: Agent[Any]) -> list[int]:
    """Return what carries the tag of the agent's environment and still runs."""
    own: Any = agent.environment
    found = [number for number, tag in carriers() if tag.startswith(own.tag)]
    return [number for number in found if Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"]


def none_left(agent: Agent[Any], seconds: float = 3.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if not alive(agent):
                return True
        except OSError:
            continue
        time.sleep(0.02)
    return False


# -- input and the terminal ----------------------------------------------------------------------

ON_A_TERMINAL = """
import sys
from xun import Agent, AgentConfig, ToolBox, Workspace
config = AgentConfig(auto_confirm=True)
with Agent(toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(sys.argv[1]), config=config) as agent:
    for command in ("stty -F /dev/tty raw -echo", "stty raw </dev/tty", "read x </dev/tty", "sudo -k true", "python3"):
        for tool in ("bash", "shell"):
            agent.toolbox.call_tool(agent, tool, {"command": command, "timeout": 5}, None)
print("done")
"""


@pytest.mark.row("sec-proc-002")
def test_the_terminal_is_as_it_was(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    try:
        before = termios.tcgetattr(slave)
        with subprocess.Popen(
            [sys.executable, "-c", ON_A_TERMINAL, str(tmp_path)],
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            start_new_session=True,
        ) as process:
            assert process.communicate(timeout=20)[0].strip() == b"done"
        assert termios.tcgetattr(slave) == before
    finally:
        os.close(master)
        os.close(slave)


# -- what a command starts -----------------------------------------------------------------------


@pytest.mark.row("sec-proc-003")
@pytest.mark.parametrize(
    "command",
    [
        "sleep 7001 & sleep 7002",
        "trap '' TERM; sleep 7001 & sleep 7002",
        "sleep 7001 | sleep 7002",
    ],
)
def test_a_limit_ends_all_that_was_started(agent: Agent[Any], command: str) -> None:
    begun = time.monotonic()
    result = bash(agent, command, timeout=0.3)
    assert result.status == "timeout" and "limit of 0.3 s" in result.unwrap_err().error
    assert time.monotonic() - begun < 30
    assert none_left(agent)


@pytest.mark.row("sec-proc-004")
def test_what_goes_on_is_named_and_ends_with_the_session(tmp_path: Path) -> None:
    made: Agent[Any] = Agent(
        toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(tmp_path), config=AgentConfig(auto_confirm=True)
    )
    with made as agent:
        begun = time.monotonic()
        value = bash(agent, "sleep 7003 & echo done", timeout=10).unwrap()
        assert time.monotonic() - begun < 1.5
        assert value["stdout"] == "done\n"
        assert "still run" in value["note"] and "end with the session" in value["note"]
        assert re.search(r"\d+ sleep 7003", value["note"])
        assert len(alive(agent)) == 1
    assert none_left(made)
    made.workspace.close()


@pytest.mark.row("sec-proc-005")
@pytest.mark.parametrize(
    "command",
    [
        "setsid sleep 7004 & sleep 7005",
        "python3 -c 'import os, time; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); time.sleep(9)'",  # noqa: E501
    ],
)
def test_what_leaves_its_group_ends_with_the_session(tmp_path: Path, command: str) -> None:
    made: Agent[Any] = Agent(
        toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(tmp_path), config=AgentConfig(auto_confirm=True)
    )
    with made as agent:
        begun = time.monotonic()
        bash(agent, command, timeout=0.5)
        assert time.monotonic() - begun < 4
    assert none_left(made)
    made.workspace.close()


# -- output ----------------------------------------------------------------------------------------


def held() -> int:
    """Return the bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.row("sec-proc-006")
@pytest.mark.parametrize(
    "command",
    [
        "yes",
        "cat /dev/urandom",
        "seq 1 200000000",
        "python3 -c 'print(chr(120)*10**8)'",
        "yes >&2",
        "yes | tr -d '\\n'",
    ],
)
def test_a_flood_is_cut_and_costs_no_memory(agent: Agent[Any], command: str) -> None:
    bash(agent, "seq 1 100000")
    most, stop = [held()], threading.Event()

    def watch() -> None:
        while not stop.wait(0.01):
            most[0] = max(most[0], held())

    before = held()
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        result = bash(agent, command, timeout=0.4)
    finally:
        stop.set()
        watcher.join()
    assert most[0] - before < 50_000_000
    said = json.dumps(result.value if result.is_ok() else result.unwrap_err().error)
    assert len(said) < 120_000
    if result.is_ok():
        assert result.value["truncated"] and Path(result.value["output_file"]).stat().st_size > 100_000
        assert re.search(r"\d+ (characters|bytes)", result.value["stdout"] + result.value["stderr"])
    else:
        assert result.status == "timeout"


@pytest.mark.row("sec-proc-007")
@pytest.mark.parametrize(
    "command",
    [
        "python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)))'",
        "printf 'a\\0b\\0' | iconv -f utf-8 -t utf-16",
        "printf '\\x80'; printf '\\xe2\\x82'",
        "printf '\\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xc0\\xaf'",
        "python3 -c 'print(\"\\N{EURO SIGN}\" * 100000)'",
        'python3 -c \'import sys; sys.stdout.buffer.write("\\N{OPTICAL DISC}".encode() * 50000 + b"\\xf0\\x9f")\'',
    ],
)
@pytest.mark.parametrize("tool", ["bash", "shell"])
def test_output_is_text_whatever_it_was(agent: Agent[Any], command: str, tool: str) -> None:
    value = bash(agent, command, tool).unwrap()
    text = value["stdout"]
    assert text.encode("utf-8").decode("utf-8") == text
    assert json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8")) == value


# -- attacks -----------------------------------------------------------------------------------------


def own_processes() -> int:
    """Return how many processes this user has."""
    found = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                found += os.stat(f"/proc/{name}").st_uid == os.geteuid()
    return found


@pytest.mark.row("sec-proc-008")
@pytest.mark.parametrize("room", ["nobody" if os.geteuid() == 0 else "self"], indirect=True)
def test_a_fork_bomb_in_the_sandbox_ends_with_its_limit(room: Room) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bwrap is not installed")
    # Root has no limit of processes: a bomb of its own would be the end of the machine.
    assert os.geteuid() != 0
    there = own_processes()
    resource.setrlimit(resource.RLIMIT_NPROC, (there + 60, there + 60))
    agent: Agent[Any] = Agent(
        toolbox=ToolBox().with_defaults("cmd"),
        workspace=Workspace(room.w),
        config=AgentConfig(auto_confirm=True, environment="sandbox"),
    ).initialize()
    own: Any = agent.environment
    if own.wall != "bubblewrap":
        agent.finalize()
        pytest.skip(f"no bubblewrap for an ordinary user here: {own.reason}")
    late, stop = [0.0], threading.Event()

    def answer() -> None:
        # A thread that wakes as a front end does for a key.
        last = time.monotonic()
        while not stop.wait(0.02):
            late[0], last = max(late[0], time.monotonic() - last), time.monotonic()

    key = threading.Thread(target=answer)
    key.start()
    begun = time.monotonic()
    result = bash(agent, ":(){ :|:& };:; sleep 30", timeout=1.5)
    took = time.monotonic() - begun
    stop.set()
    key.join()
    assert result.status == "timeout" or result.is_ok()
    assert took < 25 and late[0] < 5
    left = own_processes()
    agent.finalize()
    agent.workspace.close()
    assert left < there + 20, "the bomb goes on"


ATTACKED = """
import sys
from xun import Agent, AgentConfig, ToolBox, Workspace
config = AgentConfig(auto_confirm=True, environment="sandbox")
with Agent(toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(sys.argv[1]), config=config) as agent:
    wall = agent.environment.wall
    print(wall, flush=True)
    if wall == "none":
        sys.exit()
    import os
    commands = ["kill -9 $PPID", "kill -STOP $PPID", "pkill -9 -f xun", f"kill -9 {os.getpid()}"]
    for command in commands + ["kill -9 -1"] * (os.getpid() == 1):
        agent.toolbox.call_tool(agent, "bash", {"command": command, "timeout": 5}, None)
        print("lives", flush=True)
"""


@pytest.mark.row("sec-proc-009")
def test_in_the_sandbox_a_command_does_not_reach_the_process_that_started_it(tmp_path: Path) -> None:
    own = ["unshare", "--pid", "--fork", "--mount-proc"] if os.geteuid() == 0 else []
    if own and subprocess.run([*own, "true"], capture_output=True, check=False).returncode:
        own = []  # in a container without the right to make one
    # With a name that the attack looks for, and in a session of its own, so that it hits nobody else if it hits.
    with subprocess.Popen(
        [*own, sys.executable, "-c", ATTACKED, str(tmp_path), "xun"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            pytest.fail("it was stopped")
    wall, *lives = out.splitlines()
    if wall == "none":
        pytest.skip("there is no sandbox here")
    assert lives == ["lives"] * (5 if own else 4), (out, err, process.returncode)


@pytest.mark.row("sec-proc-009")
@pytest.mark.parametrize("command", ["kill -9 $PPID", "kill -STOP $PPID", "pkill -f xun", "kill -9 1", "killall xun"])
def test_without_a_sandbox_such_a_command_is_asked_about(tmp_path: Path, command: str) -> None:
    made: Agent[Any] = Agent(
        toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(tmp_path), config=AgentConfig(risk_enabled=False)
    )
    with made as agent:
        # Nobody is there to be asked, so it does not run.
        assert bash(agent, command).unwrap_err().kind == "denied"
    made.workspace.close()


@pytest.mark.row("sec-proc-011", "sec-proc-009")
def test_a_killed_xun_leaves_a_whole_log_and_the_next_start_ends_what_it_left(tmp_path: Path) -> None:
    xun = Headless(tmp_path)
    turns = [call("read_file", path="a"), call("bash", command="sleep 7011 | sleep 7012"), {"text": "x"}]
    (xun.project / "a").write_text("text\n")
    with subprocess.Popen(
        xun.command(turns, "--allow-command", "sleep"),
        cwd=xun.project,
        env=xun.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        left = sleeping(xun.project, 2)
        assert len(left) == 2
        process.kill()
    events = [record["type"] for record in xun.stored()]
    assert events.count("tool.completed") == 1 and events.count("tool.started") == 2
    done = xun.run([{"text": "again"}], "-c")
    assert done.returncode == 0 and "again" in done.stdout
    assert sleeping(xun.project, 0) == []


def sleeping(folder: Path, wanted: int) -> list[int]:
    """Wait up to ten seconds for so many ``sleep`` in *folder*; return those that there are."""
    end = time.monotonic() + 10
    while True:
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(path / "cwd") == str(folder) and (path / "cmdline").read_bytes().startswith(b"sleep"):
                    found.append(int(path.name))
            except OSError:
                continue
        if len(found) == wanted or time.monotonic() > end:
            return found
        time.sleep(0.02)


@pytest.mark.row("sec-proc-010")
def test_an_interrupted_command_ends_and_the_session_goes_on(tmp_path: Path) -> None:
    model = ScriptedModel([call("bash", command="sleep 7010 & sleep 60"), {"text": "never"}, {"text": "and on"}])
    made: Agent[Any] = Agent(
        model=model,
        toolbox=ToolBox().with_defaults("cmd"),
        workspace=Workspace(tmp_path),
        config=AgentConfig(auto_confirm=True),
    )
    with made as agent:
        threading.Timer(0.5, lambda: agent.cancel("the user")).start()
        begun = time.monotonic()
        result = agent.instruct("wait").execute()
        assert time.monotonic() - begun < 4
        assert result.is_err() and none_left(agent, 1)
        answers = [message for message in agent.history if message.role == "tool"]
        assert len(answers) == 1 and "interrupted" in answers[0].text
        assert agent.instruct("go on").execute().is_ok()
    made.workspace.close()


# -- where it runs ---------------------------------------------------------------------------------


@pytest.mark.row("sec-proc-014")
@pytest.mark.parametrize("case", ["HOME unset", "HOME missing", "HOME read-only", "state is a file", "data is a file"])
def test_without_a_home_it_answers_and_warns_once(tmp_path: Path, case: str) -> None:
    xun = Headless(tmp_path)
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, not a folder\n")
    home = str(tmp_path / "user")
    os.mkdir(home)
    variables: dict[str, str | None] = {"XUN_HOME": None, "HOME": home}
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        variables[name] = None
    if case == "HOME unset":
        variables["HOME"] = None
        # A home of the password file could be anybody's: nothing may be written there by a test.
        variables["XDG_DATA_HOME"] = variables["XDG_STATE_HOME"] = str(blocked)
        variables["XDG_CONFIG_HOME"] = variables["XDG_CACHE_HOME"] = str(blocked)
    elif case == "HOME missing":
        variables["HOME"] = "/nonexistent/home"
        if os.geteuid() == 0:
            variables["HOME"] = "/proc/nonexistent"
    elif case == "HOME read-only":
        variables["HOME"] = "/proc" if os.geteuid() == 0 else home
        os.chmod(home, 0o500)
    elif case == "state is a file":
        variables["XDG_STATE_HOME"] = str(blocked)
    else:
        variables["XDG_DATA_HOME"] = str(blocked)
    done = xun.run([{"text": "Hello there."}], **variables)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Hello there.\n"
    assert "Traceback" not in done.stderr
    if case not in ("state is a file",):
        warnings = [line for line in done.stderr.splitlines() if "not saved" in line or "isn't saved" in line]
        assert len(warnings) == 1, done.stderr


@pytest.mark.row("sec-proc-015")
def test_the_locale_changes_no_byte(tmp_path: Path) -> None:
    xun = Headless(tmp_path)
    text = "\N{GRINNING FACE} 日本語 é\n"
    (xun.project / "in.txt").write_bytes(text.encode())
    with open(os.fsencode(xun.project) + b"/\xff\xfe", "wb") as file:
        file.write(text.encode())
    turns = [
        call("read_file", path="in.txt"),
        call("write_file", path="out-日本.txt", content=text),
        call("glob", pattern="*"),
        call("bash", command="cat in.txt"),
        {"text": f"Done {text}"},
    ]
    done = xun.run(turns, "--output", "stream-json", LANG="C", LC_ALL="POSIX", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0 and "UnicodeEncodeError" not in done.stderr, done.stderr
    assert (xun.project / "out-日本.txt").read_bytes() == text.encode()
    read, _, found, cat = (json.dumps(event, ensure_ascii=False) for event in xun.results(done))
    assert "日本語" in read and "日本語" in cat and "in.txt" in found
    plain = xun.run([{"text": f"Done {text}"}], LANG="C", LC_ALL="POSIX", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert plain.stdout.strip() == f"Done {text}".strip()


@pytest.mark.row("sec-proc-016")
@pytest.mark.parametrize(
    "name", [b"caf\xe9", b"\xff", b"a\nb", b"\xed\xa0\x80", b"\xc3", b"sub\xff/x", b"tab\there", b"\x1b[2J"]
)
def test_odd_names_go_round_by_what_the_tools_show(agent: Agent[Any], tmp_path: Path, name: bytes) -> None:
    path = os.path.join(os.fsencode(tmp_path), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"needle\n")

    def call_tool(tool: str, **arguments: Any) -> Any:
        value = agent.toolbox.call_tool(agent, tool, arguments, None).unwrap()
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # no lone surrogate
        return value

    (shown,) = call_tool("glob", pattern="**/*")["paths"]
    assert call_tool("read_file", path=shown)["text"] == "needle\n"
    (match,) = call_tool("grep", pattern="needle")["matches"]
    assert match["path"] == shown
    assert call_tool("write_file", path=shown, content="other\n")["created"] is False
    with open(path, "rb") as file:
        assert file.read() == b"other\n"


@pytest.mark.row("sec-proc-017")
def test_every_call_begins_anew_where_the_question_said(agent: Agent[Any], tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    bash(agent, "cd sub && export A=1; alias ls=rm; f() { echo f; }; umask 0; set -e").unwrap()
    value = bash(agent, "pwd; echo $A; f; umask").unwrap()
    assert value["stdout"].splitlines()[:2] == [str(tmp_path), ""]
    assert "f: command not found" in value["stderr"]
    tool = agent.toolbox.get("bash")
    assert tool is not None and "cd and exports do not last" in tool.description
