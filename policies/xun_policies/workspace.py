"""The workspace: which files an agent may touch, and how they are opened.

Two steps, of which the second trusts nothing: `Workspace.resolve` follows all links and says where
a path leads; the opening methods take that canonical path and refuse every link on the way, so a
folder that is swapped for a link in between is an error and never an escape.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xun_policies.errors import PathOutsideWorkspace
from xun_policies.paths.held import HeldFolder, read_descriptor
from xun_policies.paths.names import as_there, shown_name
from xun_policies.paths.openat import open_beneath
from xun_policies.paths.patterns import PathPatterns
from xun_policies.paths.private import private_paths
from xun_policies.paths.protected import folded_path, is_protected
from xun_policies.paths.real import PathInvalid, check_text, escape_display, real_path, within
from xun_policies.paths.tempdir import TempDir

__all__ = ["PathInvalid", "ResolvedPath", "TempDir", "Workspace"]


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """Where a path leads, and which rules hold there.

    Attributes:
        path: The absolute path without links of what would be opened; it need not exist.
        in_workdir: It is the working folder, an added folder, or below one.
        in_tempdir: It is the temporary folder or below it.
        valid: A tool may open it.
        protected: A write there asks each time, whatever was granted (see `paths.protected`).
        display: The path for people, with control and invisible characters escaped.
        excluded: It is protected because the user's settings exclude it from writes.
    """

    path: Path
    in_workdir: bool
    in_tempdir: bool
    valid: bool
    protected: bool
    display: str
    excluded: bool = False

    @property
    def why_protected(self) -> str:
        """Why a write there asks each time, as the end of a sentence about it."""
        return "is excluded by policy.writes.exclude" if self.excluded else "may run programs later"

    @property
    def shown(self) -> str:
        """The path as a value of a tool: what can't be sent is escaped so that the text leads back here."""
        return shown_name(str(self.path))


