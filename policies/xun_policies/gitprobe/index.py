"""The submodules that an index names, read without git (gitformat-index(5))."""

from __future__ import annotations

_GITLINK = b"\x00\x00\xe0\x00"
_FIXED = 62


class IndexFault(ValueError):
    """The index has a form that is not read here."""


def submodules(data: bytes, hash_size: int = 20) -> list[str]:
    """Return the paths of all entries of *data* that are submodules.

    Raises:
        IndexFault: Unknown version, or broken.
    """
    if b"link" in data[-4096:] and _has_split(data, hash_size):
        raise IndexFault("a split index")
    if _GITLINK not in data:
        return []
    if data[:4] != b"DIRC" or len(data) < 12:
        raise IndexFault("no index")
    version, count = int.from_bytes(data[4:8]), int.from_bytes(data[8:12])
    if version not in (2, 3):
        raise IndexFault(f"version {version}")
    fixed = _FIXED - 20 + hash_size
    found: list[str] = []
    at = 12
    for _ in range(count):
        if at + fixed > len(data):
            raise IndexFault("cut short")
        mode = data[at + 24 : at + 28]
        flags = int.from_bytes(data[at + fixed - 2 : at + fixed])
        start = at + fixed + (2 if flags & 0x4000 else 0)
        end = data.find(b"\0", start)
        if end < 0:
            raise IndexFault("cut short")
        if mode == _GITLINK:
            found.append(data[start:end].decode("utf-8", "surrogateescape"))
        at += (end - at + 8) // 8 * 8
    return found


def _has_split(data: bytes, hash_size: int) -> bool:
    """Tell whether the extension that names a shared index is there; a false alarm only asks."""
    at = data.rfind(b"link")
    return at >= 0 and at + 8 <= len(data) - hash_size and int.from_bytes(data[at + 4 : at + 8]) >= hash_size
