"""Servers at an address that answer as none should, or in the way of 2024."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, Queue
from typing import Any, ClassVar

import pytest

from xun import Agent, ToolBox
from xun.errors import ConfigError
from xun.mcp import McpServer


class Strange(BaseHTTPRequestHandler):
    """The first part of the path says how it answers."""

    posted: ClassVar[Queue[dict[str, Any]]] = Queue()
    waits, refused = threading.Event(), threading.Event()

    def do_POST(self) -> None:
        mode = self.path.strip("/")
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if mode.isdigit():
            return self._send(int(mode), b"no", "text/plain")
        if mode == "events":
            return self._send(405)
        if mode == "message":
            self.posted.put(message)
            return self._send(202)
        if mode == "elsewhere":
            return self._send(302, location="http://169.254.169.254/")
        if mode == "packed":
            return self._send(200, gzip.compress(b" " * 100_000_000), encoding="gzip")
        if "id" not in message:
            return self._send(202)
        answer = json.dumps(answered(message))
        if "busy" in answer:
            return self._send(503, b"later", "text/plain")
        return self._send(200, b"event: message\ndata: " + answer.encode() + b"\n\n", "text/event-stream")

    def do_GET(self) -> None:
        if self.path != "/events":
            return self._send(405)
        # Each stream has its own queue: one that was only looked at takes no message of the next.
        posted = Strange.posted = Queue()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"event: endpoint\ndata: /message\n\n")
        try:
            while True:
                try:
                    message = posted.get(timeout=0.1)
                except Empty:
                    self.wfile.write(b":\n\n")
                    continue
                if "id" in message:
                    self.wfile.write(b"event: message\ndata: " + json.dumps(answered(message)).encode() + b"\n\n")
        except OSError:
            return None

    def do_DELETE(self) -> None:
        self._send(200)

    def _send(
        self, status: int, body: bytes = b"", kind: str = "application/json", location: str = "", encoding: str = ""
    ) -> None:
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Location", location), ("Content-Encoding", encoding)):
            if value:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def answered(message: dict[str, Any]) -> dict[str, Any]:
    head = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "strange", "version": "1"}}
        return {**head, "result": {"protocolVersion": "2024-11-05", **about}}
    if message["method"] == "tools/list":
        hints = {"annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}}
        return {**head, "result": {"tools": [{"name": name, **hints} for name in ("big", "bu_sy")]}}
    if message["method"] == "tools/call":
        if message["params"]["arguments"].get("wait"):
            Strange.waits.set()
            Strange.refused.wait(10)
        words = "busy" if message["params"]["name"] == "bu_sy" else "x" * 2_000_000
        return {**head, "result": {"content": [{"type": "text", "text": words}]}}
    return {**head, "error": {"code": -32601, "message": "no such method"}}


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Strange) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("401", "it answered with status 401: it wants to know who asks: give it its key by headers"),
        ("404", "it answered with status 404: there is nothing at this address"),
        ("500", "it answered with status 500"),
        ("elsewhere", "Redirect to http://169.254.169.254/ not followed"),
        ("packed", "it is compressed, which was not asked for"),
    ],
)
def test_what_a_server_refuses_is_said(site: str, mode: str, why: str):
    with pytest.raises(ConfigError) as caught:
        ToolBox().with_mcp(McpServer("web", url=f"{site}/{mode}"))
    assert why in str(caught.value)


def test_a_server_of_2024_is_talked_to_by_its_events(site: str):
    box = ToolBox().with_mcp(McpServer("old", url=f"{site}/events", timeout=10))
    with Agent(toolbox=box) as agent:
        assert box.call_tool(agent, "old__bu_sy", {}).unwrap() == "busy"


def test_an_event_may_be_as_long_as_a_message_and_a_refused_call_names_the_status(site: str):
    box = ToolBox().with_mcp(McpServer("web", url=f"{site}/good", timeout=10))
    with Agent(toolbox=box) as agent:
        assert len(box.call_tool(agent, "web__big", {}).unwrap()) == 2_000_000
        error = box.call_tool(agent, "web__bu_sy", {}).unwrap_err().error
        assert error == "The MCP server web refused the call of bu_sy: it answered with status 503"


def test_a_refused_call_ends_none_beside_it(site: str):
    box = ToolBox().with_mcp(McpServer("web", url=f"{site}/good", timeout=20))

    async def run(agent: Agent[Any]) -> int:
        beside = asyncio.create_task(box.acall_tool(agent, "web__big", {"wait": True}))
        await asyncio.to_thread(Strange.waits.wait, 10)
        for _ in range(2):
            assert "503" in (await box.acall_tool(agent, "web__bu_sy", {})).unwrap_err().error
        Strange.refused.set()
        return len((await beside).unwrap())

    with Agent(toolbox=box) as agent:
        assert asyncio.run(run(agent)) == 2_000_000
