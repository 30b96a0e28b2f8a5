"""One pattern made ready to search texts: which means to use for which text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from xun_builtin_tools.search.regex.automaton import Automaton
from xun_builtin_tools.search.regex.charset import NEWLINE, Ranges, subtract
from xun_builtin_tools.search.regex.emit import emit
from xun_builtin_tools.search.regex.nodes import (
    EXPONENTIAL,
    Alt,
    Chars,
    Look,
    LookKind,
    Node,
    Repeat,
    Seq,
    case_free,
    degree,
    literals,
    names,
    takes,
)
from xun_builtin_tools.search.regex.parse import Parsed, PatternError

# Steps that backtracking may need for one text at the very worst, where nothing can stop it: a second or two.
_MAX_STEPS = 100_000_000
_CARRIAGE_RETURN = 13
_LINE_FEED = 10
_LINE_ENDS: Ranges = ((10, 10), (13, 13))


class Matcher:
    """Searches decoded texts for one pattern.

    Attributes:
        multiline: Whether a match may really run over lines; False also when it was allowed but the
            pattern takes no line break.
        crlf: Whether a line also ends before ``\\r\\n``; not when the pattern itself names ``\\r``.
    """

    __slots__ = ("_automaton", "_degree", "_folded", "_literals", "_regexes", "crlf", "multiline", "node")

    def __init__(self, parsed: Parsed, *, word: bool = False, multiline: bool = False) -> None:
        node = parsed.node
        self.crlf = not names(node, _CARRIAGE_RETURN)
        if not multiline:
            if names(node, _LINE_FEED):
                raise PatternError("the pattern names a line break; that needs multiline=true")
            node = _in_line(node, _LINE_ENDS if self.crlf else NEWLINE)
        self.multiline = multiline and takes(node, _LINE_FEED)
        if word:
            node = Seq((Look(LookKind.START_HALF), node, Look(LookKind.END_HALF)))
        self.node = node
        self._degree = degree(node)
        self._folded = case_free(node)
        self._literals = self._needed()
        self._regexes: dict[bool, re.Pattern[str]] = {}
        self._automaton: Automaton | None = None

    def _needed(self) -> tuple[bytes, ...]:
        texts = literals(self.node) or ()
        return tuple((text.lower() if self._folded else text).encode() for text in texts)

    def may_match(self, data: bytes) -> bool:
        """Return False when UTF-8 *data* certainly holds no match; quick."""
        if not self._literals:
            return True
        if self._folded:
            if not data.isascii():
                return True
            data = data.lower()
        return any(literal in data for literal in self._literals)

    def spans(self, text: str, tick: Callable[[], None]) -> Iterator[tuple[int, int]]:
        """Yield start and end of every match, at most one per line unless `multiline`.

        Args:
            text: A whole file.
            tick: Called now and then; may raise to give up.
        """
        find = self._finder(text, tick)
        at, end = 0, len(text)
        # What follows the last line break is a line only when it is not empty.
        last = end - 1 if text.endswith("\n") else end
        while at <= last and end:
            span = find(at)
            if span is None or span[0] > last:
                return
            yield span
            if self.multiline:
                at = span[1] if span[1] > span[0] else span[1] + 1
            else:
                line_end = text.find("\n", span[1])
                at = end + 1 if line_end < 0 else line_end + 1

    def _finder(self, text: str, tick: Callable[[], None]) -> Callable[[int], tuple[int, int] | None]:
        if self._backtracks_well(text):
            search = self.regex(text.isascii()).search

            def by_regex(at: int) -> tuple[int, int] | None:
                found = search(text, at)
                return found.span() if found else None

            return by_regex
        automaton = self._linear()
        return lambda at: automaton.find(text, at, tick)

    def _backtracks_well(self, text: str) -> bool:
        if self._degree == 0:
            return True
        if self._degree >= EXPONENTIAL:
            return False
        lines = [text] if self.multiline else text.split("\n")
        power = self._degree + 1
        steps: int = sum(len(line) ** power for line in lines)
        return steps <= _MAX_STEPS

    def regex(self, ascii_only: bool) -> re.Pattern[str]:
        regex = self._regexes.get(ascii_only)
        if regex is None:
            regex = re.compile(emit(self.node, ascii_only=ascii_only, crlf=self.crlf))
            self._regexes[ascii_only] = regex
        return regex

    def _linear(self) -> Automaton:
        if self._automaton is None:
            self._automaton = Automaton(self.node, crlf=self.crlf)
        return self._automaton


def _in_line(node: Node, ends: Ranges) -> Node:
    """Return the pattern for the search by line: no set takes what ends lines, the text is the line."""
    if isinstance(node, Chars):
        return Chars(subtract(node.ranges, ends))
    if isinstance(node, Seq | Alt):
        return type(node)(tuple(_in_line(item, ends) for item in node.items))
    if isinstance(node, Repeat):
        return Repeat(_in_line(node.body, ends), node.low, node.high, node.greedy)
    if node.kind is LookKind.TEXT_START:
        return Look(LookKind.LINE_START)
    return Look(LookKind.LINE_END) if node.kind is LookKind.TEXT_END else node
