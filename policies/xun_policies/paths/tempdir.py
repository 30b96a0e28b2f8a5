"""The temporary folder of a workspace: made on first use, removed at the end."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from pathlib import Path


class TempDir:
    """A private folder (0700, fresh name) that exists only once somebody asked for it.

    It is removed by `cleanup`, when the object is collected, or when the process ends.
    """

    __slots__ = ("__weakref__", "_finalizer", "_lock", "_path")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._path: Path | None = None
        self._finalizer: weakref.finalize[[str, int], TempDir] | None = None

    @property
    def path(self) -> Path:
        """The canonical path; the folder is made when it is not there yet."""
        with self._lock:
            if self._path is None:
                made = os.path.realpath(tempfile.mkdtemp(prefix="xun-"))
                self._path = Path(made)
                self._finalizer = weakref.finalize(self, _remove, made, os.getpid())
            return self._path

    @property
    def created(self) -> bool:
        """Whether the folder was made."""
        return self._path is not None

    def cleanup(self) -> None:
        """Remove the folder and all in it; a later use makes a new one."""
        with self._lock:
            finalizer, self._finalizer, self._path = self._finalizer, None, None
        if finalizer is not None:
            finalizer()


def _remove(path: str, owner: int) -> None:
    # A forked child inherits the finalizer, and must leave its parent's folder alone.
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
