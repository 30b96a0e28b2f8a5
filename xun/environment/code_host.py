"""Running code in a process of its own: the host's side of the channel."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import selectors
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from importlib import resources
from typing import Any

from xun.environment.base import CallTool, CodeFailed, CodeStopped, CodeTimeout, Process, Write
from xun.errors import CancelledError
from xun.result import ErrorInfo, Result

MAX_RESULT = 32 * 1024 * 1024
"""Bytes of one tool result that code may get."""
MAX_LINE = 64 * 1024 * 1024
"""Bytes of one line from the code's process; a longer one is no call of ours."""
LEAVE = 1.0
"""Seconds that the process gets to end by itself once its code is through, to write out its files."""
_POLL = 0.1
_TRACEBACK = 20_000


def run_in_process(
    start: Callable[[Sequence[str]], Process],
    python: str,
    code: str,
    tools: Sequence[str],
    call_tool: CallTool,
    write: Write,
    *,
    timeout: float | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> None:
    """Run *code* with *python* in a process that *start* starts; for environments that have an interpreter.

    See `Environment.run_code`. *start* gets an argument vector, and must keep the input open.
    """
    source = resources.files("xun.environment").joinpath("code_child.py").read_text("utf-8")
    begun = time.monotonic()
    process = start([python, "-I", "-c", source])
    host = _Host(process, call_tool, write)
    try:
        host.send({"code": code, "tools": list(tools)})
        host.follow(begun, timeout, cancelled)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LEAVE)
    finally:
        host.close()


class _Host:
    """Reads the lines of one process, makes its calls, and sends the results."""

    def __init__(self, process: Process, call_tool: CallTool, write: Write) -> None:
        self._process, self._call_tool, self._write = process, call_tool, write
        self._rest = bytearray()
        self._end: dict[str, Any] | None = None
        self._ended = False
        self._open: set[Future[Result[Any, ErrorInfo]]] = set()
        self._done: queue.SimpleQueue[tuple[int, str, Future[Result[Any, ErrorInfo]]]] = queue.SimpleQueue()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._woken, selectors.EVENT_READ, "wake")
        for stream, name in ((process.stdout, "stdout"), (process.stderr, "stderr")):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, name)
        # Writing waits when the process does not read; that must not keep us from its time limit.
        threading.Thread(target=self._send_lines, name="xun-code", daemon=True).start()

    def send(self, message: dict[str, Any]) -> None:
        """Send one line."""
        self._lines.put(json.dumps(message).encode() + b"\n")

    def _send_lines(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                self._process.write_stdin(line)
            except (OSError, ValueError):
                return

    def follow(self, begun: float, timeout: float | None, cancelled: Callable[[], bool]) -> None:
        """Return when the code is through."""
        while not self._ended:
            if cancelled():
                raise CodeStopped("The code was stopped with all that it started.")
            left = _POLL if timeout is None else begun + timeout - time.monotonic()
            if left <= 0:
                raise CodeTimeout(f"The code passed its limit of {timeout:g} s and was ended with all that it started.")
            over = self._process.poll() is not None
            read = self._read(0.0 if over else min(_POLL, left))
            if over and not read and not self._ended:
                raise CodeFailed(_lost(self._process.wait()))
        while "stderr" in self._read(0.0):
            continue
        if self._end is not None:
            trace = str(self._end.get("traceback", ""))
            if len(trace) > _TRACEBACK:
                trace = f"{trace[: _TRACEBACK // 2]}\n[...]\n{trace[-_TRACEBACK // 2 :]}"
            raise CodeFailed(str(self._end.get("error", "")), traceback=trace)

    def _read(self, wait: float) -> set[str]:
        """Take what has arrived; return from where."""
        read = set()
        for key, _ in self._selector.select(wait):
            if key.data == "wake":
                self._woken.recv(4096)
                self._reply()
                continue
            try:
                data = os.read(key.fd, 1 << 18)
            except BlockingIOError:
                continue
            if not data:
                self._selector.unregister(key.fileobj)
            elif key.data == "stderr":
                self._write(data, "stderr")
                read.add("stderr")
            else:
                self._take(data)
                read.add("stdout")
        return read

    def _take(self, data: bytes) -> None:
        self._rest += data
        if len(self._rest) > MAX_LINE:
            raise CodeFailed(f"The code sent more than {MAX_LINE} bytes in one tool call; pass less.")
        if b"\n" not in data:
            return
        *lines, rest = self._rest.split(b"\n")
        self._rest = rest
        for line in lines:
            try:
                message = json.loads(line)
                self._message(message)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                raise CodeFailed("The code's process sent something that is no message of run_code.") from None

    def _message(self, message: dict[str, Any]) -> None:
        if "out" in message:
            self._write(base64.b64decode(message["out"]), "stdout")
        elif "call" in message:
            call = message["call"]
            self._call(int(call["id"]), str(call["name"]), dict(call["arguments"]))
        else:
            end = message["end"]
            self._end = None if end is None else dict(end)
            self._ended = True

    def _call(self, number: int, name: str, arguments: dict[str, Any]) -> None:
        future = self._call_tool(name, arguments)
        self._open.add(future)

        def done(settled: Future[Result[Any, ErrorInfo]]) -> None:
            self._done.put((number, name, settled))
            with contextlib.suppress(OSError):  # nobody waits any more
                self._wake.send(b".")

        future.add_done_callback(done)

    def _reply(self) -> None:
        while not self._done.empty():
            number, name, future = self._done.get()
            self._open.discard(future)
            self._lines.put(_reply(number, name, future))

    def close(self) -> None:
        """End the process and the calls under way."""
        for future in self._open:
            future.cancel()
        self._lines.put(None)
        self._process.kill()
        self._selector.close()
        self._process.close()
        self._wake.close()
        self._woken.close()


def _reply(number: int, name: str, future: Future[Result[Any, ErrorInfo]]) -> bytes:
    try:
        result = future.result()
    except (FutureCancelled, CancelledError):
        result = Result.Err(ErrorInfo("The call was cancelled.", "cancelled", "cancelled"), "cancelled")
    except Exception as exc:  # noqa: BLE001 - a fault of the host's side of a call is a failure of that call
        result = Result.Err(ErrorInfo.from_exception(exc))
    if result.is_ok():
        try:
            line = json.dumps({"id": number, "ok": True, "value": result.value}).encode() + b"\n"
            if len(line) <= MAX_RESULT:
                return line
            error = ErrorInfo(f"The result of {name} has {len(line)} bytes; code may get {MAX_RESULT}. Ask for less.")
        except (TypeError, ValueError, RecursionError) as exc:
            error = ErrorInfo(f"The result of {name} is no JSON value: {exc}")
    else:
        error = result.unwrap_err()
    told = {"id": number, "ok": False, "error": error.error, "kind": error.kind, "facts": error.facts or {}}
    return json.dumps(told, default=str).encode() + b"\n"


def _lost(code: int) -> str:
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    more = " (it may have run out of memory)" if code in (-9, 137) else ""
    return f"The code's process ended with {how} before the code was through{more}."
