"""The host allowlist: places of the network that a person allowed to be fetched from without a further question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from xun_policies.errors import PolicyError

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from typing import Any

_PLACE = r"(?:\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9._-]*[a-z0-9_-])?)(?::[0-9]{1,5})?"


@dataclass(frozen=True, slots=True)
class HostEntry:
    """One granted host.

    Attributes:
        host: ``example.com``, or ``example.com:8080`` where the port is neither 80 nor 443.
        source: Who granted it: user, dialog, import, config.
        when: ISO time, "" when not known.
    """

    host: str
    source: str = "user"
    when: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the entry as JSON values."""
        return {"host": self.host, "source": self.source, "when": self.when}

    @classmethod
    def from_json(cls, data: Any) -> HostEntry:
        """Build an entry from its JSON form.

        Raises:
            PolicyError: The value names no host.
        """
        if not isinstance(data, dict):
            raise PolicyError(f"A host entry must be a dict: {data!r}.")
        return cls(checked_host(data.get("host")), str(data.get("source", "user")), str(data.get("when", "")))


def checked_host(value: Any) -> str:
    """Return *value* when it is a host as an entry names it: in ASCII and lower case, no pattern, no scheme.

    Raises:
        PolicyError: It is something else.
    """
    if not isinstance(value, str) or not re.fullmatch(_PLACE, value) or ".." in value:
        raise PolicyError(
            f"{value!r} is no host: write example.com, or example.com:8080 for another port, in lower case."
        )
    return value


class HostAllowlist:
    """Granted hosts, each exactly as it stands: a host does not cover those below it, nor its other ports."""

    __slots__ = ("_entries", "_used")

    def __init__(self, entries: tuple[HostEntry, ...] = ()) -> None:
        self._entries: dict[str, HostEntry] = {entry.host: entry for entry in entries}
        self._used: dict[str, int] = {}

    def add(self, host: str, source: str = "user", when: str = "") -> HostEntry:
        """Grant *host*, or return the entry that is there already.

        Raises:
            PolicyError: It is no host.
        """
        return self._entries.setdefault(checked_host(host), HostEntry(host, source, when))

    def remove(self, host: str) -> HostEntry | None:
        """Take back the grant of exactly *host*; return it, or None when there was none."""
        return self._entries.pop(host, None)

    def clear(self) -> None:
        """Take back every grant."""
        self._entries.clear()

    def covers(self, host: str) -> HostEntry | None:
        """Return the entry that lets *host* be fetched from, or None."""
        return self._entries.get(host)

    def note_use(self, entry: HostEntry) -> None:
        """Count one use of *entry*."""
        self._used[entry.host] = self._used.get(entry.host, 0) + 1

    def used(self, entry: HostEntry) -> int:
        """Return how often *entry* was used in this process."""
        return self._used.get(entry.host, 0)

    def __iter__(self) -> Iterator[HostEntry]:
        return iter(tuple(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)