class Workspace:
    """A working folder, the folders that the user added, and a temporary folder made on first use.

    Args:
        workdir: The working folder; None is the current folder.
        add_dirs: Further folders that the user named.
        protect: Patterns, as in a .gitignore, for paths to which each write asks; see `paths.patterns`.
        ignore: Patterns for paths that lists and searches leave out; what is named outright is still read.

    Raises:
        PathInvalid: A folder does not exist or is no folder (a `ValueError`).
        PolicyError: A pattern is none.
    """

    def __init__(
        self,
        workdir: str | Path | None = None,
        *,
        add_dirs: Sequence[str | Path] = (),
        protect: Sequence[str] = (),
        ignore: Sequence[str] = (),
    ) -> None:
        self.workdir = _root_folder(os.getcwd() if workdir is None else workdir)
        self.tempdir = TempDir()
        self.add_dirs: tuple[Path, ...] = ()
        self.protect, self.ignore = PathPatterns(protect), PathPatterns(ignore)
        self._private = tuple(map(folded_path, private_paths(os.environ)))
        for folder in add_dirs:
            self.add_dir(folder)

    def __repr__(self) -> str:
        return f"Workspace({str(self.workdir)!r})"

    @property
    def roots(self) -> tuple[str, ...]:
        """The canonical folders that tools may enter: working folder, added ones, the temporary one if made."""
        named = [str(self.workdir), *map(str, self.add_dirs)]
        return (*named, str(self.tempdir.path)) if self.tempdir.created else tuple(named)

    def add_dir(self, path: str | Path) -> Path:
        """Let the agent into one more folder, and return its canonical path; for the user, never for a model."""
        folder = _root_folder(path)
        if folder != self.workdir and folder not in self.add_dirs:
            self.add_dirs = (*self.add_dirs, folder)
        return folder

    def close(self) -> None:
        """Remove the temporary folder, if one was made."""
        self.tempdir.cleanup()

    def resolve(self, path: str | Path, raise_on_invalid: bool = True, *, follow: bool = True) -> ResolvedPath:
        """Return where *path* leads.

        A relative path starts at the working folder; a leading ``~`` is the home folder. A file
        that does not exist yet is no error.

        Args:
            path: The path as a person or a model wrote it.
            raise_on_invalid: False returns a result whose ``valid`` is False instead of raising.
            follow: False keeps a link in the last part, for what acts on the link itself.

        Raises:
            PathOutsideWorkspace: It leads out of the workspace; or, as `PathInvalid`, no file can be there.
                Both are `ValueError`.
        """
        text = os.fspath(path)
        try:
            absolute = self._absolute(text)
            real = self._real(absolute, follow)
        except PathOutsideWorkspace:
            if raise_on_invalid:
                raise
            return ResolvedPath(Path(text.replace("\0", "") or "."), False, False, False, True, escape_display(text))
        resolved = self._judge(real)
        if resolved.valid or not raise_on_invalid:
            return resolved
        raise _outside(absolute, ": it holds xun's own settings and sessions" if resolved.in_workdir else "")

    def open_fd(self, resolved: ResolvedPath, flags: int = os.O_RDONLY) -> int:
        """Open what *resolved* names and return the descriptor; no link is followed, no FIFO waited for.

        Raises:
            PathOutsideWorkspace: The path is not in the workspace, or became a link since it was resolved.
            OSError: As `os.open`.
        """
        root = self._root_of(resolved)
        below = os.path.relpath(resolved.path, root)
        held = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            return open_beneath(held, below, flags | os.O_NONBLOCK)
        except OSError as exc:
            if exc.errno in (errno.ELOOP, errno.EXDEV):
                raise PathOutsideWorkspace(
                    f"Path {resolved.display} is not within the agent's workspace: it became a link while it was opened"
                ) from None
            raise
        finally:
            os.close(held)

    def open_read(self, resolved: ResolvedPath) -> int:
        """Open *resolved* for reading and return the descriptor, which the caller closes; see `open_fd`."""
        return self.open_fd(resolved)

    def stat(self, resolved: ResolvedPath) -> os.stat_result | None:
        """Return what is at *resolved* (a link is not followed), or None when there is nothing."""
        try:
            with self.hold_parent(resolved) as parent:
                return parent.lstat(resolved.path.name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except PathInvalid as exc:
            if exc.kind != "root":
                raise
        return os.stat(resolved.path)

    def hold(self, resolved: ResolvedPath) -> HeldFolder:
        """Return the folder *resolved*, held open."""
        return HeldFolder(self.open_fd(resolved, os.O_RDONLY | os.O_DIRECTORY), str(resolved.path))

    def hold_parent(self, resolved: ResolvedPath) -> HeldFolder:
        """Return the folder that holds *resolved*, held open.

        Raises:
            PathInvalid: *resolved* is a root of the workspace itself, whose parent is not ours (kind ``root``).
        """
        if str(resolved.path) in self.roots:
            raise PathInvalid(f"{resolved.display} is the root of the workspace and stays as it is.", kind="root")
        return self.hold(self._parent(resolved))

    def read_bytes(self, path: str | Path | ResolvedPath, limit: int | None = None) -> bytes:
        """Return the bytes of a regular file.

        Raises:
            PathOutsideWorkspace: As `resolve`; kinds ``is_dir``, ``not_regular``, and ``io`` above *limit* bytes.
            OSError: As `os.open`.
        """
        resolved = path if isinstance(path, ResolvedPath) else self.resolve(path)
        fd = self.open_read(resolved)
        try:
            return read_descriptor(fd, str(resolved.path), limit)
        finally:
            os.close(fd)

    def write_bytes(self, path: str | Path | ResolvedPath, data: bytes, *, mode: int | None = None) -> None:
        """Put *data* in the place of a file, atomically; missing folders are made, the mode is kept.

        It asks nobody: tools go through their gate first. A hard link to the old file keeps the old content.

        Raises:
            PathOutsideWorkspace: As `resolve`; kinds ``is_dir`` and ``not_regular`` for what is no file.
            OSError: As `os.open` and `os.replace`; then the old file is untouched.
        """
        resolved = path if isinstance(path, ResolvedPath) else self.resolve(path)
        self.make_folders(self._parent(resolved))
        name = resolved.path.name
        with self.hold_parent(resolved) as parent:
            found = parent.lstat(name)
            if found is not None:
                _require_regular(found, resolved)
            if mode is None:
                mode = found.st_mode & 0o7777 if found is not None else 0o666 & ~current_umask()
            made = parent.write_temp(data, mode)
            try:
                parent.replace(made, name)
            except BaseException:
                parent.unlink(made)
                raise
            parent.sync()

    def make_folders(self, resolved: ResolvedPath) -> list[ResolvedPath]:
        """Make the folder *resolved* and those above it, and return the ones that were missing, outermost first."""
        made: list[ResolvedPath] = []
        missing: list[ResolvedPath] = []
        folder = resolved
        while str(folder.path) not in self.roots and self.stat(folder) is None:
            missing.append(folder)
            folder = self._parent(folder)
        for folder in reversed(missing):
            with self.hold_parent(folder) as parent:
                try:
                    parent.mkdir(folder.path.name)
                except FileExistsError:
                    continue
            made.append(folder)
        return made

    def _absolute(self, text: str) -> str:
        check_text(text)
        if text.startswith("~"):
            text = os.path.expanduser(text)
        if not text.startswith("/"):
            text = f"{self.workdir}/{text}"
        check_text(text)
        return as_there(text)

    def _real(self, absolute: str, follow: bool) -> str:
        try:
            return real_path(absolute, follow=follow).path
        except PathInvalid as exc:
            # What is wrong with a path outside is not told: it would tell what exists there.
            if not any(within(exc.at, root) for root in self.roots):
                raise _outside(absolute) from None
            raise

    def _judge(self, real: str) -> ResolvedPath:
        in_tempdir = self.tempdir.created and within(real, str(self.tempdir.path))
        root = next((str(root) for root in (self.workdir, *self.add_dirs) if within(real, str(root))), None)
        valid = in_tempdir or root is not None
        if valid and not in_tempdir and self._is_private(real):
            valid = False
        protected = valid and is_protected(real, str(self.tempdir.path) if root is None else root)
        excluded = valid and not protected and root is not None and self.protect.covers(real, root)
        return ResolvedPath(
            Path(real), root is not None, in_tempdir, valid, protected or excluded, escape_display(real), excluded
        )

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Tell whether lists and searches leave out the absolute canonical *path*."""
        roots = (str(root) for root in (self.workdir, *self.add_dirs))
        return bool(self.ignore) and any(
            path != root and within(path, root) and self.ignore.covers(path, root, is_folder=is_folder)
            for root in roots
        )

    def _is_private(self, real: str) -> bool:
        # Also in the spelling of a file system that takes upper and lower case for the same.
        name = folded_path(real)
        return any(within(name, private) for private in self._private)

    def _parent(self, resolved: ResolvedPath) -> ResolvedPath:
        return self._judge(os.path.dirname(str(resolved.path)))

    def _root_of(self, resolved: ResolvedPath) -> str:
        path = str(resolved.path)
        root = max((root for root in self.roots if within(path, root)), key=len, default=None)
        if root is None or not resolved.valid:
            raise PathOutsideWorkspace(f"Path {resolved.display} is not within the agent's workspace")
        return root


def current_umask() -> int:
    """Return the process's umask, read without changing it where the system tells."""
    try:
        with open("/proc/self/status", "rb") as file:
            for line in file:
                if line.startswith(b"Umask:"):
                    return int(line.split()[1], 8)
    except OSError:
        pass
    # The other way sets it for a moment, in all threads: the strictest value can do no harm.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _require_regular(found: os.stat_result, resolved: ResolvedPath) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise PathInvalid(f"{resolved.display} is a folder, not a file.", kind="is_dir")
    if not stat.S_ISREG(found.st_mode):
        raise PathInvalid(f"{resolved.display} is not a regular file.", kind="not_regular")


def _outside(absolute: str, why: str = "") -> PathOutsideWorkspace:
    return PathOutsideWorkspace(
        f"Path {escape_display(os.path.normpath(absolute))} is not within the agent's workspace{why}"
    )


def _root_folder(path: str | Path) -> Path:
    text = os.fspath(path)
    check_text(text)
    real = os.path.realpath(os.path.expanduser(text))
    if not os.path.isdir(real):
        raise PathInvalid(f"Workspace folder {escape_display(real)} does not exist or is no folder.", kind="missing")
    return Path(real)
