"""A walk over the files of a tree that keeps to ignore rules, follows no link and reads no folder twice."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from xun_builtin_tools.search.folders import open_below, open_folder
from xun_builtin_tools.search.gitignore import RuleSet, byte_name
from xun_builtin_tools.search.ignore_rules import (
    IGNORE_FILE,
    REPOSITORY,
    OuterRules,
    ignored_names,
    read_ignore_file,
    repository_rules,
)
from xun_builtin_tools.search.memory import Memory, Rules, Seen, Stamp, keeps_time, stamp_of
from xun_builtin_tools.search.request import NamePattern, Scope
from xun_policies.paths.names import shown_name

Names = Sequence[str]

_MOST_OPEN = 32
"""Folders that are held open at a time, so that those in them need not be found from the root."""
_LONG = 1_000
"""Characters of a path that is always opened as a whole, so that one too long for the system is refused each time."""


class Walk:
    """A walk to be made once.

    Args:
        scope: What is searched.
        memory: What earlier walks have seen.
        tick: Called per folder and link; may raise to give up.
        pattern: Which files are wanted; None for all.

    Attributes:
        entries: How many names there were so far.
        looked_into: How many folders were read, and not just compared with what is remembered.
        skipped: Folders that could not be read, and wanted links that lead out, as they are shown.
    """

    def __init__(
        self, scope: Scope, memory: Memory, tick: Callable[[], None], pattern: NamePattern | None = None
    ) -> None:
        self._scope, self._memory, self._tick, self._pattern = scope, memory, tick, pattern
        self._tree = memory.tree(scope)
        self._outer = scope.outer or OuterRules()
        self._base = str(scope.folder).rstrip("/") + "/"
        self._devices: dict[int, bool] = {}
        self._open: list[tuple[str, int]] = []
        self._settled = memory.settled_before()
        self.entries = 0
        self.looked_into = 0
        self.skipped: list[str] = []

    def listed(self) -> Iterator[tuple[str, Names]]:
        """Yield the path of every folder, with a slash at its end or "", and the names of the wanted files in it."""
        for path, seen in self.folders():
            yield path, self._wanted(path, seen.files)

    def _wanted(self, path: str, names: Names) -> Names:
        if not self._scope.hidden:
            names = [name for name in names if name[0] != "."]
        return names if self._pattern is None else self._pattern.select(path, names)

    def folders(self) -> Iterator[tuple[str, Seen]]:
        """Yield the path of every folder that may hold wanted files, and what is in it, wanted or not."""
        try:
            yield from self._folders()
        finally:
            self._close_outside(None)

    def _folders(self) -> Iterator[tuple[str, Seen]]:
        known, tick, hidden = self._tree.seen, self._tick, self._scope.hidden
        enters = self._pattern.enters if self._pattern is not None and self._pattern.negated else None
        todo: list[tuple[str, Rules]] = [("", self._tree.outer)]
        while todo:
            tick()
            path, above = todo.pop()
            if enters is not None and path and not enters(path[:-1]):
                continue
            try:
                seen = known.get(path)
                if seen is None or not self._holds(path, above, seen):
                    seen = self._look(path, above, seen)
            except OSError:
                self.skipped.append(shown_name(path[:-1]) or ".")
                continue
            self.entries += seen.entries
            if seen.links:
                self._look_at_links(path, self._wanted(path, seen.links))
            yield path, seen
            rules, start = seen.rules, len(path)
            for folder in seen.folders:
                if hidden or folder[start] != ".":
                    todo.append((folder, rules))

    def _holds(self, path: str, above: Rules, seen: Seen) -> bool:
        """Return whether a folder, which was found under its path before, is there as it was.

        Raises:
            OSError: Nothing is there.
        """
        if seen.above != above or seen.stamp != stamp_of(os.stat(self._base + path, follow_symlinks=False)):
            return False
        if seen.own is None:
            return True
        return seen.own_stamp == stamp_of(os.stat(f"{self._base}{path}{IGNORE_FILE}", follow_symlinks=False))

    def _look(self, path: str, above: Rules, before: Seen | None) -> Seen:
        """Read a folder.

        Raises:
            OSError: It can't be read.
        """
        self.looked_into += 1
        fd = self._opened(path)
        try:
            found = os.fstat(fd)
            if (lasting := self._devices.get(found.st_dev)) is None:
                lasting = self._devices[found.st_dev] = keeps_time(fd)
            stamp = stamp_of(found)
            seen = self._read(path, fd, above, before, stamp if lasting and stamp[0] < self._settled else None)
            self._tree.keep(path, seen)
            if seen.folders and len(self._open) < _MOST_OPEN:
                self._open.append((path, fd))
                fd = -1
        finally:
            if fd >= 0:
                os.close(fd)
        return seen

    def _opened(self, path: str) -> int:
        """Open a folder, from the one that it is in where that is open: one look up instead of many."""
        self._close_outside(path)
        if self._open and len(self._base) + len(path) < _LONG:
            above, fd = self._open[-1]
            name = path[len(above) : -1]
            if "/" not in name:
                return open_below(fd, name)
        return open_folder((self._base + path).rstrip("/") or "/")

    def _close_outside(self, path: str | None) -> None:
        """Close the folders that *path* is not in; all when it is None."""
        while self._open and (path is None or not path.startswith(self._open[-1][0])):
            os.close(self._open.pop()[1])

    def _read(self, path: str, fd: int, above: Rules, before: Seen | None, stamp: Stamp | None) -> Seen:
        folders, files, links, others = _names(fd)
        # In version 13 of ripgrep the stars of a pattern, of a rule or of the search, do not go past a line break.
        odd = bool(folders) and "\n" in "".join(folders)
        own, own_stamp, rules = None, None, above
        if self._scope.gitignore:
            special = {*folders, *links, *others}
            if path and (REPOSITORY in special or REPOSITORY in files):
                # Another one begins here: the rules of the one around it end. ripgrep would go on with those.
                rules = repository_rules(self._base + path, self._prefix(path))
                odd, stamp = odd or bool(rules or self._tree.outer), None
            if IGNORE_FILE in files or IGNORE_FILE in special:
                own, own_stamp = self._own_rules(path, fd, before)
                rules = rules if own is None else (*rules, own)
                odd = odd or own is None or not own.plain
                stamp = stamp if own_stamp is not None else None
        entries = len(folders) + len(files) + len(links) + len(others)
        folders = self._visible(path, folders, rules, True)
        return Seen(
            stamp,
            above,
            own,
            own_stamp,
            rules,
            folders=tuple([f"{path}{name}/" for name in reversed(folders)]),
            files=tuple(self._visible(path, files, rules, False)),
            links=tuple(self._visible(path, links, rules, False)),
            entries=entries,
            odd=odd,
        )

    def _own_rules(self, path: str, fd: int, before: Seen | None) -> tuple[RuleSet | None, Stamp | None]:
        """Return the rules of a folder's file, the same object as before while it is the same file, and its stamp.

        The stamp is None when it will not tell of every change, the rules when the file can't be read.
        """
        try:
            stamp = stamp_of(os.stat(IGNORE_FILE, dir_fd=fd, follow_symlinks=False))
            if before is not None and before.own is not None and before.own_stamp == stamp:
                return before.own, stamp
            data = read_ignore_file(IGNORE_FILE, dir_fd=fd)
        except OSError:
            return None, None
        if data is None:
            return None, None
        return RuleSet(data, self._prefix(path)), stamp if stamp[0] < self._settled else None

    def _visible(self, path: str, names: list[str], rules: Rules, are_folders: bool) -> list[str]:
        """Return the names in a folder that neither a rule nor the scope leaves out, sorted."""
        if not names:
            return names
        if REPOSITORY in names:
            names.remove(REPOSITORY)
        if self._scope.closed:
            names = [name for name in names if not self._scope.is_closed(path + name)]
        if self._scope.ignore:
            names = [name for name in names if not self._scope.ignores(path + name, are_folders)]
        if rules:
            plain = names if all(map(str.isascii, names)) else list(map(byte_name, names))
            out = ignored_names(rules, self._prefix(path), plain, are_folders)
            if out:
                names = [name for name, as_bytes in zip(names, plain, strict=True) if as_bytes not in out]
        names.sort()
        return names

    def _prefix(self, path: str) -> str:
        return self._outer.offset + byte_name(path)

    def _look_at_links(self, path: str, names: Names) -> None:
        """Tell of the links among the wanted *names* that lead out."""
        for name in names:
            self._tick()
            try:
                leads_out = not self._scope.inside(os.path.realpath(self._base + path + name))
            except OSError:  # no link any more
                leads_out = True
            if leads_out:
                self.skipped.append(shown_name(path + name))


def _names(fd: int) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return the names in an open folder: those of folders, of regular files, of links, and the others."""
    with os.scandir(fd) as found:
        entries = list(found)
    files = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
    folders: list[str] = []
    links: list[str] = []
    others: list[str] = []
    if len(files) < len(entries):
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif entry.is_symlink():
                links.append(entry.name)
            elif not entry.is_file(follow_symlinks=False):
                others.append(entry.name)
    return folders, files, links, others
