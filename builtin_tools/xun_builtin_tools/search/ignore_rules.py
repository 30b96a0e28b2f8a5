"""Which ignore files count for a search: those above its root, and `.git/info/exclude`."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xun_builtin_tools.search.gitignore import RuleSet, byte_name

IGNORE_FILE = ".gitignore"
REPOSITORY = ".git"
_MAX_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class OuterRules:
    """The rules that hold at a search root before any ignore file below it is read."""

    offset: str = ""
    """The root relative to the folder where paths begin, with a slash at its end; or ""."""
    sets: tuple[RuleSet, ...] = ()
    """Weakest first."""
    top: Path | None = field(default=None, compare=False)
    """The folder where paths begin."""


def ignored(sets: Sequence[RuleSet], path: str, name: str, is_folder: bool) -> bool:
    """Return whether the strongest rule set that speaks of a path ignores it; the last is the strongest."""
    for rules in reversed(sets):
        verdict = rules.decide(path, name, is_folder)
        if verdict is not None:
            return verdict
    return False


def ignored_names(sets: Sequence[RuleSet], folder: str, names: Sequence[str], are_folders: bool) -> set[str]:
    """Return the *names* in a folder that are ignored by *sets*, of which there is one at least; see `ignored`."""
    verdicts = sets[0].decide_all(folder, names, are_folders)
    for rules in sets[1:]:
        verdicts.update(rules.decide_all(folder, names, are_folders))
    return {name for name, verdict in verdicts.items() if verdict} if verdicts else set()


def read_ignore_file(path: str | Path, dir_fd: int | None = None) -> bytes | None:
    """Return an ignore file's content; None when there is none.

    A link does not count, as git has it for files of the work tree.

    Raises:
        OSError: It is there, but is a link, no file, or unreadable.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        fd = os.open(path, flags, dir_fd=dir_fd)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
        return os.read(fd, _MAX_BYTES)
    finally:
        os.close(fd)


def outer_rules(root: Path, boundary: Path) -> OuterRules:
    """Collect the rules for a search that starts at *root*.

    Args:
        root: The folder to search; resolved.
        boundary: Where to stop looking upwards when there is no repository around; resolved.

    When the root is itself ignored, the rules outside it are dropped: it was asked for by name.
    """
    top = _top(root, boundary)
    parts = root.relative_to(top).parts
    sets = list(repository_rules(top))
    walked = ""
    for part in parts:
        data = _read(top / walked / IGNORE_FILE)
        if data and (rules := RuleSet(data, walked)).rules:
            sets.append(rules)
        path = byte_name(walked + part)
        if ignored(sets, path, byte_name(part), True):
            sets = []
            break
        walked += byte_name(part) + "/"
    offset = "".join(byte_name(part) + "/" for part in parts)
    return OuterRules(offset, tuple(sets), top)


def repository_rules(top: str | Path, folder: str = "") -> tuple[RuleSet, ...]:
    """Return the rules with which a repository begins: those of its `info/exclude`, when there are any.

    Args:
        top: Its folder.
        folder: The same relative to where paths begin, with a slash at its end; or "".
    """
    data = _exclude_file(Path(top))
    rules = RuleSet(data, folder) if data else None
    return (rules,) if rules is not None and rules.rules else ()


def _top(root: Path, boundary: Path) -> Path:
    for folder in (root, *root.parents):
        if (folder / REPOSITORY).exists():
            return folder
    return boundary if root.is_relative_to(boundary) else root


def _read(path: Path) -> bytes | None:
    try:
        return read_ignore_file(path)
    except OSError:
        return None


def _exclude_file(top: Path) -> bytes | None:
    """Return `info/exclude` of the repository at *top*, also when that is a linked work tree."""
    place = top / REPOSITORY
    if not place.is_dir():
        link = _read(place)
        if link is None or not link.startswith(b"gitdir:"):
            return None
        place = top / os.fsdecode(link[7:].strip())
        common = _read(place / "commondir")
        place = place / os.fsdecode(common.strip()) if common else place
    return _read(place / "info" / "exclude")
