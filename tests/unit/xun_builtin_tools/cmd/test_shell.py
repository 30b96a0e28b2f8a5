"""The shell that stays: what lasts, what is asked, how commands end."""

from __future__ import annotations

import os
import resource
import shutil
import threading
import time
from pathlib import Path

import pytest

from xun import Agent, AgentConfig, ChoiceOutcome, ToolBox, Workspace
from xun.choice import ONCE
from xun.models import ScriptedModel


class Person:
    """Allows what is asked, and notes it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.edit: str | None = None

    async def choose(self, request):
        self.asked.append((request.command.text, request.cwd, request.message))
        return ChoiceOutcome(ONCE, "user", edited=self.edit)


def make(folder: Path, chooser=None, **config) -> Agent:
    (folder / "sub").mkdir(exist_ok=True)
    return Agent(
        toolbox=ToolBox().with_defaults("cmd"),
        workspace=Workspace(folder),
        config=AgentConfig(auto_confirm=chooser is None, risk_enabled=False, **config),
        chooser=chooser,
    )


@pytest.fixture
def agent(tmp_path):
    made = make(tmp_path)
    with made as ready:
        yield ready
    made.workspace.close()


@pytest.fixture
def person():
    return Person()


@pytest.fixture
def watched(tmp_path, person):
    made = make(tmp_path, person)
    with made as ready:
        yield ready
    made.workspace.close()


def run(agent, command, **arguments):
    return agent.toolbox.call_tool(agent, "shell", {"command": command, **arguments}, None)


def value(agent, command, **arguments):
    return run(agent, command, **arguments).unwrap()


def output(agent, command) -> str:
    return str(value(agent, command)["stdout"])


def left_of(agent) -> list[str]:
    tag = f"XUN_PROCESS_TAG={agent.environment.tag}".encode()
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and tag in _environment(pid)]


def _environment(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


# -- what lasts -------------------------------------------------------------------------------


def test_folder_exports_functions_options_and_jobs_last(agent, tmp_path):
    first = value(agent, "cd sub && export GREETING='hello you' && greet() { echo \"$GREETING, $1\"; }")
    assert (first["stdout"], first["returncode"], first["cwd"]) == ("", 0, str(tmp_path.resolve() / "sub"))
    assert output(agent, "greet 1; pwd") == f"hello you, 1\n{tmp_path.resolve()}/sub\n"
    assert output(agent, "printenv GREETING") == "hello you\n"
    output(agent, "sleep 7201 &")
    assert "sleep 7201" in output(agent, "jobs")
    assert output(agent, "kill %1; wait %1; echo $?").endswith("143\n")


def test_output_and_exit_code(agent):
    got = value(agent, "echo out; echo err >&2; printf end; (exit 7)")
    assert (got["stdout"], got["returncode"], got["truncated"]) == ("out\nerr\nend", 7, False)
    assert value(agent, "true")["returncode"] == 0 and value(agent, "nonexistent-program")["returncode"] == 127


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo 'it'\\''s'; echo \"a  b\" c\\ d", "it's\na  b c d\n"),
        ("cat <<'END'\n$x `y` !z\nEND", "$x `y` !z\n"),
        ("echo hi!; echo !!", "hi!\n!!\n"),
        ("# only a comment\necho one\n\necho two # three", "one\ntwo\n"),
        ("-x; echo on", None),
        ("alias ls='echo poisoned'\nls sub", ""),
        ("for i in 1 2; do\n echo $i\ndone", "1\n2\n"),
    ],
)
def test_the_text_means_what_it_means_to_bash(agent, command, said):
    got = output(agent, command)
    assert got == said if said is not None else got.endswith("on\n")


@pytest.mark.parametrize("command", ["echo 'open", "if true", "} ; {", "cat <<END", "(", "$(", "`", "echo \\"])
def test_a_text_with_an_open_end_stays_in_its_call(agent, command):
    assert "returncode" in value(agent, command)
    assert output(agent, "echo fine") == "fine\n"


def test_output_is_text_without_control_sequences(agent):
    got = output(agent, "printf '\\033[1;31mred\\033[0m \\033]0;title\\007x\\033(B \\xff\\xfe é\\n'")
    assert got == "red x \ufffd\ufffd é\n"


def test_a_long_output_is_cut_and_kept_whole(agent):
    got = value(agent, "seq 1 300000")
    assert got["truncated"] and len(got["stdout"]) < 17_000 and got["stdout"].endswith("300000\n")
    assert Path(got["output_file"]).read_text() == "".join(f"{n}\n" for n in range(1, 300_001))


def test_input_is_at_its_end_and_there_is_no_terminal(agent):
    started = time.monotonic()
    assert output(agent, "cat; read x; sort; echo done") == "done\n"
    assert "/dev/tty" in output(agent, "read y </dev/tty")
    assert time.monotonic() - started < 30


def test_a_job_that_floods_waits_for_nobody(agent):
    output(agent, "{ seq 1 100000; echo through > mark; } &")
    deadline = time.monotonic() + 5
    while not Path(agent.workspace.workdir, "mark").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert len(output(agent, "echo next")) < 70_000


def test_secrets_and_start_up_files_stay_out(agent, tmp_path, monkeypatch):
    hostile = tmp_path / "hostile.sh"
    hostile.write_text(f"touch {tmp_path}/canary\n")
    for name in ("BASH_ENV", "ENV"):
        monkeypatch.setenv(name, str(hostile))
    monkeypatch.setenv("PROMPT_COMMAND", f"touch {tmp_path}/canary")
    monkeypatch.setenv("MY_API_KEY", "hush-hush")
    assert "hush-hush" not in output(agent, "env; set")
    assert not (tmp_path / "canary").exists()


# -- how commands end -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "echo begun; sleep 7202; echo not this",
        "echo begun; while :; do :; done; echo not this",
        "echo begun; for i in 1 2 3; do sleep 7203; done; echo not this",
        "echo begun; f() { sleep 7204; sleep 7204; echo not this; }; f | cat; sleep 7204",
        "echo begun; yes > /dev/null",
    ],
)
def test_after_a_timeout_the_shell_stays(agent, command):
    value(agent, "cd sub; X=kept; sleep 7205 &")
    started = time.monotonic()
    result = run(agent, command, timeout=0.4)
    error = result.unwrap_err()
    assert result.status == "timeout" and "stays as it is" in error.error
    assert "begun" in error.error and "not this" not in error.error
    assert time.monotonic() - started < 30
    assert output(agent, 'echo "$X ${PWD##*/} $(jobs | wc -l)"') == "kept sub 1\n"


def test_a_flood_is_held_in_bounds_and_the_shell_stays(agent):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = run(agent, "X=kept; yes", timeout=0.5).unwrap_err()
    assert "stays as it is" in error.error and len(error.error) < 5000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB on Linux
    assert output(agent, "echo $X") == "kept\n"


def test_a_call_costs_no_wait(agent):
    output(agent, "true")
    taken = []
    for _ in range(20):
        started = time.monotonic()
        output(agent, "true")
        taken.append(time.monotonic() - started)
    assert min(taken) < 0.075, "much less than a poll"


def test_what_ignores_the_interruption_ends_with_the_shell(agent, tmp_path):
    value(agent, "cd sub; X=gone")
    result = run(agent, "trap '' INT TERM; setsid sleep 7206 & sleep 7207", timeout=0.3)
    assert result.status == "timeout" and "new one" in result.unwrap_err().error
    assert left_of(agent) == []
    again = value(agent, 'echo "[$X]"')
    assert (again["stdout"], again["cwd"]) == ("[]\n", str(tmp_path.resolve()))


def test_a_shell_that_ends_says_so_and_the_next_is_new(agent):
    got = value(agent, "sleep 7208 & echo bye; exit 5")
    assert "bye\n" in got["stdout"] and got["returncode"] == 5 and "has ended" in got["note"]
    assert left_of(agent) == []
    assert output(agent, "echo back") == "back\n"
    killed = value(agent, "kill -9 $$")
    assert killed["returncode"] == -9 and output(agent, "echo back") == "back\n"


def test_a_shell_that_ended_between_the_calls_is_told_of(agent):
    value(agent, "X=1; { sleep 0.1; kill -9 $$; } &")
    time.sleep(0.5)
    got = value(agent, 'echo "[$X]"')
    assert got["stdout"] == "[]\n" and "earlier shell had ended" in got["note"]
    assert "note" not in value(agent, "true")


def test_restart_begins_anew(agent):
    value(agent, "X=1; cd sub; sleep 7209 &")
    got = value(agent, 'echo "[$X]"; jobs', restart=True)
    assert got["stdout"] == "[]\n" and not got["cwd"].endswith("sub")


def test_jobs_end_with_the_agent(tmp_path):
    made = make(tmp_path)
    with made as agent:
        value(agent, "sleep 7210 & setsid sleep 7211 & trap '' TERM HUP; sleep 7212 &")
        assert len(left_of(agent)) >= 4
    assert left_of(agent) == []
    made.workspace.close()


def test_cancelling_the_run_interrupts_the_command(tmp_path):
    made = make(tmp_path)
    turns = [{"name": "shell", "arguments": {"command": "export X=kept; sleep 7213"}}]
    made.model = ScriptedModel([{"tool_calls": turns}])
    with made as agent:
        timer = threading.Timer(1.0, agent.cancel, ["stop it"])
        timer.start()
        started = time.monotonic()
        assert agent.instruct("go").execute().status == "cancelled"
        timer.join()
        assert time.monotonic() - started < 30
        assert output(agent, "echo $X") == "kept\n"
    made.workspace.close()


def test_two_agents_have_two_shells(agent):
    other = Agent(toolbox=agent.toolbox, workspace=agent.workspace, config=agent.config, hooks=agent.hooks)
    with other:
        value(agent, "X=1")
        assert output(other, 'echo "[$X]"') == "[]\n"
    assert output(agent, 'echo "[$X]"') == "[1]\n"


@pytest.mark.parametrize("timeout", [0, -1, 3601])
def test_wrong_arguments_are_refused(agent, timeout):
    assert "timeout must be" in run(agent, "true", timeout=timeout).unwrap_err().error
    assert "empty" in run(agent, " \n").unwrap_err().error
    assert "NUL" in run(agent, "echo a\0b").unwrap_err().error


def test_in_a_sandbox_a_timeout_interrupts_too(tmp_path):
    if shutil.which("bwrap") is None:
        pytest.skip("no bwrap here")
    made = make(tmp_path, environment="bubblewrap")
    with made as agent:
        assert value(agent, "cd sub; X=1; touch /etc/xun-was-here")["returncode"] == 1
        assert output(agent, "echo $X; pwd") == f"1\n{tmp_path.resolve()}/sub\n"
        assert "the shell stays" in run(agent, "sleep 7214", timeout=0.3).unwrap_err().error
        assert output(agent, "echo $X; pwd") == f"1\n{tmp_path.resolve()}/sub\n"
        ending = run(agent, "trap '' INT; while :; do sleep 0.1; done", timeout=0.3).unwrap_err().error
        assert "new one" in ending and output(agent, "pwd") == f"{tmp_path.resolve()}\n"
    made.workspace.close()


# -- what is asked ----------------------------------------------------------------------------


def test_listed_commands_run_unasked_where_the_shell_is(watched, person, tmp_path):
    assert value(watched, "cd sub && ls")["cwd"].endswith("/sub")
    value(watched, "pwd")
    assert person.asked == []
    value(watched, "touch made")
    assert [(text, cwd) for text, cwd, _ in person.asked] == [("touch made", str(tmp_path.resolve() / "sub"))]
    value(watched, "ls; git status")  # A program leaves the shell as it was.
    assert len(person.asked) == 1


@pytest.mark.parametrize(
    "command",
    [
        "export PATH=$PWD:$PATH",
        "export GIT_DIR=x",
        "PATH=/tmp",
        "ls() { touch poisoned; }",
        "function ls { touch poisoned; }",
        "alias ls='touch poisoned'",
        "shopt -s expand_aliases",
        "set -f",
        "set -o posix",
        "source ./x",
        ". ./x",
        "eval true",
        "exec 3>x",
        "trap 'touch poisoned' DEBUG",
        "hash -p /bin/rm ls",
        "enable -n echo",
        "unset HOME",
        "umask 0",
        "ulimit -n 20",
        "read -r PATH < sub",
        "printf -v PATH x",
        "test -v 'a[PATH=1]'",
        "mapfile -t PATH < x",
        "declare -x LS_COLORS=x",
        "command export A=1",
        "builtin export A=1",
        "\\export A=1",
        "'export' A=1",
        "ex''port A=1",
        "true && export A=1",
        "true | true; export A=1",
        "true\nexport A=1",
        "{ export A=1; }",
        "echo ${PATH:=x}",
        "echo ${X:=x}",
        "echo $((PATH=1))",
        "true > ${X:=x}",
        "let PATH=1",
        "((PATH=1))",
        "for PATH in x; do true; done",
        "coproc cat",
        "time export A=1",
        "getopts a PATH",
        "wait -n -p PATH",
        "$(echo export) A=1",
        "{export,A=1}",
        "e*port A=1",
        "true & export A=1",
    ],
)
def test_after_what_may_change_the_shell_everything_asks(watched, person, command):
    run(watched, command)
    assert len(person.asked) == 1
    value(watched, "ls")
    assert len(person.asked) == 2 and "may have changed" in person.asked[-1][2]
    value(watched, "ls", restart=True)
    assert len(person.asked) == 2, "a new shell is free of it"


def test_a_granted_word_of_bash_changes_the_shell_too(watched, person):
    watched.policy.command_allowlist.add(("export",), exact=False, source="dialog")
    value(watched, "export A=1")
    assert person.asked == []
    value(watched, "ls")
    assert len(person.asked) == 1


def test_what_the_person_made_of_a_command_counts(watched, person):
    person.edit = "export A=1"
    assert value(watched, "touch made")["command_run"] == "export A=1"
    person.edit = None
    value(watched, "ls")
    assert len(person.asked) == 2


def test_other_variables_than_a_new_shell_would_get_ask(watched, person, monkeypatch):
    value(watched, "ls")
    monkeypatch.setenv("PATH", os.environ["PATH"] + ":/opt/more")
    value(watched, "ls")
    assert [message for _, _, message in person.asked] == [
        "runs in a shell that began with other variables than a new one would get now"
    ]


def test_outside_of_the_workspace_everything_asks(watched, person):
    assert value(watched, "cd /")["cwd"] == "/"
    value(watched, "ls")
    assert [(text, cwd) for text, cwd, _ in person.asked[1:]] == [("ls", "/")]


def test_links_are_followed_to_where_the_check_sees_them(watched, person, tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "link").symlink_to("deep/er")
    assert value(watched, "cd link")["cwd"] == str(tmp_path.resolve() / "deep" / "er")
    assert value(watched, "cd ..; pwd")["stdout"] == f"{tmp_path.resolve()}/deep\n"


def test_denied_or_dry_no_shell_is_begun(tmp_path):
    made = Agent(toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(tmp_path))
    with made as agent:
        assert run(agent, "touch made").status == "denied"
        agent.toolbox.dry_run = True
        assert run(agent, "touch made").unwrap()["would_ask"] is True
        assert left_of(agent) == [] and list(tmp_path.iterdir()) == []
    made.workspace.close()


def test_an_activated_environment_says_nothing_beside_the_commands(agent, tmp_path):
    (tmp_path / "activate").write_text('PS1="(env) ${PS1:-}"\nPROMPT_COMMAND="echo now >&2"\nhash -r\n')
    activated = value(agent, "source ./activate && echo ready")
    assert (activated["returncode"], activated["stdout"]) == (0, "ready\n")
    assert value(agent, "set -x; echo hi")["stdout"] == "++ echo hi\nhi\n"
    assert value(agent, "set +x 2>/dev/null; echo hi")["stdout"] == "++ set +x\nhi\n"


def test_a_function_of_the_name_by_which_commands_run_hides_none(agent):
    output(agent, "eval() { :; }")
    assert output(agent, "echo hi") == "hi\n"
