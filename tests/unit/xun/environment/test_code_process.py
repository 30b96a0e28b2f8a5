"""The process of run_code and its host, without any agent."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from xun import Result, Workspace
from xun.environment.base import CodeFailed, CodeStopped, CodeTimeout
from xun.environment.code_host import MAX_RESULT
from xun.environment.local import LocalEnvironment
from xun.result import ErrorInfo


class Host:
    """Runs code, and answers its calls from a table."""

    def __init__(self, environment: LocalEnvironment, **answers: Any) -> None:
        self.environment = environment
        self.answers = answers
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.output = {"stdout": b"", "stderr": b""}

    def call(self, name: str, arguments: dict[str, Any]) -> Future[Any]:
        self.calls.append((name, arguments))
        answer = self.answers[name]
        if callable(answer):
            answer = answer(arguments)
        if isinstance(answer, Future):
            return answer
        future: Future[Any] = Future()
        future.set_result(answer)
        return future

    def write(self, data: bytes, stream: str) -> None:
        self.output[stream] += data

    def run(self, code: str, **options: Any) -> str:
        self.environment.run_code(code, tools=list(self.answers), call_tool=self.call, write=self.write, **options)
        return self.output["stdout"].decode()


@pytest.fixture
def host(tmp_path):
    workspace = Workspace(tmp_path)
    environment = LocalEnvironment(workspace)
    yield lambda **answers: Host(environment, **answers)
    environment.close()
    workspace.close()


def ok(value):
    return Result.Ok(value)


def test_a_call_returns_its_value(host):
    made = host(double=lambda arguments: ok({"n": arguments["n"] * 2, "text": "ü\n"}))
    assert made.run("value = await tools.double(n=4)\nprint(value['n'], value['text'])") == "8 ü\n\n"
    assert made.calls == [("double", {"n": 4})]


def test_calls_can_be_made_without_top_level_await(host):
    made = host(one=ok(1))
    code = "import asyncio\nasync def main():\n    print(await tools.one())\nasyncio.run(main())"
    assert made.run(code) == "1\n"


def test_gathered_calls_are_under_way_together(host):
    futures: list[Future[Any]] = []

    def later(arguments: dict[str, Any]) -> Future[Any]:
        future: Future[Any] = Future()
        futures.append(future)
        if len(futures) == 2:  # neither is answered before both are there, the second one first
            futures[1].set_result(ok("second"))
            futures[0].set_result(ok("first"))
        return future

    made = host(a=later, b=later)
    assert made.run("import asyncio\nprint(await asyncio.gather(tools.a(), tools.b()))") == "['first', 'second']\n"


def test_answers_from_another_thread_wake_the_host(host):
    def later(arguments: dict[str, Any]) -> Future[Any]:
        future: Future[Any] = Future()
        threading.Timer(0.2, future.set_result, [ok(5)]).start()
        return future

    assert host(a=later).run("print(await tools.a())") == "5\n"


def test_a_failure_is_raised_in_the_code(host):
    error = ErrorInfo("no such file", "x", "missing", {"nearest": 3})
    made = host(bad=Result.Err(error))
    code = "try:\n    await tools.bad()\nexcept ToolError as e:\n    print(e, e.kind, e.facts)"
    assert made.run(code) == "no such file missing {'nearest': 3}\n"


def test_a_failure_that_is_not_caught_ends_the_code(host):
    with pytest.raises(CodeFailed, match="ToolError: no such file") as caught:
        host(bad=Result.Err(ErrorInfo("no such file"))).run("print('before')\nawait tools.bad()\nprint('after')")
    assert "line 2, in <module>" in caught.value.traceback and "runners.py" not in caught.value.traceback


def test_a_fault_of_the_host_is_a_failure_of_the_call(host):
    broken: Future[Any] = Future()
    broken.set_exception(RuntimeError("host trouble"))
    made = host(bad=broken)
    assert made.run("try: await tools.bad()\nexcept ToolError as e: print(e, e.kind)") == "host trouble RuntimeError\n"


def test_a_value_that_is_no_json_is_a_failure_of_the_call(host):
    made = host(odd=ok(object()))
    assert "is no JSON value" in made.run("try: await tools.odd()\nexcept ToolError as e: print(e)")


def test_a_huge_value_is_refused(host):
    made = host(big=ok("x" * (MAX_RESULT + 1)))
    assert "Ask for less" in made.run("try: await tools.big()\nexcept ToolError as e: print(e)")


def test_a_large_value_arrives_whole(host):
    assert host(big=ok("x" * 5_000_000)).run("print(len(await tools.big()))") == "5000000\n"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("await tools.other()", "There is no tools.other in code; there are: a."),
        ("await tools.a(1)", "takes keyword arguments only"),
        ("await tools.a(x=object())", "must be JSON values"),
        ("tools.a()", "without await"),
        ("x = [tools.a(), tools.a()]", "without await"),
        ("1 +", "invalid syntax"),
        ("raise SystemExit('stop')", "ended itself with exit code stop"),
        ("import sys; sys.exit(4)", "ended itself with exit code 4"),
        ("import os; os._exit(3)", "ended with exit code 3 before"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended with signal 9 before"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise ValueError('ü\\nb')", "ValueError: ü\nb"),
        ("input()", "EOFError"),
    ],
)
def test_what_is_wrong_is_told(host, code, error):
    with pytest.raises(CodeFailed) as caught:
        host(a=ok(1)).run(code)
    assert error in str(caught.value)


def test_a_clean_exit_is_no_failure(host):
    assert host().run("print('x')\nraise SystemExit") == "x\n"


def test_the_traceback_shows_the_lines_of_the_code_only(host):
    code = "def inner():\n    return 1 / 0\n\ntry:\n    inner()\nexcept Exception as e:\n    raise KeyError('k') from e"
    with pytest.raises(CodeFailed) as caught:
        host().run(code)
    trace = caught.value.traceback
    assert "return 1 / 0" in trace and "The above exception was the direct cause" in trace
    assert trace.count("File ") == trace.count('File "<run_code>"') == 3


def test_output_of_children_is_output(host):
    made = host()
    made.run("import os, sys; os.system('echo child; echo bad >&2'); print('own'); print('err', file=sys.stderr)")
    assert made.output == {"stdout": b"child\nown\n", "stderr": b"bad\nerr\n"}


def test_output_comes_while_the_code_runs(host):
    seen: list[float] = []
    made = host()
    made.write = lambda data, stream: seen.append(time.monotonic())
    made.run("import time\nprint('a')\ntime.sleep(0.6)\nprint('b')")
    assert len(seen) == 2 and seen[1] - seen[0] > 0.4


def test_a_lot_of_output_arrives_whole(host):
    assert len(host().run("for n in range(300): print('x' * 9999)")) == 3_000_000


def test_what_the_code_writes_to_files_is_there(host, tmp_path):
    host().run("f = open('left.txt', 'w')\nf.write('kept')")
    assert (tmp_path / "left.txt").read_text() == "kept"


def test_a_fork_ends_by_itself(host):
    assert sorted(host().run("import os\nif os.fork():\n    os.wait()\nprint('x')").split()) == ["x", "x"]


def test_the_limit_ends_the_tree(host, tmp_path):
    code = "import subprocess\nprint('up')\nsubprocess.run('setsid sleep 420 & echo $! > pid; sleep 421', shell=True)"
    started = time.monotonic()
    made = host()
    with pytest.raises(CodeTimeout, match="passed its limit"):
        made.run(code, timeout=1.5)
    assert time.monotonic() - started < 60 and made.output["stdout"] == b"up\n"
    assert ended(int((tmp_path / "pid").read_text()))


def test_what_the_code_left_running_ends_with_it(host, tmp_path):
    host().run("import os; os.system('(setsid sleep 422 & echo $! > pid)')")
    assert ended(int((tmp_path / "pid").read_text()))


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


def test_cancelling_ends_it(host):
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    started = time.monotonic()
    with pytest.raises(CodeStopped):
        host().run("while True: pass", cancelled=stop.is_set)
    assert time.monotonic() - started < 60


def test_a_stopped_process_does_not_hold_the_host(host):
    made = host(big=ok("x" * 20_000_000))
    start = "import os, signal, asyncio\nt = asyncio.ensure_future(tools.big())\nawait asyncio.sleep(0)\n"
    code = start + "os.kill(os.getpid(), signal.SIGSTOP)"
    with pytest.raises(CodeTimeout):
        made.run(code, timeout=1)


def test_open_calls_are_cancelled_when_the_code_ends(host):
    waiting: Future[Any] = Future()
    host(never=waiting).run("import asyncio\nasyncio.ensure_future(tools.never())\nawait asyncio.sleep(0.1)")
    assert waiting.cancelled()


def test_noise_on_the_channel_is_no_message(host):
    code = (
        "import os\nfor fd in range(3, 30):\n    try: os.write(fd, b'noise\\n')\n    except OSError: pass\nprint('x')"
    )
    with pytest.raises(CodeFailed, match="no message of run_code"):
        host().run(code)
