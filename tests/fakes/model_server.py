"""A local OpenAI-compatible HTTP server whose answers are scripted. Standard library only.

In a test::

    turns = [{"tool_calls": [{"name": "read_file", "arguments": {"path": "a.py"}}]}, {"text": "Done."}]
    with FakeModelServer(turns) as server:
        model = OpenAIModel("fake-model", base_url=server.base_url, api_key="sk-test")

In another process::

    python tests/fakes/model_server.py --script FILE --port-file PORT

A turn has the form of `ScriptedModel` and these keys more:

    status, body, headers   an HTTP error (or any other answer) instead of a stream
    json                    true: one JSON object although a stream was asked for
    events                  SSE payloads in place of the text: dicts, or strings that are sent as they are
    raw                     the body step by step: str, bytes, {"sleep": s}, {"repeat": text, "times": n, "every": s}
    content_type            of the answer
    chunk                   bytes per write, so that events and characters are cut anywhere
    newline                 the line end of the stream, "\\n" unless given
    comments                keep-alive comments before each event
    event_delay             seconds before each event
    cut_after               close the connection after so many events; with reset: true by a TCP reset
    stall_after, stall      after so many events be silent for so many seconds
    done                    false: no [DONE] at the end
    pieces_arguments        in how many parts the arguments of a call come (3)

Requests whose system message holds the words "risk assessment" are served from the risk list.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import socket
import struct
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

RISK_WORDS = "risk assessment"


@dataclass(frozen=True)
class Recorded:
    """One request as it came in; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any = None
    purpose: str = "turn"


@dataclass
class Script:
    """What is played next."""

    turns: list[dict[str, Any]] = field(default_factory=list)
    risk: list[dict[str, Any]] = field(default_factory=list)
    played: int = 0
    judged: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, purpose: str) -> dict[str, Any]:
        """Return the next turn: an empty one past the end, and `unsure` when no risk answer is left."""
        with self.lock:
            if purpose == "risk":
                self.judged += 1
                item = self.risk[self.judged - 1] if self.judged <= len(self.risk) else {"verdict": "unsure"}
                if "verdict" not in item:
                    return item
                answer = {"verdict": item["verdict"], "reason": item.get("reason", "")}
                return {"text": json.dumps(answer), "delay": item.get("delay", 0)}
            self.played += 1
            return self.turns[self.played - 1] if self.played <= len(self.turns) else {"text": ""}


