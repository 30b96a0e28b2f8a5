"""Which file a bare command name runs: a search along PATH, remembered while its folders are unchanged."""

from __future__ import annotations

import os
import stat as stat_bits

from xun_policies import shims
from xun_policies.shell.places import Places, real_path
from xun_policies.wordset import wordset

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from typing import Any

BUILTINS = wordset("echo printf true false test [ pwd type command cd")
"""Listed names that bash runs itself, so that PATH does not matter."""

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Lookup:
    """Finds names that PATH resolves inside the workspace or in a folder that everybody may write.

    Attributes:
        path: The PATH that is searched.
        shims: Whether a folder of it is that of a version manager.
    """

    __slots__ = ("_folders", "_known", "_marks", "_places", "_roots", "_suspects", "_suspicious", "path", "shims")

    def __init__(self, path: str, places: Places) -> None:
        self._places = places
        self.path = path
        self.shims = shims.folders(path)
        self._folders = list(dict.fromkeys(path.split(":")))
        self._suspicious: bool | None = None
        self._marks: list[Any] = []
        self._suspects: dict[str, str] = {}
        self._roots = places.roots
        self._known: dict[str, tuple[list[Any], str | None]] = {}

    def begin(self) -> None:
        """Begin an evaluation: what is remembered counts only while the folders look the same."""
        self._marks.clear()
        if self._roots != self._places.roots:
            self._roots = self._places.roots
            self._known.clear()
            self._suspicious = None

    def suspicious(self) -> bool:
        """Tell whether a folder of PATH was relative, in the workspace or open to all when this was first asked.

        It tells only what to look at before something is offered; `finding` looks anew each time.
        """
        if self._suspicious is None:
            self._suspicious = any(
                not folder.startswith("/") or self._places.holds(real_path(folder)) or _open_to_all(folder)
                for folder in self._folders
            )
        return self._suspicious

    def finding(self, name: str) -> str | None:
        """Return why the file that *name* runs is suspect, or None."""
        if name in BUILTINS:
            return None
        known = self._known.get(name)
        if known is not None:
            marks, reason = known
            if self._marked(len(marks)) == marks:
                return reason
        reason, searched, lasting = self._search(name)
        if lasting:
            self._known[name] = (self._marked(searched), reason)
        else:
            self._known.pop(name, None)
        return reason

    def suspect(self, name: str) -> str:
        """Return the file that the last `finding` for *name* is about; "" when it is not known."""
        return self._suspects.get(name, "")

    def _marked(self, count: int) -> list[Any]:
        """Return what the first *count* folders look like now."""
        while len(self._marks) < count:
            self._marks.append(_mark(self._folders[len(self._marks)]))
        return self._marks[:count]

    def _search(self, name: str) -> tuple[str | None, int, bool]:
        """Return the finding, how many folders it rests on, and whether it holds while they do not change."""
        for count, folder in enumerate(self._folders, 1):
            if not folder.startswith("/"):
                return f"PATH holds a folder relative to the current one, which decides what {name} is", count, False
            file = f"{folder}/{name}"
            try:
                info = os.stat(file)
            except OSError:
                continue
            if not stat_bits.S_ISREG(info.st_mode) or not info.st_mode & 0o111 or not os.access(file, os.X_OK):
                continue
            real = real_path(file)
            self._suspects[name] = file
            if self._places.holds(real) or self._places.holds(real_path(folder)):
                return f"{name} would run {file}, a file of the workspace", count, False
            if _open_to_all(folder) or _open_to_all(os.path.dirname(real)):
                return f"{name} would run {file}, in a folder that everybody may write", count, False
            # A link's target can change without a trace in the folders of PATH, unless it is in the same folder.
            return None, count, os.path.dirname(real) == real_path(folder)
        return None, len(self._folders), True


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
