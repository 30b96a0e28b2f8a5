"""What changed on disk since a language server was asked last: it watches nothing itself, the editor has to tell it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

MAX_ENTRIES = 20_000
"""Entries of a folder that are looked at; in a larger one only the files that the server has open are."""

SECONDS = 1.0
"""The time that one look may take."""

_ENDINGS = (".py", ".pyi")
_CONFIGURATION = frozenset({"pyproject.toml", "pyrightconfig.json", "setup.cfg", "tox.ini"})
_PASSED = frozenset({"node_modules", "__pycache__"})

Stamp = tuple[int, int, int]
Happened = Literal["created", "changed", "deleted"]


@dataclass(frozen=True, slots=True)
class Look:
    """The Python and configuration files of a folder at one time.

    Attributes:
        stamps: By path the time of change in nanoseconds, the size and the inode.
        whole: Whether all of the folder was looked at; else only the open files are there.
    """

    stamps: dict[str, Stamp]
    whole: bool

    @classmethod
    def at(cls, folder: str, opened: Iterable[str], most: int = MAX_ENTRIES) -> Look:
        """Look at *folder*, if it has no more than *most* entries, and at the *opened* files."""
        found = _walked(folder, most)
        stamps = found or {}
        for path in opened:
            try:
                stamps[path] = _stamp(os.lstat(path))
            except OSError:
                stamps.pop(path, None)
        return cls(stamps, found is not None)

    def since(self, before: Look, opened: Iterable[str]) -> dict[str, Happened]:
        """Return what happened to each file between *before* and this look; *opened* were looked at both times."""
        paths = self.stamps.keys() | before.stamps.keys() if self.whole and before.whole else set(opened)
        happened: dict[str, Happened] = {}
        for path in paths:
            old, new = before.stamps.get(path), self.stamps.get(path)
            if old != new:
                happened[path] = "created" if old is None else "deleted" if new is None else "changed"
        return happened


def _walked(folder: str, most: int) -> dict[str, Stamp] | None:
    """Return the stamps below *folder*, None when there are too many entries."""
    found: dict[str, Stamp] = {}
    until, waiting, entries = time.monotonic() + SECONDS, [folder], 0
    while waiting:
        if time.monotonic() > until or entries > most:
            return None
        try:
            with os.scandir(waiting.pop()) as opened:
                rows = list(opened)
        except OSError:
            continue
        entries += len(rows)
        if not any(row.name == "pyvenv.cfg" for row in rows):
            _take(rows, waiting, found)
    return found


def _take(rows: list[os.DirEntry[str]], folders: list[str], found: dict[str, Stamp]) -> None:
    for row in rows:
        try:
            if row.is_dir(follow_symlinks=False):
                if not row.name.startswith(".") and row.name not in _PASSED:
                    folders.append(row.path)
            elif row.name.endswith(_ENDINGS) or row.name in _CONFIGURATION:
                found[row.path] = _stamp(row.stat(follow_symlinks=False))
        except OSError:
            continue  # it went away meanwhile


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_mtime_ns, found.st_size, found.st_ino
