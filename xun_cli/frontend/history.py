"""What was typed, kept in a private file: one JSON string per line, newest last."""

from __future__ import annotations

import json
import os
from pathlib import Path

from xun_cli.places import open_plain

KEPT = 1_000
"""Inputs that are offered again."""

_TAIL = 2_000_000  # bytes at the end of the file that are read


class InputHistory:
    """Inputs in a file that only its owner may read, and those of this process.

    Without a file, or where it can't be read or written, it lives in memory: history must never stop a session.

    Args:
        path: The file; None keeps nothing beyond the process.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._unwritten: list[str] = []

    def load(self) -> list[str]:
        """Return the kept inputs, newest first."""
        texts: list[str] = []
        for text in [*reversed(self._unwritten), *self._stored()]:
            if text and (not texts or texts[-1] != text):
                texts.append(text)
            if len(texts) == KEPT:
                break
        return texts

    def add(self, text: str) -> None:
        """Append one input."""
        if self._path is None or not _append(self._path, text):
            self._path = None
            self._unwritten.append(text)

    def _stored(self) -> list[str]:
        if self._path is None:
            return []
        try:
            with open_plain(self._path) as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
                rows = file.read().split(b"\n")
        except OSError:
            return []
        return [_decoded(row) for row in reversed(rows)]


def _append(path: Path, text: str) -> bool:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    row = json.dumps(text) + "\n"  # ASCII: a lone surrogate stays writable
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, flags, 0o600)
    except OSError:
        return False
    try:
        os.write(descriptor, row.encode("ascii"))
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _decoded(row: bytes) -> str:
    try:
        value = json.loads(row)
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""
