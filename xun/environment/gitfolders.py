"""Git's folders around a workspace: the one that governs it from outside, and what in them runs programs later."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

_POINTER = 4096
_CONFIG = 1_000_000
_MODULES = 200


@dataclass(frozen=True, slots=True)
class GitFolder:
    """A repository that a folder belongs to.

    Attributes:
        own: What git calls its directory; for a worktree one below ``worktrees``.
        common: Where objects, references, settings and hooks are; the same as *own* but for a worktree.
    """

    own: str
    common: str


def governing(folder: str) -> GitFolder | None:
    """Return the repository of *folder* when its files are not in ``folder/.git`` itself.

    That is one in a folder above, or one that a ``.git`` file names. A workspace may hold such a file from anywhere,
    so it counts only when the repository names that very folder in turn, as git writes it for worktrees and submodules.
    """
    start = at = os.path.realpath(folder)
    while True:
        marker = os.path.join(at, ".git")
        if os.path.islink(marker):
            return None
        if os.path.isfile(marker):
            return _pointed(at)
        if is_repository(marker):
            return GitFolder(marker, marker) if at != start and _ours(marker) else None
        above = os.path.dirname(at)
        if above == at:
            return None
        at = above


def is_repository(path: str) -> bool:
    """Tell whether git would take *path* as its directory."""
    return os.path.isfile(f"{path}/HEAD") and os.path.isdir(f"{path}/objects") and os.path.isdir(f"{path}/refs")


def _ours(path: str) -> bool:
    return os.stat(path).st_uid == os.geteuid()


def _pointed(at: str) -> GitFolder | None:
    text = _text(f"{at}/.git", _POINTER)
    if not text.startswith("gitdir:"):
        return None
    own = os.path.realpath(os.path.join(at, text[7:].strip()))
    if not os.path.isfile(f"{own}/HEAD") or not _ours(own):
        return None
    shared = _text(f"{own}/commondir", _POINTER).strip()
    if not shared:
        back = re.search(r"^\s*worktree\s*=\s*\"?(.*?)\"?\s*$", _text(f"{own}/config", _CONFIG), re.M | re.I)
        named = os.path.realpath(os.path.join(own, back[1])) if back else ""
        return GitFolder(own, own) if named == at and is_repository(own) else None
    common = os.path.realpath(os.path.join(own, shared))
    back_to = _text(f"{own}/gitdir", _POINTER).strip()
    named = os.path.realpath(os.path.join(own, back_to)) if back_to else ""
    whole = os.path.dirname(own) == f"{common}/worktrees" and is_repository(common)
    return GitFolder(own, common) if whole and named == f"{at}/.git" else None


def executable_files(common: str) -> list[str]:
    """Return the existing files and folders of other repositories in *common* by which git runs programs."""
    found = []
    for kind, names in (("modules", ("config", "hooks")), ("worktrees", ("config.worktree", "commondir", "gitdir"))):
        for folder in _below(os.path.join(common, kind)):
            found += [f"{folder}/{name}" for name in names if os.path.lexists(f"{folder}/{name}")]
    return [path for path in found if not os.path.islink(path)]


def _below(folder: str) -> list[str]:
    """Return the folders in *folder*; a submodule's name may have slashes, and its own submodules are below it."""
    found = []
    for at, folders, _ in os.walk(folder):
        if is_repository(at):
            found.append(at)
            folders[:] = [name for name in folders if name == "modules"]
        elif os.path.isfile(f"{at}/HEAD"):
            found.append(at)
            folders[:] = []
        if len(found) >= _MODULES:
            break
    return found


def wants_worktree_settings(common: str) -> bool:
    """Tell whether git reads ``config.worktree`` there."""
    return "worktreeconfig" in _text(f"{common}/config", _CONFIG).lower()


def _text(path: str, limit: int) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=_plain) as file:
            text = file.read(limit)
    except OSError:
        return ""
    return "" if "\0" in text else text


def _plain(path: str, flags: int) -> int:
    # A FIFO of that name must not block us.
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
