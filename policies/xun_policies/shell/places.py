"""Where paths of a command lead: containment in the workspace, links followed, for every possible folder."""

from __future__ import annotations

import fnmatch
import itertools
import os
import re
import stat as stat_bits

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

PUBLIC_FILES = frozenset(
    {
        "/dev/null",
        "/etc/os-release",
        "/proc/cpuinfo",
        "/proc/loadavg",
        "/proc/meminfo",
        "/proc/version",
        "/usr/include",
    }
)
"""Files outside the workspace that may be read unasked: facts of the machine that hold no secret."""

_PUBLIC_TREE = "/usr/include/"
_MAX_LINKS = 40
_MAX_ENTRIES = 20_000
_GLOB = r"[*?\[]"


def real_path(path: str) -> str:
    """Return *path* (absolute) with links resolved as far as it exists; the rest stays as it is written.

    A loop of links ends in "", which is inside nothing, and so does a link in /proc.
    """
    done = ""
    todo = path.split("/")[::-1]
    links = 0
    missing = False
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":
            done = done[: done.rfind("/")] if done else ""
            missing = False
            continue
        done = f"{done}/{part}"
        if missing:
            continue
        try:
            target = os.readlink(done)
        except OSError as exc:
            missing = exc.errno != 22  # EINVAL: it exists and is no link
            continue
        links += 1
        if links > _MAX_LINKS or done.startswith("/proc/"):
            return ""  # a loop, or a link of /proc, which leads elsewhere for every process
        done = "" if target.startswith("/") else done[: done.rfind("/")]
        todo.extend(target.split("/")[::-1])
    return done or "/"


