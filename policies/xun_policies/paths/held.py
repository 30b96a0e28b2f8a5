"""A folder held open: everything inside it is reached by name through the descriptor.

Whatever is renamed or replaced by a link meanwhile, an operation lands in the folder that was
checked, or fails.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from types import TracebackType

from xun_policies.paths.real import PathInvalid, escape_display

TEMP_PREFIX, TEMP_SUFFIX = ".xun-", ".tmp"
"""The names of files that are being written; a file so named after a crash is safe to delete."""


def read_descriptor(fd: int, path: str, limit: int | None = None) -> bytes:
    """Return all bytes of the regular file *fd*.

    Raises:
        PathInvalid: It is a folder (kind ``is_dir``), a FIFO, socket or device (``not_regular``), or
            larger than *limit* bytes (``io``).
    """
    found = os.fstat(fd)
    if stat.S_ISDIR(found.st_mode):
        raise PathInvalid(f"{escape_display(path)} is a folder, not a file.", kind="is_dir")
    if not stat.S_ISREG(found.st_mode):
        raise PathInvalid(f"{escape_display(path)} is not a regular file.", kind="not_regular")
    if limit is not None and found.st_size > limit:
        raise PathInvalid(f"{escape_display(path)} has {found.st_size:,} bytes; the limit is {limit:,}.", kind="io")
    pieces: list[bytes] = []
    total = 0
    # One piece for a file that keeps still. It may grow while it is read: the limit holds for what is read, not for
    # what was said.
    while piece := os.read(fd, max(found.st_size - total, 0) + (1 << 16)):
        pieces.append(piece)
        total += len(piece)
        if limit is not None and total > limit:
            raise PathInvalid(f"{escape_display(path)} has more than {limit:,} bytes, the limit.", kind="io")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


Attributes = tuple[tuple[str, bytes], ...]
"""Extended attributes by their names; an access list is one of them."""

MAX_ATTRIBUTES = 200_000
"""Bytes of the extended attributes of one file that are kept."""

_MAY_NOT = frozenset({errno.EPERM, errno.EACCES, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
"""How a file system refuses an owner: as forbidden, as unknown to this user namespace, or because it knows none."""

_VOUCHING = ("security.capability", "security.ima", "security.evm")


def _copy_attributes(source: int, target: int) -> bool:
    return _set_attributes(target, _attributes(source))


def _attributes(fd: int) -> Attributes:
    """Return the extended attributes that a copy may have; those beyond `MAX_ATTRIBUTES` bytes are left out."""
    found: list[tuple[str, bytes]] = []
    size = 0
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(fd):
                with contextlib.suppress(OSError):
                    value = os.getxattr(fd, name) if name not in _VOUCHING else None
                    if value is not None and size + len(value) <= MAX_ATTRIBUTES:
                        size += len(value)
                        found.append((name, value))
    return tuple(found)


def _set_attributes(fd: int, attributes: Attributes) -> bool:
    done = False
    for name, value in attributes:
        with contextlib.suppress(OSError):
            os.setxattr(fd, name, value)
            done = True
    return done


def _give(fd: int, user: int, group: int) -> int:
    """Give a file its owner as far as may be; return the mode bits that it may not have without."""
    found = os.fstat(fd)
    if (found.st_uid, found.st_gid) == (user, group):
        return 0
    for ids in ((user, group), (-1, group)):
        try:
            os.fchown(fd, *ids)
        except OSError as exc:
            if exc.errno not in _MAY_NOT:
                raise
            continue
        return 0 if ids[0] == user else stat.S_ISUID
    return (stat.S_ISUID if found.st_uid != user else 0) | (stat.S_ISGID if found.st_gid != group else 0)


class HeldFolder:
    """A folder held open by a descriptor, with the operations that a safe write needs. A context manager.

    Attributes:
        fd: The descriptor.
        path: The canonical path that it had when it was opened; for messages only.
    """

    __slots__ = ("fd", "path")

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path

    def __enter__(self) -> HeldFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def lstat(self, name: str) -> os.stat_result | None:
        """Return what *name* is, without following a link; None when there is nothing."""
        try:
            return os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read(self, name: str, limit: int | None = None) -> bytes:
        """Return the bytes of the regular file *name*; a link is refused with ELOOP."""
        fd = self._open(name)
        try:
            return read_descriptor(fd, f"{self.path}/{name}", limit)
        finally:
            os.close(fd)

    def _open(self, name: str) -> int:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self.fd)

    def readlink(self, name: str) -> str:
        """Return where the link *name* points."""
        return os.readlink(name, dir_fd=self.fd)

    def write_temp(
        self, data: bytes, mode: int, *, name: str | None = None, owner: tuple[int, int] | None = None
    ) -> str:
        """Write *data* to a new file beside its final place, down to the disk, and return its name.

        Nothing is left behind when that fails. Of an *owner* (user and group) what may not be given is left out, and
        then so is the bit by which the file would run as its owner.
        """
        name = name or f"{TEMP_PREFIX}{secrets.token_hex(8)}{TEMP_SUFFIX}"
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self.fd)
        try:
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(fd, view) :]
                os.fchmod(fd, mode if owner is None else mode & ~_give(fd, *owner))
                os.fsync(fd)
            finally:
                os.close(fd)
        except BaseException:
            self.unlink(name)
            raise
        return name

    def copy_attributes(self, name: str, other: str) -> bool:
        """Give *other* the extended attributes of *name*, access lists among them; True when there were any.

        What vouches for the content, and what may not be given, is left out.
        """
        source = self._open(name)
        try:
            target = self._open(other)
            try:
                return _copy_attributes(source, target)
            finally:
                os.close(target)
        finally:
            os.close(source)

    def facts(self, name: str) -> tuple[tuple[int, int], Attributes]:
        """Return owner and group of *name*, which is not followed, and its extended attributes as `copy_attributes`."""
        found = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        attributes: Attributes = ()
        if not stat.S_ISLNK(found.st_mode):
            with contextlib.suppress(OSError):
                fd = self._open(name)
                try:
                    attributes = _attributes(fd)
                finally:
                    os.close(fd)
        return (found.st_uid, found.st_gid), attributes

    def dress(self, name: str, mode: int, owner: tuple[int, int], attributes: Attributes) -> None:
        """Give a file or folder of ours its owner, its attributes and its mode, as far as may be.

        The bits by which it would run as its owner or group are left out where that one could not be given.
        """
        fd = self._open(name)
        try:
            lost = _give(fd, *owner)
            os.fchmod(fd, mode | stat.S_IWUSR)  # else its owner may not set attributes
            _set_attributes(fd, attributes)
            os.fchmod(fd, mode & ~lost)  # an access list brings a mode with it
        finally:
            os.close(fd)

    def give_link(self, name: str, owner: tuple[int, int]) -> None:
        """Give the link *name* its owner, where that may be."""
        try:
            os.chown(name, *owner, dir_fd=self.fd, follow_symlinks=False)
        except OSError as exc:
            if exc.errno not in _MAY_NOT:
                raise

    def replace(self, source: str, name: str) -> None:
        """Put the file *source* of this folder in the place of *name*, atomically."""
        os.replace(source, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def move_to(self, name: str, other: HeldFolder, target: str) -> None:
        """Move *name* to *target* in the folder *other*, atomically; EXDEV across file systems."""
        os.replace(name, target, src_dir_fd=self.fd, dst_dir_fd=other.fd)

    def link(self, name: str, other: str) -> None:
        """Give the file or link *name* a second name in this folder."""
        os.link(name, other, src_dir_fd=self.fd, dst_dir_fd=self.fd, follow_symlinks=False)

    def unlink(self, name: str) -> None:
        """Remove a file or a link; the target of a link stays."""
        os.unlink(name, dir_fd=self.fd)

    def mkdir(self, name: str, mode: int = 0o777) -> None:
        """Make a folder."""
        os.mkdir(name, mode, dir_fd=self.fd)

    def rmdir(self, name: str) -> None:
        """Remove an empty folder."""
        os.rmdir(name, dir_fd=self.fd)

    def symlink(self, target: str, name: str) -> None:
        """Make the link *name*."""
        os.symlink(target, name, dir_fd=self.fd)

    def chmod(self, name: str, mode: int) -> None:
        """Change the mode of a regular file; a link is refused with ELOOP."""
        fd = self._open(name)
        try:
            os.fchmod(fd, mode)
        finally:
            os.close(fd)

    def enter(self, name: str) -> HeldFolder:
        """Return the folder *name*, held; a link is refused with ELOOP or ENOTDIR."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        return HeldFolder(os.open(name, flags, dir_fd=self.fd), f"{self.path}/{name}")

    def scan(self) -> list[os.DirEntry[str]]:
        """Return the entries, in no order."""
        with os.scandir(self.fd) as entries:
            return list(entries)

    def sync(self) -> None:
        """Write the folder's names down to the disk, where the file system can."""
        try:
            os.fsync(self.fd)
        except OSError as exc:
            if exc.errno not in (errno.EINVAL, errno.EBADF, errno.EACCES):
                raise
