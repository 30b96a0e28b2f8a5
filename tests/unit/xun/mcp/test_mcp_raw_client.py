"""Clients that write what no client should, change their mind, or go away."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SERVER = """
import sys, time
from pathlib import Path
from xun import Agent, ToolBox, ToolCallContext
from xun.mcp import serve_mcp

def wait(ctx: ToolCallContext, mark: str) -> str:
    "Wait."
    Path(mark).write_text("begun")
    while not ctx.cancelled:
        time.sleep(0.01)
    Path(mark).write_text("cancelled")
    return "over"

def echo(text: str) -> str:
    "Give it back."
    return text

with Agent() as agent:
    serve_mcp(ToolBox(wait, echo), agent)
"""


class Client:
    """A client that writes lines as they are."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", SERVER]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        assert self.ask(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}))["id"] == 0
        self.tell('{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        self.tell(line)
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def call(self, number: int, name: str, **arguments: str) -> str:
        params = {"name": name, "arguments": arguments}
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.process.kill()
    made.process.communicate()


def test_what_is_no_request_is_answered(client: Client):
    assert client.ask("{nope") | {"error": {}} == {"jsonrpc": "2.0", "id": None, "error": {}}
    assert client.ask("[" * 5000 + "]" * 5000)["error"]["code"] == -32700
    assert client.ask('{"id": 3}')["error"] == {"code": -32600, "message": "This is no request of JSON-RPC 2.0."}
    half = client.ask(client.call(4, "echo", text="HALF").replace("HALF", r"\ud800"))
    assert half["id"] == 4 and half["error"]["message"] == "This request holds half of a character."
    client.tell("")
    assert client.ask('[{"jsonrpc":"2.0","id":5,"method":"ping"}]') == {"jsonrpc": "2.0", "id": 5, "result": {}}
    big = client.ask(client.call(6, "echo", text="x" * 3_000_000))
    assert len(big["result"]["content"][0]["text"]) == 3_000_000


def until(mark: Path, text: str) -> None:
    deadline = time.monotonic() + 10
    while not (mark.exists() and mark.read_text() == text):
        assert time.monotonic() < deadline, f"the mark never said {text}"
        time.sleep(0.01)


def test_a_cancelled_call_ends_and_those_beside_it_go_on(client: Client, tmp_path: Path):
    mark = tmp_path / "mark"
    client.tell(client.call(7, "wait", mark=str(mark)))
    until(mark, "begun")
    assert client.ask(client.call(8, "echo", text="beside"))["id"] == 8
    client.tell('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}')
    until(mark, "cancelled")
    assert client.ask(client.call(9, "echo", text="after"))["id"] == 9


@pytest.mark.parametrize("last", [[], ["[1, 2, 3, 4]"] * 20])
def test_a_client_that_is_gone_ends_the_server_quietly(last: list[str]):
    client = Client()
    process = client.process
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdout.close()
    with contextlib.suppress(BrokenPipeError):
        for line in [client.call(1, "echo", text="nobody reads this"), *last]:
            client.tell(line)
        process.stdin.close()
    assert process.wait(10) == 0
    assert process.stderr.read() == ""
    process.stderr.close()
