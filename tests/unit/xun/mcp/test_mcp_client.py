"""Tools of MCP servers (row 52 of the table): a real server, as a process and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from xun import Agent, AgentConfig, ToolBox, ToolCallFormatError
from xun.errors import ConfigError
from xun.mcp import McpServer
from xun.mcp.tools import tool_name
from xun.models import ScriptedModel

EXAMPLE = Path(__file__).with_name("mcp_example.py")


def example(**changes: Any) -> McpServer:
    return McpServer("ex", command=[sys.executable, str(EXAMPLE)], **changes)


@pytest.fixture(scope="module")
def box() -> ToolBox:
    return ToolBox().with_mcp(example())


@pytest.fixture
def agent(box: ToolBox) -> Iterator[Agent[Any]]:
    with Agent(toolbox=box) as agent:
        yield agent


def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_row_52_tools_are_listed_with_their_schema_and_hints(box: ToolBox):
    add, drop, forecast = box.get("ex__add"), box.get("ex__drop"), box.get("ex__forecast")
    assert add and drop and forecast
    assert add.description == "Add two numbers."
    assert add.tool_schema["properties"] == {
        "a": {"title": "A", "type": "integer"},
        "b": {"title": "B", "type": "integer"},
    }
    assert (add.attr.read_only, add.attr.approval, add.attr.destructive) == (True, False, False)
    assert (drop.attr.read_only, drop.attr.approval, drop.attr.destructive) == (False, True, True)
    assert (forecast.attr.read_only, forecast.attr.approval, forecast.attr.destructive) == (False, True, False)


def test_row_52_a_call_and_its_connection(box: ToolBox, agent: Agent[Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOME_API_KEY", "secret")
    assert box.call_tool(agent, "ex__add", {"a": 1, "b": 2}).unwrap() == {"result": 3}
    with pytest.raises(ToolCallFormatError, match="b: required, but missing"):
        box.call_tool(agent, "ex__add", {"a": 1})
    assert box.call_tool(agent, "ex__env", {"name": "SOME_API_KEY"}).unwrap() == {"result": "(unset)"}
    pid = box.call_tool(agent, "ex__pid", {}).unwrap()["result"]
    assert box.call_tool(agent, "ex__pid", {}).unwrap() == {"result": pid}
    agent.finalize()
    assert gone(pid)


def test_row_52_what_does_not_only_read_asks(box: ToolBox, agent: Agent[Any]):
    denied = box.call_tool(agent, "ex__forecast", {"city": "Oslo"})
    assert denied.status == "denied"
    with Agent(toolbox=box, config=AgentConfig(auto_confirm=True)) as willing:
        found = box.call_tool(willing, "ex__forecast", {"city": "Oslo"})
        assert found.unwrap() == {"city": "Oslo", "sky": "clear"}
        failed = box.call_tool(willing, "ex__drop", {"table": "users"}).unwrap_err()
        assert "drop" in failed.error and failed.kind == "tool"


def test_row_52_images_follow_the_results_of_the_step(box: ToolBox):
    model = ScriptedModel([{"tool_calls": [{"name": "ex__picture", "arguments": {}}]}, {"text": "a dot"}])
    with Agent(model=model, toolbox=box) as agent:
        assert agent.instruct("draw").execute().unwrap() == "a dot"
        assert [message.role for message in agent.history] == ["user", "assistant", "tool", "user", "assistant"]
        assert agent.history[2].text == "a dot"
        assert agent.history[3].images[0].media_type == "image/png"


def test_row_52_the_death_of_a_server_is_one_sentence_and_the_next_call_starts_it_again(
    box: ToolBox, agent: Agent[Any]
):
    error = box.call_tool(agent, "ex__die", {}).unwrap_err().error
    assert error == (
        "The MCP server ex ended during the call of die, which may have been carried out; "
        "the next call starts it again (its last words: out of cheese)."
    )
    pid = box.call_tool(agent, "ex__pid", {}).unwrap()["result"]
    os.kill(pid, signal.SIGKILL)
    time.sleep(0.3)  # nothing was under way, so nothing failed
    again = box.call_tool(agent, "ex__pid", {}).unwrap()["result"]
    assert again != pid


def test_calls_run_side_by_side_and_stop_when_cancelled(tmp_path: Path):
    slow = ToolBox().with_mcp(example(timeout=1.5))

    async def both(agent: Agent[Any]) -> list[Any]:
        calls = (slow.acall_tool(agent, "ex__nap", {"seconds": 0.9}) for _ in range(2))
        return await asyncio.gather(*calls)

    with slow.entered(), Agent(toolbox=slow) as agent:
        assert [result.unwrap() for result in asyncio.run(both(agent))] == [{"result": "rested"}] * 2
        mark = tmp_path / "mark"
        late = slow.call_tool(agent, "ex__nap", {"seconds": 60, "mark": str(mark)})
        assert late.status == "timeout"
        deadline = time.monotonic() + 5
        while not mark.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert mark.read_text() == "cancelled"
        pid = slow.call_tool(agent, "ex__pid", {}).unwrap()["result"]
    assert gone(pid)


def test_what_can_not_be_used_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ConfigError, match=r"The MCP server x can't be used: .*no-such-program"):
        ToolBox().with_mcp(McpServer("x", command=["no-such-program"]))
    words = [sys.executable, "-c", "import sys; sys.exit('no licence')"]
    with pytest.raises(ConfigError, match=r"The MCP server x can't be used: .*\(its last words: no licence\)"):
        ToolBox().with_mcp(McpServer("x", command=words))
    silent = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with pytest.raises(ConfigError, match=r"it was not ready within 0\.5 s"):
        ToolBox().with_mcp(McpServer("x", command=silent, start_timeout=0.5))
    monkeypatch.setattr("sys.path", [])
    monkeypatch.delitem(sys.modules, "mcp")
    with pytest.raises(ConfigError, match=r"pip install 'mcp>="):
        ToolBox().with_mcp(example())


@pytest.mark.parametrize(
    ("name", "given", "error"),
    [
        ("a b", {"command": ["x"]}, "The name of an MCP server"),
        ("a__b", {"command": ["x"]}, "The name of an MCP server"),
        ("a", {}, "either command or url"),
        ("a", {"command": ["x"], "url": "http://localhost"}, "either command or url"),
        ("a", {"command": "x y"}, "command is a list"),
        ("a", {"url": "file:///x"}, "is no http address"),
        ("a", {"url": "http://localhost", "env": {}}, "env and cwd"),
        ("a", {"command": ["x"], "headers": {}}, "headers are for a url"),
    ],
)
def test_wrong_servers_are_refused(name: str, given: dict[str, Any], error: str):
    with pytest.raises(ConfigError, match=error):
        McpServer(name, **given)


def test_names_fit_every_provider():
    assert tool_name("files", "read.all/now") == "files__read_all_now"
    long, other = tool_name("files", "a" * 80), tool_name("files", "a" * 81)
    assert len(long) == 64 and long != other


def test_row_52_streamable_http():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(EXAMPLE), str(port)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        web = ToolBox().with_mcp(McpServer("web", url=f"http://127.0.0.1:{port}/mcp", headers={"X-Team": "a"}))
        with Agent(toolbox=web) as agent:
            assert web.call_tool(agent, "web__add", {"a": 1, "b": 2}).unwrap() == {"result": 3}
            process.kill()
            process.wait()
            error = web.call_tool(agent, "web__add", {"a": 1, "b": 2}).unwrap_err()
            assert error.error == (
                "The MCP server web ended during the call of add, which may have been carried out; "
                "the next call connects again."
            )
    finally:
        process.kill()
        process.wait()


class Forgetful(BaseHTTPRequestHandler):
    """A server of the older protocol with sessions; it forgets each session after one call."""

    protocol_version = "HTTP/1.1"
    sessions: ClassVar[set[str]] = set()
    begun: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, session = message["method"], self.headers.get("Mcp-Session-Id", "")
        if "id" not in message:
            return self._send(202)
        if method == "initialize":
            session = f"s{len(self.begun)}"
            self.begun.append(session)
            self.sessions.add(session)
            result: Any = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            result["serverInfo"] = {"name": "forgetful", "version": "1"}
        elif method == "tools/list":
            hints = {"readOnlyHint": True}
            result = {"tools": [{"name": "hi", "inputSchema": {"type": "object"}, "annotations": hints}]}
        elif session not in self.sessions:
            return self._send(404)
        else:
            self.sessions.discard(session)
            result = {"content": [{"type": "text", "text": f"hi from {session}"}]}
        return self._send(200, {"jsonrpc": "2.0", "id": message["id"], "result": result}, session)

    def do_GET(self) -> None:
        self._send(405)

    def do_DELETE(self) -> None:
        self._send(200)

    def _send(self, status: int, body: Any = None, session: str = "") -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        if data:
            self.send_header("Content-Type", "application/json")
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def test_a_session_that_the_server_forgot_is_begun_again():
    with ThreadingHTTPServer(("127.0.0.1", 0), Forgetful) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            old = ToolBox().with_mcp(McpServer("old", url=f"http://127.0.0.1:{server.server_port}/mcp"))
            with Agent(toolbox=old) as agent:
                assert old.call_tool(agent, "old__hi", {}).unwrap() == "hi from s1"
                assert old.call_tool(agent, "old__hi", {}).unwrap() == "hi from s2"
        finally:
            server.shutdown()
            thread.join()


def test_the_package_is_imported_by_the_first_connection_only():
    code = "import sys, xun.mcp.tools, xun.mcp.serving; print('mcp' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"
