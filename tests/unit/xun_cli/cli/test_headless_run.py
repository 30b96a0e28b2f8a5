"""Headless xun end to end: real processes, scripted models."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

XUN = Path(sys.executable).with_name("xun")

REPLACE = [
    {"tool_calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]},
    {"tool_calls": [{"name": "replace", "arguments": {"path": "a.txt", "old": "foo", "new": "baz"}}]},
    {"text": "Done: foo is now baz."},
]
SLEEP = [{"tool_calls": [{"name": "bash", "arguments": {"command": "sleep 600 | sleep 600"}}]}, {"text": "slept"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "proj"
    project.mkdir()
    (project / "a.txt").write_text("hello foo\n")
    return project


def environment(folder: Path, **extra: str) -> dict[str, str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("XUN_", "OPENAI_"))}
    return {**env, "XUN_HOME": str(folder.parent / "home"), **extra}


def script(folder: Path, turns: Any) -> str:
    path = folder.parent / "turns.json"
    path.write_text(json.dumps(turns))
    return f"scripted:{path}"


def run(folder: Path, *args: str, stdin: str | bytes | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    source: dict[str, Any] = {"stdin": subprocess.DEVNULL} if data is None else {"input": data}
    done = subprocess.run(
        [str(XUN), *args],
        cwd=folder,
        env=environment(folder, **env),
        capture_output=True,
        timeout=60,
        check=False,
        **source,
    )
    return subprocess.CompletedProcess(args, done.returncode, done.stdout.decode(), done.stderr.decode())


def events(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def stored(folder: Path) -> list[Path]:
    return sorted((folder.parent / "home" / "data" / "sessions").glob("*/*.jsonl"))


def test_answer_alone_is_on_stdout(folder: Path) -> None:
    done = run(folder, "-p", "--allow-write", ".", "--model", script(folder, REPLACE), "do it")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Done: foo is now baz.\n", "")
    assert (folder / "a.txt").read_text() == "hello baz\n"
    assert len(stored(folder)) == 1


def test_write_is_denied_without_a_person(folder: Path) -> None:
    done = run(folder, "-p", "--model", script(folder, REPLACE), "do it")
    assert (done.returncode, done.stdout) == (4, "Done: foo is now baz.\n")
    assert "denied" in done.stderr
    assert "--allow-write" in done.stderr
    assert (folder / "a.txt").read_text() == "hello foo\n"


def test_on_ask_fail_ends_there(folder: Path) -> None:
    done = run(folder, "-p", "--on-ask", "fail", "--output", "json", "--model", script(folder, REPLACE), "do it")
    assert done.returncode == 4
    last = json.loads(done.stdout)
    assert (last["type"], last["exit_code"], last["result"]) == ("session.ended", 4, None)
    assert (folder / "a.txt").read_text() == "hello foo\n"


def test_json_is_the_last_event(folder: Path) -> None:
    done = run(folder, "-p", "--allow-write", ".", "--output", "json", "--model", script(folder, REPLACE), "do it")
    assert done.returncode == 0
    last = json.loads(done.stdout)
    assert (last["type"], last["result"], last["denied"]) == ("session.ended", "Done: foo is now baz.", [])
    assert last["usage"]["requests"] == 3


def test_stream_has_every_event_in_order(folder: Path) -> None:
    done = run(folder, "-p", "--allow-write", ".", "--output", "stream-json", "--model", script(folder, REPLACE), "go")
    found = events(done)
    assert [event["seq"] for event in found] == [*range(1, len(found) + 1)]
    assert all(event["v"] == 1 for event in found)
    kinds = [event["type"] for event in found]
    assert kinds[:2] == ["session.started", "turn.started"]
    assert kinds[-2:] == ["turn.completed", "session.ended"]
    assert {"tool.started", "tool.completed", "message.delta", "message.completed"} <= set(kinds)


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_no_model_is_exit_3_and_stdout_still_parses(folder: Path, output: str) -> None:
    done = run(folder, "-p", "--output", output, "hello")
    assert done.returncode == 3
    assert "xun setup" in done.stderr
    assert done.stderr.count("\n") == 1
    if output == "text":
        assert done.stdout == ""
    else:
        record = json.loads(done.stdout)
        assert (record["exit_code"], record["error"]["kind"]) == (3, "config")


@pytest.mark.parametrize(
    ("turns", "words"),
    [("{", "turns.json"), ([{"texxt": "a"}], "texxt"), ({"turns": 5}, "turns")],
)
def test_wrong_script_is_exit_3(folder: Path, turns: Any, words: str) -> None:
    path = folder.parent / "turns.json"
    path.write_text(turns if isinstance(turns, str) else json.dumps(turns))
    done = run(folder, "-p", "--model", f"scripted:{path}", "--output", "json", "hello")
    assert done.returncode == 3
    assert words in json.loads(done.stdout)["error"]["message"]


def test_demo_must_be_asked_for(folder: Path) -> None:
    done = run(folder, "-p", "--demo", "list the files here")
    assert done.returncode == 0
    assert "a.txt" in done.stdout


def turn_input(folder: Path) -> str:
    for line in stored(folder)[-1].read_text().splitlines():
        record = json.loads(line)
        if record["type"] == "turn.started":
            return str(record["input"])
    raise AssertionError("no turn")


def test_piped_input_is_a_fenced_block(folder: Path) -> None:
    model = script(folder, [{"text": "ok"}])
    run(folder, "-p", "--model", model, "review", stdin="a\n```\nb\n````\nc")
    assert turn_input(folder) == "review\n\nStandard input:\n`````\na\n```\nb\n````\nc\n`````"


def test_piped_input_alone_is_the_prompt(folder: Path) -> None:
    done = run(folder, "-p", "--model", script(folder, [{"text": "ok"}]), stdin="what is 2+2?\n")
    assert (done.returncode, turn_input(folder)) == (0, "what is 2+2?\n")
    done = run(folder, "-p", "--output", "json", "--model", script(folder, [{"text": "ok"}]), stdin=" \n")
    assert (done.returncode, json.loads(done.stdout)["exit_code"]) == (2, 2)
    assert "no prompt" in done.stderr


def test_piped_input_is_capped_aloud(folder: Path) -> None:
    done = run(folder, "-p", "--no-session", "--model", script(folder, [{"text": "ok"}]), "x", stdin="é" * 5_500_000)
    assert done.returncode == 0
    assert "longer than 10 MB" in done.stderr


def test_piped_bytes_that_are_no_text(folder: Path) -> None:
    done = run(folder, "-p", "--model", script(folder, [{"text": "ok"}]), "x", stdin=b"a\xffb")
    assert done.returncode == 0
    assert "not valid UTF-8" in done.stderr
    assert "a\ufffdb" in turn_input(folder)


def test_silent_pipe_does_not_hang(folder: Path) -> None:
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            [str(XUN), "-p", "--model", script(folder, [{"text": "ok"}]), "x"],
            cwd=folder,
            env=environment(folder),
            stdin=reading,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert "sent nothing" in done.stderr


def test_prompt_from_a_file(folder: Path) -> None:
    (folder / "p.md").write_text("from a file\n")
    done = run(folder, "run", "p.md", "--model", script(folder, [{"text": "ok"}]))
    assert (done.stdout, turn_input(folder)) == ("ok\n", "from a file\n")
    assert run(folder, "run", "none.md").returncode == 2


def test_no_session_stores_nothing(folder: Path) -> None:
    assert run(folder, "-p", "--no-session", "--model", script(folder, [{"text": "ok"}]), "x").returncode == 0
    assert stored(folder) == []


@pytest.mark.parametrize("argv", [["--nope"], ["-r"], ["a", "b"], ["--fork", "x"], ["-r", "none", "x"]])
@pytest.mark.parametrize("output", ["--output=json", "--output=stream-json"])
def test_json_also_for_a_wrong_command_line(folder: Path, argv: list[str], output: str) -> None:
    done = run(folder, "-p", output, *argv)
    record = json.loads(done.stdout)
    assert (done.returncode, record["exit_code"], record["error"]["kind"]) == (2, 2, "usage")
    assert done.stderr.count("\n") == 1


def test_second_writer_is_told(folder: Path) -> None:
    model = script(folder, [{"text": "one"}])
    run(folder, "-p", "--model", model, "first")
    command = [str(XUN), "-p", "-c", "--input", "stream-json", "--output", "stream-json", "--model", model]
    with subprocess.Popen(
        command, cwd=folder, env=environment(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        holder.stdout.readline()
        before = stored(folder)[0].read_bytes()
        done = run(folder, "-p", "-c", "--output", "json", "--model", model, "second")
        assert (done.returncode, json.loads(done.stdout)["error"]["kind"]) == (1, "busy")
        assert f"in use by process {holder.pid}" in done.stderr
        assert stored(folder)[0].read_bytes() == before
        assert run(folder, "-p", "-c", "--fork", "--model", model, "second").returncode == 0
        holder.stdin.close()
        assert holder.wait(20) == 0


@pytest.mark.parametrize("seed", range(6))
def test_kill_at_any_moment_loses_no_finished_turn(folder: Path, seed: int) -> None:
    turns = []
    for number in range(30):
        turns += [{"tool_calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}, {"text": f"answer {number}"}]
    command = [str(XUN), "-p", "--input", "stream-json", "--output", "stream-json", "--model", script(folder, turns)]
    finished = []
    with subprocess.Popen(
        command, cwd=folder, env=environment(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(json.dumps({"type": "user", "text": f"q{n}"}) + "\n" for n in range(30)))
        process.stdin.flush()
        for count, line in enumerate(process.stdout):
            event = json.loads(line)
            if event["type"] == "turn.completed":
                finished.append(event["text"])
            if count == 45 + seed * 31:
                process.kill()
                break
        for line in process.stdout.read().splitlines():
            if line.endswith("}") and '"turn.completed"' in line:
                finished.append(json.loads(line)["text"])
    done = run(folder, "-p", "-c", "--output", "stream-json", "--model", script(folder, [{"text": "back"}]), "again")
    assert done.returncode == 0
    kept = [json.loads(line) for line in stored(folder)[0].read_text().splitlines()]
    assert [item["text"] for item in kept if item["type"] == "turn.completed"][: len(finished)] == finished
    assert kept[-1]["type"] == "session.ended"


@pytest.mark.row("sec-secrets-005", "sec-secrets-006")
def test_debug_log_has_events_and_no_key(folder: Path) -> None:
    model = script(folder, [{"text": "the key sk-own-secret-key is not logged"}])
    run(folder, "-p", "--debug", "--model", model, "x", OPENAI_API_KEY="sk-own-secret-key")
    path = folder.parent / "home" / "state" / "xun.log"
    text = path.read_text()
    assert '"turn.completed"' in text
    assert "sk-own-secret-key" not in text
    assert path.stat().st_mode & 0o777 == 0o600


def test_last_file_holds_the_answer(folder: Path) -> None:
    run(folder, "-p", "--last", "out.txt", "--output", "json", "--model", script(folder, [{"text": "the answer"}]), "x")
    assert (folder / "out.txt").read_text() == "the answer"


def test_last_file_follows_no_link_that_a_command_left(folder: Path) -> None:
    outside = folder.parent / "outside"
    link = {"tool_calls": [{"name": "bash", "arguments": {"command": f"ln -s {outside} out.txt"}}]}
    model = script(folder, [link, {"text": "the answer"}])
    done = run(folder, "-p", "--last", "out.txt", "--auto-confirm", "--model", model, "x")
    assert (done.returncode, (folder / "out.txt").read_text()) == (0, "the answer")
    assert not (folder / "out.txt").is_symlink() and not outside.exists()


def test_last_file_that_can_not_be_written_is_told_before_anything_runs(folder: Path) -> None:
    done = run(folder, "-p", "--last", "none/out.txt", "--model", script(folder, [{"text": "x"}]), "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--last none/out.txt: can't be written: No such file or directory" in done.stderr
    assert stored(folder) == []


def test_resume_goes_on(folder: Path) -> None:
    run(folder, "-p", "--model", script(folder, [{"text": "one"}]), "first")
    done = run(folder, "-p", "-c", "--model", script(folder, [{"text": "two"}]), "second")
    assert (done.returncode, done.stdout, len(stored(folder))) == (0, "two\n", 1)
    done = run(folder, "-p", "-c", "--fork", "--model", script(folder, [{"text": "three"}]), "third")
    assert (done.returncode, len(stored(folder))) == (0, 2)
    ident = stored(folder)[0].stem
    assert run(folder, "-p", "-r", ident, "--model", script(folder, [{"text": "4"}]), "x").stdout == "4\n"
    missing = run(folder, "-p", "-r", "nothing", "--model", script(folder, [{"text": "4"}]), "x")
    assert (missing.returncode, missing.stdout) == (2, "")


def test_damaged_session_goes_on_and_says_so(folder: Path) -> None:
    run(folder, "-p", "--model", script(folder, [{"text": "one"}]), "first")
    path = stored(folder)[0]
    path.write_bytes(path.read_bytes() + b"\0" * 1000 + b'{"v":1,"seq":')
    done = run(folder, "-p", "-c", "--model", script(folder, [{"text": "two"}]), "second")
    assert (done.returncode, done.stdout) == (0, "two\n")
    assert "damaged" in done.stderr
    assert path.with_name(path.name + ".torn").exists()
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_step_limit_is_exit_5(folder: Path) -> None:
    done = run(folder, "-p", "--max-steps", "1", "--model", script(folder, REPLACE), "x")
    assert done.returncode == 5
    assert done.stderr


def test_schema(folder: Path) -> None:
    (folder / "s.json").write_text(
        json.dumps({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}})
    )
    good = run(
        folder, "-p", "--schema", "s.json", "--output", "json", "--model", script(folder, [{"text": '{"n": 5}'}]), "x"
    )
    assert (good.returncode, json.loads(good.stdout)["result"]) == (0, {"n": 5})
    text = run(folder, "-p", "--schema", "s.json", "--model", script(folder, [{"text": '{"n": 5}'}]), "x")
    assert json.loads(text.stdout) == {"n": 5}
    bad = run(folder, "-p", "--schema", "s.json", "--model", script(folder, [{"text": "five"}] * 5), "x")
    assert (bad.returncode, bad.stdout) == (6, "")
    (folder / "s.json").write_text("[")
    assert run(folder, "-p", "--schema", "s.json", "--model", script(folder, []), "x").returncode == 3


def started(process: subprocess.Popen[str]) -> list[str]:
    lines = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if '"tool.started"' in line:
            return lines
    raise AssertionError("".join(lines))


def children_of(folder: Path) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(path / "cwd") == str(folder) and b"sleep" in (path / "cmdline").read_bytes():
                found.append(path.name)
        except OSError:
            continue
    return found


@pytest.mark.row("sec-proc-010", "sec-proc-011")
@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="no /proc here")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signal_ends_children_and_closes_the_session(folder: Path, number: signal.Signals, code: int) -> None:
    command = [
        str(XUN), "-p", "--output", "stream-json", "--allow-command", "sleep", "--model", script(folder, SLEEP), "x",
    ]  # fmt: skip
    with subprocess.Popen(
        command, cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        started(process)
        end = time.monotonic() + 10
        while not children_of(folder) and time.monotonic() < end:
            time.sleep(0.02)
        assert children_of(folder)
        process.send_signal(number)
        assert process.stdout is not None
        rest = [json.loads(line) for line in process.stdout]
        assert process.wait(20) == code
    assert rest[-1]["type"] == "session.ended"
    assert rest[-1]["exit_code"] == code
    assert children_of(folder) == []
    assert '"session.ended"' in stored(folder)[0].read_text()


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="no /proc here")
def test_time_limit_is_exit_5(folder: Path) -> None:
    begun = time.monotonic()
    done = run(folder, "-p", "--timeout", "2", "--allow-command", "sleep", "--model", script(folder, SLEEP), "x")
    assert done.returncode == 5
    assert time.monotonic() - begun < 15
    assert children_of(folder) == []


def test_reader_that_goes_away(folder: Path) -> None:
    reads = [{"name": "read_file", "arguments": {"path": "a.txt", "limit": number}} for number in range(1, 31)]
    turns = [*({"tool_calls": [read]} for read in reads), {"text": "x" * 100_000}]
    process = subprocess.Popen(
        [str(XUN), "-p", "--output", "stream-json", "--model", script(folder, turns), "x"],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(20) == 141
    assert errors == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk_under_stdout(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [str(XUN), "-p", "--model", script(folder, [{"text": "ok"}]), "x"],
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert "can't be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_program_speaks_by_stream_json(folder: Path) -> None:
    turns = [REPLACE[1], {"text": "written"}, {"text": "second"}]
    command = [str(XUN), "-p", "--input", "stream-json", "--output", "stream-json", "--model", script(folder, turns)]
    with subprocess.Popen(
        command, cwd=folder, env=environment(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def say(data: dict[str, Any]) -> None:
            assert process.stdin is not None
            process.stdin.write(json.dumps(data) + "\n")
            process.stdin.flush()

        say({"type": "user", "text": "do it"})
        found = []
        for line in process.stdout:
            event = json.loads(line)
            found.append(event)
            if event["type"] == "approval.requested":
                assert [option["value"] for option in event["options"]] == ["grant", "once", "deny"]
                say({"type": "nonsense"})
                say({"type": "answer", "request_id": event["request_id"], "choice": "perhaps"})
                say({"type": "answer", "request_id": event["request_id"], "choice": "once"})
                say({"type": "user", "text": "and then"})
                process.stdin.close()
        assert process.wait(20) == 0
    assert (folder / "a.txt").read_text() == "hello baz\n"
    resolved = [event for event in found if event["type"] == "approval.resolved"]
    assert [(event["choice"], event["source"]) for event in resolved] == [("once", "user")]
    assert sum(event["type"] == "notice" for event in found) == 2
    assert found[-1]["result"] == "second"


def test_program_that_leaves_a_question_open_is_denied(folder: Path) -> None:
    line = json.dumps({"type": "user", "text": "do it"}) + "\n"
    done = run(folder, "-p", "--input", "stream-json", "--model", script(folder, REPLACE), stdin=line)
    assert done.returncode == 4
    assert (folder / "a.txt").read_text() == "hello foo\n"


def test_untrusted_project_settings_are_named_once(folder: Path) -> None:
    (folder / ".xun").mkdir()
    (folder / ".xun" / "config.toml").write_text(
        f'model = "theirs"\n[mcp.servers.x]\ncommand = "touch {folder}/pwn"\n[provider]\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    done = run(folder, "-p", "--model", script(folder, [{"text": "ok"}]), "x")
    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert done.stderr.count("not trusted") == 1
    assert not (folder / "pwn").exists()


def test_policy_file_allows(folder: Path) -> None:
    (folder / "p.toml").write_text('version = 1\nexcluded = []\n[[write]]\npath = "a.txt"\n')
    done = run(folder, "-p", "--policy", "p.toml", "--model", script(folder, REPLACE), "x")
    assert done.returncode == 0
    assert (folder / "a.txt").read_text() == "hello baz\n"
    (folder / "p.toml").write_text("version = 1\nnope = 3\n")
    assert run(folder, "-p", "--policy", "p.toml", "--model", script(folder, REPLACE), "x").returncode == 3


def test_allowed_path_outside_is_refused(folder: Path) -> None:
    done = run(folder, "-p", "--allow-write", "/etc", "--model", script(folder, REPLACE), "x")
    assert done.returncode == 3
    assert "/etc" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.row("sec-secrets-002", "sec-secrets-003", "sec-secrets-005")
def test_own_key_is_in_no_file_and_no_child(folder: Path) -> None:
    turns = [
        {"tool_calls": [{"name": "bash", "arguments": {"command": "env; cat /proc/$PPID/environ"}}]},
        {"text": "ok"},
    ]
    done = run(
        folder, "-p", "--allow-command", "env", "--allow-command", "cat", "--output", "stream-json",
        "--model", script(folder, turns), "x", OPENAI_API_KEY="sk-very-secret-1", XUN_API_KEY="sk-very-secret-2",
    )  # fmt: skip
    assert done.returncode in (0, 4)
    assert "sk-very-secret" not in done.stdout + done.stderr
    for path in (folder.parent / "home").rglob("*"):
        if path.is_file():
            assert b"sk-very-secret" not in path.read_bytes()
            assert path.stat().st_mode & 0o077 == 0, path
        else:
            assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(folder: Path, closed: str) -> None:
    model = script(folder, [{"text": "ok"}])
    done = subprocess.run(
        ["sh", "-c", f'"$0" -p --last last.txt --model "$1" x {closed}', str(XUN), model],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "last.txt").read_text() == "ok"


@pytest.mark.parametrize("argv", ["--version", "--help", "policy test ls", "sessions list"])
def test_light_commands_with_a_closed_stdout(folder: Path, argv: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$0" {argv} >&-', str(XUN)], cwd=folder, env=environment(folder), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
