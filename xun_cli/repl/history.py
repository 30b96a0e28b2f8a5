"""What was typed, kept in a private file: one JSON string per line, newest last."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import History

KEPT = 1_000
"""Inputs that are offered again."""

_TAIL = 2_000_000  # bytes at the end of the file that are read


class PrivateHistory(History):
    """A history in a file that only its owner may read.

    Without a file, or where it can't be read or written, it lives in memory: history must never stop a session.
    """

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """Return the kept inputs, newest first."""
        if self._path is None:
            return []
        try:
            with self._path.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
                rows = file.read().split(b"\n")
        except OSError:
            return []
        texts: list[str] = []
        for row in reversed(rows):
            text = _decoded(row)
            if text and (not texts or texts[-1] != text):
                texts.append(text)
            if len(texts) == KEPT:
                break
        return texts

    def store_string(self, string: str) -> None:
        """Append one input."""
        if self._path is None:
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        row = json.dumps(string) + "\n"  # ASCII: a lone surrogate stays writable
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self._path, flags, 0o600)
        except OSError:
            self._path = None
            return
        try:
            os.write(descriptor, row.encode("ascii"))
        except OSError:
            self._path = None
        finally:
            os.close(descriptor)


def _decoded(row: bytes) -> str:
    try:
        value = json.loads(row)
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""
