"""What a write does, as data: the state of each path before and after."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from dataclasses import dataclass, field, replace
from typing import Literal, NoReturn

from xun.errors import EditError
from xun_builtin_tools.edit.document import sha256
from xun_policies.paths.held import Attributes, HeldFolder
from xun_policies.workspace import PathInvalid, ResolvedPath, Workspace

KEEP_LIMIT = 50_000_000
"""Bytes of one file that are kept for undo."""

HASH_LIMIT = 500_000_000
"""Bytes up to which a file's content is hashed; beyond, its size and times stand for it."""

Kind = Literal["absent", "file", "link", "dir"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a file, link or folder that goes away had besides its content and mode.

    Attributes:
        owner: Its user and group.
        attributes: Its extended attributes, access lists among them.
    """

    owner: tuple[int, int]
    attributes: Attributes = ()


@dataclass(frozen=True, slots=True)
class State:
    """What is at a path.

    Attributes:
        kind: Nothing, a regular file, a link, or a folder.
        data: The bytes of a file or the target of a link; None when they are not at hand.
        mode: The permission bits of a file or folder.
        digest: The SHA-256 of the bytes of a file or the target of a link.
        facts: What it gets, or had, besides; None for what a new one gets by itself.
    """

    kind: Kind
    data: bytes | None = None
    mode: int = 0
    digest: str = ""
    facts: Facts | None = field(default=None, compare=False)

    def same(self, other: State) -> bool:
        """Whether both have the same content; modes are not compared."""
        return self.kind == other.kind and self.digest == other.digest

    def with_data(self, data: bytes | None) -> State:
        """Return the state with its bytes at hand."""
        return replace(self, data=data)


ABSENT = State("absent")


def file_state(data: bytes, mode: int) -> State:
    """Return the state of a regular file."""
    return State("file", data, mode, sha256(data))


def link_state(target: str) -> State:
    """Return the state of a link."""
    data = os.fsencode(target)
    return State("link", data, 0, sha256(data))


def folder_state(mode: int = 0o777) -> State:
    """Return the state of a folder."""
    return State("dir", None, mode)


@dataclass(frozen=True, slots=True)
class Change:
    """One path goes from a state to another."""

    path: ResolvedPath
    before: State
    after: State


@dataclass(frozen=True, slots=True)
class Rename:
    """A file, link or folder goes to another path.

    Attributes:
        source: Where it was.
        target: Where it goes.
        state: What it is; without bytes.
        replaced: What was at the target.
    """

    source: ResolvedPath
    target: ResolvedPath
    state: State
    replaced: State = ABSENT


Operation = Change | Rename


def read_state(workspace: Workspace, path: ResolvedPath, *, keep: int = KEEP_LIMIT) -> State:
    """Return what is at *path* now; a link is not followed. Bytes beyond *keep* are hashed but not kept.

    Raises:
        EditError: kinds ``not_regular``, ``outside``, ``denied``, ``io``.
    """
    try:
        with workspace.hold_parent(path) as parent:
            return state_in(parent, path.path.name, path.display, keep=keep)
    except PathInvalid as exc:
        if exc.kind == "root":
            return folder_state()
        raise
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except OSError as exc:
        raise_os_error(exc, path.display, "read")


def with_facts(workspace: Workspace, path: ResolvedPath, state: State) -> State:
    """Return *state* with the owner and attributes of what is at *path*; as it is where they can't be read."""
    if state.kind == "absent" or str(path.path) in workspace.roots:
        return state
    try:
        with workspace.hold_parent(path) as parent:
            return replace(state, facts=Facts(*parent.facts(path.path.name)))
    except OSError:
        return state


def state_in(parent: HeldFolder, name: str, display: str, *, keep: int = KEEP_LIMIT) -> State:
    """Return what *name* is in a held folder."""
    found = parent.lstat(name)
    if found is None:
        return ABSENT
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        return link_state(parent.readlink(name))
    if stat.S_ISDIR(found.st_mode):
        return folder_state(mode)
    if not stat.S_ISREG(found.st_mode):
        raise EditError(f"{display} is not a regular file (it is a FIFO, a socket or a device).", kind="not_regular")
    if found.st_size <= keep:
        return file_state(parent.read(name), mode)
    if found.st_size > HASH_LIMIT:
        return State("file", None, mode, f"stat:{found.st_size}:{found.st_mtime_ns}:{found.st_ino}")
    return State("file", None, mode, _hash(parent, name))


def _hash(parent: HeldFolder, name: str) -> str:
    digest = hashlib.sha256()
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent.fd)
    try:
        while piece := os.read(fd, 1 << 20):
            digest.update(piece)
    finally:
        os.close(fd)
    return digest.hexdigest()


def os_error_kind(exc: OSError) -> str:
    """Return the edit kind of a system error."""
    return {
        errno.EACCES: "denied",
        errno.EPERM: "denied",
        errno.EROFS: "denied",
        errno.ENOENT: "missing",
        errno.EISDIR: "is_dir",
        errno.ENOTDIR: "not_dir",
        errno.ELOOP: "outside",
        errno.EEXIST: "exists",
    }.get(exc.errno or 0, "io")


def raise_os_error(exc: OSError, display: str, verb: str) -> NoReturn:
    """Raise the `EditError` for a system error at *display*."""
    kind = os_error_kind(exc)
    if kind == "outside":
        raise EditError(
            f"Path {display} is not within the agent's workspace: it became a link while it was used.", kind=kind
        ) from exc
    raise EditError(f"{display} could not be {verb}: {exc.strerror or exc}.", kind=kind) from exc
