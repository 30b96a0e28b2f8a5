"""Which models there are: the list of a server, local servers, and what is known of a model by its name.

Standard library only: the setup and the search for a local server run before `openai` is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xun.errors import ModelReplyInvalid, ModelTimeout, ModelUnreachable
from xun.models.faults import Endpoint, Secret, redact, refusal
from xun.models.wire import checked_base_url, host_of, is_loopback

if TYPE_CHECKING:
    from http.client import HTTPResponse

LOOPBACK_PORTS = (11434, 1234, 8080, 8000)
"""Where local servers listen: Ollama, LM Studio, llama.cpp, vLLM."""

PROBE_LIMIT = 1_000_000
"""How much of a probed answer is read, in bytes."""

_LIST_LIMIT = 20_000_000

_NO_CHAT = (
    "embed",
    "whisper",
    "tts",
    "dall-e",
    "moderation",
    "rerank",
    "image",
    "audio",
    "transcribe",
    "realtime",
    "sora",
)


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A local server that has models.

    Attributes:
        base_url: For `OpenAIModel`.
        models: The names that it lists, in its order.
    """

    base_url: str
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """What is known of a model.

    Attributes:
        context_window: In tokens, or None.
        capabilities: What it takes beyond text.
    """

    context_window: int | None = None
    capabilities: frozenset[str] = frozenset()


_VISION = frozenset({"vision"})

# By the start of the name, the longest first; from the vendor's model pages.
_KNOWN = (
    ("gpt-4.1", Limits(1_047_576, _VISION)),
    ("gpt-4o", Limits(128_000, _VISION)),
    ("gpt-5", Limits(400_000, _VISION)),
    ("gpt-4-turbo", Limits(128_000, _VISION)),
    ("gpt-3.5-turbo", Limits(16_385)),
    ("o4-mini", Limits(200_000, _VISION)),
    ("o3-mini", Limits(200_000)),
    ("o3", Limits(200_000, _VISION)),
)


def known_limits(name: str) -> Limits:
    """Return what is known of the model *name*; nothing for most."""
    return next((limits for start, limits in _KNOWN if name.startswith(start)), Limits())


def first_chat_model(names: Sequence[str]) -> str | None:
    """Return the first of *names* that is not plainly for something else than chat; None for an empty list."""
    chat = [name for name in names if not any(word in name.lower() for word in _NO_CHAT)]
    return next(iter(chat or names), None)


