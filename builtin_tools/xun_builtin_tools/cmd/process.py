"""Child processes of an agent: started in a group of their own, ended with everything they started."""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from xun_builtin_tools.cmd.capture import Capture

if TYPE_CHECKING:
    from xun.agent.agent import Agent

TAG = "XUN_PROCESS_TAG"
"""The variable by which a process that left its group is still known as ours."""
STATE_KEY = "__builtin_processes"
GRACE = 2.0
"""Seconds between asking a group to end and killing it."""
DRAIN = 0.2
"""Seconds to read on after the command ended: what it started may hold its pipes open for ever."""
_POLL = 0.1


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended.

    Attributes:
        returncode: Its exit code; negative for a signal.
        seconds: How long it took.
        timed_out: It was ended because it passed its limit.
        cancelled: It was ended because the run was.
        left_running: Processes that it started still run.
    """

    returncode: int
    seconds: float
    timed_out: bool = False
    cancelled: bool = False
    left_running: bool = False


class Processes:
    """The process groups that an agent started and that may still live."""

    def __init__(self) -> None:
        self.tag = secrets.token_hex(8)
        self._groups: set[int] = set()

    @classmethod
    def of(cls, agent: Agent[Any]) -> Processes:
        """Return the agent's; what is left of them ends when the agent is finalized."""
        found = agent.state.get(STATE_KEY)
        if isinstance(found, cls):
            return found
        made = cls()
        agent.state[STATE_KEY] = made
        agent.hooks.before_finalize.add(lambda _: made.end_all())
        return made

    def start(self, text: str, cwd: str, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start bash on *text*, without input and without its start-up files."""
        process = subprocess.Popen(
            ["/bin/bash", "--noprofile", "--norc", "-c", text],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**environment, TAG: self.tag},
            start_new_session=True,
            close_fds=True,
        )
        self._groups.add(process.pid)
        return process

    def settle(self, pgid: int) -> bool:
        """Forget the group when it is empty; return whether something of it still runs."""
        if _alive(pgid):
            return True
        self._groups.discard(pgid)
        return False

    def end(self, pgid: int) -> None:
        """End the group: ask, wait, kill; then whatever else carries our tag and left it."""
        _signal(pgid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while _alive(pgid) and time.monotonic() < deadline:
            time.sleep(0.02)
        _signal(pgid, signal.SIGKILL)
        self._groups.discard(pgid)

    def end_all(self) -> None:
        """End every group, and every process that carries our tag."""
        groups = list(self._groups)
        for pgid in groups:
            _signal(pgid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while any(_alive(pgid) for pgid in groups) and time.monotonic() < deadline:
            time.sleep(0.02)
        for pgid in groups:
            _signal(pgid, signal.SIGKILL)
        self._groups.clear()
        if groups:
            self.sweep()

    def sweep(self) -> None:
        """Kill processes that left their group (``setsid``) but carry our tag in their environment."""
        mark = f"{TAG}={self.tag}".encode()
        for entry in _numbers("/proc"):
            with contextlib.suppress(OSError), open(f"/proc/{entry}/environ", "rb") as stream:
                if mark in stream.read().split(b"\0") and entry != os.getpid():
                    os.kill(entry, signal.SIGKILL)


def _numbers(folder: str) -> list[int]:
    try:
        return [int(name) for name in os.listdir(folder) if name.isdigit()]
    except OSError:
        return []


def _signal(pgid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, number)


def _alive(pgid: int) -> bool:
    try:
        os.killpg(pgid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Watch:
    """Follows one command to its end: reads its output, watches its limit and the run's cancellation."""

    def __init__(
        self,
        processes: Processes,
        process: subprocess.Popen[bytes],
        captures: tuple[Capture, Capture],
        show: Callable[[str, str], None],
    ) -> None:
        self._processes, self._process, self._show = processes, process, show
        self._selector = selectors.DefaultSelector()
        for stream, capture, name in zip(_pipes(process), captures, ("stdout", "stderr"), strict=True):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, (capture, name))
        self._exit_fd = _exit_descriptor(process.pid)
        if self._exit_fd is not None:
            self._selector.register(self._exit_fd, selectors.EVENT_READ, None)

    def run(self, limit: float, cancelled: Callable[[], bool]) -> Outcome:
        """Return when the command is over, was cancelled, or passed *limit* seconds."""
        started = time.monotonic()
        timed_out = stopped = False
        try:
            while self._process.poll() is None:
                timed_out = time.monotonic() - started > limit
                stopped = cancelled()
                if timed_out or stopped:
                    break
                self._read(min(_POLL, max(0.0, limit - (time.monotonic() - started))) or 0.001)
        except BaseException:
            self._processes.end(self._process.pid)
            self._process.wait()
            self._close()
            raise
        if timed_out or stopped:
            self._processes.end(self._process.pid)
            self._processes.sweep()
        code = self._process.wait()
        self._drain()
        self._close()
        left = self._processes.settle(self._process.pid)
        return Outcome(code, time.monotonic() - started, timed_out, stopped, left)

    def _read(self, wait: float) -> bool:
        """Read what is there; return whether a pipe is still open."""
        for key, _ in self._selector.select(wait):
            if key.data is None:
                continue
            capture, name = key.data
            try:
                data = os.read(key.fd, 65536)
            except BlockingIOError:
                continue
            text = capture.feed(data, final=not data)
            if text:
                self._show(text, name)
            if not data:
                self._selector.unregister(key.fileobj)
        return any(key.data is not None for key in self._selector.get_map().values())

    def _drain(self) -> None:
        if self._exit_fd is not None:
            self._selector.unregister(self._exit_fd)
            os.close(self._exit_fd)
            self._exit_fd = None
        deadline = time.monotonic() + DRAIN
        while self._selector.get_map() and time.monotonic() < deadline:
            self._read(max(0.0, deadline - time.monotonic()))

    def _close(self) -> None:
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                key.data[0].feed(b"", final=True)
        self._selector.close()
        if self._exit_fd is not None:
            os.close(self._exit_fd)
            self._exit_fd = None
        for stream in _pipes(self._process):
            stream.close()


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if process.stdout is None or process.stderr is None:
        raise ValueError("the process was started without pipes")
    return process.stdout, process.stderr


def _exit_descriptor(pid: int) -> int | None:
    """Return a descriptor that is readable once *pid* is over, so that no poll delays the end; Linux only."""
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        return int(opener(pid))
    except OSError:
        return None