class Places:
    """Answers, for one evaluation, whether a path stays inside the roots.

    Attributes:
        roots: The real paths of the roots.
        cwd: The real path of the folder that the command starts in.
        cache: What evaluations remember; shared with the probe of git's configuration.
    """

    __slots__ = ("_absent", "_below_roots", "_budget", "_given", "_marks", "_reals", "cache", "cwd", "roots")

    def __init__(self, cwd: str, roots: tuple[str, ...], cache: dict[Any, Any]) -> None:
        self.cache = cache
        self._given = (cwd, roots)
        self._marks: dict[str, object] = {}
        self._budget = _MAX_ENTRIES
        self.roots: tuple[str, ...] = ()
        self._below_roots: tuple[str, ...] = ()
        self.cwd = ""
        self._reals: dict[str, str] = {}
        self._absent: frozenset[str] = frozenset()
        self.begin()

    def begin(self) -> None:
        """Begin an evaluation: look whether the roots and the folder are what they were at the last one."""
        self._budget = _MAX_ENTRIES
        cwd, roots = self._given
        changed = not self.cwd
        for path in roots if cwd in roots else (*roots, cwd):
            try:
                info = os.stat(path)
                mark: object = (info.st_dev, info.st_ino)
            except OSError:
                mark = None
            if changed or self._marks.get(path) != mark:
                self._marks[path] = mark
                self._reals[path] = real_path(os.path.abspath(path))
                changed = True
        if changed:
            self.roots = tuple([self._reals[root] for root in roots])
            self._below_roots = tuple([root if root.endswith("/") else f"{root}/" for root in self.roots])
            self.cwd = self._reals[cwd]
            # Below a folder that is not there nothing is, and nothing need be looked for.
            self._absent = frozenset([self._reals[path] for path, mark in self._marks.items() if mark is None])

    def holds(self, real: str) -> bool:
        """Tell whether *real*, a resolved path, lies in one of the roots."""
        return real in self.roots or real.startswith(self._below_roots)

    def resolve(self, path: str, cwd: str) -> str:
        """Return where *path* leads from *cwd* (a real path)."""
        if not path.startswith("/"):
            return self._below(cwd, path)
        for root, start in zip(self.roots, self._below_roots, strict=True):
            if path.startswith(start):
                return self._below(root, path[len(start) :])
        return real_path(path)

    def _below(self, base: str, path: str) -> str:
        if "/" not in path and path not in (".", ".."):
            full = f"{base}/{path}"
            if base in self._absent:
                return full
            try:
                mode = os.lstat(full).st_mode
            except (OSError, ValueError):
                return full
            return real_path(full) if stat_bits.S_ISLNK(mode) else full
        return self._walk(base, path)

    def _walk(self, base: str, path: str) -> str:
        done = "" if base == "/" else base
        missing = base in self._absent
        for part in path.split("/"):
            if part in ("", "."):
                continue
            if part == "..":
                done = done[: done.rfind("/")] if done else ""
                missing = False
                continue
            done = f"{done}/{part}"
            if missing:
                continue
            try:
                linked = stat_bits.S_ISLNK(os.lstat(done).st_mode)
            except (OSError, ValueError):
                missing = True
                continue
            if linked:
                return real_path(f"{base}/{path}")
        return done or "/"

    def outside(self, path: str, cwds: tuple[str, ...], *, glob: bool = False, named: bool = False) -> str | None:
        """Return why *path* may not be read unasked, or None when it stays inside from each of *cwds*.

        Args:
            path: A path as the command has it.
            cwds: The real paths of the folders that the command may run in.
            glob: *path* is a pattern; what it matches now is checked too.
            named: Only the names of what it matches are shown, so that ``..`` may be among them.
        """
        if path in PUBLIC_FILES:
            return None
        if path.startswith(_PUBLIC_TREE) and "/.." not in path and not (glob and any(map(_may_climb, path.split("/")))):
            return None
        for cwd in cwds:
            if not glob:
                real = self.resolve(path, cwd)
                if real in self.roots or real.startswith(self._below_roots):
                    continue
            reason = self._outside_glob(path, cwd, named) if glob else self._outside_one(path, cwd)
            if reason is not None:
                return reason
        return None

    def _outside_one(self, path: str, cwd: str) -> str | None:
        if self.holds(self.resolve(path, cwd)):
            return None
        return f"{path} is outside the workspace"

    def _outside_glob(self, path: str, cwd: str, named: bool) -> str | None:
        """Check the fixed part of a pattern, and every entry that it matches now."""
        parts = path.split("/")
        first = next((index for index, part in enumerate(parts) if re.search(_GLOB, part)), -1)
        if first < 0:
            return self._outside_one(path, cwd)
        fixed = "/".join(parts[:first]) or ("/" if path.startswith("/") else ".")
        reason = self._outside_one(fixed, cwd)
        if reason is not None or ".." in parts[first:] or any(map(_may_climb, parts[first + 1 :])):
            return reason or f"{path} may lead outside the workspace"
        folder = self.resolve(fixed, cwd)
        if _may_climb(parts[first]) and not (named and first == len(parts) - 1):
            reason = self._outside_one(f"{folder}/..", cwd)
        return reason or self._expand(folder, parts[first:], path)

    def _expand(self, folder: str, parts: list[str], shown: str) -> str | None:
        parts = [part for part in parts if part not in ("", ".")]
        if not parts:
            return None
        matches = _component(parts[0])
        try:
            entries = list(os.scandir(folder))
        except (OSError, ValueError):
            return None
        self._budget -= len(entries)
        if self._budget < 0:
            return f"{shown} matches too many files to check them"
        for entry in entries:
            if not matches(entry.name):
                continue
            if entry.is_symlink() and not self.holds(real_path(entry.path)):
                return f"{shown} matches {entry.name}, a link that leads outside the workspace"
            if len(parts) > 1 and entry.is_dir():
                reason = self._expand(real_path(entry.path), parts[1:], shown)
                if reason is not None:
                    return reason
        return None

    def dashed(self, pattern: str, cwds: tuple[str, ...]) -> list[str]:
        """Return the names that *pattern* matches now and that begin with a dash; of a folder, the name and a slash."""
        first, slash, _ = pattern.partition("/")
        matches = _component(first)
        found: list[str] = []
        for cwd in cwds:
            try:
                entries = list(os.scandir(cwd))
            except (OSError, ValueError):
                continue
            self._budget -= len(entries)
            dashed = [entry for entry in entries if entry.name.startswith("-") and matches(entry.name)]
            found += [f"{entry.name}{slash}" for entry in dashed if not slash or entry.is_dir()]
        return found

    def links_out(self, path: str, cwds: tuple[str, ...]) -> str | None:
        """Return a link below *path* that leads outside, for commands that follow links while they descend."""
        for cwd in cwds:
            todo = [self.resolve(path, cwd)]
            seen: set[str] = set()
            while todo:
                folder = todo.pop()
                if folder in seen:
                    continue
                seen.add(folder)
                try:
                    entries = list(os.scandir(folder))
                except (OSError, ValueError):
                    continue
                self._budget -= len(entries)
                if self._budget < 0:
                    return "follows links in more files than can be checked"
                for entry in entries:
                    if entry.is_symlink():
                        real = real_path(entry.path)
                        if not self.holds(real):
                            return f"follows links, and {entry.name} leads outside the workspace"
                        todo.append(real)
                    elif entry.is_dir():
                        todo.append(entry.path)
        return None

    def in_larger_tree(self, cwds: tuple[str, ...]) -> bool:
        """Tell whether one of *cwds* is in a repository whose top is outside."""
        for cwd in cwds:
            folder = cwd
            while folder != "/" and not os.path.lexists(f"{folder}/.git"):
                folder = folder[: folder.rfind("/")] or "/"
            if not self.holds(folder) and os.path.lexists(f"{folder}/.git"):
                return True
        return False

    def upward(self, cwd: str) -> Iterator[str]:
        """Yield *cwd* and the folders above it, up to its root."""
        folder = cwd
        while self.holds(folder):
            yield folder
            if folder == "/":
                break
            folder = folder[: folder.rfind("/")] or "/"

    def texts_upward(self, cwds: Iterable[str], names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield path and text of each file of one of *names* in each of *cwds* and above it, up to its root.

        Raises:
            OSError: One of them can't be read.
        """
        for cwd, name in itertools.product(cwds, names):
            for folder in self.upward(cwd):
                file = f"{folder}/{name}"
                if os.path.isfile(file):
                    with open(file, encoding="utf-8", errors="replace") as opened:
                        yield file, opened.read(1_000_000)


def _may_climb(part: str) -> bool:
    """Tell whether *part* of a pattern may match ``..``, as it does in bash before 5.2."""
    return part.startswith(".") and re.search(_GLOB, part) is not None and _component(part)("..")


def _component(pattern: str) -> Any:
    """Return a test for names that *pattern* may match in bash; it errs on the side of matching."""
    hidden = pattern.startswith((".", "[", "?(", "*(")) and not pattern.startswith("*")
    if "[" in pattern:
        return lambda name: hidden or not name.startswith(".")
    # What the standard library makes of a pattern takes no time that grows with the number of its stars.
    regex = re.compile(fnmatch.translate(pattern))
    # In the C locale a ? is one byte, and some file systems spell a letter in several ways.
    loose = re.compile(fnmatch.translate("".join(c if c != "?" and c.isascii() else "*" for c in pattern)))

    def matches(name: str) -> bool:
        if not hidden and name.startswith("."):
            return False
        return (regex if name.isascii() else loose).fullmatch(name) is not None

    return matches
