"""Sets in patterns: ``[a-z]``, ``[[:alpha:]]``, ``\\w``, ``\\p{Greek}``, and escapes of one character."""

from __future__ import annotations

import string

from xun_builtin_tools.search.regex import charset
from xun_builtin_tools.search.regex.charset import ASCII_CLASSES, SPACE, Ranges
from xun_builtin_tools.search.regex.cursor import Cursor

_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_META = frozenset("\\.+*?()|[]{}^$#&-~")
_MAX_DEPTH = 50


def read_code_point(cursor: Cursor) -> str:
    """Read what follows a backslash as one character."""
    char = cursor.next()
    if char in _CONTROLS:
        return _CONTROLS[char]
    if char in _HEX_DIGITS:
        return _hex(cursor, char)
    if char in _META:
        return char
    if char in string.punctuation or char == " " or not char.isascii():
        # Old versions of ripgrep refuse an escape that is not needed; models write \/ and \" all the time.
        cursor.at -= 1
        cursor.fix(1, char, back=1, lossy=char == " ")
        return char
    raise cursor.error(f"\\{char} is no escape that is known", at=cursor.at - 2)


def _hex(cursor: Cursor, kind: str) -> str:
    start = cursor.at - 2
    braced = cursor.take("{")
    text = cursor.until("}", "a character code is not closed") if braced else cursor.next(_HEX_DIGITS[kind])
    short = not braced and len(text) != _HEX_DIGITS[kind]
    if short or not text or len(text) > 8 or not all(char in string.hexdigits for char in text):
        raise cursor.error("a character code is written \\x41, \\u0041 or \\x{41}", at=start)
    point = int(text, 16)
    if point > charset.LAST or 0xD800 <= point <= 0xDFFF:
        raise cursor.error(f"{text} is the code of no character", at=start)
    return chr(point)


class ClassParser:
    """Reads sets at the position of a cursor."""

    __slots__ = ("cursor",)

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor

    def escape_set(self, ignore_case: bool) -> Ranges:
        r"""Read the rest of ``\d``, ``\pL``, ``\p{Greek}`` and the like."""
        char = self.cursor.next()
        kind = char.lower()
        if kind == "d":
            ranges = charset.digit()
        elif kind == "s":
            ranges = SPACE
        elif kind == "w":
            ranges = charset.word()
        else:
            return self._property(char == "P", ignore_case)
        return charset.negate(ranges) if char.isupper() else ranges

    def _property(self, negated: bool, ignore_case: bool) -> Ranges:
        cursor = self.cursor
        start = cursor.at - 2
        name = cursor.until("}", "the name of a property is not closed") if cursor.take("{") else cursor.next()
        if name.startswith("^"):
            negated, name = not negated, name[1:]
        ranges = charset.unicode_property(name)
        if ranges is None:
            raise cursor.error(f"the property {name!r} is not known", at=start)
        ranges = charset.fold(ranges) if ignore_case else ranges
        return charset.negate(ranges) if negated else ranges

    def parse(self, ignore_case: bool, depth: int = 0) -> Ranges:
        """Read a set that begins with ``[`` here."""
        cursor = self.cursor
        start = cursor.at
        if depth > _MAX_DEPTH:
            raise cursor.error(f"sets are nested more than {_MAX_DEPTH} deep")
        cursor.next()
        negated = cursor.take("^")
        union: Ranges = ()
        left: Ranges | None = None
        operator = ""
        first = True
        while True:
            if cursor.done:
                raise cursor.error("a set is not closed", at=start)
            if not first and cursor.take("]"):
                break
            pair = cursor.rest()[:2]
            if not first and pair in ("&&", "--", "~~"):
                cursor.next(2)
                left = _combine(left, operator, union)
                operator, union = pair, ()
                continue
            union = charset.merged((*union, *self._item(ignore_case, depth, start)))
            first = False
        result = _combine(left, operator, union)
        return charset.negate(result) if negated else result

    def _item(self, ignore_case: bool, depth: int, start: int) -> Ranges:
        cursor = self.cursor
        if cursor.rest().startswith("[:"):
            named = self._posix(ignore_case)
            if named is not None:
                return named
        if cursor.peek() == "[":
            return self.parse(ignore_case, depth + 1)
        low = self._member(ignore_case)
        if not isinstance(low, str):
            return low
        high = low
        if cursor.peek() == "-" and cursor.rest(1)[:1] not in ("]", "", "-"):
            cursor.next()
            end = self._member(ignore_case)
            if not isinstance(end, str) or end < low:
                raise cursor.error("a range in a set runs from a lower to a higher character", at=start)
            high = end
        ranges: Ranges = charset.intersect(((ord(low), ord(high)),), charset.ALL)
        return charset.fold(ranges) if ignore_case else ranges

    def _member(self, ignore_case: bool) -> str | Ranges:
        cursor = self.cursor
        char = cursor.next()
        if char != "\\":
            return char
        if cursor.done:
            raise cursor.error("a backslash ends the pattern", back=1)
        if cursor.peek() in "dDsSwWpP":
            return self.escape_set(ignore_case)
        if cursor.peek() in string.digits:
            raise cursor.error("back-references are not supported", back=1)
        return read_code_point(cursor)

    def _posix(self, ignore_case: bool) -> Ranges | None:
        cursor = self.cursor
        body, close, _ = cursor.rest(2).partition(":]")
        negated = body.startswith("^")
        name = body.removeprefix("^")
        if not close or name not in ASCII_CLASSES:
            return None
        cursor.next(len(body) + 4)
        ranges = charset.fold(ASCII_CLASSES[name]) if ignore_case else ASCII_CLASSES[name]
        return charset.negate(ranges) if negated else ranges


def _combine(left: Ranges | None, operator: str, right: Ranges) -> Ranges:
    if left is None:
        return right
    if operator == "&&":
        return charset.intersect(left, right)
    if operator == "--":
        return charset.subtract(left, right)
    both = charset.intersect(left, right)
    return charset.subtract(charset.merged((*left, *right)), both)
