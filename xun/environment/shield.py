"""What a sandbox must keep from its inside: places whose content later runs outside, and secrets."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xun.environment.base import EnvironmentUnusable
from xun.environment.gitfolders import executable_files, governing, is_repository, wants_worktree_settings
from xun.environment.placeholders import Placeholders
from xun_policies.paths.private import private_paths

_SECRETS = (
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".azure",
    ".docker",
    ".colima",
    ".lima",
    ".rd",
    ".config/gcloud",
    ".config/gh",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
)
"""Below the home folder: what no command of an agent needs to read, and sockets of container services."""
_ENTRIES, _DEPTH = 1000, 2
_PASSED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__"})


@dataclass(frozen=True, slots=True)
class Pin:
    """A path that is mounted over itself, so that it can be neither replaced nor moved away.

    Attributes:
        path: Absolute and without links.
        writable: Its content may change.
    """

    path: str
    writable: bool = False


class Shield:
    """Git's hooks and settings and xun's folder in every workspace folder, also where there are none yet.

    What is absent is made, empty, and removed again by `close`: a mount needs something to be put on. Who says with
    `enter` and `leave` how long it is needed has it removed when nobody needs it any more.
    """

    def __init__(self) -> None:
        self._made = Placeholders()
        self._git_folders: set[str] = set()
        self._inside = 0
        self._lock = threading.RLock()

    def enter(self) -> None:
        """Note that something is to run inside, before `pins` is called for it."""
        with self._lock:
            self._inside += 1

    def leave(self) -> None:
        """Note that it is over."""
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self.close()
            else:
                self.look()

    def pins(self, roots: Iterable[str], *, outside: bool = False) -> list[Pin]:
        """Return what to mount over itself, outer paths first.

        Args:
            roots: The folders of the workspace.
            outside: Also the repositories that the folders belong to but that are not in them, so that a commit works.

        Raises:
            EnvironmentUnusable: One of them is a symbolic link, which a mount can't hold in place.
        """
        pins: list[Pin] = []
        with self._lock:
            for root in roots:
                beyond = governing(root) if outside else None
                if beyond is not None:
                    pins += self._repository(beyond.common)
                    if beyond.own != beyond.common and wants_worktree_settings(beyond.common):
                        pins += self._pin(f"{beyond.own}/config.worktree", folder=False)
                pins += self._git(os.path.join(root, ".git"))
                pins += self._pin(os.path.join(root, ".xun"), folder=True)
                for path in _nested(root):
                    pins += self._repository(path)
        return pins

    def _git(self, path: str) -> list[Pin]:
        _refuse_link(path)
        try:
            empty = _is_empty(path)
        except (FileNotFoundError, NotADirectoryError):
            # Another xun may also have removed it just now.
            return self._pin(path, folder=True)
        if not empty:
            return self._repository(path)
        # Left by a xun that was killed, or in use by another: git makes none that is empty.
        self._made.make(path, folder=True, unmarked=True)
        return [Pin(path)]

    def _repository(self, path: str) -> list[Pin]:
        inner = [(f"{path}/hooks", True), (f"{path}/config", False)]
        if wants_worktree_settings(path):
            inner.append((f"{path}/config.worktree", False))
        if any(os.path.islink(name) for name, _ in inner):
            # A link in it can be replaced as long as anything in it can.
            return [Pin(path)]
        for name in ("commondir", "gitdir"):
            # Where git finds its settings; an empty one would break it, so an absent one is looked after by `look`.
            if os.path.isfile(f"{path}/{name}"):
                inner.append((f"{path}/{name}", False))
        if not os.path.lexists(f"{path}/commondir"):
            self._git_folders.add(path)
        pins = [Pin(path, writable=True)]
        for name, folder in inner:
            pins += self._pin(name, folder=folder)
        return pins + [Pin(name) for name in executable_files(path)]

    def _pin(self, path: str, *, folder: bool) -> list[Pin]:
        _refuse_link(path)
        return [Pin(path)] if self._made.make(path, folder=folder) else []

    def look(self) -> None:
        """Remove what a command may have put where nothing could be held: a repository's pointer to other settings."""
        with self._lock:
            for folder in self._git_folders:
                with contextlib.suppress(OSError):
                    os.unlink(f"{folder}/commondir")

    def close(self) -> None:
        """Remove what `pins` made and nobody filled; nothing may run inside any more."""
        with self._lock:
            self.look()
            self._git_folders.clear()
            self._made.close()


def _is_empty(path: str) -> bool:
    """Tell whether a folder is known to be empty.

    Raises:
        FileNotFoundError, NotADirectoryError: There is no folder.
    """
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is None
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError:
        return False


def _nested(root: str) -> list[str]:
    """Return the repositories in the folders of *root* and in theirs, as far as the first entries go."""
    found, level, left = [], [root], _ENTRIES
    for _ in range(_DEPTH):
        below: list[str] = []
        for folder in level:
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                for entry in itertools.islice(entries, left):
                    left -= 1
                    if entry.name not in _PASSED and entry.is_dir(follow_symlinks=False):
                        below.append(entry.path)
        found += [
            path for path in (f"{name}/.git" for name in below) if is_repository(path) and not os.path.islink(path)
        ]
        level = below
    return found


def _refuse_link(path: str) -> None:
    if os.path.islink(path):
        raise EnvironmentUnusable(
            f"{path} is a symbolic link, so a sandbox can't keep it from being replaced; "
            "make it a real folder, or use no sandbox (xun --sandbox off)."
        )


def secret_paths(environ: Mapping[str, str]) -> list[str]:
    """Return the existing paths that the inside must not read: keys, credentials, xun's own state."""
    home = environ.get("HOME") or os.path.expanduser("~")
    named = [*(os.path.join(home, entry) for entry in _SECRETS), *private_paths(environ)]
    return list(dict.fromkeys(os.path.realpath(path) for path in named if os.path.exists(path)))


def service_sockets() -> list[str]:
    """Return the sockets with a path that somebody on this machine has open: who reaches one can use the service.

    Those in ``/run`` are left out: most are there, and no inside has that folder.
    """
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
            rows = [line.rstrip("\n").split(None, 7) for line in table]
    except OSError:
        return []
    named = [row[7] for row in rows if len(row) == 8 and row[7].startswith("/")]
    paths = dict.fromkeys(os.path.realpath(path) for path in named if not path.startswith(("/run/", "/var/run/")))
    return [path for path in paths if _is_socket(path)]


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
