"""Whether ripgrep reads every ignore file of a tree as git does, remembered folder by folder.

ripgrep can't be asked which ignore files it has read, and to list them costs half of a search. So the folders are
walked here, beside the search, and what was seen of one counts as long as its time of change is the same: from the
second search on it is one stat per folder. A name that comes or goes changes that time, and nobody can set it back.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from typing import NamedTuple

from xun_builtin_tools.search.gitignore import RuleSet, byte_name
from xun_builtin_tools.search.ignore_rules import (
    IGNORE_FILE,
    REPOSITORY,
    OuterRules,
    ignored,
    read_ignore_file,
    repository_rules,
)
from xun_builtin_tools.search.limits import Clock
from xun_builtin_tools.search.request import Scope

MAX_TREES = 4

_POLL_SECONDS = 0.02

Rules = tuple[RuleSet, ...]
Stamp = tuple[int, int]


class _Seen(NamedTuple):
    """What was found in a folder."""

    stamp: Stamp | None
    """None when it was changed so lately that it has to be looked into again."""
    above: Rules
    """The rules that held around it: with others, other folders in it are left out."""
    own: RuleSet | None
    """Those of its ignore file."""
    own_stamp: Stamp | None
    rules: Rules
    """The rules that hold in it."""
    folders: tuple[str, ...]
    repository: bool = False
    """Whether another repository begins here."""


Tree = dict[str, _Seen]


class _NotPlain(Exception):
    """An ignore file has something that ripgrep reads otherwise."""


class Memory:
    """What earlier searches have seen. Threads share it: each step is one operation on a dict.

    Args:
        settled: Seconds after which a time of change says that nothing else has changed: within one tick of a file
            system's clock, which is 2 s on the coarsest, it may.
        folders: How many folders of a tree are remembered; further ones are looked into each time.
    """

    def __init__(self, *, settled: float = 2.0, folders: int = 50_000) -> None:
        self.settled, self.folders = settled, folders
        self._trees: OrderedDict[object, Tree] = OrderedDict()

    def tree(self, scope: Scope, outer: OuterRules) -> Tree:
        """Return what is remembered of the folders of *scope*."""
        key = (str(scope.folder), scope.closed, outer.offset, tuple((one.folder, one.rules) for one in outer.sets))
        tree = self._trees.pop(key, None) or {}
        self._trees[key] = tree
        while len(self._trees) > MAX_TREES:
            self._trees.popitem(last=False)
        return tree


class Survey:
    """A look at all ignore files of a scope, on a thread of its own; a context manager, so that none stays behind.

    Args:
        scope: What is searched.
        memory: What earlier searches have seen.
    """

    def __init__(self, scope: Scope, memory: Memory) -> None:
        self._scope, self._outer = scope, scope.outer or OuterRules()
        self._memory = memory
        self._tree = memory.tree(scope, self._outer)
        self._base = str(scope.folder).rstrip("/") + "/"
        self._stopped = False
        self._plain = True
        self._failed: Exception | None = None
        self.looked_into = 0
        """How many folders were read, and not just compared with what is remembered."""
        self._thread = threading.Thread(target=self._run, name="xun-survey", daemon=True)

    def __enter__(self) -> Survey:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped = True
        self._thread.join()

    @property
    def refused(self) -> bool:
        """Whether it is known by now that an ignore file is read otherwise."""
        return not self._plain

    def plain(self, clock: Clock) -> bool:
        """Return whether all ignore files are read alike; waits for the end.

        Raises:
            TimeUp: The limit is reached.
            CancelledError: The run was cancelled.
        """
        while self._thread.is_alive():
            self._thread.join(_POLL_SECONDS)
            clock.tick()
        if self._failed is not None:
            raise self._failed
        return self._plain

    def _run(self) -> None:
        try:
            self._walk()
        except (_NotPlain, OSError):
            self._plain = False
        except Exception as error:  # noqa: BLE001 - raised again where the answer is asked for
            self._failed = error

    def _walk(self) -> None:
        tree, base, stat = self._tree, self._base, os.stat
        todo: list[tuple[str, Rules]] = [("", ())]
        while todo and not self._stopped:
            path, above = todo.pop()
            try:
                found = stat(base + path, follow_symlinks=False)
            except OSError:
                continue  # gone, or unreadable for ripgrep too
            seen, stamp = tree.get(path), (found.st_ctime_ns, found.st_ino)
            if seen is None or seen.stamp != stamp or seen.above != above or not self._same_file(path, seen):
                seen = self._look(path, above, stamp, seen)
                if path in tree or len(tree) < self._memory.folders:
                    tree[path] = seen
            rules = seen.rules
            for folder in seen.folders:
                todo.append((folder, rules))

    def _same_file(self, path: str, seen: _Seen) -> bool:
        if seen.repository:
            self._require_no_rules(path)
        return seen.own is None or seen.own_stamp == _stamp(f"{self._base}{path}{IGNORE_FILE}")

    def _look(self, path: str, above: Rules, stamp: Stamp, before: _Seen | None) -> _Seen:
        self.looked_into += 1
        names: list[str] = []
        has_file = repository = False
        try:
            with os.scandir(self._base + path) as entries:
                for entry in entries:
                    name = entry.name
                    if name == IGNORE_FILE:
                        has_file = True
                    elif name == REPOSITORY:
                        repository = bool(path)
                    elif entry.is_dir(follow_symlinks=False):
                        names.append(name)
        except OSError:
            return _Seen(None, above, None, None, above, ())  # unreadable for ripgrep too
        rules = above
        if repository:
            # Another one begins here: the rules of the one around it end.
            self._require_no_rules(path)
            rules = ()
        if any("\n" in name for name in names):
            # In version 13 the stars of a pattern, of a rule or of the search, do not go past one.
            raise _NotPlain
        own, own_stamp = self._own_rules(path, before) if has_file else (None, None)
        rules = rules if own is None else (*rules, own)
        kept = tuple(f"{path}{name}/" for name in names if self._wanted(path, name, rules))
        settled = self._settled(stamp) and (own is None or own_stamp is not None)
        return _Seen(stamp if settled else None, above, own, own_stamp, rules, kept, repository)

    def _require_no_rules(self, path: str) -> None:
        """Refuse a repository with rules of its own, and one in which ripgrep would keep to those from outside."""
        if self._outer.sets or repository_rules(self._base + path):
            raise _NotPlain

    def _own_rules(self, path: str, before: _Seen | None) -> tuple[RuleSet | None, Stamp | None]:
        """Return the rules of a folder's file, the same object as before while it is the same file, and its stamp."""
        file = f"{self._base}{path}{IGNORE_FILE}"
        stamp = _stamp(file)
        if before is not None and before.own is not None and stamp is not None and before.own_stamp == stamp:
            return before.own, stamp
        data = read_ignore_file(file)
        if data is None:
            return None, None
        rules = RuleSet(data, self._outer.offset + byte_name(path))
        if not rules.plain:
            raise _NotPlain
        return rules, stamp if self._settled(stamp) else None

    def _wanted(self, path: str, name: str, rules: Rules) -> bool:
        if self._scope.closed and self._scope.is_closed(path + name):
            return False
        sets = (*self._outer.sets, *rules)
        if not sets:
            return True
        plain = byte_name(name)
        return not ignored(sets, self._outer.offset + byte_name(path) + plain, plain, True)

    def _settled(self, stamp: Stamp | None) -> bool:
        return stamp is not None and stamp[0] < time.time_ns() - self._memory.settled * 1e9


def _stamp(path: str) -> Stamp | None:
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return found.st_ctime_ns, found.st_ino
