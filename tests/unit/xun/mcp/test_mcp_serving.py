"""A toolbox as an MCP server (row 53 of the table), driven by the client of the mcp package and by our own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from xun import Agent, AgentConfig, ToolBox
from xun.mcp import McpServer

TOOLS = '''
import struct, zlib
from pydantic import BaseModel
from xun import ToolBox, ToolError, ToolOutput, tool_attr

box = ToolBox()

class Order(BaseModel):
    number: int

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

@box.tool
@tool_attr(read_only=True)
def order(number: int) -> Order:
    """Look up an order."""
    print("looking it up")
    return Order(number=number)

@box.tool
@tool_attr(name="math.twice", renderer=lambda value: f"it is {value}")
def twice(n: int) -> int:
    """Double it."""
    return 2 * n

@box.tool
def fail() -> None:
    """Fail."""
    raise ToolError("out of paper")

@box.tool
def odd() -> object:
    """Give what is no JSON."""
    return object()

@box.tool
@tool_attr(approval=True, destructive=True)
def burn() -> str:
    """Burn it."""
    return "burnt"

@box.tool
@tool_attr(expose="command")
def secret() -> str:
    """For the person."""
    return "hidden"

@box.tool
def dot() -> ToolOutput:
    """Draw."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    data = b"\\x89PNG\\r\\n\\x1a\\n" + head + chunk(b"IDAT", zlib.compress(b"\\0\\0")) + chunk(b"IEND", b"")
    return ToolOutput("a dot", images=(data,))
'''


def serve(folder: Path, *flags: str) -> StdioServerParameters:
    env = {"XUN_HOME": str(folder / ".home"), "PATH": os.environ["PATH"]}
    args = ["-m", "xun_cli", "mcp", "serve", "-C", str(folder), *flags]
    return StdioServerParameters(command=sys.executable, args=args, env=env)


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_row_53_any_toolbox_is_served(tmp_path: Path, mode: Any):
    (tmp_path / "my_box.py").write_text(TOOLS)
    async with Client(serve(tmp_path, "--from", "my_box:box"), mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == ["burn", "dot", "fail", "math_twice", "odd", "order"]
        assert tools["order"].description == "Look up an order."
        assert tools["order"].input_schema["required"] == ["number"]
        order, burn = tools["order"].annotations, tools["burn"].annotations
        assert order and burn
        assert (order.read_only_hint, order.destructive_hint) == (True, None)
        assert (burn.read_only_hint, burn.destructive_hint) == (None, True)
        found = await client.call_tool("order", {"number": 7})
        assert (found.is_error, found.structured_content, text_of(found)) == (False, {"number": 7}, '{"number": 7}')
        assert text_of(await client.call_tool("math_twice", {"n": 2})) == "it is 4"
        image = (await client.call_tool("dot", {})).content[1]
        assert image.type == "image" and image.mime_type == "image/png"


async def test_row_53_errors_are_results_that_say_how_to_repair(tmp_path: Path):
    (tmp_path / "my_box.py").write_text(TOOLS)
    async with Client(serve(tmp_path, "--from", "my_box:box")) as client:
        for name, arguments, error in [
            ("fail", {}, "out of paper"),
            ("odd", {}, "The result of odd can't be sent"),
            ("order", {"number": "x"}, "number: input should be a valid integer"),
            ("secret", {}, "There is no tool named 'secret' here."),
            ("burn", {}, "Nobody can be asked"),
        ]:
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert error in text_of(result)


async def test_row_53_calls_go_through_the_gate(tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    change = {"path": str(file), "old": "one", "new": "two"}
    async with Client(serve(tmp_path)) as client:
        assert (await client.call_tool("read_file", {"path": "a.txt"})).structured_content["text"] == "one\n"
        denied = await client.call_tool("replace", change)
        assert denied.is_error and file.read_text() == "one\n"
        denied = await client.call_tool("bash", {"command": "touch made"})
        assert denied.is_error and not (tmp_path / "made").exists()
    async with Client(serve(tmp_path, "--allow-write", ".", "--allow-command", "touch made")) as client:
        assert not (await client.call_tool("replace", change)).is_error
        assert file.read_text() == "two\n"
        assert not (await client.call_tool("bash", {"command": "touch made"})).is_error
        assert (tmp_path / "made").exists()


def test_our_client_uses_our_server(tmp_path: Path):
    (tmp_path / "my_box.py").write_text(TOOLS)
    params = serve(tmp_path, "--from", "my_box:box")
    box = ToolBox().with_mcp(McpServer("own", command=[params.command, *params.args], env=params.env))
    with Agent(toolbox=box, config=AgentConfig(auto_confirm=True)) as agent:
        assert box.call_tool(agent, "own__order", {"number": 7}).unwrap() == {"number": 7}
        assert box.call_tool(agent, "own__fail", {}).unwrap_err().error == "out of paper"


def test_a_signal_ends_the_server_while_it_waits_for_its_client(tmp_path: Path):
    params = serve(tmp_path)
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        [params.command, *params.args], env={**os.environ, **(params.env or {})}, **streams
    ) as server:
        assert server.stdin is not None and server.stdout is not None and server.stderr is not None
        server.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        server.stdin.flush()
        assert b'"id":1' in server.stdout.readline()
        server.send_signal(signal.SIGINT)
        assert server.wait(10) == 130
        assert server.stderr.read() == b""
