"""Where vi's motions and text objects lead in a text; offsets in, offsets out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from unicodedata import east_asian_width

_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_OBJECTS = {"b": "(", "B": "{", ")": "(", "]": "[", "}": "{", ">": "<"}
_QUOTES = "\"'`"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a motion leads.

    Attributes:
        at: The offset.
        inclusive: An operator takes the character there too.
        lines: An operator takes whole lines.
    """

    at: int
    inclusive: bool = False
    lines: bool = False


def line_start(text: str, at: int) -> int:
    """Return where the line of *at* begins."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Return where the line of *at* ends: its newline, or the end of the text."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def on_character(text: str, at: int) -> int:
    """Return *at*, or the last character of its line when it stands behind that."""
    at = max(0, min(at, len(text)))
    return at - 1 if at == line_end(text, at) and at > line_start(text, at) else at


def first_word(text: str, at: int) -> int:
    """Return the first character of the line that is no blank."""
    start, end = line_start(text, at), line_end(text, at)
    return on_character(text, start + len(text[start:end]) - len(text[start:end].lstrip()))


def line_by(text: str, at: int, by: int) -> int | None:
    """Return the start of the line *by* lines below that of *at*; None when there is none that far."""
    start = line_start(text, at)
    for _ in range(abs(by)):
        if by > 0:
            end = line_end(text, start)
            if end == len(text):
                return None
            start = end + 1
        elif start == 0:
            return None
        else:
            start = line_start(text, start - 1)
    return start


def _kind(char: str, big: bool) -> int:
    if char.isspace():
        return 0
    if big or char == "_" or (char.isascii() and char.isalnum()):
        return 1
    if not char.isascii() and east_asian_width(char) in "WF":
        return 3  # as in vi, words of Chinese and of Latin letters are two even without a blank
    return 1 if char.isalnum() else 2


def _empty_line(text: str, at: int) -> bool:
    return at < len(text) and text[at] == "\n" and (at == 0 or text[at - 1] == "\n")


def word(text: str, at: int, big: bool = False) -> int:
    """Return where the next word begins; an empty line is one."""
    end = len(text)
    if at < end and (kind := _kind(text[at], big)):
        while at < end and _kind(text[at], big) == kind:
            at += 1
    else:
        at += at < end
    while at < end and text[at].isspace() and not _empty_line(text, at):
        at += 1
    return at


def word_back(text: str, at: int, big: bool = False) -> int:
    """Return where this word begins, or the one before."""
    at -= 1
    while at > 0 and text[at].isspace() and not _empty_line(text, at):
        at -= 1
    if at <= 0 or _empty_line(text, at):
        return max(0, at)
    kind = _kind(text[at], big)
    while at > 0 and _kind(text[at - 1], big) == kind:
        at -= 1
    return at


def word_end(text: str, at: int, big: bool = False) -> int:
    """Return the last character of this word, or of the next one when it stands there."""
    last = max(0, len(text) - 1)
    at = min(at + 1, last)
    while at < last and text[at].isspace():
        at += 1
    return run_end(text, at, big)


def run_end(text: str, at: int, big: bool = False) -> int:
    """Return the last character of the run of equal kind that *at* stands in."""
    while at + 1 < len(text) and text[at + 1] != "\n" and _kind(text[at + 1], big) == _kind(text[at], big):
        at += 1
    return at


def word_change_end(text: str, at: int, big: bool, count: int) -> int:
    """Return the last character that ``cw`` takes: of the word at *at*, or of the *count* words that begin there."""
    at = run_end(text, at, big)
    return _repeated(word_end, text, at, big, count - 1)


def words_only(text: str, start: int, end: int) -> int:
    """Return where ``dw`` from *start* stops: it does not join lines, as the next word may stand on another one."""
    while end > start and (begin := line_start(text, end)) > start and not text[begin:end].strip(" \t"):
        end = begin - 1
    return end


def word_end_back(text: str, at: int, big: bool = False) -> int:
    """Return the last character of the word before."""
    kind = _kind(text[at], big) if at < len(text) else 0
    while at > 0 and kind and _kind(text[at], big) == kind:
        at -= 1
        if not at:
            return 0
    at -= not kind and at > 0
    while at > 0 and text[at].isspace():
        at -= 1
    return at


def found(text: str, at: int, how: str, char: str, count: int = 1) -> int | None:
    """Return where f, F, t or T (*how*) and *char* lead within the line; None when it is not there."""
    start, end = line_start(text, at), line_end(text, at)
    place = at
    for _ in range(count):
        place = text.find(char, place + 1, end) if how in "ft" else text.rfind(char, start, place)
        if place < 0:
            return None
    return place + {"t": -1, "T": 1}.get(how, 0)


def match(text: str, at: int) -> int | None:
    """Return the bracket that belongs to the one at *at*, or to the next one of the line."""
    end = line_end(text, at)
    while at < end and text[at] not in "()[]{}":
        at += 1
    if at >= end:
        return None
    pairs = {**_PAIRS, **{shut: begin for begin, shut in _PAIRS.items()}}
    own, other, step = text[at], pairs[text[at]], 1 if text[at] in _PAIRS else -1
    depth = 0
    while 0 <= at < len(text):
        depth += (text[at] == own) - (text[at] == other)
        if not depth:
            return at
        at += step
    return None


def text_object(text: str, at: int, name: str, around: bool, count: int = 1) -> tuple[int, int] | None:
    """Return what i or a (*around*) and *name* stand for: w W, quotes, brackets; None when there is nothing of it."""
    if name in "wW":
        span = _word_object(text, at, name == "W", around)
        for _ in range(min(count, len(text)) - 1):
            more = _word_object(text, span[1], name == "W", around) if span is not None else None
            span = (span[0], more[1]) if span is not None and more is not None else None
        return span
    if name in _QUOTES:
        return _quoted(text, at, name, around)
    name = _OBJECTS.get(name, name)
    return _bracketed(text, at, name, around) if name in _PAIRS else None


def _word_object(text: str, at: int, big: bool, around: bool) -> tuple[int, int] | None:
    start, end = line_start(text, at), line_end(text, at)
    if at >= end:
        return None

    def grown(first: int, last: int) -> tuple[int, int]:
        kind = _kind(text[first], big)
        while first > start and _kind(text[first - 1], big) == kind:
            first -= 1
        while last < end and _kind(text[last], big) == kind:
            last += 1
        return first, last

    first, last = grown(at, at)
    if not around:
        return first, last
    if last < end and (text[last].isspace() or text[at].isspace()):
        return first, grown(last, last)[1]
    return (grown(first - 1, first)[0] if first > start and text[first - 1].isspace() else first), last


def _quoted(text: str, at: int, quote: str, around: bool) -> tuple[int, int] | None:
    start, end = line_start(text, at), line_end(text, at)
    places = [place for place in range(start, end) if text[place] == quote and text[place - 1 : place] != "\\"]
    for first, last in zip(places[::2], places[1::2], strict=False):
        if at <= last:
            return (first, last + 1) if around else (first + 1, last)
    return None


def _bracketed(text: str, at: int, begin: str, around: bool) -> tuple[int, int] | None:
    shut = _PAIRS[begin]
    first = _open_before(text, at, begin, shut)
    if first is None:
        return None
    depth = 0
    for last in range(first, len(text)):
        depth += (text[last] == begin) - (text[last] == shut)
        if not depth:
            return (first, last + 1) if around else (first + 1, last)
    return None


def _open_before(text: str, at: int, begin: str, shut: str) -> int | None:
    depth = 0
    for place in range(min(at, len(text) - 1), -1, -1):
        if text[place] == shut and place != at:
            depth += 1
        elif text[place] == begin:
            if not depth:
                return place
            depth -= 1
    return None


def _line_motion(text: str, at: int, name: str, count: int | None) -> Target | None:
    """Return where j, k, G or gg lead: to the start of a line."""
    if name in "jk":
        start = line_by(text, at, (count or 1) * (1 if name == "j" else -1))
        return None if start is None else Target(start, lines=True)
    start = 0
    if name == "G" and count is None:
        start = line_start(text, len(text))
    for _ in range((count or 1) - 1):
        start = line_by(text, start, 1) or start
    return Target(start, lines=True)


def _repeated(move: Callable[[str, int, bool], int], text: str, at: int, big: bool, count: int) -> int:
    for _ in range(min(count, len(text))):
        at = move(text, at, big)
    return at


_WORDS: dict[str, tuple[Callable[[str, int, bool], int], bool]] = {
    "w": (word, False),
    "b": (word_back, False),
    "e": (word_end, True),
    "ge": (word_end_back, True),
}


def motion(text: str, at: int, name: str, count: int | None = None) -> Target | None:
    """Return where a motion leads from *at*; None when it leads nowhere, or *name* is none.

    Args:
        text: The text.
        at: The offset of the cursor.
        name: One of h l j k w b e ge (W B E gE) 0 ^ $ g_ gg G %.
        count: How often, or which line; None when nothing was said.
    """
    times, small = count or 1, name.lower()
    if small in _WORDS:
        move, inclusive = _WORDS[small]
        return Target(_repeated(move, text, at, name != small, times), inclusive)
    if name in ("j", "k", "G", "gg"):
        return _line_motion(text, at, name, count)
    start, end = line_start(text, at), line_end(text, at)
    if name in ("$", "g_"):
        below = line_by(text, at, times - 1)
        end = line_end(text, at if below is None else below)
        if name == "g_":
            end = start + len(text[start:end].rstrip()) if below == start else end
        return Target(max(line_start(text, end), end - 1), inclusive=True)
    if name == "%":
        place = match(text, at)
        return None if place is None else Target(place, inclusive=True)
    simple = {
        "h": max(start, at - times),
        "l": min(end, at + times),
        "0": start,
        "^": first_word(text, at),
    }
    return Target(simple[name]) if name in simple else None
