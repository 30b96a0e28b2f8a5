"""The size of an image from its first bytes, before anything is decoded."""

from __future__ import annotations

import struct
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PictureHeader:
    """What an image says of itself.

    Attributes:
        width: Pixels.
        height: Pixels.
        moving: It has more than one frame.
    """

    width: int
    height: int
    moving: bool = False


def read_header(data: bytes, media_type: str) -> PictureHeader | None:
    """Return the header of a PNG, JPEG, WebP or GIF; None when it is damaged."""
    readers = {"image/png": _png, "image/jpeg": _jpeg, "image/webp": _webp, "image/gif": _gif}
    try:
        found = readers[media_type](data)
    except (struct.error, IndexError):
        return None
    return found if found is not None and found.width > 0 and found.height > 0 else None


def _png(data: bytes) -> PictureHeader:
    width, height = struct.unpack(">II", data[16:24])
    return PictureHeader(width, height)


def _jpeg(data: bytes) -> PictureHeader | None:
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            return None
        kind = data[at + 1]
        if kind == 0xFF:
            at += 1
        elif kind == 0x01 or 0xD0 <= kind <= 0xD8:
            at += 2
        elif 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return PictureHeader(width, height)
        else:
            (length,) = struct.unpack(">H", data[at + 2 : at + 4])
            at += 2 + max(2, length)
    return None


def _webp(data: bytes) -> PictureHeader | None:
    kind = data[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(data[24:27], "little") + 1
        height = int.from_bytes(data[27:30], "little") + 1
        return PictureHeader(width, height, bool(data[20] & 2)) if len(data) >= 30 else None
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return PictureHeader((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return PictureHeader(width & 0x3FFF, height & 0x3FFF)
    return None


def _gif(data: bytes) -> PictureHeader | None:
    width, height = struct.unpack("<HH", data[6:10])
    at = 13 + (3 << (data[10] & 7) + 1 if data[10] & 0x80 else 0)
    frames = 0
    while data[at] != 0x3B and frames < 2:
        if data[at] == 0x21:
            at += 2
        elif data[at] == 0x2C:
            frames += 1
            at += 10 + (3 << (data[at + 9] & 7) + 1 if data[at + 9] & 0x80 else 0) + 1
        else:
            return None
        while data[at]:
            at += data[at] + 1
        at += 1
    return PictureHeader(width, height, frames > 1) if frames else None
