"""Which file a bare command name runs: a search along PATH, remembered while its folders are unchanged."""

from __future__ import annotations

import os
import stat as stat_bits
from typing import Any

from xun_policies.shell.places import Places, real_path

BUILTINS = frozenset("echo printf true false test [ pwd type command cd".split())
"""Listed names that bash runs itself, so that PATH does not matter."""

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Lookup:
    """Finds names that PATH resolves inside the workspace or in a folder that everybody may write."""

    __slots__ = ("_folders", "_names", "_places")

    def __init__(self, path: str, places: Places) -> None:
        self._places = places
        self._folders = path.split(":")
        marks = tuple(_mark(folder) for folder in self._folders)
        key = ("lookup", path, places.roots)
        known = places.cache.get(key)
        if known is None or known[0] != marks:
            known = (marks, {})
            places.cache[key] = known
        self._names: dict[str, str | None] = known[1]

    def finding(self, name: str) -> str | None:
        """Return why the file that *name* runs is suspect, or None."""
        if name in BUILTINS:
            return None
        if name in self._names:
            return self._names[name]
        reason, lasting = self._search(name)
        if lasting:
            self._names[name] = reason
        return reason

    def _search(self, name: str) -> tuple[str | None, bool]:
        """Return the finding, and whether it holds as long as the folders do not change."""
        for folder in self._folders:
            if not folder.startswith("/"):
                return f"PATH holds a folder relative to the current one, which decides what {name} is", True
            file = f"{folder}/{name}"
            try:
                info = os.stat(file)
            except OSError:
                continue
            if not stat_bits.S_ISREG(info.st_mode) or not info.st_mode & 0o111:
                continue
            real = real_path(file)
            if self._places.holds(real) or self._places.holds(real_path(folder)):
                return f"{name} would run {file}, a file of the workspace", real == file
            if _open_to_all(folder) or _open_to_all(os.path.dirname(real)):
                return f"{name} would run {file}, in a folder that everybody may write", False
            return None, real == file
        return None, True


def _mark(folder: str) -> Any:
    try:
        info = os.stat(folder or ".")
    except OSError:
        return None
    return info.st_mtime_ns, info.st_ino, info.st_mode


def _open_to_all(folder: str) -> bool:
    try:
        return bool(os.stat(folder).st_mode & 0o002)
    except OSError:
        return False
