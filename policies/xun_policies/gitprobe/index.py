"""The submodules that an index names, read without git (gitformat-index(5))."""

from __future__ import annotations

_GITLINK = b"\x00\x00\xe0\x00"
_FIXED = 62
_MAX_PATH = 4_096
"""Bytes of a path in version 4, which is put together anew for each entry: no system opens a longer one."""
_SPLIT = b"link"
"""The extension that names a shared index, which holds the other entries."""


class IndexFault(ValueError):
    """The index has a form that is not read here."""


def submodules(data: bytes, hash_size: int = 20) -> list[str]:
    """Return the paths of all entries of *data* that are submodules.

    Raises:
        IndexFault: Unknown version, broken, or with entries elsewhere.
    """
    doubtful = _may_be_split(data, hash_size)
    if not doubtful and _GITLINK not in data:
        return []
    if data[:4] != b"DIRC" or len(data) < 12:
        raise IndexFault("no index")
    version, count = int.from_bytes(data[4:8]), int.from_bytes(data[8:12])
    if version not in (2, 3, 4):
        raise IndexFault(f"version {version}")
    found, end = _entries(data, count, _FIXED - 20 + hash_size, prefixed=version == 4)
    if doubtful and _SPLIT in _extensions(data, end, len(data) - hash_size):
        raise IndexFault("a split index")
    return found


def _entries(data: bytes, count: int, fixed: int, *, prefixed: bool) -> tuple[list[str], int]:
    """Return the submodules among the entries, and where the entries end."""
    found: list[str] = []
    path = b""
    at = 12
    for _ in range(count):
        if at + fixed > len(data):
            raise IndexFault("cut short")
        flags = int.from_bytes(data[at + fixed - 2 : at + fixed])
        start = at + fixed + (2 if flags & 0x4000 else 0)
        if prefixed:
            cut, start = _number(data, start)
            path = path[: max(0, len(path) - cut)]
        end = data.find(b"\0", start)
        if end < 0:
            raise IndexFault("cut short")
        if prefixed:
            path += data[start:end]
            if len(path) > _MAX_PATH:
                raise IndexFault("a path that is too long")
        if data[at + 24 : at + 28] == _GITLINK:
            found.append((path or data[start:end]).decode("utf-8", "surrogateescape"))
        at = end + 1 if prefixed else at + (end - at + 8) // 8 * 8
    return found, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return how many bytes of the last path version 4 drops, and where the rest of the path begins."""
    value = -1
    while at < len(data):
        byte = data[at]
        value = (value + 1) << 7 | byte & 0x7F
        at += 1
        if not byte & 0x80:
            return value, at
        if value > _MAX_PATH:
            break
    raise IndexFault("cut short")


def _may_be_split(data: bytes, hash_size: int) -> bool:
    """Tell whether the bytes of the extension for a split index stand anywhere, with a size that fits."""
    at = data.find(_SPLIT)
    while at >= 0:
        size = int.from_bytes(data[at + 4 : at + 8])
        if hash_size <= size <= len(data) - hash_size - at - 8:
            return True
        at = data.find(_SPLIT, at + 1)
    return False


def _extensions(data: bytes, at: int, end: int) -> set[bytes]:
    """Return the names of the extensions between *at* and *end*."""
    found: set[bytes] = set()
    while at + 8 <= end:
        found.add(data[at : at + 4])
        at += 8 + int.from_bytes(data[at + 4 : at + 8])
    if at != end:
        raise IndexFault("extensions that do not end where they should")
    return found
