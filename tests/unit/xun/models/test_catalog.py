from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time

import pytest

from tests.fakes.model_server import FakeModelServer
from xun.errors import ConfigError, ModelAuth, ModelError, ModelReplyInvalid, ModelTimeout, ModelUnreachable
from xun.models.catalog import LocalServer, first_chat_model, known_limits, list_models, model_names, probe_loopback

KEY = "sk-test-Zx81kQpLmN0aBcDe"


class Listener:
    """A TCP server that answers every connection with *reply*, and keeps what it was sent."""

    def __init__(self, reply: bytes | None, pause: float = 0.0):
        self.reply, self.pause = reply, pause
        self.received: list[bytes] = []
        self.stop = threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)

    def serve(self):
        try:
            connection, _ = self.socket.accept()
        except OSError:
            return
        with connection:
            self.received.append(connection.recv(65536))
            for byte in [self.reply] if not self.pause else [self.reply[n : n + 1] for n in range(len(self.reply))]:
                if byte is None:
                    self.stop.wait(5)
                    return
                try:
                    connection.sendall(byte)
                except OSError:
                    return
                if self.stop.wait(self.pause):
                    return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.stop.set()
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def http(body: str, head: str = "HTTP/1.1 200 OK\r\nContent-Type: application/json") -> bytes:
    return f"{head}\r\nContent-Length: {len(body.encode())}\r\n\r\n{body}".encode()


LIST = '{"object": "list", "data": [{"id": "llama3", "object": "model"}, {"id": "qwen"}]}'
CHUNKED = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{len(LIST):x}\r\n{LIST}\r\n0\r\n\r\n".encode()


@pytest.mark.parametrize("reply", [http(LIST), CHUNKED, b"HTTP/1.0 200 OK\r\n\r\n" + LIST.encode()])
def test_a_local_server_is_found(reply):
    with Listener(reply) as server:
        found = probe_loopback((free_port(), server.port), timeout=2)
        assert found == [LocalServer(f"http://127.0.0.1:{server.port}/v1", ("llama3", "qwen"))]


def test_nothing_but_the_get_is_sent(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Listener(http(LIST)) as server:
        probe_loopback((server.port,), timeout=2)
    host = f"Host: 127.0.0.1:{server.port}"
    assert server.received == [
        f"GET /v1/models HTTP/1.1\r\n{host}\r\nAccept: application/json\r\nConnection: close\r\n\r\n".encode()
    ]


@pytest.mark.parametrize(
    "reply",
    [
        http("<html>hello</html>"),
        http("{}"),
        http('{"object": "list", "data": []}'),
        http('{"object": "list", "data": null}'),
        http('{"object": "page", "data": [{"id": "a"}]}'),
        http('{"object": "list", "data": ["a"]}'),
        http('{"data": [{"name": "a"}]}'),
        http('[{"name": "a"}]'),
        http("null"),
        http(LIST, "HTTP/1.1 401 Unauthorized"),
        http(LIST, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/"),
        http(LIST)[:-5],
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"\x00\xff\xfe",
        b"HTTP/1.1 two hundred\r\n\r\n" + LIST.encode(),
        b"",
        http("[" * 100_000),
    ],
)
def test_what_is_no_model_list_does_not_count(reply):
    with Listener(reply) as server:
        assert probe_loopback((server.port,), timeout=0.5) == []


@pytest.mark.parametrize(("reply", "pause"), [(None, 0.0), (http(LIST), 0.05)])
def test_slow_servers_cost_no_more_than_the_limit(reply, pause):
    with Listener(reply, pause) as one, Listener(reply, pause) as two, Listener(http(LIST)) as good:
        start = time.monotonic()
        found = probe_loopback((one.port, two.port, good.port), timeout=0.3)
        taken = time.monotonic() - start
    assert [one.models for one in found] == [("llama3", "qwen")]
    assert taken < 0.6


def test_closed_ports_cost_next_to_nothing():
    start = time.monotonic()
    assert probe_loopback((free_port(), free_port()), timeout=5) == []
    assert time.monotonic() - start < 1


def test_a_real_server_is_found():
    with FakeModelServer(models=["a"]) as server:
        assert probe_loopback((server.port, server.port), timeout=2) == [LocalServer(server.base_url, ("a",))]


async def test_a_list_is_read_with_the_key():
    with FakeModelServer(models=["b", "a", "b"], api_key=KEY) as server:
        assert await list_models(server.base_url, KEY) == ("b", "a")


async def test_the_source_of_a_key_that_is_refused_is_named():
    with FakeModelServer(api_key=KEY) as server, pytest.raises(ModelError, match="the key from THE_KEY"):
        await list_models(server.base_url, "sk-other-0123456789", key_source="THE_KEY")


async def refused(server, api_key=KEY, timeout=5.0):
    with pytest.raises(ModelError) as caught:
        await list_models(server.base_url, api_key, timeout)
    assert KEY not in str(caught.value)
    return caught.value


async def test_a_wrong_key():
    with FakeModelServer(api_key="another") as server:
        assert isinstance(await refused(server), ModelAuth)
        assert "set XUN_API_KEY" in str(await refused(server, None))


async def test_no_redirect_is_followed_with_the_key():
    with FakeModelServer() as thief:
        turn = {"status": 302, "headers": {"Location": f"{thief.base_url}/models"}}
        with FakeModelServer(models=turn) as server:
            assert isinstance(await refused(server), ModelUnreachable)
        assert thief.requests == []


@pytest.mark.parametrize("body", ["<html>", {"data": [{"name": "x"}]}, ["a"]])
async def test_no_list(body):
    with FakeModelServer(models={"body": body}) as server:
        assert isinstance(await refused(server), ModelReplyInvalid)


async def test_a_silent_server():
    with Listener(None) as server, pytest.raises(ModelTimeout, match=r"0\.2 s"):
        await list_models(f"http://127.0.0.1:{server.port}/v1", timeout=0.2)


async def test_no_server():
    with pytest.raises(ModelUnreachable, match="can't be reached"):
        await list_models(f"http://127.0.0.1:{free_port()}/v1")


async def test_plain_http_to_another_machine_is_refused():
    with pytest.raises(ConfigError, match="plain http"):
        await list_models("http://example.com/v1", KEY)


async def test_cancelling_returns_at_once():
    with Listener(None) as server:
        task = asyncio.create_task(list_models(f"http://127.0.0.1:{server.port}/v1", timeout=0.5))
        await asyncio.sleep(0.1)
        task.cancel()
        start = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - start < 0.3


def test_names():
    assert model_names('{"data": [{"id": "a"}, {"id": ""}]}') == ("a",)
    assert model_names('[{"id": "a"}, {"id": "b"}]') == ("a", "b") and model_names("[1]") is None
    assert first_chat_model(["text-embedding-3", "gpt-4o", "a"]) == "gpt-4o"
    assert first_chat_model(["text-embedding-3"]) == "text-embedding-3"
    assert first_chat_model([]) is None
    assert known_limits("gpt-4.1-mini").context_window == 1_047_576
    assert known_limits("mistral").context_window is None


def test_the_search_loads_neither_openai_nor_asyncio():
    path = [entry for entry in sys.path if entry]
    code = (
        f"import sys; sys.path[:0] = {path!r}\n"
        "from xun.models.catalog import probe_loopback; probe_loopback((1,))\n"
        "print(sorted({'openai', 'asyncio', 'pydantic', 'ssl'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
