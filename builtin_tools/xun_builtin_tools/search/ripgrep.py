"""The ripgrep program: where it is, and running it within limits."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from xun_builtin_tools.search.fence import Fence
from xun_builtin_tools.search.limits import Clock

_NAME = "rg.exe" if os.name == "nt" else "rg"
_POLL_SECONDS = 0.05
_CHUNK = 1 << 18
_PIPE_BYTES = 1 << 20
_MAX_STDERR = 200_000


def find_ripgrep(inside: Callable[[str], bool]) -> str | None:
    """Return the absolute path of ripgrep, or None.

    Looked for in the folders of PATH and in that of this Python, where the `ripgrep` wheel puts it.
    Relative folders and those of the workspace do not count: a project must not bring its own.
    """
    folders = [*os.environ.get("PATH", "").split(os.pathsep), os.path.dirname(sys.executable)]
    for folder in folders:
        if not os.path.isabs(folder):
            continue
        place = os.path.join(folder, _NAME)
        if os.access(place, os.X_OK) and os.path.isfile(place):
            real = os.path.realpath(place)
            if not inside(real) and not inside(os.path.realpath(folder)):
                return real
    return None


def _widen(pipe: IO[bytes] | None) -> None:
    """Let a pipe hold more, where the system can, so that ripgrep seldom waits for its reader."""
    try:
        from fcntl import F_SETPIPE_SZ, fcntl  # not on every system
    except ImportError:
        return
    if pipe is not None:
        with contextlib.suppress(OSError):
            fcntl(pipe, F_SETPIPE_SZ, _PIPE_BYTES)


class RipgrepRun:
    """One run of ripgrep; use it as a context manager, so that the process never stays behind."""

    def __init__(
        self, program: str, arguments: Sequence[str], folder: Path, clock: Clock, fence: Fence | None = None
    ) -> None:
        self._clock = clock
        self.stderr = b""

        def begin() -> subprocess.Popen[bytes]:
            # No environment: nothing of it matters to a search, and a configuration file must not.
            return subprocess.Popen(
                [program, "--no-config", *arguments],
                cwd=folder,
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                close_fds=True,
            )

        self._process = begin() if fence is None else fence.start(begin)
        _widen(self._process.stdout)

    def __enter__(self) -> RipgrepRun:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()

    def chunks(self) -> Iterator[bytes]:
        """Yield the output as it comes.

        Raises:
            TimeUp: The limit is reached.
            CancelledError: The run was cancelled.
        """
        stdout, stderr = self._process.stdout, self._process.stderr
        if stdout is None or stderr is None:
            return
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            selector.register(stderr, selectors.EVENT_READ)
            while selector.get_map():
                self._clock.tick()
                for key, _ in selector.select(_POLL_SECONDS):
                    data = os.read(key.fd, _CHUNK)
                    if not data:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is stderr:
                        self.stderr = (self.stderr + data)[:_MAX_STDERR]
                    else:
                        yield data

    def batches(self, end: bytes = b"\n") -> Iterator[bytes]:
        """Yield the output in pieces of whole records, each with its *end*; see `chunks`."""
        rest: list[bytes] = []
        for chunk in self.chunks():
            cut = chunk.rfind(end) + 1
            if cut:
                yield b"".join([*rest, chunk[:cut]])
                rest = []
            rest.append(chunk[cut:])

    def lines(self, end: bytes = b"\n") -> Iterator[bytes]:
        """Yield the records of the output without their *end*; see `chunks`."""
        for batch in self.batches(end):
            yield from batch[: -len(end)].split(end)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def status(self) -> int:
        """The exit status: 0 found, 1 nothing found, 2 something went wrong."""
        return self._process.wait()
