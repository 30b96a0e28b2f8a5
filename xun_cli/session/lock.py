"""One writer per session file, held by a lock file that names the holder."""

from __future__ import annotations

import os
from pathlib import Path

from xun.errors import XunError
from xun_cli.places import NOFOLLOW

try:
    import fcntl
except ImportError:  # Windows: the exclusive creation of the lock file has to do
    fcntl = None  # type: ignore[assignment]


class SessionError(XunError):
    """A session can't be read, written or found; the text names it and the way out."""

    kind = "session"


class SessionBusy(SessionError):
    """Another process writes this session.

    Attributes:
        pid: Its process id; 0 when unknown.
    """

    kind = "busy"

    def __init__(self, message: str, pid: int) -> None:
        super().__init__(message)
        self.pid = pid


class FileLock:
    """A lock that ends with its process, however that ends."""

    __slots__ = ("_fd", "_path")

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd = fd

    @classmethod
    def acquire(cls, path: Path, what: str) -> FileLock:
        """Take the lock at *path* for *what*, a session's id.

        Raises:
            SessionBusy: Another process holds it.
            OSError: The lock file can't be made.
        """
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | NOFOLLOW, 0o600)
            try:
                if not _lock(fd):
                    pid = _holder(fd)
                    raise SessionBusy(
                        f"Session {what} is in use by process {pid or '(unknown)'}: end it there, "
                        "or add --fork to go on in a copy",
                        pid,
                    )
                if _same(fd, path):
                    os.ftruncate(fd, 0)
                    os.pwrite(fd, f"{os.getpid()} {_boot_id()}\n".encode(), 0)
                    return cls(path, fd)
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)  # the holder removed the file between our open and our lock

    def release(self) -> None:
        """Give the lock back; may be called twice."""
        if self._fd >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1


def _lock(fd: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _same(fd: int, path: Path) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    here = os.fstat(fd)
    return (here.st_ino, here.st_dev) == (there.st_ino, there.st_dev)


def _holder(fd: int) -> int:
    words = os.pread(fd, 100, 0).split()
    return int(words[0]) if words and words[0].isdigit() else 0


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "-"
