"""A parsed pattern as one of Python's `re`, of the same meaning."""

from __future__ import annotations

from xun_builtin_tools.search.regex import charset
from xun_builtin_tools.search.regex.charset import ASCII_CLASSES, LAST, Ranges
from xun_builtin_tools.search.regex.nodes import Alt, Chars, Look, LookKind, Node, Repeat, Seq

_ASCII: Ranges = ((0, 127),)
_SURROGATES = (0xD800, 0xDFFF)
_BROKEN = "\\udc80-\\udcff"


def emit(node: Node, *, ascii_only: bool, crlf: bool) -> str:
    """Return the pattern for `re.compile` without flags.

    Args:
        node: The pattern.
        ascii_only: The text to search has only ASCII characters, so that sets can be cut down to them.
        crlf: A line also ends before ``\\r\\n``, and before ``\\r`` at the end of the text.
    """
    return _Emitter(ascii_only, crlf).emit(node)


class _Emitter:
    def __init__(self, ascii_only: bool, crlf: bool) -> None:
        self.ascii_only = ascii_only
        self.crlf = crlf

    def emit(self, node: Node) -> str:
        if isinstance(node, Chars):
            return self.chars(node.ranges)
        if isinstance(node, Seq):
            return "".join(f"(?:{self.emit(i)})" if isinstance(i, Alt) else self.emit(i) for i in node.items)
        if isinstance(node, Alt):
            return "|".join(self.emit(item) for item in node.items)
        if isinstance(node, Look):
            return self.look(node.kind)
        return self.repeat(node)

    def repeat(self, node: Repeat) -> str:
        body = self.emit(node.body)
        if not isinstance(node.body, Chars):
            body = f"(?:{body})"
        suffix = "" if node.greedy else "?"
        if (node.low, node.high) == (0, 1):
            return f"{body}?{suffix}"
        if node.high is None and node.low < 2:
            return f"{body}{'+' if node.low else '*'}{suffix}"
        return f"{body}{{{node.low},{'' if node.high is None else node.high}}}{suffix}"

    def chars(self, ranges: Ranges) -> str:
        if self.ascii_only:
            return _set(charset.intersect(ranges, _ASCII), ((0, 127),))
        return _set(ranges, charset.ALL)

    def word(self) -> str:
        return self.chars(ASCII_CLASSES["word"] if self.ascii_only else charset.word())

    def look(self, kind: LookKind) -> str:
        if kind is LookKind.LINE_START:
            return "(?m:^)"
        if kind is LookKind.LINE_END:
            return "(?=\\r?(?:\\n|\\Z))" if self.crlf else "(?m:$)"
        if kind in (LookKind.TEXT_START, LookKind.TEXT_END):
            return "\\A" if kind is LookKind.TEXT_START else "\\Z"
        word = self.word()
        before, after = f"(?<={word})", f"(?={word})"
        not_before, not_after = f"(?<!{word})", f"(?!{word})"
        return {
            LookKind.WORD: f"(?:{before}{not_after}|{not_before}{after})",
            LookKind.NOT_WORD: f"(?:{before}{after}|{not_before}{not_after})",
            LookKind.WORD_START: not_before + after,
            LookKind.WORD_END: before + not_after,
            # ripgrep takes a byte that is no character for a neighbour that may be of the word.
            LookKind.START_HALF: not_before if self.ascii_only else f"{not_before}(?<![{_BROKEN}])",
            LookKind.END_HALF: not_after if self.ascii_only else f"{not_after}(?![{_BROKEN}])",
        }[kind]


def _set(ranges: Ranges, universe: Ranges) -> str:
    if not ranges:
        return "(?!)"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _point(ranges[0][0])
    if ranges[-1][1] == universe[-1][1]:
        rest = charset.subtract(universe, ranges)
        # A surrogate stands for a byte that is no character; only a set that says "not" could take it.
        if universe[-1][1] == LAST:
            rest = (*rest, _SURROGATES)
        if not rest:
            return "[\\s\\S]"
        return "[^" + "".join(map(_range, rest)) + "]"
    return "[" + "".join(map(_range, ranges)) + "]"


def _range(pair: tuple[int, int]) -> str:
    low, high = pair
    return _point(low) if low == high else f"{_point(low)}-{_point(high)}"


def _point(point: int) -> str:
    char = chr(point)
    if char.isascii() and char.isalnum():
        return char
    return f"\\x{point:02x}" if point < 256 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
