"""Old file contents by their hash: in memory while small, else in a private folder."""

from __future__ import annotations

import os
from collections.abc import Iterable

from xun_builtin_tools.edit.document import sha256
from xun_policies.paths.tempdir import TempDir

MEMORY_LIMIT = 8_000_000
"""Bytes that are kept in memory before contents go to a folder."""


class Blobs:
    """Contents by SHA-256. Without a folder of its own it spills to a temporary one, made on first use."""

    def __init__(self) -> None:
        self._memory: dict[str, bytes] = {}
        self._used = 0
        self._spill = TempDir()
        self._folder: str | None = None

    @property
    def folder(self) -> str | None:
        """The lasting folder, or None."""
        return self._folder

    def persist_to(self, folder: str) -> None:
        """Keep all contents, those at hand too, in *folder*, for good."""
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)
        self._folder = folder
        for digest, data in self._memory.items():
            self._write(folder, digest, data)
        self._memory.clear()
        self._used = 0
        if self._spill.created:
            for digest in os.listdir(self._spill.path):
                with open(self._spill.path / digest, "rb") as file:
                    self._write(folder, digest, file.read())
            self._spill.cleanup()

    def put(self, digest: str, data: bytes) -> None:
        """Keep *data*.

        Raises:
            OSError: The folder is full or may not be written.
        """
        if self._folder is not None:
            self._write(self._folder, digest, data)
        elif self._used + len(data) <= MEMORY_LIMIT:
            if digest not in self._memory:
                self._memory[digest] = data
                self._used += len(data)
        else:
            self._write(str(self._spill.path), digest, data)

    def get(self, digest: str) -> bytes | None:
        """Return the content, or None when it is not kept or no longer what its name says."""
        if digest in self._memory:
            return self._memory[digest]
        folders = [self._folder] if self._folder is not None else []
        if self._spill.created:
            folders.append(str(self._spill.path))
        for folder in folders:
            try:
                with open(os.path.join(folder, digest), "rb") as file:
                    data = file.read()
            except OSError:
                continue
            if sha256(data) == digest:
                return data
        return None

    def keep_only(self, digests: Iterable[str]) -> None:
        """Forget all others."""
        wanted = set(digests)
        for digest in [digest for digest in self._memory if digest not in wanted]:
            self._used -= len(self._memory.pop(digest))
        folders = [self._folder] if self._folder is not None else []
        if self._spill.created:
            folders.append(str(self._spill.path))
        for folder in folders:
            for name in os.listdir(folder):
                if name not in wanted:
                    os.unlink(os.path.join(folder, name))

    def _write(self, folder: str, digest: str, data: bytes) -> None:
        path = os.path.join(folder, digest)
        if os.path.exists(path):
            return
        fresh = f"{path}.{os.getpid()}.new"
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with open(fd, "wb") as file:
                file.write(data)
                file.flush()
                if folder == self._folder:
                    # What is spilled for the life of the process need not outlive the machine.
                    os.fsync(file.fileno())
            os.replace(fresh, path)
        except BaseException:
            os.unlink(fresh)
            raise
