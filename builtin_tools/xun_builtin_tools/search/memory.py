"""What searches have seen of the folders of a tree, so that the next one need not read them again.

What was seen of a folder counts as long as its time of change is the same: a name that comes or goes changes that
time, and nobody can set it back. To ask for it is one call; to read the folder takes ten times as long.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections import OrderedDict
from typing import NamedTuple

from xun_builtin_tools.search.gitignore import RuleSet
from xun_builtin_tools.search.ignore_rules import OuterRules
from xun_builtin_tools.search.request import Scope

MAX_TREES = 4

_LOCAL = re.compile(r"bcachefs|btrfs|erofs|ext[234]|f2fs|jfs|overlay|ramfs|reiserfs|squashfs|tmpfs|xfs|zfs")
"""File systems that change the time of a folder with the folder. Others leave it to a server, or to nobody."""

Rules = tuple[RuleSet, ...]
Stamp = tuple[int, int, int]
"""Time of change in nanoseconds, inode and device."""


class Seen(NamedTuple):
    """What was found in a folder."""

    stamp: Stamp | None
    """None when it has to be read again: it was changed too lately, or its time of change says nothing."""
    above: Rules
    """The rules that held around it: with others, other names are left out."""
    own: RuleSet | None
    """Those of its ignore file."""
    own_stamp: Stamp | None
    rules: Rules
    """The rules that hold in it."""
    folders: tuple[str, ...]
    """The paths of the folders in it that no rule leaves out, each with a slash at its end; the last one first."""
    files: tuple[str, ...]
    """The names of the regular files in it that no rule leaves out."""
    links: tuple[str, ...]
    """The same of the links."""
    entries: int
    """How many names there were, with those that are left out."""
    odd: bool
    """Whether ripgrep may read an ignore file of it otherwise than git does."""


class Tree:
    """What is remembered of one scope. Threads share it: each step is one operation on a dict.

    Attributes:
        outer: The rules around it.
        seen: By the path of a folder, as in `Seen.folders`.
    """

    __slots__ = ("_folders", "_names", "outer", "seen")

    def __init__(self, outer: Rules, folders: int, names: int) -> None:
        self.outer = outer
        self.seen: dict[str, Seen] = {}
        self._folders = folders
        self._names = names

    def keep(self, path: str, seen: Seen) -> None:
        """Remember a folder, while there is room."""
        before = self.seen.get(path)
        more = _size(seen) - (0 if before is None else _size(before))
        if more <= self._names and (before is not None or len(self.seen) < self._folders):
            self.seen[path] = seen
            self._names -= more
        elif before is not None and (gone := self.seen.pop(path, None)) is not None:  # another thread may have it
            self._names += _size(gone)


def _size(seen: Seen) -> int:
    return len(seen.files) + len(seen.links)


class Memory:
    """What the searches of a session have seen.

    Args:
        settled: Seconds after which a time of change says that nothing else has changed: within one tick of a file
            system's clock, which is 2 s on the coarsest, it may.
        folders: How many folders of a tree are remembered; further ones are read each time.
        names: How many files and links.
    """

    def __init__(self, *, settled: float = 2.0, folders: int = 50_000, names: int = 300_000) -> None:
        self.settled, self._folders, self._names = settled, folders, names
        self._trees: OrderedDict[object, Tree] = OrderedDict()

    def tree(self, scope: Scope) -> Tree:
        """Return what is remembered of *scope*."""
        outer = scope.outer or OuterRules()
        rules = tuple((one.folder, one.rules) for one in outer.sets)
        key = (str(scope.folder), scope.closed, scope.ignore, scope.gitignore, outer.offset, rules)
        tree = self._trees.pop(key, None) or Tree(outer.sets, self._folders, self._names)
        self._trees[key] = tree
        while len(self._trees) > MAX_TREES:
            self._trees.popitem(last=False)
        return tree

    def settled_before(self) -> float:
        """Return the time, in nanoseconds, before which a last change will be followed by one of another time."""
        return time.time_ns() - self.settled * 1e9


def stamp_of(found: os.stat_result) -> Stamp:
    """Return what tells one state of a folder or file from another."""
    return found.st_ctime_ns, found.st_ino, found.st_dev


def keeps_time(fd: int) -> bool:
    """Return whether the file system of an open folder is one whose times of change can be relied on."""
    if not sys.platform.startswith("linux"):
        return sys.platform == "darwin"
    try:
        with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
            mount = next(line.split()[1] for line in file if line.startswith("mnt_id:"))
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            kind = next(line.rpartition(" - ")[2].split()[0] for line in file if line.split(None, 1)[0] == mount)
    except (OSError, StopIteration, IndexError):
        return False
    return _LOCAL.fullmatch(kind) is not None
