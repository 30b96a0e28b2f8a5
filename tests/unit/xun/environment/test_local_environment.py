from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from xun import Workspace
from xun.environment.local import LocalEnvironment
from xun.errors import PathOutsideWorkspace


@pytest.fixture
def environment(tmp_path):
    workspace = Workspace(tmp_path)
    made = LocalEnvironment(workspace)
    yield made
    made.close()
    workspace.close()


def finished(process):
    out, err = process.stdout.read(), process.stderr.read()
    code = process.wait(10)
    process.close()
    return code, out, err


def carrying(tag: str) -> list[int]:
    """The processes whose environment holds the tag."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"XUN_PROCESS_TAG={tag}".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def gone(tag: str) -> bool:
    deadline = time.monotonic() + 5
    while carrying(tag) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not carrying(tag)


def test_a_text_runs_in_bash_in_the_workspace(environment, tmp_path):
    assert finished(environment.spawn("echo $((1+2)); pwd; echo no >&2; exit 3")) == (
        3,
        f"3\n{tmp_path.resolve()}\n".encode(),
        b"no\n",
    )


def test_a_sequence_runs_as_it_stands(environment):
    assert finished(environment.spawn(["/bin/echo", "$HOME  'x'", "*"]))[1] == b"$HOME  'x' *\n"


def test_the_folder_and_the_environment_are_those_given(environment, tmp_path):
    (tmp_path / "sub").mkdir()
    code, out, _ = finished(environment.spawn("pwd; env", cwd=str(tmp_path / "sub"), env={"ONLY": "this"}))
    lines = out.decode().splitlines()
    assert code == 0 and lines[0].endswith("/sub") and "ONLY=this" in lines
    assert not any(line.startswith(("PATH=", "HOME=")) for line in lines)


def test_without_an_environment_secrets_stay_outside(environment, monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "hush")
    assert b"hush" not in finished(environment.spawn("env"))[1]


def test_input_ends_at_once_unless_asked_for(environment):
    assert finished(environment.spawn("cat; echo end; test -p /dev/stdin || echo no pipe"))[1] == b"end\nno pipe\n"
    process = environment.spawn("cat", stdin=True)
    process.write_stdin(b"x" * 10)
    process.close_stdin()
    assert finished(process)[1] == b"x" * 10


def test_writing_without_input_is_an_error(environment):
    process = environment.spawn("sleep 400")
    with pytest.raises(ValueError, match="stdin=True"):
        process.write_stdin(b"x")
    process.kill()
    process.close()


def test_writing_to_what_is_over_is_a_broken_pipe(environment):
    process = environment.spawn("exit 0", stdin=True)
    process.wait(10)
    with pytest.raises(BrokenPipeError):
        process.write_stdin(b"x" * 200_000)
    process.close()


def test_kill_reaches_the_whole_tree(environment):
    process = environment.spawn("sleep 401 & setsid sleep 402 & (setsid -f sleep 403); echo up; sleep 404")
    assert process.stdout.read(3) == b"up\n"
    assert process.poll() is None
    process.kill()
    assert process.poll() == -9 and gone(process.tag)
    process.close()


def test_kill_reaches_what_hides_from_it(environment, tmp_path):
    """Out of the group, and without any variable: but still a child of what runs."""
    process = environment.spawn("env -i setsid bash -c 'echo $$ > pid; sleep 411; true' & sleep 412")
    deadline = time.monotonic() + 5
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    process.close()
    hidden = Path(f"/proc/{int((tmp_path / 'pid').read_text())}/stat")
    while hidden.exists() and ") Z " not in hidden.read_text():
        assert time.monotonic() < deadline + 5
        time.sleep(0.02)


def test_what_left_its_group_ends_with_the_environment_too(environment):
    process = environment.spawn("setsid sleep 413 > /dev/null 2>&1 < /dev/null & sleep 0.2")
    assert process.wait(10) == 0 and not process.left_running()
    process.close()
    assert carrying(process.tag)
    environment.close()
    assert gone(process.tag)


def test_kill_leaves_other_processes_of_the_environment(environment):
    other, process = environment.spawn("sleep 405"), environment.spawn("sleep 406")
    process.kill()
    assert other.poll() is None
    other.kill()
    other.close()
    process.close()


def test_grace_lets_a_process_end_by_itself(environment):
    process = environment.spawn("trap 'echo bye; exit 7' TERM; echo up; sleep 407 & wait")
    process.stdout.read(3)
    started = time.monotonic()
    process.kill(grace=50)
    assert process.poll() == 7 and time.monotonic() - started < 40
    assert process.stdout.read() == b"bye\n"
    process.close()


def test_what_is_left_running_is_told_and_ends_with_close(environment):
    process = environment.spawn("sleep 408 > /dev/null 2>&1 & setsid sleep 409 > /dev/null 2>&1 & echo up")
    assert process.wait(10) == 0 and process.left_running()
    process.close()
    environment.close()
    assert gone(environment.tag)


def test_nothing_left_is_told_too(environment):
    process = environment.spawn("true")
    process.wait(10)
    assert not process.left_running()
    process.close()


def test_it_can_be_used_again_after_close(environment):
    environment.close()
    assert finished(environment.spawn("echo again"))[1] == b"again\n"


def test_a_wait_that_is_too_short_is_told(environment):
    process = environment.spawn("sleep 410")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.05)
    process.kill()
    process.close()


def test_what_can_not_be_started_is_an_os_error(environment):
    with pytest.raises(FileNotFoundError):
        environment.spawn(["/no/such/program"])


def test_files_go_through_the_workspace(environment, tmp_path):
    environment.write_text("sub/a.txt", "héllo\n")
    assert (tmp_path / "sub/a.txt").read_bytes() == "héllo\n".encode()
    assert environment.read_text("sub/a.txt") == "héllo\n"
    assert environment.resolve_path("sub/../sub/a.txt") == str(tmp_path.resolve() / "sub/a.txt")
    (tmp_path / "out").symlink_to("/etc")
    for call in (environment.read_text, environment.resolve_path):
        with pytest.raises(PathOutsideWorkspace):
            call("out/passwd")
    with pytest.raises(PathOutsideWorkspace):
        environment.write_text("/etc/xun-was-here", "")


def test_code_runs_with_this_interpreter_in_the_workspace(environment, tmp_path):
    out: list[bytes] = []
    environment.run_code(
        "import os, sys; print(sys.executable); print(os.getcwd()); print(sys.flags.isolated)",
        tools=[],
        call_tool=lambda name, arguments: pytest.fail("no tool"),
        write=lambda data, stream: out.append(data),
    )
    assert b"".join(out).decode().split() == [sys.executable, str(tmp_path.resolve()), "1"]
    assert os.getcwd() != str(tmp_path)
