"""More of what a network can do to `web_fetch`: addresses that look public, and servers that lie about their bodies."""

from __future__ import annotations

import ipaddress
import socket
import threading
from pathlib import Path

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace
from xun_builtin_tools.web.addresses import is_own, is_public
from xun_builtin_tools.web.fetching import WebFetch
from xun_builtin_tools.web.html_text import convert
from xun_builtin_tools.web.pages import WebOptions
from xun_builtin_tools.web.transport import Transport, system_connect


@pytest.mark.row("sec-net-001", "sec-net-002")
@pytest.mark.parametrize(
    "address",
    [
        "168.63.129.16",
        "192.0.0.192",
        "192.0.0.8",
        "192.88.99.1",
        "100.100.100.200",
        "198.18.0.1",
        "::ffff:168.63.129.16",
        "64:ff9b::a83f:8110",
        "2002:c000:c0::",
        "3fff::1",
        "2a00::5efe:7f00:1",
        "2a00::200:5efe:c0a8:1",
        "fe80::5efe:808:808",
        "fd00:ec2::254",
        "fe80::1%2",
    ],
)
def test_what_only_looks_public_is_not(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "168.63.129.17", "2606:4700::1111", "64:ff9b::808:808", "2a00::5efe:808:808"]
)
def test_what_is_public_stays_so(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def test_a_connection_that_comes_back_to_this_machine_is_known() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with system_connect("127.0.0.1", port, 1) as sock:  # loopback is refused, or allowed, before anything connects
            assert is_own(sock)
    with socket.socket() as unconnected:
        assert not is_own(unconnected)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


def answered(tmp_path: Path, answer: bytes) -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            sock, _ = server.accept()
            with sock:
                sock.recv(65536)
                sock.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port = server.getsockname()[1]
        options = WebOptions(
            lambda host, port: ["93.184.216.34"],
            Transport(lambda address, _, seconds: socket.create_connection(("127.0.0.1", port), seconds)),
        )
        box = ToolBox()
        box.register(WebFetch(options).web_fetch)
        config = AgentConfig(allowed_hosts=("site.test",))
        with Agent(toolbox=box, workspace=Workspace(tmp_path), config=config) as agent:
            result = agent.toolbox.call_tool(agent, "web_fetch", {"url": "http://site.test/", "timeout": 5}, None)
        thread.join(5)
    return result.value["content"] if result.is_ok() else str(result.value)


@pytest.mark.row("sec-net-005")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (HEAD + b"Content-Length: 1000\r\n\r\nshort", "broke off"),
        (HEAD + b"Content-Length: 3\r\n\r\nlonger", "lon"),
        (HEAD + b"Content-Length: -5\r\n\r\nwhole", "whole"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\nabc", "broke off"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"e" * 70_000, "broke off"),
        (HEAD + b"X: y\r\n" * 200 + b"\r\n", "broke off"),
        (b"\x1b]52;c;eA==\x07", "broke off"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\na&#" + b"9" * 6000 + b";b", "a\ufffdb"),
    ],
)
def test_a_server_that_lies_about_its_body(tmp_path: Path, answer: bytes, said: str) -> None:
    text = answered(tmp_path, answer)
    assert said in text if said == "broke off" else text == said


def test_a_page_of_numbers_is_read() -> None:
    assert convert("&#65;&#x42;&#" + "1" * 5000, "http://x/", markdown=False).text == "AB\ufffd"
