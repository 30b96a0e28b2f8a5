"""A bash that stays: one command after the other, each to its end, its interruption or the end of the shell."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import selectors
import shlex
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from xun.errors import CommandError

if TYPE_CHECKING:
    from xun.environment.base import Environment, Process
    from xun_builtin_tools.cmd.process import Sink

_INTERACTIVE = 'exec "$BASH" --noprofile --norc --noediting -i 2>&1'
"""An interactive bash, since only that one drops the whole of a command when it is interrupted, and goes on."""
INTERRUPTED = 2.0
"""Seconds that an interrupted command gets before the shell is ended."""
_BEGIN = (
    "PS1= PS2= PS0=; set +o history +H +h; history -c; shopt -u expand_aliases checkwinsize; "
    "unset HISTFILE MAILCHECK PROMPT_COMMAND\n"
)
_ALONE = "exec 2>/dev/null; "
"""What bash says beside its commands, such as the prompt that an activated environment sets, is no output of one."""
_START_SECONDS = 15.0
_POLL = 0.1
_GRACE = 0.5
_HELD = 1024 * 1024
_IDLE_KEPT = 64 * 1024


@dataclass(frozen=True, slots=True)
class ShellOutcome:
    """How one command in the shell ended.

    Attributes:
        returncode: Its exit code, negative for a signal; None when the shell ended with it and left none.
        seconds: How long it took.
        timed_out: It passed its limit and was interrupted.
        cancelled: It was interrupted because the run was cancelled.
        ended: The shell is over.
    """

    returncode: int | None
    seconds: float
    timed_out: bool = False
    cancelled: bool = False
    ended: bool = False


class ShellSession:
    """One shell.

    Args:
        environment: Where it runs.
        cwd: Where it begins.
        variables: Its whole environment.

    Attributes:
        cwd: The folder that it is in, without links.
        variables: The environment that it began with.
        changed_by: What may have changed its variables, functions or options; "" while nothing has.

    Raises:
        CommandError: It can't be started.
    """

    def __init__(self, environment: Environment, cwd: str, variables: dict[str, str]) -> None:
        from xun.environment.base import EnvironmentUnusable

        self.cwd, self.variables, self.changed_by = cwd, variables, ""
        try:
            self._process: Process = environment.spawn(_INTERACTIVE, cwd=cwd, env=variables, stdin=True)
        except (OSError, ValueError, EnvironmentUnusable) as exc:
            raise CommandError(f"The shell could not be started: {exc}", kind="spawn") from exc
        self._pipe = _Pipe(self._process.stdout)
        self._reachable = False
        self._interrupts: Callable[[], None] | None = getattr(self._process, "interrupt", None)
        try:
            self._greet()
        except BaseException:
            self.close()
            raise

    def _greet(self) -> None:
        mark = _new_mark()
        self._pipe.listen()
        with contextlib.suppress(OSError):
            self._process.write_stdin(f"{_BEGIN}{_ALONE}{_status(mark, '$$')}".encode())
        reading = _Reading(mark)
        deadline = time.monotonic() + _START_SECONDS
        while not reading.found:
            data = self._pipe.take(_POLL)
            if data is None or time.monotonic() > deadline:
                raise CommandError(f"The shell could not be started: {reading.held(500)!r}", kind="spawn")
            reading.add(data)
        self._pipe.rest()
        # Only where its number is one of this machine, or the environment can, a signal reaches what it runs.
        self._reachable = self._interrupts is not None or reading.number == self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it takes another command."""
        return not self._pipe.over and self._process.poll() is None

    def run(
        self, text: str, timeout: float, cancelled: Callable[[], bool], sink: Sink, show: Callable[[str], None]
    ) -> ShellOutcome:
        """Run *text* and return how it ended; its output goes to *sink*, and as text to *show*."""
        started = time.monotonic()
        mark = _new_mark()
        reading = _Reading(mark)
        self._pipe.listen()
        try:
            # Quoted as one word, so that no text can be read as more or less than the whole of it. The status is on a
            # line of its own, which an interruption does not reach.
            # Hashing is off so that a listed command leaves no state. Where there is some, it is needed: the last word
            # of a script that activates an environment is "hash -r", which fails without it.
            hashing = "builtin set -h; " if self.changed_by else ""
            line = f"{hashing}builtin eval -- {shlex.quote(text)} </dev/null 2>&1\n{_status(mark, '$?')}"
            with contextlib.suppress(BrokenPipeError):
                self._process.write_stdin(line.encode())
            timed_out, stopped, ended = self._follow(reading, started + timeout, cancelled, sink, show)
        except BaseException:
            self.close()
            raise
        self._pipe.rest()
        sink.feed(reading.left(), final=True)
        code = reading.number
        if ended:
            code = self._end_code()
            self.close()
        else:
            self.cwd = reading.folder or self.cwd
        return ShellOutcome(code, time.monotonic() - started, timed_out, stopped, ended)

    def _follow(
        self,
        reading: _Reading,
        deadline: float,
        cancelled: Callable[[], bool],
        sink: Sink,
        show: Callable[[str], None],
    ) -> tuple[bool, bool, bool]:
        """Read until the command is through; return whether it was timed out, cancelled, and the shell is over."""
        timed_out = stopped = False
        last = 0.0
        while not reading.found:
            data = self._pipe.take(_POLL)
            if data is None or (not data and self._process.poll() is not None):
                # A job may hold the stream open long after the shell itself has ended.
                return timed_out, stopped, True
            reading.add(data)
            shown = sink.feed(reading.text())
            if shown:
                show(shown)
            now = time.monotonic()
            if reading.found:
                break
            if timed_out or stopped:
                if now > last or not self._reachable:
                    return timed_out, stopped, True
                continue
            stopped, timed_out = cancelled(), now > deadline
            if (stopped or timed_out) and self._reachable:
                last = now + INTERRUPTED
                self._interrupt()
        return timed_out, stopped, False

    def _interrupt(self) -> None:
        # Jobs in the background ignore it, as always in a shell without job control.
        pid = self._process.pid
        if self._interrupts is not None:
            self._interrupts()
            return
        if pid is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGINT)

    def _end_code(self) -> int | None:
        """Return the exit code of a shell that ended by itself."""
        deadline = time.monotonic() + 1.0
        while self._pipe.over and self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return self._process.poll()

    def close(self) -> None:
        """End it with all its jobs."""
        self._process.close_stdin()
        if self._process.poll() is None or self._process.left_running():
            # Jobs are asked first; the shell itself ends with its input.
            self._process.kill(_GRACE)
        self._pipe.stop()
        self._process.close()


