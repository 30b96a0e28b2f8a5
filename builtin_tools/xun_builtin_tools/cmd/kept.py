"""Files that keep the output of commands, in a folder that commands can write to as well."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from pathlib import Path
from typing import BinaryIO


class KeptFile:
    """A new file that takes bytes up to its limit, or up to the first failure of the disk.

    A command may have put a link in its place, before or after it was made: neither is followed.

    Args:
        path: Where it is made.
        room: Bytes that it holds at most.

    Attributes:
        path: Where it was made.
        kept: Bytes that it holds.

    Raises:
        FileExistsError: There is something at *path*, a link included.
        OSError: It can't be made.
    """

    def __init__(self, path: Path, room: int) -> None:
        self.path = path
        self.kept = 0
        self._room = room
        # Exclusive: two agents that share the folder never share a file, and no link is followed.
        self._stream: BinaryIO = path.open("xb", buffering=0)
        made = os.fstat(self._stream.fileno())
        self._made = (made.st_dev, made.st_ino)

    def add(self, data: bytes) -> bytes:
        """Take *data*; return what there was no room for."""
        view = data[: self._room]
        rest = data[len(view) :]
        while view:
            try:
                count = self._stream.write(view)
            except OSError:
                self._room = 0
                return view + rest
            self.kept += count
            self._room -= count
            view = view[count:]
        return rest

    def read(self, start: int, count: int) -> bytes:
        """Return at most *count* bytes from *start* on; none when the file is no longer the one that was made."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            found = os.fstat(fd)
            if (found.st_dev, found.st_ino) != self._made or not stat.S_ISREG(found.st_mode):
                return b""
            return os.pread(fd, count, start)
        finally:
            os.close(fd)

    def close(self) -> None:
        """Take no more; what it holds can still be read."""
        self._room = 0
        self._stream.close()

    def remove(self) -> None:
        """Close it and take it away."""
        self.close()
        self.path.unlink(missing_ok=True)


def new_file(folder: Path, name: str, room: int) -> KeptFile:
    """Return a new file in *folder*, with the first free number before *name*.

    Raises:
        OSError: It can't be made.
    """
    for number in itertools.count(1):
        with contextlib.suppress(FileExistsError):
            return KeptFile(folder / f"output-{number}-{name}.txt", room)
    raise AssertionError("numbers do not end")
