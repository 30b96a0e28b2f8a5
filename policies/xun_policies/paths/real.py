"""Canonical paths: what the kernel would reach, worked out link by link.

`os.path.realpath` is not enough: it forgives ``missing/../file`` and ``file.txt/``, and says
nothing about loops.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from typing import NoReturn

from xun_policies.errors import PathOutsideWorkspace

MAX_LINKS = 40
"""The number of links that Linux follows in one path."""

MAX_NAME_BYTES = 255
"""NAME_MAX of the usual file systems."""

MAX_PATH_BYTES = 4096
"""PATH_MAX of Linux, with its closing NUL."""


class PathInvalid(PathOutsideWorkspace):
    """A path that no file can have here: a NUL byte, a loop of links, a name that is too long.

    It is kept under `PathOutsideWorkspace`, so that whoever guards against leaving the workspace
    also guards against these.

    Attributes:
        at: The absolute path at which the walk ended, or to which ``..`` after a missing folder was meant to lead;
            or "".
    """

    def __init__(self, message: str = "", *, kind: str | None = None, at: str = "") -> None:
        super().__init__(message, kind=kind)
        self.at = at


@dataclass(frozen=True, slots=True)
class RealPath:
    """Where a path leads.

    Attributes:
        path: The absolute path without links.
        exists: Whether something is there.
    """

    path: str
    exists: bool


def within(path: str, root: str) -> bool:
    """Tell whether the canonical *path* is the canonical folder *root*, or below it."""
    return path == root or path.startswith(root if root.endswith("/") else f"{root}/")


def escape_display(text: str) -> str:
    """Return *text* with control, bidirectional, invisible and surrogate characters as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a name that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    return f"\\U{code:08x}"


def check_text(path: str) -> None:
    """Refuse what system calls would cut short or could not take.

    Raises:
        PathInvalid: The path is empty, too long, or holds a NUL byte or a lone surrogate.
    """
    shown = escape_display(path if len(path) <= 200 else path[:200] + "...")
    if not path:
        raise PathInvalid("The path is empty: name a file or a folder.")
    if "\0" in path:
        raise PathInvalid(f"The path contains a NUL byte, which no file name can have: {shown}")
    try:
        size = len(os.fsencode(path))
        longest = max(len(os.fsencode(part)) for part in path.split("/"))
    except UnicodeEncodeError:
        raise PathInvalid(f"The path contains a lone surrogate, which is no character: {shown}") from None
    if longest > MAX_NAME_BYTES:
        raise PathInvalid(f"A name in the path is longer than {MAX_NAME_BYTES} bytes: {shown}", kind="io")
    if size >= MAX_PATH_BYTES:
        raise PathInvalid(f"The path is longer than {MAX_PATH_BYTES - 1} bytes: {shown}", kind="io")


def real_path(path: str, *, follow: bool = True) -> RealPath:
    """Return where the absolute *path* leads; a link in its last part is followed when *follow* is set.

    Raises:
        PathInvalid: A loop of links (kind ``symlink_loop``), a file used as a folder (``not_dir``),
            ``..`` after a missing folder (``missing``), or a folder that may not be searched (``denied``).
    """
    # A slash at the end of a link's name still means the link.
    as_folder = not follow and len(path) > 1 and path.endswith("/")
    walk = _Walk(path.rstrip("/") if as_folder else path)
    while walk.todo:
        walk.step(follow)
    if as_folder:
        walk.require_folder()
    return RealPath(walk.current or "/", walk.exists)


class _Walk:
    """One walk along a path; ``todo`` holds the parts still to go, the next one last."""

    __slots__ = ("current", "exists", "is_dir", "links", "path", "todo")

    def __init__(self, path: str) -> None:
        self.path = path
        self.todo = path.split("/")[::-1]
        self.current = ""
        self.exists = True
        self.is_dir = True
        self.links = 0

    def step(self, follow: bool) -> None:
        """Take the next part."""
        part = self.todo.pop()
        if self.exists and not self.is_dir:
            self._fail("not_dir", f"{escape_display(self.current)} is a file, not a folder")
        if part in ("", "."):
            return
        if part == "..":
            if not self.exists:
                # Whether it would have led out decides what is told, so the rest is taken as it is written.
                meant = os.path.normpath("/".join([self.current, part, *reversed(self.todo)]))
                self._fail("missing", f"{escape_display(self.current)} does not exist, so '..' leads nowhere", meant)
            self.current = self.current.rpartition("/")[0]
            return
        name = f"{self.current}/{part}"
        if not self.exists:
            self.current = name
            return
        self._enter(name, follow or any(self.todo))

    def require_folder(self) -> None:
        """Refuse a regular file where the path says that it is a folder."""
        found = self._lstat(self.current or "/")
        if found is not None and not (stat.S_ISDIR(found.st_mode) or stat.S_ISLNK(found.st_mode)):
            self._fail("not_dir", f"{escape_display(self.current)} is a file, not a folder")

    def _enter(self, name: str, follow: bool) -> None:
        found = self._lstat(name)
        if found is None:
            self.current, self.exists, self.is_dir = name, False, False
        elif stat.S_ISLNK(found.st_mode) and follow:
            self._follow(name)
        else:
            self.current, self.is_dir = name, stat.S_ISDIR(found.st_mode)

    def _follow(self, name: str) -> None:
        self.links += 1
        if self.links > MAX_LINKS:
            self._fail("symlink_loop", "it goes through too many links, so they form a loop")
        try:
            target = os.readlink(name)
        except OSError as exc:
            self._fail("io", f"the link {escape_display(name)} can't be read ({exc.strerror})")
        if target.startswith("/"):
            self.current = ""
        self.todo.extend(target.split("/")[::-1])

    def _lstat(self, name: str) -> os.stat_result | None:
        try:
            return os.lstat(name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as exc:
            kind = "denied" if exc.errno in (errno.EACCES, errno.EPERM) else "io"
            self._fail(kind, f"{escape_display(name)} can't be looked at ({exc.strerror})")

    def _fail(self, kind: str, why: str, at: str = "") -> NoReturn:
        text = f"Path {escape_display(self.path)} can't be used: {why}."
        raise PathInvalid(text, kind=kind, at=at or self.current or "/")
