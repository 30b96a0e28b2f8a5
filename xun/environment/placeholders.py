"""Empty folders and files that a mount is put on, shared with every other xun that works in the same folder."""

from __future__ import annotations

import contextlib
import os
import stat

try:
    import fcntl
except ImportError:  # Windows, where nothing is mounted
    fcntl = None  # type: ignore[assignment]

_MARK = stat.S_ISVTX
"""The mode bit by which what is empty is known as one of ours: a person has no reason to set it there."""

_TRIES = 50


class Placeholders:
    """What was made for a mount, to be removed when nobody needs it any more.

    Each is held by a shared lock on itself, which ends with its process: it is removed by the last who holds it, so
    that none goes under the mount of another xun, where a command could then make what was to be kept from it. One that
    a killed xun left is known by its mark, and taken over.
    """

    def __init__(self) -> None:
        self._held: dict[str, int] = {}

    def make(self, path: str, *, folder: bool, unmarked: bool = False) -> bool:
        """Make *path*, empty, where nothing is; whether something is there now.

        One that another xun made is held, too, and with *unmarked* any empty folder.
        """
        for _ in range(_TRIES):
            if path in self._held:
                if _is_same(self._held[path], path):
                    return True
                # Somebody else removed it, or put another in its place: a mount needs what is there now.
                os.close(self._held.pop(path))
            try:
                found = os.lstat(path)
            except OSError:
                if not _made(path, folder):
                    return False
            else:
                if not (unmarked or found.st_mode & _MARK):
                    return True
                empty = _is_empty(path, found)
                if empty is False:
                    return True
                if empty is None:
                    continue
            # Another one may remove it between a look and the lock.
            if self._hold(path):
                return True
        return os.path.lexists(path)

    def close(self) -> None:
        """Remove what is still empty and held by nobody else, the inner ones first."""
        for path, fd in reversed(self._held.items()):
            with contextlib.suppress(OSError):
                if fcntl is not None:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                found = os.lstat(path)
                if stat.S_ISDIR(found.st_mode):
                    os.rmdir(path)
                elif found.st_size == 0:
                    os.unlink(path)
            os.close(fd)
        self._held = {}

    def _hold(self, path: str) -> bool:
        """Lock *path*; False when another xun has removed it meanwhile."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            if fcntl is not None:
                # Waits for as long as another one takes to remove it.
                fcntl.flock(fd, fcntl.LOCK_SH)
        except OSError:
            os.close(fd)
            return False
        if not _is_same(fd, path):
            os.close(fd)
            return False
        self._held[path] = fd
        return True


def _is_same(fd: int, path: str) -> bool:
    """Tell whether what is open as *fd* still lies at *path*."""
    here = os.fstat(fd)
    try:
        there = os.lstat(path)
    except OSError:
        return False
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _made(path: str, folder: bool) -> bool:
    try:
        if folder:
            os.mkdir(path, 0o755 | _MARK)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 | _MARK))
    except FileExistsError:
        return True
    except OSError:
        # Who can't make it here can't make it inside either.
        return False
    return True


def _is_empty(path: str, found: os.stat_result) -> bool | None:
    """Tell whether what was *found* holds nothing; None when it is gone meanwhile."""
    if not stat.S_ISDIR(found.st_mode):
        return stat.S_ISREG(found.st_mode) and found.st_size == 0
    try:
        return not os.listdir(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return False