class FakeModelServer:
    """Serve *turns* on a free loopback port while the ``with`` block runs.

    Attributes:
        base_url: For `OpenAIModel`, ends in ``/v1``.
        requests: Everything that was asked, in order.
        errors: Exceptions of the server itself; empty unless a script is wrong.
    """

    def __init__(
        self,
        turns: Iterable[dict[str, Any]] = (),
        risk: Iterable[dict[str, Any]] = (),
        *,
        models: Any = ("fake-model",),
        api_key: str | None = None,
        refuse: Iterable[str] = (),
        port: int = 0,
    ) -> None:
        """*models*: names, or a turn with status and body. *api_key*: any other key gets 401.

        *refuse*: parameters that are answered with 400, such as ``stream_options``.
        """
        self.script = Script(list(turns), list(risk))
        self.models = models
        self.api_key = api_key
        self.refuse = tuple(refuse)
        self.requests: list[Recorded] = []
        self.errors: list[BaseException] = []
        self.connections = 0
        self.stopping = threading.Event()
        self._open: set[socket.socket] = set()
        self._http = _Server(("127.0.0.1", port), _Handler)
        self._http.owner = self
        self.port = self._http.server_address[1]
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> FakeModelServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._thread.join(5)
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()

    @property
    def chats(self) -> list[Recorded]:
        """The chat requests among `requests`."""
        return [item for item in self.requests if item.path.endswith("/chat/completions")]

    def serve_forever(self) -> None:
        """Serve until SIGTERM or SIGINT; for the command line."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stopping.set())
        with self:
            while not self.stopping.wait(0.2):
                pass


class _Server(ThreadingHTTPServer):
    # Joined at server_close, so that no socket outlives the `with` block.
    daemon_threads = False
    owner: FakeModelServer

    def process_request(self, request: Any, client_address: Any) -> None:
        self.owner.connections += 1
        self.owner._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.owner._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        # The other side may leave whenever it likes.
        if error is not None and not isinstance(error, OSError):
            self.owner.errors.append(error)


class _Cut(Exception):
    """The script ends the connection here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Small writes must leave at once: the cuts are the point.
    disable_nagle_algorithm = True

    @property
    def owner(self) -> FakeModelServer:
        return self.server.owner

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._record(None)
        if not self._authorised():
            return
        if self.path != "/v1/models":
            self._json(404, {"error": {"message": f"no route {self.path}"}})
        elif isinstance(self.owner.models, dict):
            self._plain(self.owner.models)
        else:
            data = [{"id": name, "object": "model", "owned_by": "fake"} for name in self.owner.models]
            self._json(200, {"object": "list", "data": data})

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length) or b"null")
        purpose = _purpose(body)
        self._record(body, purpose)
        if not self._authorised():
            return
        if self.path != "/v1/chat/completions":
            self._json(404, {"error": {"message": f"no route {self.path}"}})
            return
        for name in self.owner.refuse:
            if name in body:
                self._json(400, {"error": {"message": f"Unknown parameter: '{name}'.", "param": name}})
                return
        turn = self.owner.script.next(purpose)
        self.owner.stopping.wait(turn.get("delay") or 0)
        try:
            self._answer(turn, body)
        except _Cut:
            self._close(bool(turn.get("reset")))

    def _answer(self, turn: dict[str, Any], body: dict[str, Any]) -> None:
        if "status" in turn or "body" in turn:
            self._plain(turn)
        elif turn.get("json") or not body.get("stream"):
            self._json(200, completion(turn, str(body.get("model"))))
        else:
            self._stream(turn, body)

    def _stream(self, turn: dict[str, Any], body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", turn.get("content_type", "text/event-stream"))
        for name, value in (turn.get("headers") or {}).items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if "raw" in turn:
            self._raw(turn)
        else:
            self._events(turn, body)
        self.wfile.write(b"0\r\n\r\n")

    def _raw(self, turn: dict[str, Any]) -> None:
        for step in turn["raw"]:
            if isinstance(step, dict) and "repeat" in step:
                for _ in range(step.get("times", 1)):
                    self._write(step["repeat"], turn)
                    self._pause(step.get("every", 0))
            elif isinstance(step, dict):
                self._pause(step["sleep"])
            else:
                self._write(step, turn)
        if "cut_after" in turn:
            raise _Cut

    def _events(self, turn: dict[str, Any], body: dict[str, Any]) -> None:
        end = turn.get("newline", "\n")
        for number, payload in enumerate(payloads(turn, body)):
            if number == turn.get("cut_after"):
                raise _Cut
            if number == turn.get("stall_after"):
                self._pause(turn.get("stall", 3600))
            self._pause(turn.get("event_delay", 0))
            comments = f": keep-alive{end}{end}" * turn.get("comments", 0)
            data = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
            lines = "".join(f"data: {line}{end}" for line in data.split("\n"))
            self._write(f"{comments}{lines}{end}", turn)

    def _write(self, text: str | bytes, turn: dict[str, Any]) -> None:
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        size = turn.get("chunk") or max(1, len(data))
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()

    def _pause(self, seconds: float) -> None:
        if seconds and self.owner.stopping.wait(seconds):
            raise _Cut

    def _plain(self, turn: dict[str, Any]) -> None:
        body = turn.get("body", "")
        is_text = isinstance(body, str)
        data = body.encode() if is_text else json.dumps(body).encode()
        self.send_response(turn.get("status", 200))
        kind = "text/html" if is_text else "application/json"
        self.send_header("Content-Type", turn.get("content_type", kind))
        for name, value in (turn.get("headers") or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _json(self, status: int, body: Any) -> None:
        self._plain({"status": status, "body": body})

    def _record(self, body: Any, purpose: str = "turn") -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.owner.requests.append(Recorded(self.command, self.path, headers, body, purpose))

    def _authorised(self) -> bool:
        key = self.owner.api_key
        given = self.headers.get("authorization") or ""
        if key is None or given == f"Bearer {key}":
            return True
        self._json(401, {"error": {"message": f"Incorrect API key provided: {given[7:]}.", "code": "invalid_api_key"}})
        return False

    def _close(self, reset: bool) -> None:
        self.close_connection = True
        if reset:
            # Linger of zero seconds makes the close a reset.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()


def _purpose(body: Any) -> str:
    messages = body.get("messages") if isinstance(body, dict) else None
    for message in messages or ():
        if message.get("role") in ("system", "developer") and RISK_WORDS in str(message.get("content")).lower():
            return "risk"
    return "turn"


def payloads(turn: dict[str, Any], body: dict[str, Any]) -> Iterator[dict[str, Any] | str]:
    """Yield the SSE payloads of *turn*: its events, or the answer in the usual chunks."""
    if "events" in turn:
        yield from turn["events"]
    else:
        for delta, finish in _deltas(turn):
            yield _chunk(body, delta, finish)
        if (body.get("stream_options") or {}).get("include_usage"):
            yield {**_chunk(body, {}, None), "choices": [], "usage": _usage(turn)}
    if turn.get("done", True):
        yield "[DONE]"


def _deltas(turn: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str | None]]:
    yield {"role": "assistant", "content": ""}, None
    for piece in _split(turn.get("reasoning") or "", 2):
        yield {"reasoning_content": piece}, None
    for piece in _split(turn.get("text") or "", turn.get("pieces", 3)):
        yield {"content": piece}, None
    calls = turn.get("tool_calls") or []
    for index, call in enumerate(calls):
        call_id, text = _call_parts(call, index)
        first = {"index": index, "id": call_id, "type": "function", "function": {"name": call["name"], "arguments": ""}}
        yield {"tool_calls": [first]}, None
        for piece in _split(text, turn.get("pieces_arguments", 3)):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, None
    yield {}, turn.get("finish_reason") or ("tool_calls" if calls else "stop")


def _call_parts(call: dict[str, Any], index: int) -> tuple[str, str]:
    arguments = call.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return call.get("id") or f"call_{id(call):x}_{index}", text


def _chunk(body: dict[str, Any], delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": body.get("model"), "choices": [choice]}


def _usage(turn: dict[str, Any]) -> dict[str, int]:
    usage = turn.get("usage") or {}
    given, written = int(usage.get("input", 10)), int(usage.get("output", 5))
    return {"prompt_tokens": given, "completion_tokens": written, "total_tokens": given + written}


def completion(turn: dict[str, Any], model: str) -> dict[str, Any]:
    """Return the answer of *turn* as one object, as a request without streaming gets it."""
    calls = []
    for index, call in enumerate(turn.get("tool_calls") or []):
        call_id, text = _call_parts(call, index)
        calls.append({"id": call_id, "type": "function", "function": {"name": call["name"], "arguments": text}})
    message: dict[str, Any] = {"role": "assistant", "content": turn.get("text") or None}
    if calls:
        message["tool_calls"] = calls
    finish = turn.get("finish_reason") or ("tool_calls" if calls else "stop")
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": model, "choices": [choice], "usage": _usage(turn)}


def _split(text: str, pieces: int) -> Iterator[str]:
    size = max(1, -(-len(text) // max(1, pieces)))
    for start in range(0, len(text), size):
        yield text[start : start + size]


def main() -> None:
    """Serve a script file until a signal ends it."""
    parser = argparse.ArgumentParser(description="Serve scripted model answers on a loopback port.")
    parser.add_argument("--script", required=True, help='JSON: a list of turns, or {"turns", "risk"}')
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument("--port-file", help="where the port is written once it listens")
    parser.add_argument("--model", action="append", help="a name that /v1/models lists; may be repeated")
    parser.add_argument("--api-key", help="any other key gets 401")
    parser.add_argument("--log", help="where the requests are written as JSON lines at the end")
    args = parser.parse_args()
    data = json.loads(Path(args.script).read_text(encoding="utf-8"))
    script = {"turns": data} if isinstance(data, list) else data
    server = FakeModelServer(
        script.get("turns", []),
        script.get("risk", []),
        models=args.model or ["fake-model"],
        api_key=args.api_key,
        port=args.port,
    )
    if args.port_file:
        # Renamed into place, so that a reader never sees half a number.
        part = Path(f"{args.port_file}.part")
        part.write_text(f"{server.port}\n", encoding="utf-8")
        part.replace(args.port_file)
    print(server.base_url, flush=True)
    server.serve_forever()
    if args.log:
        lines = [
            json.dumps({"path": item.path, "body": item.body, "purpose": item.purpose}) for item in server.requests
        ]
        Path(args.log).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
