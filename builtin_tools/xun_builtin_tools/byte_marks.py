"""Byte order marks: what the first bytes of a text say of its encoding."""

from __future__ import annotations

import codecs

# UTF-32 first: its little-endian mark begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def mark_of(data: bytes) -> tuple[bytes, str]:
    """Return the mark that *data* begins with, and the codec of what follows it; b"" and "" without a mark."""
    return next(((mark, codec) for mark, codec in _MARKS if data.startswith(mark)), (b"", ""))
