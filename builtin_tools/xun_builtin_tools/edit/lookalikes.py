"""Characters that models write for one another, folded one to one so that offsets stay equal.

Only typography is here: dashes, quotation marks, spaces. Letters that merely look alike (a Cyrillic
"a" in an identifier) are different names, and are never folded.
"""

from __future__ import annotations

import unicodedata

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_SINGLE_QUOTES = "\u2018\u2019\u201a\u201b\u2032\uff07"
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f\u2033\uff02"
_SPACES = "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"

FOLD: dict[int, str] = {
    **dict.fromkeys(map(ord, _DASHES), "-"),
    **dict.fromkeys(map(ord, _SINGLE_QUOTES), "'"),
    **dict.fromkeys(map(ord, _DOUBLE_QUOTES), '"'),
    **dict.fromkeys(map(ord, _SPACES), " "),
}
"""For `str.translate`: each look-alike to its plain ASCII character."""


def fold(text: str) -> str:
    """Return *text*, of the same length, with look-alikes as plain characters."""
    return text if text.isascii() else text.translate(FOLD)


def describe(char: str) -> str:
    """Return a character for a message: as it is, with its code point when it is not plain ASCII."""
    if char == "\t":
        return "a tab"
    if char == " ":
        return "a space"
    code = ord(char)
    if 0x20 < code < 0x7F:
        return repr(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"byte 0x{code - 0xDC00:02X}"
    name = unicodedata.name(char, "")
    return f"U+{code:04X}{' ' + name if name else ''}"
