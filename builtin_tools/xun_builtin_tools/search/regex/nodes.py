"""The tree of a parsed pattern, and what can be told from it without matching."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from xun_builtin_tools.search.regex.charset import Ranges, contains


class LookKind(StrEnum):
    """A condition on a position between two characters."""

    LINE_START = "line_start"
    LINE_END = "line_end"
    TEXT_START = "text_start"
    TEXT_END = "text_end"
    WORD = "word"
    NOT_WORD = "not_word"
    WORD_START = "word_start"
    WORD_END = "word_end"
    START_HALF = "start_half"
    END_HALF = "end_half"


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Seq:
    """One after the other; empty matches the empty text."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    """The first that matches."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """*low* to *high* times, without end when *high* is None."""

    body: Node
    low: int
    high: int | None
    greedy: bool


@dataclass(frozen=True, slots=True)
class Look:
    """A condition that takes no character."""

    kind: LookKind


Node = Chars | Seq | Alt | Repeat | Look

# What matching by backtracking costs at most on a line of n characters is n ** degree; from here on
# only the automaton is used.
EXPONENTIAL = 1000
_MAX_LITERALS = 16


def size(node: Node) -> int:
    """Return the number of states that the pattern needs once counted repeats are written out."""
    if isinstance(node, Seq | Alt):
        return 1 + sum(size(item) for item in node.items)
    if isinstance(node, Repeat):
        times = node.high if node.high is not None else node.low + 1
        return 1 + size(node.body) * max(times, 1)
    return 1


def degree(node: Node) -> int:
    """Return how fast backtracking grows with the line: 0 linear, 1 quadratic, ..., `EXPONENTIAL`."""
    if isinstance(node, Seq):
        return min(sum(degree(item) for item in node.items), EXPONENTIAL)
    if isinstance(node, Alt):
        return max((degree(item) for item in node.items), default=0)
    if isinstance(node, Repeat):
        if isinstance(node.body, Chars):
            return 0 if node.high == node.low or (node.low, node.high) == (0, 1) else 1
        inner = degree(node.body)
        if node.high is not None and node.high <= 1:
            return inner
        if node.high == node.low and inner == 0 and _fixed(node.body):
            return 0
        return EXPONENTIAL
    return 0


def _fixed(node: Node) -> bool:
    """Return whether there is only one way to match, whatever the text."""
    if isinstance(node, Seq):
        return all(_fixed(item) for item in node.items)
    if isinstance(node, Repeat):
        return node.low == node.high and _fixed(node.body)
    return not isinstance(node, Alt)


def takes(node: Node, point: int) -> bool:
    """Return whether a match can hold the character with this code point."""
    if isinstance(node, Chars):
        return contains(node.ranges, point)
    if isinstance(node, Seq | Alt):
        return any(takes(item, point) for item in node.items)
    return isinstance(node, Repeat) and takes(node.body, point)


def names(node: Node, point: int) -> bool:
    """Return whether the pattern spells out this very character."""
    if isinstance(node, Chars):
        return node.ranges == ((point, point),)
    if isinstance(node, Seq | Alt):
        return any(names(item, point) for item in node.items)
    return isinstance(node, Repeat) and names(node.body, point)


def has_text_anchor(node: Node) -> bool:
    """Return whether the pattern asks for the start or the end of the whole text."""
    if isinstance(node, Look):
        return node.kind in (LookKind.TEXT_START, LookKind.TEXT_END)
    if isinstance(node, Seq | Alt):
        return any(has_text_anchor(item) for item in node.items)
    return isinstance(node, Repeat) and has_text_anchor(node.body)


def _single(node: Node) -> str | None:
    """Return the character of a set that is one letter, or one ASCII letter in its cases."""
    if not isinstance(node, Chars) or len(node.ranges) > 3:
        return None
    points = [low for low, high in node.ranges if low == high]
    if len(points) != len(node.ranges) or not points:
        return None
    variants = {chr(point).lower() for point in points if point < 128}
    folded = {chr(point) for point in points if point >= 128}
    if len(points) == 1 and points[0] >= 128:
        return chr(points[0])
    return variants.pop() if len(variants) == 1 and folded <= {"\u017f", "\u212a"} else None


def literals(node: Node) -> tuple[str, ...] | None:
    """Return texts of which every match holds at least one, or None.

    ASCII letters are lower-cased wherever the pattern accepts both cases: see `case_free`.
    """
    if isinstance(node, Chars):
        char = _single(node)
        return None if char is None else (_exact(node, char),)
    if isinstance(node, Alt):
        found = [literals(item) for item in node.items]
        whole = tuple(text for texts in found if texts for text in texts)
        return whole if all(found) and 0 < len(whole) <= _MAX_LITERALS else None
    if isinstance(node, Repeat):
        return literals(node.body) if node.low > 0 else None
    return _best_run(node) if isinstance(node, Seq) else None


def _exact(node: Chars, char: str) -> str:
    return chr(node.ranges[0][0]) if len(node.ranges) == 1 else char


def _best_run(node: Seq) -> tuple[str, ...] | None:
    best: tuple[str, ...] | None = None
    run = ""
    for item in (*node.items, None):
        char = _single(item) if item is not None else None
        if char is not None and isinstance(item, Chars):
            run += _exact(item, char)
            continue
        if isinstance(item, Look):
            continue
        other = literals(item) if item is not None else None
        for candidate in ((run,) if run else None, other):
            if candidate and (best is None or min(map(len, candidate)) > min(map(len, best))):
                best = candidate
        run = ""
    return best


def case_free(node: Node) -> bool:
    """Return whether any set of the pattern joins the cases of a letter."""
    if isinstance(node, Chars):
        return len(node.ranges) > 1 and _single(node) is not None
    if isinstance(node, Seq | Alt):
        return any(case_free(item) for item in node.items)
    return isinstance(node, Repeat) and case_free(node.body)