def model_names(body: bytes | str) -> tuple[str, ...] | None:
    """Return the names in the body of a model list, or None when it is no such list."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, list) and data:
        data = {"data": data}  # Together sends the bare list
    if not isinstance(data, dict) or data.get("object", "list") != "list":
        return None
    items = data.get("data")
    # Some servers say null where they mean an empty list.
    items = [] if items is None and "data" in data else items
    if not isinstance(items, list) or not all(isinstance(i, dict) and isinstance(i.get("id"), str) for i in items):
        return None
    return tuple(dict.fromkeys(item["id"] for item in items if item["id"]))


async def list_models(
    base_url: str, api_key: str | None = None, timeout: float = 10.0, *, key_source: str = "the entered key"
) -> tuple[str, ...]:
    """Return the names that ``/models`` of *base_url* lists; *timeout* in seconds, *key_source* for messages.

    Raises:
        ConfigError: The URL is not usable.
        ModelError: The server refused, could not be reached, was too slow, or sent no model list.
    """
    import asyncio

    url = checked_base_url(base_url)
    where = Endpoint(url, key_source=key_source if api_key else "", secrets=(Secret(api_key or ""),))
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout + 1):
            return await asyncio.to_thread(_fetch, where, api_key, timeout)
    raise ModelTimeout(f"{url} did not list its models within {timeout:g} s")


def _fetch(where: Endpoint, api_key: str | None, timeout: float) -> tuple[str, ...]:
    import http.client
    import urllib.error
    import urllib.request

    headers = {"Accept": "application/json", "User-Agent": "xun"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    try:
        request = urllib.request.Request(f"{where.base_url}/models", headers=headers)
        with _opener(where.base_url).open(request, timeout=timeout) as response:
            body = response.read(_LIST_LIMIT)
    except urllib.error.HTTPError as exc:
        with exc:
            error: Exception = refusal(exc.code, _lower(exc.headers), exc.read(100_000), where)
    except TimeoutError:
        error = ModelTimeout(f"{where.base_url} did not list its models within {timeout:g} s")
    except (OSError, http.client.HTTPException, ValueError) as exc:
        reason = getattr(exc, "reason", exc)
        if isinstance(reason, TimeoutError):
            error = ModelTimeout(f"{where.base_url} did not list its models within {timeout:g} s")
        else:
            error = ModelUnreachable(f"{where.base_url} can't be reached: {redact(str(reason), where.secrets)}")
    else:
        names = model_names(body)
        if names is not None:
            return names
        error = ModelReplyInvalid(f"{where.base_url}/models is no list of models; check base_url", retryable=False)
    raise error


def _opener(base_url: str) -> Any:
    from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

    class Stay(HTTPRedirectHandler):
        """The key must not follow a redirect."""

        def redirect_request(self, *args: Any, **kwargs: Any) -> None:
            return None

    # A proxy can't reach this machine's own loopback.
    handlers = [ProxyHandler({})] if is_loopback(host_of(base_url)) else []
    return build_opener(Stay(), *handlers)


def _lower(headers: Any) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in headers.items()}


def probe_loopback(ports: Sequence[int] = LOOPBACK_PORTS, timeout: float = 0.3) -> list[LocalServer]:
    """Look for local model servers: one ``GET /v1/models`` to each port of 127.0.0.1, all at once.

    Nothing else is sent, no key among it. Only an answer with a proper and not empty model list
    counts. The whole takes *timeout* seconds at most; the result is in the order of *ports*.
    """
    import selectors
    import time

    end = time.monotonic() + timeout
    probes = [_Probe(port) for port in dict.fromkeys(ports)]
    with selectors.DefaultSelector() as selector:
        for probe in probes:
            probe.start(selector)
        while selector.get_map() and (left := end - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                key.data.step(selector)
        for probe in probes:
            probe.stop(selector)
    return [found for probe in probes if (found := probe.result()) is not None]


class _Probe:
    """One connection of the search."""

    def __init__(self, port: int) -> None:
        import socket

        self._port = port
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._sent = self._ended = False
        self._received = bytearray()

    def start(self, selector: Any) -> None:
        import selectors

        self._socket.connect_ex(("127.0.0.1", self._port))
        selector.register(self._socket, selectors.EVENT_WRITE, self)

    def step(self, selector: Any) -> None:
        try:
            finished = self._receive() if self._sent else self._send(selector)
        except BlockingIOError:
            return
        except OSError:
            self._received.clear()
            finished = True
        if finished:
            self.stop(selector)

    def stop(self, selector: Any) -> None:
        if self._socket.fileno() >= 0:
            selector.unregister(self._socket)
            self._socket.close()

    def _send(self, selector: Any) -> bool:
        import selectors

        # So short a request always fits the empty send buffer of a new connection.
        self._socket.send(
            b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAccept: application/json\r\nConnection: close\r\n\r\n"
            % self._port
        )
        self._sent = True
        selector.modify(self._socket, selectors.EVENT_READ, self)
        return False

    def _receive(self) -> bool:
        data = self._socket.recv(65536)
        self._received += data
        self._ended = not data
        return self._ended or len(self._received) > PROBE_LIMIT or self._response() is not None

    def result(self) -> LocalServer | None:
        """Return the server that answered, if it is one."""
        body = self._response()
        names = model_names(body) if body else None
        return LocalServer(f"http://127.0.0.1:{self._port}/v1", names) if names else None

    def _response(self) -> bytes | None:
        """Return the body once it is complete, b"" for an answer that does not count."""
        head, found, _ = bytes(self._received).partition(b"\r\n\r\n")
        if not found:
            return None
        if not head.startswith(b"HTTP/1."):
            return b""
        import http.client

        response: HTTPResponse = http.client.HTTPResponse(_Bytes(bytes(self._received)))  # type: ignore[arg-type]
        try:
            response.begin()
            if response.status != 200:
                return b""
            if response.length is None and not response.chunked and not self._ended:
                return None
            return response.read()
        except (http.client.HTTPException, ValueError):
            return None


class _Bytes:
    """Bytes in the place of a socket, for the standard library's parser."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> Any:
        import io

        return io.BytesIO(self._data)
