"""One hook of the settings: a line for bash that gets JSON on its input, within a time limit."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xun.environment.local import BASH, argument_vector
from xun_policies.shell.environment import child_environment

KEPT = 8_000
"""Bytes of its output that are kept; more is read and dropped."""

_LINGER = 0.2
_PIECE = 65_536


@dataclass(frozen=True, slots=True)
class HookOutcome:
    """How a hook ended.

    Attributes:
        command: The line.
        code: The exit code; None when it was ended for its time limit, 126 when it could not be started.
        text: The beginning of what it printed.
    """

    command: str
    code: int | None
    text: str

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with exit code 0."""
        return self.code == 0

    def described(self, limit: float) -> str:
        """Return how it failed, with what it printed."""
        how = f"was ended after {limit:g} s" if self.code is None else f"ended with exit code {self.code}"
        said = f": {self.text.strip()}" if self.text.strip() else ""
        return f"the hook `{self.command}` {how}{said}"


def run_hook(
    command: str,
    folder: Path,
    payload: dict[str, Any],
    limit: float,
    shell: str = "",
    stop: threading.Event | None = None,
) -> HookOutcome:
    """Run *command* in bash in *folder* with *payload* as JSON on its input; blocks for *limit* seconds at most.

    It starts in a process group of its own, without the secrets of this process, and is ended with all of that group.
    *shell* is the path of the bash, "" for that of the system. Once *stop* is set its time is over.
    """
    data = json.dumps(payload, ensure_ascii=True, default=str).encode() + b"\n"
    try:
        process = subprocess.Popen(
            argument_vector(command, shell or BASH),
            cwd=folder,
            env=child_environment(os.environ, {"XUN_HOOK": str(payload.get("hook", ""))}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return HookOutcome(command, 126, f"it could not be started: {error.strerror}")
    with process:
        try:
            text = _talk(process, data, time.monotonic() + limit, stop or threading.Event())
            code = process.poll()
        finally:
            # Also what it left running in its group: a hook has no life after itself.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return HookOutcome(command, code, text.decode("utf-8", "replace"))


def _talk(process: subprocess.Popen[bytes], data: bytes, end: float, stop: threading.Event) -> bytes:
    assert process.stdin is not None and process.stdout is not None
    kept, left = bytearray(), memoryview(data)
    os.set_blocking(process.stdin.fileno(), False)
    os.set_blocking(process.stdout.fileno(), False)
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdin, selectors.EVENT_WRITE)
        ready.register(process.stdout, selectors.EVENT_READ)
        while (now := time.monotonic()) < end and ready.get_map() and not stop.is_set():
            if process.poll() is not None:
                # A child that it left behind may hold the pipe open for ever.
                end = min(end, now + _LINGER)
            for key, _ in ready.select(min(0.05, end - now)):
                if key.fileobj is process.stdout:
                    piece = os.read(process.stdout.fileno(), _PIECE)
                    kept += piece[: max(0, KEPT - len(kept))]
                    if not piece:
                        ready.unregister(process.stdout)
                else:
                    left = _written(process, left)
                    if not left:
                        ready.unregister(process.stdin)
                        process.stdin.close()
    while process.poll() is None and time.monotonic() < end and not stop.is_set():
        time.sleep(0.01)
    return bytes(kept)


def _written(process: subprocess.Popen[bytes], left: memoryview) -> memoryview:
    assert process.stdin is not None
    try:
        return left[os.write(process.stdin.fileno(), left[:_PIECE]) :]
    except BlockingIOError:
        return left
    except BrokenPipeError:
        return memoryview(b"")
