"""The write allowlist: paths that a person allowed to be written without a further question."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from xun_policies.errors import PolicyError
from xun_policies.shell.places import real_path

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from typing import Any


def is_protected(path: str) -> bool:
    """Tell whether a write to *path* (absolute) always asks, wherever the workspace is; no grant covers such a path."""
    from xun_policies.paths import protected

    return protected.is_protected(path, "/")


@dataclass(frozen=True, slots=True)
class WriteEntry:
    """One granted path.

    Attributes:
        path: Absolute real path.
        directory: Whether everything below it is covered too.
        source: Who granted it: user, dialog, import, config.
        when: ISO time, "" when not known.
    """

    path: str
    directory: bool = False
    source: str = "user"
    when: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the entry as JSON values."""
        return {"path": self.path, "directory": self.directory, "source": self.source, "when": self.when}

    @classmethod
    def from_json(cls, data: Any) -> WriteEntry:
        """Build an entry from its JSON form.

        Raises:
            PolicyError: The value is no entry, or its path is not absolute or protected.
        """
        if not isinstance(data, dict) or not isinstance(data.get("path"), str):
            raise PolicyError(f"A write entry needs a path: {data!r}.")
        path = data["path"]
        if not path.startswith("/") or "\0" in path:
            raise PolicyError(f"The path of a write entry must be absolute: {path!r}.")
        if is_protected(path):
            raise PolicyError(f"{path} is protected and can't be granted.")
        return cls(path, data.get("directory") is True, str(data.get("source", "user")), str(data.get("when", "")))


class WriteAllowlist:
    """Granted paths. Links are resolved when an entry is added and again when a path is checked."""

    __slots__ = ("_entries", "_used")

    def __init__(self, entries: tuple[WriteEntry, ...] = ()) -> None:
        self._entries: dict[str, WriteEntry] = {entry.path: entry for entry in entries}
        self._used: dict[str, int] = {}

    def add(self, path: str, directory: bool = False, source: str = "user", when: str = "") -> WriteEntry:
        """Grant *path* (made absolute and real); granting it again may only widen it.

        Raises:
            PolicyError: The path is protected.
        """
        if "\0" in path:
            raise PolicyError("A path with a NUL byte can't be granted.")
        real = real_path(os.path.abspath(path))
        if not real or is_protected(real):
            raise PolicyError(f"{path} is protected: every write to it asks, and it can't be granted.")
        known = self._entries.get(real)
        if known is not None:
            entry = known if known.directory or not directory else replace(known, directory=True)
        else:
            entry = WriteEntry(real, directory, source, when)
        self._entries[real] = entry
        return entry

    def remove(self, path: str) -> WriteEntry | None:
        """Take back the grant of exactly *path*; return it, or None when there was none."""
        return self._entries.pop(path, None) or self._entries.pop(real_path(os.path.abspath(path)), None)

    def clear(self) -> None:
        """Take back every grant."""
        self._entries.clear()

    def covers(self, path: str) -> WriteEntry | None:
        """Return the entry that lets *path* be written, or None; a protected path has none."""
        if "\0" in path:
            return None
        real = real_path(os.path.abspath(path))
        if not real or is_protected(real):
            return None
        entry = self._entries.get(real)
        if entry is not None:
            return entry
        parent = real
        while parent != "/":
            parent = os.path.dirname(parent)
            entry = self._entries.get(parent)
            if entry is not None and entry.directory:
                return entry
        return None

    def note_use(self, entry: WriteEntry) -> None:
        """Count one use of *entry*."""
        self._used[entry.path] = self._used.get(entry.path, 0) + 1

    def used(self, entry: WriteEntry) -> int:
        """Return how often *entry* was used in this process."""
        return self._used.get(entry.path, 0)

    def __iter__(self) -> Iterator[WriteEntry]:
        return iter(tuple(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)
