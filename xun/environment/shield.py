"""What a sandbox must keep from its inside: places whose content later runs outside, and secrets."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xun.environment.base import EnvironmentUnusable
from xun_policies.paths.private import private_paths

_SECRETS = (
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".azure",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
)
"""Below the home folder: what no command of an agent needs to read."""


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

    What is absent is made, empty, and removed again by `close`: a mount needs something to be put on.
    """

    def __init__(self) -> None:
        self._made: list[str] = []
        self._lock = threading.Lock()

    def pins(self, roots: Iterable[str]) -> list[Pin]:
        """Return what to mount over itself, outer paths first.

        Raises:
            EnvironmentUnusable: One of them is a symbolic link, which a mount can't hold in place.
        """
        pins: list[Pin] = []
        with self._lock:
            for root in roots:
                pins += self._git(os.path.join(root, ".git"))
                pins += self._pin(os.path.join(root, ".xun"), folder=True)
        return pins

    def _git(self, path: str) -> list[Pin]:
        if not os.path.isdir(path) or path in self._made:
            return self._pin(path, folder=True)
        inner = [*self._pin(f"{path}/hooks", folder=True), *self._pin(f"{path}/config", folder=False)]
        _refuse_link(path)
        return [Pin(path, writable=True), *inner]

    def _pin(self, path: str, *, folder: bool) -> list[Pin]:
        _refuse_link(path)
        if not os.path.lexists(path):
            try:
                if folder:
                    os.mkdir(path)
                else:
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            except OSError:
                # Who can't make it here can't make it inside either.
                return []
            self._made.append(path)
        return [Pin(path)]

    def close(self) -> None:
        """Remove what `pins` made and nobody filled; nothing may run inside any more."""
        with self._lock:
            made, self._made = self._made, []
        for path in reversed(made):
            with contextlib.suppress(OSError):
                found = os.lstat(path)
                if stat.S_ISDIR(found.st_mode):
                    os.rmdir(path)
                elif found.st_size == 0:
                    os.unlink(path)


def _refuse_link(path: str) -> None:
    if os.path.islink(path):
        raise EnvironmentUnusable(
            f"{path} is a symbolic link, so a sandbox can't keep it from being replaced; "
            "make it a real folder, or use the local environment."
        )


def secret_paths(environ: Mapping[str, str]) -> list[str]:
    """Return the existing paths that the inside must not read: keys, credentials, xun's own state."""
    home = environ.get("HOME") or os.path.expanduser("~")
    named = [*(os.path.join(home, entry) for entry in _SECRETS), *private_paths(environ)]
    return list(dict.fromkeys(os.path.realpath(path) for path in named if os.path.exists(path)))


def find_program(name: str, roots: Iterable[str]) -> str | None:
    """Return the absolute path of *name* on PATH, never one from a folder that the agent may write to."""
    inside = tuple(roots)
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if not os.path.isabs(folder):
            continue
        found = shutil.which(name, path=folder)
        if found is None:
            continue
        if not any(within(path, root) for path in (found, os.path.realpath(found)) for root in inside):
            return found
    return None


def within(path: str, root: str) -> bool:
    """Tell whether *path* is *root* or below it."""
    return path == root or path.startswith(root.rstrip("/") + "/")
