"""Sets of code points as sorted, merged, inclusive ranges.

Surrogates are in no set: in decoded text they stand for bytes that are no character.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache

Ranges = tuple[tuple[int, int], ...]

LAST = sys.maxunicode
ALL: Ranges = ((0, 0xD7FF), (0xE000, LAST))
NEWLINE: Ranges = ((10, 10),)

ASCII_CLASSES: dict[str, Ranges] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": ((48, 57),),
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}
SPACE: Ranges = (
    (9, 13),
    (32, 32),
    (0x85, 0x85),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
)
# The standard library has no table of scripts; the names of letters begin with their script.
SCRIPTS = [
    "arabic",
    "armenian",
    "bengali",
    "cyrillic",
    "devanagari",
    "ethiopic",
    "georgian",
    "greek",
    "gujarati",
    "hangul",
    "han",
    "hebrew",
    "hiragana",
    "katakana",
    "khmer",
    "lao",
    "latin",
    "mongolian",
    "myanmar",
    "tamil",
    "telugu",
    "thai",
    "tibetan",
]
_LONG_NAMES = {
    "letter": "L",
    "uppercaseletter": "Lu",
    "lowercaseletter": "Ll",
    "titlecaseletter": "Lt",
    "modifierletter": "Lm",
    "otherletter": "Lo",
    "mark": "M",
    "nonspacingmark": "Mn",
    "spacingmark": "Mc",
    "enclosingmark": "Me",
    "number": "N",
    "decimalnumber": "Nd",
    "letternumber": "Nl",
    "othernumber": "No",
    "punctuation": "P",
    "connectorpunctuation": "Pc",
    "dashpunctuation": "Pd",
    "openpunctuation": "Ps",
    "closepunctuation": "Pe",
    "initialpunctuation": "Pi",
    "finalpunctuation": "Pf",
    "otherpunctuation": "Po",
    "symbol": "S",
    "mathsymbol": "Sm",
    "currencysymbol": "Sc",
    "modifiersymbol": "Sk",
    "othersymbol": "So",
    "separator": "Z",
    "spaceseparator": "Zs",
    "lineseparator": "Zl",
    "paragraphseparator": "Zp",
    "other": "C",
    "control": "Cc",
    "format": "Cf",
    "unassigned": "Cn",
    "privateuse": "Co",
}
_CATEGORIES = frozenset(_LONG_NAMES.values())


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return *ranges* sorted, with those that touch joined."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if out and low <= out[-1][1] + 1:
            if high > out[-1][1]:
                out[-1] = (out[-1][0], high)
        else:
            out.append((low, high))
    return tuple(out)


def intersect(left: Ranges, right: Ranges) -> Ranges:
    """Return what is in both."""
    out = []
    i = j = 0
    while i < len(left) and j < len(right):
        low = max(left[i][0], right[j][0])
        high = min(left[i][1], right[j][1])
        if low <= high:
            out.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(out)


def negate(ranges: Ranges) -> Ranges:
    """Return every character that is not in *ranges*."""
    out = []
    start = 0
    for low, high in ranges:
        if low > start:
            out.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        out.append((start, LAST))
    return intersect(tuple(out), ALL)


def subtract(left: Ranges, right: Ranges) -> Ranges:
    """Return what is in *left* and not in *right*."""
    return intersect(left, negate(right))


def contains(ranges: Ranges, point: int) -> bool:
    """Return whether the code point is in the set."""
    at = bisect_right(ranges, (point, LAST))
    return at > 0 and ranges[at - 1][1] >= point


def _where(categories: tuple[str, ...], name_prefix: str = "") -> Ranges:
    points = []
    category = unicodedata.category
    for point in range(0x32000):
        char = chr(point)
        if name_prefix:
            if unicodedata.name(char, "").startswith(name_prefix):
                points.append((point, point))
        elif category(char).startswith(categories):
            points.append((point, point))
    return intersect(merged(points), ALL)


@cache
def word() -> Ranges:
    r"""Return the characters of ``\w``: letters, marks, decimal digits, connectors, joiners (UTS 18)."""
    points = _where(("L", "M", "Nd", "Nl", "Pc"))
    circled = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))
    return merged((*points, *circled, (0x200C, 0x200D), (0xE0100, 0xE01EF)))


@cache
def digit() -> Ranges:
    r"""Return the characters of ``\d``."""
    return _where(("Nd",))


@cache
def unicode_property(name: str) -> Ranges | None:
    r"""Return the set of ``\p{name}``, or None when it is not known.

    General categories are exact for assigned characters; scripts go by the names of the characters.
    """
    plain = re.sub(r"[ _-]", "", name).lower()
    for prefix in ("generalcategory=", "gc=", "script=", "sc="):
        plain = plain.removeprefix(prefix)
    if plain == "any":
        return ALL
    if plain == "ascii":
        return ASCII_CLASSES["ascii"]
    if plain in ("alphabetic", "alpha"):
        return _where(("L", "Nl"))
    if plain in ("whitespace", "space"):
        return SPACE
    if plain in ("uppercase", "lowercase"):
        return _where(("Lu",) if plain == "uppercase" else ("Ll",))
    short = _LONG_NAMES.get(plain, plain[:1].upper() + plain[1:])
    if short in _CATEGORIES:
        # Everything above the scanned planes is unassigned, private or a variation selector.
        high: Ranges = ((0x32000, LAST),) if short in ("C", "Cn") else ()
        return merged((*_where((short,)), *high))
    if plain in SCRIPTS:
        return _where((), "CJK UNIFIED IDEOGRAPH" if plain == "han" else plain.upper() + " ")
    return None


@cache
def _orbits() -> dict[str, frozenset[str]]:
    """Map every character with case to all characters that simple case folding makes equal to it."""
    groups: dict[str, set[str]] = {}
    for point in range(0x1E944):
        char = chr(point)
        # Turkish i has no simple folding (CaseFolding.txt lists it as T and F only).
        if char in "\u0130\u0131":
            continue
        folded = char.lower()
        if len(folded) == 1 and len(folded.upper()) == 1:
            folded = folded.upper().lower()
        if len(folded) == 1 and (folded != char or char.upper() != char):
            groups.setdefault(folded, {folded}).add(char)
    return {char: frozenset(group) for group in groups.values() if len(group) > 1 for char in group}


def _fold_ascii(ranges: Ranges) -> Ranges:
    extra = list(ranges)
    for low, high in ranges:
        for first, shift in ((65, 32), (97, -32)):
            start, end = max(low, first), min(high, first + 25)
            if start <= end:
                extra.append((start + shift, end + shift))
    return merged(extra)


def fold(ranges: Ranges) -> Ranges:
    """Return *ranges* with every case variant of its characters (Unicode simple case folding)."""
    if ranges == ALL:
        return ranges
    if ranges and ranges[-1][1] < 128:
        out = list(_fold_ascii(ranges))
        # The only two non-ASCII characters that fold into ASCII: long s and the Kelvin sign.
        out += [(0x17F, 0x17F)] if contains(tuple(out), 0x73) else []
        out += [(0x212A, 0x212A)] if contains(tuple(out), 0x6B) else []
        return merged(out)
    extra = list(ranges)
    for char, group in _orbits().items():
        if contains(ranges, ord(char)):
            extra.extend((ord(other), ord(other)) for other in group)
    return merged(extra)
