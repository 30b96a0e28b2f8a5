"""Folders of a tree, opened so that no link leads elsewhere."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xun_policies.paths.names import shown_name

_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FD_LINKS = "/proc/self/fd"


def open_folder(place: str) -> int:
    """Open a folder by its canonical path and return the descriptor, which the caller closes.

    Raises:
        OSError: It cannot be opened, or a part of the path became a link, which would lead elsewhere.
    """
    fd = os.open(place, _FOLDER_FLAGS)
    try:
        if os.readlink(f"{_FD_LINKS}/{fd}") == place:
            return fd
    except OSError:
        # Where the system does not tell, the last part at least is no link.
        if not os.path.isdir(_FD_LINKS):
            return fd
    os.close(fd)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), place)


def open_below(fd: int, name: str) -> int:
    """Open the folder *name* in the open folder *fd* and return the descriptor, which the caller closes.

    Raises:
        OSError: It cannot be opened, or is a link.
    """
    return os.open(name, _FOLDER_FLAGS, dir_fd=fd)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, open while it is being looked at."""

    path: str
    """Relative to the root, with a slash at its end; or "" for the root."""
    fd: int
    files: Sequence[str]
    """The names of the regular files in it."""


def opened(root: Path, listed: Iterable[tuple[str, Sequence[str]]], skipped: list[str]) -> Iterator[Folder]:
    """Yield the folders of a listing, each open until the next one is asked for.

    Args:
        root: The folder that was listed; resolved.
        listed: Paths of folders as in `Folder.path`, with the names of their files.
        skipped: Gets the folders that can't be opened any more.
    """
    base = str(root).rstrip("/") + "/"
    for path, names in listed:
        if not names:
            continue
        try:
            fd = open_folder((base + path).rstrip("/") or "/")
        except OSError:
            skipped.append(shown_name(path.rstrip("/")) or ".")
            continue
        try:
            yield Folder(path, fd, names)
        finally:
            os.close(fd)
