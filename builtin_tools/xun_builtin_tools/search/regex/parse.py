"""A parser for the syntax of Rust's `regex` crate, which ripgrep uses.

Some escapes that this crate refuses but that everyone writes, such as ``\\/``, are taken for what they
mean; `Parsed.source` is the pattern with these rewritten, so that every version of ripgrep takes it.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

from xun_builtin_tools.search.regex import charset
from xun_builtin_tools.search.regex.charset import ALL, NEWLINE, Ranges
from xun_builtin_tools.search.regex.classes import ClassParser, read_code_point
from xun_builtin_tools.search.regex.cursor import Cursor, PatternError
from xun_builtin_tools.search.regex.nodes import Alt, Chars, Look, LookKind, Node, Repeat, Seq, size

__all__ = ["Parsed", "PatternError", "parse", "parse_literal"]

_MAX_DEPTH = 100
_MAX_SIZE = 100_000
_LOOKS = {
    "b": LookKind.WORD,
    "B": LookKind.NOT_WORD,
    "A": LookKind.TEXT_START,
    "z": LookKind.TEXT_END,
    "<": LookKind.WORD_START,
    ">": LookKind.WORD_END,
}
_NAMED_LOOKS = {
    "{start}": LookKind.WORD_START,
    "{end}": LookKind.WORD_END,
    "{start-half}": LookKind.START_HALF,
    "{end-half}": LookKind.END_HALF,
}


@dataclass(frozen=True, slots=True)
class Parsed:
    """A pattern, understood."""

    node: Node
    source: str
    """The pattern in a form that every version of ripgrep takes."""
    exact: bool = True
    """Whether *source* means the same to ripgrep."""


@dataclass(frozen=True, slots=True)
class _Flags:
    ignore_case: bool = False
    dotall: bool = False
    lines: bool = True
    lazy: bool = False
    verbose: bool = False


def parse(pattern: str, *, ignore_case: bool = False, dotall: bool = False) -> Parsed:
    """Parse *pattern*.

    Raises:
        PatternError: It is no regular expression of this syntax; the text says what is wrong and where.
    """
    cursor = Cursor(pattern)
    node = _Parser(cursor).alternation(_Flags(ignore_case=ignore_case, dotall=dotall), 0)
    if not cursor.done:
        raise cursor.error("there is no group open that this ')' could close")
    return Parsed(_bounded(node), cursor.rewritten(), not cursor.lossy)


def parse_literal(text: str, *, ignore_case: bool = False) -> Parsed:
    """Return the pattern that matches *text* itself."""
    points = [((ord(char), ord(char)),) for char in text]
    return Parsed(_bounded(Seq(tuple(Chars(charset.fold(p) if ignore_case else p) for p in points))), text)


def _bounded(node: Node) -> Node:
    if size(node) > _MAX_SIZE:
        raise PatternError(f"the pattern is too large: its repeats make more than {_MAX_SIZE:,} states")
    return node


class _Parser:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.classes = ClassParser(cursor)

    def alternation(self, flags: _Flags, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            raise self.cursor.error(f"groups are nested more than {_MAX_DEPTH} deep")
        branches: list[Node] = []
        items: list[Node] = []
        while not self.cursor.done and self.cursor.peek() != ")":
            if self.cursor.take("|"):
                branches.append(_sequence(items))
                items = []
                continue
            changed = self._flag_switch(flags)
            if changed is not None:
                flags = changed
                continue
            self._item(items, flags, depth)
        branches.append(_sequence(items))
        return branches[0] if len(branches) == 1 else Alt(tuple(branches))

    def _item(self, items: list[Node], flags: _Flags, depth: int) -> None:
        cursor = self.cursor
        char = cursor.peek()
        if flags.verbose and char.isspace():
            cursor.next()
        elif flags.verbose and char == "#":
            cursor.skip_line()
        elif char in "*+?":
            self._repeat(items, flags, {"*": (0, None), "+": (1, None), "?": (0, 1)}[cursor.next()])
        elif char == "{":
            # A brace that can be no repeat is itself, as in "class A {" or "${x}".
            if not items or not (cursor.rest(1)[:1].isdigit() or cursor.rest(1)[:1] == ","):
                cursor.fix(1, "\\{")
                items.append(self._char("{", flags))
            else:
                self._repeat(items, flags, self._bounds())
        else:
            items.append(self._atom(flags, depth))

    def _repeat(self, items: list[Node], flags: _Flags, bounds: tuple[int, int | None]) -> None:
        if not items:
            raise self.cursor.error("there is nothing before it to repeat", back=1)
        lazy = self.cursor.take("?") != flags.lazy
        items[-1] = _bounded(Repeat(items[-1], bounds[0], bounds[1], not lazy))

    def _bounds(self) -> tuple[int, int | None]:
        cursor = self.cursor
        start = cursor.at
        cursor.next()
        text = cursor.until("}", "a repeat such as {2,5} is not closed")
        low, comma, high = (part.strip() for part in text.partition(","))
        numbers = [part for part in (low, high) if part]
        if not low or not all(part.isascii() and part.isdigit() and len(part) < 7 for part in numbers):
            raise cursor.error("a repeat is written {2}, {2,} or {2,5}", at=start)
        if comma and high and int(high) < int(low):
            raise cursor.error(f"a repeat cannot go from {low} to {high}", at=start)
        return int(low), (int(high) if high else None) if comma else int(low)

    def _atom(self, flags: _Flags, depth: int) -> Node:
        cursor = self.cursor
        char = cursor.peek()
        if char == "(":
            return self._group(flags, depth)
        if char == "[":
            return self._set(self.classes.parse(flags.ignore_case))
        cursor.next()
        if char == ".":
            return Chars(ALL if flags.dotall else charset.negate(NEWLINE))
        if char == "^":
            return Look(LookKind.LINE_START if flags.lines else LookKind.TEXT_START)
        if char == "$":
            return Look(LookKind.LINE_END if flags.lines else LookKind.TEXT_END)
        return self._escape(flags) if char == "\\" else self._char(char, flags)

    def _group(self, flags: _Flags, depth: int) -> Node:
        cursor = self.cursor
        start = cursor.at
        cursor.next()
        if cursor.take("?"):
            flags = self._group_head(flags, start)
        node = self.alternation(flags, depth + 1)
        if not cursor.take(")"):
            raise cursor.error("a group is not closed", at=start)
        return node if isinstance(node, Alt | Chars) else Seq((node,))

    def _group_head(self, flags: _Flags, start: int) -> _Flags:
        cursor = self.cursor
        if cursor.rest().startswith(("=", "!", "<=", "<!")):
            raise cursor.error("look-ahead and look-behind are not supported", at=start)
        if cursor.rest().startswith(("P=", "P>", "R", "&", ">", "|", "#", "(")):
            raise cursor.error("back-references, recursion and atomic groups are not supported", at=start)
        if cursor.take("P<") or cursor.take("<"):
            name = cursor.until(">", "the name of a group is not closed")
            if not name.replace("_", "a").replace(".", "a").isalnum() or name[0].isdigit():
                raise cursor.error(f"{name!r} is no name for a group", at=start)
            return flags
        return self._flags(flags, ":", start)

    def _flag_switch(self, flags: _Flags) -> _Flags | None:
        """Read ``(?i)``: a change for the rest of the group; None when there is none here."""
        cursor = self.cursor
        head = cursor.rest()[:12]
        close = head.find(")")
        if not head.startswith("(?") or close < 3 or not all(char in "imsUuxR-" for char in head[2:close]):
            return None
        start = cursor.at
        cursor.next(2)
        return self._flags(flags, ")", start)

    def _flags(self, flags: _Flags, end: str, start: int) -> _Flags:
        on = True
        values = {name: getattr(flags, name) for name in ("ignore_case", "dotall", "lines", "lazy", "verbose")}
        fields = {"i": "ignore_case", "s": "dotall", "m": "lines", "U": "lazy", "x": "verbose"}
        for char in self.cursor.until(end, "a group is not closed", at=start):
            if char == "-" and on:
                on = False
            elif char in fields:
                values[fields[char]] = on
            elif char != "u" or not on:
                raise self.cursor.error(f"the flag {char!r} is not supported", at=start)
        # A line break that is only layout would be an alternative to ripgrep.
        self.cursor.lossy = self.cursor.lossy or values["verbose"]
        return _Flags(**values)

    def _char(self, char: str, flags: _Flags) -> Node:
        ranges: Ranges = ((ord(char), ord(char)),)
        return Chars(charset.fold(ranges) if flags.ignore_case else ranges)

    def _escape(self, flags: _Flags) -> Node:
        cursor = self.cursor
        if cursor.done:
            raise cursor.error("a backslash ends the pattern", back=1)
        char = cursor.peek()
        if char in "<>":
            cursor.fix(1, "b", lossy=True)
            return Look(_LOOKS[char])
        if char in _LOOKS:
            cursor.next()
            if char == "b":
                for text, kind in _NAMED_LOOKS.items():
                    if cursor.take(text):
                        return Look(kind)
            return Look(_LOOKS[char])
        if char in string.digits:
            raise cursor.error("back-references are not supported", back=1)
        if char in "dDsSwWpP":
            return self._set(self.classes.escape_set(flags.ignore_case))
        return self._char(read_code_point(cursor), flags)

    def _set(self, ranges: Ranges) -> Node:
        return Chars(ranges)


def _sequence(items: list[Node]) -> Node:
    return items[0] if len(items) == 1 else Seq(tuple(items))
