"""A language server that does not read, or sends what has another form than it should."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import IO, Any

import pytest

from xun.errors import ToolError
from xun_builtin_tools.diagnostic.rpc import Connection

TALK = """
import sys, time
if sys.argv[1:]:
    sys.stdin.readline()
for body in sys.argv[1:]:
    sys.stdout.write(f"Content-Length: {len(body)}\\r\\n\\r\\n{body}")
sys.stdout.flush()
time.sleep(60)
"""


class Pipes:
    """A process that writes the given messages once it is asked; without any it reads nothing."""

    def __init__(self, *bodies: str) -> None:
        command = [sys.executable, "-S", "-c", TALK, *bodies]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )

    @property
    def stdout(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    @property
    def stderr(self) -> IO[bytes]:
        assert self.process.stderr is not None
        return self.process.stderr

    def write_stdin(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)


@pytest.fixture
def talking() -> Iterator[Any]:
    made: list[Pipes] = []

    def make(*bodies: Any) -> Pipes:
        made.append(Pipes(*(body if isinstance(body, str) else json.dumps(body) for body in bodies)))
        return made[-1]

    yield make
    for pipes in made:
        pipes.process.kill()
        pipes.process.communicate()


def test_a_server_that_reads_nothing_holds_up_no_call(talking: Any) -> None:
    connection = Connection(talking(), {}, lambda method, params: None)
    begun = time.monotonic()
    connection.notify("textDocument/didOpen", {"text": "x" * 5_000_000})
    with pytest.raises(TimeoutError):
        connection.request("anything", {}, 0.2)
    connection.notify("more", {"text": "x" * 30_000_000})
    with pytest.raises(OSError, match="reads no more"):
        connection.notify("too much", {})
    assert time.monotonic() - begun < 3


def test_an_answer_that_nobody_waits_for_any_more_is_not_kept(talking: Any) -> None:
    heard = threading.Event()
    messages = ({"id": 1, "result": "late"}, {"method": "news"})
    connection = Connection(talking(*messages), {}, lambda method, params: heard.set())
    with pytest.raises(TimeoutError):
        connection.request("begin", {}, 0)
    assert heard.wait(5)
    assert not connection._waiting


def test_messages_of_another_form_are_passed_over(talking: Any, capfd: pytest.CaptureFixture[str]) -> None:
    heard: list[Any] = []

    def hear(method: str, params: Any) -> None:
        heard.append(params["n"])

    messages = (
        {"method": "news", "params": "no object"},
        {"method": "news", "params": None},
        {"id": 99, "result": "nobody asked"},
        {"id": {"odd": 1}, "result": 1},
        {"method": "wanted", "id": 5, "params": None},
        {"id": 1, "error": "a text"},
        {"method": "news", "params": {"n": 1}},
        "[" * 3000 + "]" * 3000,
    )
    connection = Connection(talking(*messages), {"wanted": lambda params: params["missing"]}, hear)
    with pytest.raises(ToolError, match="refused begin: a text"):
        connection.request("begin", {}, 5)
    assert connection.ended.wait(5)
    assert heard == [1]
    assert capfd.readouterr() == ("", "")
