"""A walk over the files of a tree that keeps to ignore rules, and follows no link."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from xun_builtin_tools.search.gitignore import RuleSet, byte_name
from xun_builtin_tools.search.ignore_rules import (
    IGNORE_FILE,
    REPOSITORY,
    OuterRules,
    ignored,
    read_ignore_file,
    repository_rules,
)

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


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder of a walk, open while it is being looked at."""

    path: str
    """Relative to the root, with a slash at its end; or "" for the root."""
    fd: int
    files: list[str]
    """The names of the regular files in it."""


@dataclass(slots=True)
class Walk:
    """A walk to be made once.

    Attributes:
        root: The folder to walk; resolved.
        hidden: Whether names that begin with a dot are walked.
        outer: The ignore rules above the root; None to ignore nothing.
        inside: Tells of the real target of a link whether it may be seen.
        tick: Called per folder; may raise to give up.
        wants: Tells of a file's path (relative to the root) whether it is wanted at all.
        enters: Tells of a folder's path (relative to the root) whether anything in it may be wanted.
        entries: How many names were looked at so far.
        skipped: Folders that could not be read, and links that lead out.
    """

    root: Path
    hidden: bool
    outer: OuterRules | None
    inside: Callable[[str], bool]
    tick: Callable[[], None]
    wants: Callable[[str], bool]
    enters: Callable[[str], bool]
    entries: int = 0
    skipped: list[str] = field(default_factory=list)

    def folders(self) -> Iterator[Folder]:
        """Yield every folder; its descriptor is closed when the next one is asked for."""
        todo: list[tuple[str, tuple[RuleSet, ...]]] = [("", () if self.outer is None else self.outer.sets)]
        base = str(self.root)
        while todo:
            self.tick()
            path, rules = todo.pop()
            try:
                fd = open_folder(os.path.join(base, path).rstrip("/") or "/")
            except OSError:
                self.skipped.append(path.rstrip("/") or ".")
                continue
            try:
                yield self._look(path, fd, rules, todo)
            finally:
                os.close(fd)

    def _look(
        self, path: str, fd: int, rules: tuple[RuleSet, ...], todo: list[tuple[str, tuple[RuleSet, ...]]]
    ) -> Folder:
        files: list[str] = []
        folders: list[str] = []
        with os.scandir(fd) as found:
            entries = list(found)
        self.entries += len(entries)
        names = {entry.name for entry in entries}
        rules = self._rules(path, fd, names, rules)
        prefix = "" if self.outer is None else self.outer.offset + byte_name(path)
        for entry in entries:
            name = entry.name
            if name == REPOSITORY or (not self.hidden and name[0] == "."):
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if not (self.enters if is_folder else self.wants)(path + name):
                continue
            if rules:
                plain = name if name.isascii() else byte_name(name)
                if ignored(rules, prefix + plain, plain, is_folder):
                    continue
            if is_folder:
                folders.append(name)
            elif entry.is_file(follow_symlinks=False):
                files.append(name)
            elif entry.is_symlink() and self._leads_out(path, name):
                self.skipped.append(path + name)
        todo.extend((f"{path}{name}/", rules) for name in sorted(folders, reverse=True))
        return Folder(path, fd, sorted(files))

    def _rules(self, path: str, fd: int, names: set[str], rules: tuple[RuleSet, ...]) -> tuple[RuleSet, ...]:
        if self.outer is None:
            return ()
        if REPOSITORY in names and path:
            # Another repository begins here: the rules of the one around it end.
            rules = repository_rules(self.root / path, self.outer.offset + byte_name(path))
        if IGNORE_FILE not in names:
            return rules
        try:
            data = read_ignore_file(IGNORE_FILE, dir_fd=fd)
        except OSError:
            return rules
        return (*rules, RuleSet(data, self.outer.offset + byte_name(path))) if data else rules

    def _leads_out(self, path: str, name: str) -> bool:
        try:
            return not self.inside(os.path.realpath(os.path.join(self.root, path, name)))
        except OSError:  # no link any more
            return True


def reopened(root: Path, listed: Iterable[tuple[str, list[str]]], skipped: list[str]) -> Iterator[Folder]:
    """Yield folders of an earlier walk over *root* once more, with the files that were found; see `Walk.folders`.

    Args:
        root: The folder that was walked; resolved.
        listed: Paths of folders as in `Folder.path`, with the names of their files.
        skipped: Gets the folders that can't be opened any more.
    """
    for path, names in listed:
        if not names:
            continue
        try:
            fd = open_folder(os.path.join(root, path).rstrip("/") or "/")
        except OSError:
            skipped.append(path.rstrip("/") or ".")
            continue
        try:
            yield Folder(path, fd, names)
        finally:
            os.close(fd)
