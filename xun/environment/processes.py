"""Processes of this machine: started in a group of their own, ended with everything they started."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO

from xun.environment.tags import TAG, bearers, carriers, command_line, group_lives, marked, numbers, owner_tag, stat_of

GRACE = 2.0
"""Seconds between asking a group to end and killing it."""
_SWEEPS = 5
_WAITED = 5.0


class ProcessTable:
    """What was started here and may still live.

    Attributes:
        tag: What every process carries in its environment, with a number of its own behind it.
    """

    def __init__(self) -> None:
        self.tag = owner_tag()
        self._numbers = itertools.count(1)
        self._groups: dict[int, subprocess.Popen[bytes]] = {}
        self._used = False
        self._lock = threading.Lock()

    def new_tag(self) -> str:
        """Return a tag for one process and all that it starts."""
        return f"{self.tag}.{next(self._numbers)}"

    def start(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], stdin: bool = False) -> LocalProcess:
        """Start *argv* in a session of its own.

        Raises:
            OSError: It can't be started.
            ValueError: A text of it can't be given to a process.
        """
        tag = self.new_tag()
        return LocalProcess(self, self.popen(argv, cwd, {**env, TAG: tag}, stdin), tag)

    def popen(self, argv: Sequence[str], cwd: str, env: Mapping[str, str], stdin: bool) -> subprocess.Popen[bytes]:
        """Start *argv* and remember its group."""
        popen = subprocess.Popen(
            marked(argv, env[TAG]) if TAG in env else list(argv),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
            close_fds=True,
        )
        with self._lock:
            self._groups[popen.pid] = popen
            self._used = True
        return popen

    def settle(self, pgid: int) -> bool:
        """Forget the group when it is empty; return whether something of it still runs."""
        if _alive(pgid):
            return True
        with self._lock:
            self._groups.pop(pgid, None)
        return False

    def end(self, popen: subprocess.Popen[bytes], grace: float) -> None:
        """End the group of *popen*: ask, wait up to *grace* seconds, kill."""
        _end([popen], grace)
        with self._lock:
            self._groups.pop(popen.pid, None)

    def end_all(self) -> None:
        """End every group, and every process that carries our tag."""
        with self._lock:
            groups, self._groups = list(self._groups.values()), {}
            used, self._used = self._used, False
        if groups:
            _end(groups, GRACE)
        if used:
            # What left its group may be all that is left.
            sweep(self.tag)


def _end(groups: Sequence[subprocess.Popen[bytes]], grace: float) -> None:
    if grace > 0:
        for popen in groups:
            _signal(popen.pid, signal.SIGTERM)
        deadline = time.monotonic() + grace
        # A leader that is over stays a member of its group until it is waited for.
        while any(popen.poll() is None or _alive(popen.pid) for popen in groups) and time.monotonic() < deadline:
            time.sleep(0.02)
    for popen in groups:
        _signal(popen.pid, signal.SIGKILL)


class LocalProcess:
    """A process of this machine; a `xun.environment.base.Process`."""

    def __init__(self, table: ProcessTable, popen: subprocess.Popen[bytes], tag: str) -> None:
        self._table = table
        self._popen = popen
        self._tag = tag
        self._writing = threading.Lock()

    @property
    def stdout(self) -> IO[bytes]:
        """Its output."""
        return _there(self._popen.stdout)

    @property
    def stderr(self) -> IO[bytes]:
        """Its error output."""
        return _there(self._popen.stderr)

    @property
    def stdin(self) -> IO[bytes]:
        """Its input; only where it was asked for."""
        return _there(self._popen.stdin)

    @property
    def pid(self) -> int:
        """Its number, which is that of its group too."""
        return self._popen.pid

    @property
    def tag(self) -> str:
        """What it and all that it starts carry in the environment."""
        return self._tag

    def write_stdin(self, data: bytes) -> None:
        """Write all of *data* to its input."""
        stream = self.stdin
        view = memoryview(data)
        with self._writing:
            while view:
                view = view[stream.write(view) or 0 :]

    def close_stdin(self) -> None:
        """Close its input."""
        if self._popen.stdin is not None:
            with contextlib.suppress(OSError):
                self._popen.stdin.close()

    def poll(self) -> int | None:
        """Return its exit code, or None while it runs."""
        return self._popen.poll()

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit code once it is over."""
        return self._popen.wait(timeout)

    def left_running(self) -> bool:
        """Tell whether something of its group still runs."""
        return self._table.settle(self.pid)

    def remaining(self) -> list[str]:
        """Return number and command line of what it started and still runs; Linux only, elsewhere it finds none."""
        found = {number for number, tag in carriers() if tag == self._tag} | set(bearers(self._tag))
        return [f"{number} {command_line(number)}".strip() for number in sorted(found)]

    def kill(self, grace: float = 0.0) -> None:
        """End its group, and what left the group but is its offspring or carries its tag."""
        offspring = descendants(self.pid) if self.poll() is None else []
        self._table.end(self._popen, grace)
        for number, start in offspring:
            facts = stat_of(number)
            if facts is not None and facts[1] == start:  # else the number is a stranger's by now
                with contextlib.suppress(OSError):
                    os.kill(number, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_WAITED)
        sweep(self._tag)

    def close(self) -> None:
        """Close the streams."""
        self.close_stdin()
        self.stdout.close()
        self.stderr.close()
        if self.poll() is not None:
            # The number of an empty group may be that of a stranger's tomorrow.
            self._table.settle(self.pid)


def sweep(tag: str) -> None:
    """Kill every process that carries *tag*, or *tag* with a number behind it; Linux only, elsewhere it finds none.

    It looks again while it finds some, for what was started meanwhile.
    """
    for _ in range(_SWEEPS):
        ours = {number for number, carried in carriers() if carried == tag or carried.startswith(f"{tag}.")}
        killed = [number for number in ours.union(bearers(tag)) - {os.getpid()} if _killed(number)]
        if not killed:
            return


def _killed(number: int) -> bool:
    try:
        os.kill(number, signal.SIGKILL)
    except OSError:
        return False
    return True


def descendants(pid: int) -> list[tuple[int, bytes]]:
    """Return number and start of the processes below *pid* whose parents still live; Linux only."""
    children: dict[int, list[tuple[int, bytes]]] = {}
    for number in numbers():
        facts = stat_of(number)
        if facts is not None:
            children.setdefault(facts[0], []).append((number, facts[1]))
    found: list[tuple[int, bytes]] = []
    above = [pid]
    while above:
        below = children.get(above.pop(), [])
        found += below
        above += [number for number, _ in below]
    return found


def _there(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ValueError("The process was started without this stream: ask for it with spawn(stdin=True).")
    return stream


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
    return group_lives(pgid)
