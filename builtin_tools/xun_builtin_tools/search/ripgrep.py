"""The ripgrep program: where it is, and running it within limits."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from xun_builtin_tools.search.limits import Clock

_NAME = "rg.exe" if os.name == "nt" else "rg"
_POLL_SECONDS = 0.05
_CHUNK = 1 << 18
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


class RipgrepRun:
    """One run of ripgrep; use it as a context manager, so that the process never stays behind."""

    def __init__(self, program: str, arguments: Sequence[str], folder: Path, clock: Clock) -> None:
        self._clock = clock
        self.stderr = b""
        # No environment: nothing of it matters to a search, and a configuration file must not.
        self._process = subprocess.Popen(
            [program, "--no-config", *arguments],
            cwd=folder,
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            close_fds=True,
        )

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

    def lines(self, end: bytes = b"\n") -> Iterator[bytes]:
        """Yield the output in pieces that *end* ended; see `chunks`."""
        rest: list[bytes] = []
        for chunk in self.chunks():
            if end not in chunk:
                rest.append(chunk)
                continue
            pieces = chunk.split(end)
            yield b"".join([*rest, pieces[0]])
            yield from pieces[1:-1]
            rest = [pieces[-1]]

    @property
    def status(self) -> int:
        """The exit status: 0 found, 1 nothing found, 2 something went wrong."""
        return self._process.wait()
