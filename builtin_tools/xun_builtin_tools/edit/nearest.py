"""The region of a file that is nearest to a text that was not found; only ever for messages."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xun_builtin_tools.edit.lookalikes import describe, fold

_COMPARED_CHARS = 300
_COMPARED_LINES = 60
_VOTERS = 3
_WINDOWS = 10
_MIN_SCORE = 55.0
_LINE_NUMBER = re.compile(r"\s*\d+(?:\t|[:|\u2192]\s?|\s\s)")
_ESCAPE = re.compile(r"\\([nt\"'\\])")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")


@dataclass(frozen=True, slots=True)
class Near:
    """The nearest region.

    Attributes:
        first: The index of its first line.
        diverging: The index, counted in the wanted lines, of the first one that differs.
        cause: Why that line differs, in words.
    """

    first: int
    diverging: int
    cause: str


def find_nearest(lines: Sequence[str], wanted: Sequence[str]) -> Near | None:
    """Return the region of *lines* that is nearest to *wanted*, or None when nothing is near.

    The most telling of the wanted lines vote for places, and a similarity over the whole region decides among the best.
    """
    wanted = [line[:_COMPARED_CHARS] for line in wanted[:_COMPARED_LINES]]
    if not any(line.strip() for line in wanted) or not lines:
        return None
    places = _vote(lines, wanted)
    scored = [(_score(lines, wanted, first), -first) for first in places]
    if not scored:
        return None
    score, negative = max(scored)
    if score < _MIN_SCORE:
        return None
    first = -negative
    diverging, cause = _divergence(lines, wanted, first)
    return Near(first, diverging, cause)


def _vote(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    from rapidfuzz import fuzz, process

    where: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        where.setdefault(_words(line), []).append(index)
    choices = [line for line in where if line]
    telling = sorted({_words(line): at for at, line in reversed(list(enumerate(wanted)))}.items(), key=_weight(where))
    votes: dict[int, float] = {}
    for line, offset in telling[:_VOTERS]:
        near = process.extract(line, choices, scorer=fuzz.ratio, score_cutoff=_MIN_SCORE, limit=_WINDOWS)
        for text, score, _ in near:
            for index in where[text][:_WINDOWS]:
                first = max(0, min(index - offset, len(lines) - 1))
                votes[first] = votes.get(first, 0.0) + score
    ranked = sorted(votes, key=lambda first: (-votes[first], first))
    return ranked[:_WINDOWS]


def _words(line: str) -> str:
    # A tab for spaces, or another case, is no distance: it is what the message must show.
    return " ".join(line[:_COMPARED_CHARS].split()).casefold()


def _weight(where: dict[str, list[int]]) -> Callable[[tuple[str, int]], tuple[bool, int, int]]:
    # Long lines that are in the file only a few times tell the most; braces tell nothing.
    def weight(item: tuple[str, int]) -> tuple[bool, int, int]:
        line, offset = item
        return (len(line) < 4, -min(len(line), 60) // (1 + len(where.get(line, ()))), offset)

    return weight


def _score(lines: Sequence[str], wanted: Sequence[str], first: int) -> float:
    from rapidfuzz import fuzz

    window = [line[:_COMPARED_CHARS] for line in lines[first : first + len(wanted)]]
    equal = sum(have == want for have, want in zip(window, wanted, strict=False))
    similar = fuzz.ratio("\n".join(map(_words, window)), "\n".join(map(_words, wanted)))
    # A window that agrees in whole lines, above all in its first, is the one that the model means.
    head = 5.0 if window and window[0].strip() == wanted[0].strip() else 0.0
    return float(similar) + 20.0 * equal / len(wanted) + head


def _divergence(lines: Sequence[str], wanted: Sequence[str], first: int) -> tuple[int, str]:
    for step, want in enumerate(wanted):
        if first + step >= len(lines):
            return step, "the file ends before it"
        have = lines[first + step][:_COMPARED_CHARS]
        if have != want:
            return step, cause_of(have, want)
    return len(wanted) - 1, "the difference is in how the text begins or ends"


def cause_of(have: str, want: str) -> str:
    """Return in words how the line *want* differs from the file's line *have*."""
    return _blanks_apart(have, want) or _added(have, want) or _letters_apart(have, want)


def _blanks_apart(have: str, want: str) -> str | None:
    if have.rstrip() == want.rstrip():
        return "only the blanks at its end differ"
    if have.strip() == want.strip():
        return f"only its indentation differs: the file has {_blanks(have)}, yours has {_blanks(want)}"
    if not have.strip() or not want.strip():
        return "the file has an empty line there" if want.strip() else "yours has an empty line there, the file has not"
    if "".join(have.split()) == "".join(want.split()):
        return "only blanks differ (a tab against spaces, or their number)"
    return None


def _letters_apart(have: str, want: str) -> str:
    if have.casefold() == want.casefold():
        return "only upper and lower case differ"
    at = next((i for i, (a, b) in enumerate(zip(have, want, strict=False)) if a != b), min(len(have), len(want)))
    if unicodedata.normalize("NFC", have) == unicodedata.normalize("NFC", want):
        return f"a letter and its accent are {_form(have)} in the file, and {_form(want)} in yours (column {at + 1})"
    for side, text, other in (("the file", have, want), ("yours", want, have)):
        if _INVISIBLE.match(text, at) and _INVISIBLE.sub("", text) == _INVISIBLE.sub("", other):
            return f"{side} has the invisible character {describe(text[at])} at column {at + 1}"
    a, b = have[at : at + 1], want[at : at + 1]
    if a and b and (not a.isascii() or not b.isascii()):
        alike = fold(a) == fold(b) or (len(have) == len(want) and not 0xDC80 <= ord(a) <= 0xDCFF)
        kind = "a look-alike character" if alike else "another character"
        return f"{kind} at column {at + 1}: the file has {describe(a)}, yours has {describe(b)}"
    if not a:
        return f"yours goes on after column {at}, where the file's line ends"
    if not b:
        return f"yours ends at column {at}, where the file's line goes on"
    return f"it differs from column {at + 1} on"


def _added(have: str, want: str) -> str | None:
    """Return what somebody put to the file's line to get *want*; None when it is something else."""
    number = _LINE_NUMBER.match(want)
    if number is not None and want[number.end() :].strip() == have.strip():
        return "yours begins with the line number, which is no part of the file; leave it out in every line"
    if want[0] in "+-" and want[1:].strip() == have.strip():
        return f"yours begins with the {want[0]!r} of a diff, which is no part of the file"
    if html.unescape(want) == have:
        return "yours has HTML entities such as &lt; where the file has the characters themselves"
    if "\\" in want and have in (_unescaped(want), _unescaped(want).split("\n")[0]):
        return "yours is escaped once too often: the file has the characters themselves"
    return None


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), text)


def _form(text: str) -> str:
    return "one character" if unicodedata.is_normalized("NFC", text) else "two characters"


def _blanks(line: str) -> str:
    head = line[: len(line) - len(line.lstrip())]
    tabs, spaces = head.count("\t"), head.count(" ")
    parts = [f"{count} {name}{'s' if count > 1 else ''}" for count, name in ((tabs, "tab"), (spaces, "space")) if count]
    return " and ".join(parts) or "none"
