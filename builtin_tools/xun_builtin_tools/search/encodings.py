"""Text from the bytes of a file, and whether it is text at all, as ripgrep decides both."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

SNIFFED = 65_536
"""A NUL byte this early makes a file binary; a later one ends the part of it that is searched."""
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}

# Names that the web platform's encoding standard reads as a wider relative, as ripgrep does.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "utf-16": "utf-16-le",
}


def codec_name(name: str) -> str | None:
    """Return the codec for the name of an encoding, or None when there is none for text."""
    try:
        info = codecs.lookup(name.strip())
    except LookupError:
        return None
    # Some codecs turn bytes into bytes or text into text.
    if not getattr(info, "_is_text_encoding", True) or info.name in ("idna", "punycode", "undefined"):
        return None
    return _WIDER.get(info.name, info.name)


@dataclass(frozen=True, slots=True)
class Text:
    """A file as text."""

    text: str
    lossy: bool
    """Some bytes are no characters; they are lone surrogates in the text."""


def is_utf16(data: bytes) -> bool:
    """Return whether the data says that it is UTF-16."""
    return data[:2] in _UTF16_BOMS


def to_text(data: bytes, codec: str | None, *, whole: bool) -> Text | None:
    """Return the file with this content as text; None for a binary file.

    Args:
        data: The whole file.
        codec: The encoding that the caller named; a byte order mark beats it.
        whole: Keep what follows a NUL byte outside the first 64 KiB.
    """
    named = _UTF16_BOMS.get(data[:2], codec)
    if data.startswith(_UTF8_BOM):
        data, named = data[3:], None
    if named is not None and named != "utf-8":
        text = (_windows_1252(data) if named == "cp1252" else data.decode(named, "replace")).removeprefix("\ufeff")
        end = text.find("\0")
        if 0 <= end < SNIFFED:
            return None
        return Text(text if whole or end < 0 else text[:end], False)
    end = data.find(b"\0")
    if 0 <= end < SNIFFED:
        return None
    if end >= 0 and not whole:
        data = data[:end]
    try:
        return Text(data.decode(), False)
    except UnicodeDecodeError:
        return Text(data.decode("utf-8", "surrogateescape"), True)


def _windows_1252(data: bytes) -> str:
    """Decode as the web platform does: the five bytes without a character stand for themselves."""
    high = {code: bytes((code,)).decode("cp1252", "ignore") or chr(code) for code in range(0x80, 0xA0)}
    return data.decode("latin-1").translate(high)


def shown(text: str) -> str:
    """Return *text* with each byte that is no character as U+FFFD, as a lossy decoder has it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text