def _new_mark() -> str:
    return f"xun-{secrets.token_hex(16)}"


def _status(mark: str, number: str) -> str:
    """Return the line that tells a number and the folder, and makes the folder known to bash without links."""
    folder = '"$(builtin pwd -P 2>/dev/null)"'
    return (
        f"builtin printf '\\n%s %s %s %s\\n' {mark} \"{number}\" {folder} {mark} 2>/dev/null; "
        f"[[ $PWD == {folder} ]] || builtin cd -P . 2>/dev/null\n"
    )


class _Reading:
    """The output of one command up to its mark."""

    def __init__(self, mark: str) -> None:
        word = mark.encode()
        self._word = b"\n" + word
        self._form = re.compile(b"\n" + word + rb" (\d+) (.*?) ?" + word + b"\n", re.DOTALL)
        self._data = b""
        self.found = False
        self.number: int | None = None
        self.folder = ""

    def add(self, data: bytes) -> None:
        """Take more of it."""
        self._data += data
        match = self._form.search(self._data) if self._word in self._data else None
        if match is not None:
            self.found = True
            self.number, self.folder = int(match[1]), os.fsdecode(match[2])
            self._data = self._data[: match.start()]

    def text(self) -> bytes:
        """Return, once, what is certainly output."""
        if self.found:
            return self.left()
        at = self._data.find(self._word)
        cut = at if at >= 0 else max(0, len(self._data) - len(self._word))
        text, self._data = self._data[:cut], self._data[cut:]
        return text

    def left(self) -> bytes:
        """Return all that is left."""
        text, self._data = self._data, b""
        return text

    def held(self, size: int) -> str:
        """Return the end of what there is, for an error."""
        return self._data[-size:].decode("utf-8", "replace")


class _Pipe:
    """Reads a stream all the time, so that no job ever waits for a reader; what comes between commands is bounded."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._buffer = bytearray()
        self._busy = False
        self._stopped = False
        self.over = False
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._read, name="xun-shell", daemon=True)
        self._thread.start()

    def listen(self) -> None:
        """Keep everything from now on; a full buffer makes the writer wait."""
        with self._change:
            self._busy = True

    def rest(self) -> None:
        """Keep only the newest from now on."""
        with self._change:
            self._busy = False
            self._change.notify_all()

    def take(self, seconds: float) -> bytes | None:
        """Return what came, b"" when nothing did in so many *seconds*, None at the end."""
        with self._change:
            if not self._buffer and not self.over:
                self._change.wait(seconds)
            data = bytes(self._buffer)
            self._buffer.clear()
            self._change.notify_all()
            return None if self.over and not data else data

    def stop(self) -> None:
        """Read no more."""
        with self._change:
            self._stopped = True
            self._change.notify_all()
        self._thread.join()

    def _read(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._stream, selectors.EVENT_READ)
            while not self._stopped:
                if not selector.select(_POLL):
                    continue
                data = os.read(self._stream.fileno(), 65536)
                if not data:
                    break
                self._keep(data)
        with self._change:
            self.over = True
            self._change.notify_all()

    def _keep(self, data: bytes) -> None:
        with self._change:
            self._buffer += data
            self._change.notify_all()
            while self._busy and not self._stopped and len(self._buffer) > _HELD:
                self._change.wait()
            if not self._busy and len(self._buffer) > _IDLE_KEPT:
                del self._buffer[:-_IDLE_KEPT]
