"""JSON-RPC over the streams of a language server: messages with a header, answers by number, the rest as they come."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import queue
import threading
from collections.abc import Callable, Mapping
from typing import IO, Any, Protocol

from xun.errors import ToolError

MAX_MESSAGE = 32_000_000
"""Bytes of one message; a server that sends more is not listened to any further."""

_MAX_HEADER = 8_192
_KEPT_ERRORS = 2_000
_METHOD_NOT_FOUND = -32601


class Pipes(Protocol):
    """What a connection needs of a process."""

    @property
    def stdout(self) -> IO[bytes]: ...
    @property
    def stderr(self) -> IO[bytes]: ...

    def write_stdin(self, data: bytes) -> None: ...


class Connection:
    """One connection to a server. Threads of its own read what comes and write what goes, so that no server holds up
    a call, whether it does not read or does not answer.

    Args:
        process: The server.
        answers: What the server may ask for, by method; anything else is answered with an error.
        heard: Is called with method and parameters of each notification.

    Attributes:
        ended: Set once nothing comes any more.
    """

    def __init__(
        self,
        process: Pipes,
        answers: Mapping[str, Callable[[Any], Any]],
        heard: Callable[[str, Any], None],
    ) -> None:
        self._process, self._answers, self._heard = process, answers, heard
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Any] = {}
        self._asked: set[int] = set()
        self._change = threading.Condition()
        self._outgoing: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._unsent = 0
        self._errors = b""
        self.ended = threading.Event()
        for work in (self._listen, self._drain, self._write):
            threading.Thread(target=work, name="xun-language-server", daemon=True).start()

    @property
    def errors(self) -> str:
        """The end of what the server wrote to its error output."""
        return self._errors.decode("utf-8", "replace").strip()

    def notify(self, method: str, params: Any) -> None:
        """Send a notification.

        Raises:
            OSError: The server reads no more.
        """
        self._send({"method": method, "params": params})

    def request(self, method: str, params: Any, seconds: float, check: Callable[[], None] = lambda: None) -> Any:
        """Send a request and return its result; *check* is called often and may raise.

        Raises:
            OSError: The server reads no more.
            ToolError: It gave an error or ended; a TimeoutError when *seconds* are over.
        """
        number = next(self._numbers)
        with self._change:
            self._asked.add(number)
        try:
            self._send({"id": number, "method": method, "params": params})
            message = self._answer_to(number, method, seconds, check)
        finally:
            with self._change:
                # An answer that comes later is nobody's.
                self._asked.discard(number)
                self._waiting.pop(number, None)
        if "error" in message:
            error = message["error"]
            said = str(error.get("message", "") if isinstance(error, dict) else error)[:300]
            raise ToolError(f"The language server refused {method}: {said}.")
        return message.get("result")

    def _answer_to(self, number: int, method: str, seconds: float, check: Callable[[], None]) -> dict[str, Any]:
        left = seconds
        with self._change:
            while number not in self._waiting:
                if self.ended.is_set():
                    raise ToolError(f"The language server ended before it answered {method}. {self.errors}".strip())
                if left <= 0:
                    raise TimeoutError(method)
                self._change.wait(0.05)
                left -= 0.05
                check()
            message: dict[str, Any] = self._waiting.pop(number)
        return message

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=True).encode("ascii")
        with self._change:
            if self.ended.is_set() or self._unsent > MAX_MESSAGE:
                raise OSError("the language server reads no more")
            self._unsent += len(body)
        self._outgoing.put(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def _write(self) -> None:
        while data := self._outgoing.get():
            try:
                self._process.write_stdin(data)
            except (OSError, ValueError):
                with self._change:
                    self._unsent = MAX_MESSAGE + 1
                return
            with self._change:
                self._unsent -= len(data.partition(b"\r\n\r\n")[2])

    def _listen(self) -> None:
        try:
            stream = io.BufferedReader(_Raw(self._process.stdout))
            while (message := _read(stream)) is not None:
                # One of another form than it should have is passed over, as if it had not come.
                with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError, RecursionError):
                    self._take(message)
        except (OSError, ValueError, RecursionError):
            pass  # it ended, or speaks something else: either way nothing more is to be had
        finally:
            with self._change:
                self.ended.set()
                self._change.notify_all()
            self._outgoing.put(b"")

    def _take(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str) and number is not None:
            self._answer(method, number, message.get("params"))
        elif isinstance(method, str):
            self._heard(method, message.get("params"))
        elif isinstance(number, int):
            with self._change:
                if number in self._asked:
                    self._asked.discard(number)
                    self._waiting[number] = message
                    self._change.notify_all()

    def _answer(self, method: str, number: Any, params: Any) -> None:
        answer = self._answers.get(method)
        if answer is None:
            self._send({"id": number, "error": {"code": _METHOD_NOT_FOUND, "message": f"{method} is not offered"}})
        else:
            self._send({"id": number, "result": answer(params)})

    def _drain(self) -> None:
        try:
            while data := self._process.stderr.read(4096):
                self._errors = (self._errors + data)[-_KEPT_ERRORS:]
        except (OSError, ValueError):
            return


class _Raw(io.RawIOBase):
    """A stream that gives what is there, read in whole messages by the buffer around it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer)) or b""
        buffer[: len(data)] = data
        return len(data)


def _read(stream: io.BufferedReader[Any]) -> dict[str, Any] | None:
    """Return the next message; None at the end.

    Raises:
        ValueError: It is no message.
    """
    length = -1
    size = 0
    while line := stream.readline(_MAX_HEADER):
        size += len(line)
        if size > _MAX_HEADER:
            raise ValueError("a header without an end")
        name, colon, value = line.decode("ascii", "replace").partition(":")
        if colon and name.strip().lower() == "content-length":
            length = int(value)
        if line in (b"\r\n", b"\n"):
            break
    else:
        return None
    if not 0 <= length <= MAX_MESSAGE:
        raise ValueError(f"a message of {length} bytes")
    body = stream.read(length)
    message = json.loads(body) if len(body) == length else None
    if message is not None and not isinstance(message, dict):
        raise ValueError("no message")
    return message
