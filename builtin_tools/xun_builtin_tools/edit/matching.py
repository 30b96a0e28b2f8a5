"""Where an old text is in a document, and how its change is carried over.

Levels, of which the first with any candidate decides: exact; trailing blanks ignored; look-alike
characters folded too; a uniform indentation added or removed. More than one candidate is never
guessed at. Nothing is matched by similarity, by first and last line, or by un-escaping.
"""

from __future__ import annotations

import difflib
import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from xun_builtin_tools.edit.document import RAW, Document
from xun_builtin_tools.edit.linediff import line_opcodes
from xun_builtin_tools.edit.lookalikes import fold

Level = Literal["exact", "trailing_ws", "unicode", "indent"]

LEVELS: tuple[Level, ...] = ("exact", "trailing_ws", "unicode", "indent")

CANDIDATES_LIMIT = 20_000
"""Places of one text that are looked at; that there are more than one is all that matters, but for replace_all."""

_BLANKS = " \t"
_CHAR_DIFF_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class Shift:
    """How the indentation of a document differs from that of an old text: all lines alike.

    Attributes:
        prefix: The blanks that are added to, or removed from, each line that is not blank.
        added: Whether the document has them and the old text has not.
    """

    prefix: str
    added: bool

    def apply(self, line: str) -> str | None:
        """Return *line* as the document would indent it; None when it lacks what is to be removed."""
        if not line.strip(_BLANKS):
            return line
        if self.added:
            return self.prefix + line
        return line[len(self.prefix) :] if line.startswith(self.prefix) else None


class Spot(NamedTuple):
    """One candidate: ``text[start:end]`` of the document stands for the old text.

    A tuple, as `Splice` is: a call may have hundreds of thousands of them.
    """

    start: int
    end: int
    shift: Shift | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The candidates at the level that decides.

    Attributes:
        level: That level.
        spots: The candidates in order; they may overlap.
        unsafe: Further hits that may be inside a character of a file of unknown encoding.
    """

    level: Level
    spots: tuple[Spot, ...]
    unsafe: int = 0


def find_all(text: str, part: str) -> Iterator[int]:
    """Yield every offset of *part* in *text*, overlapping ones too."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def trim_lines(text: str) -> str:
    """Return *text* without the blanks at the end of each line."""
    return "\n".join(line.rstrip(_BLANKS) for line in text.split("\n"))


def find_text(doc: Document, old: str, limit: int | None = CANDIDATES_LIMIT) -> Found:
    """Return the candidates for *old*, which is not empty; none at the last level when there is nothing."""
    found = find_exact(doc, old, limit)
    if found.spots or found.unsafe:
        return found
    trimmed = _TrimmedText(doc)
    for level in ("trailing_ws", "unicode"):
        spots = trimmed.find(old, folded=level == "unicode")
        if spots:
            return Found(level, spots)
    return Found("indent", _find_indented(doc, old))


def find_exact(doc: Document, old: str, limit: int | None = CANDIDATES_LIMIT) -> Found:
    """Return the candidates at the first level, up to *limit* of them."""
    offsets = list(itertools.islice(find_all(doc.text, old), limit))
    if doc.codec != RAW:
        return Found("exact", tuple(Spot(at, at + len(old)) for at in offsets))
    # In Shift-JIS, GBK or Big5 an ASCII byte after a high one may be the second half of a character.
    safe = [at for at in offsets if at == 0 or doc.text[at - 1] < "\x80"]
    return Found("exact", tuple(Spot(at, at + len(old)) for at in safe), len(offsets) - len(safe))


class _TrimmedText:
    """A document without the blanks at its line ends, with the way back to the real offsets."""

    def __init__(self, doc: Document) -> None:
        self._doc = doc
        self._text = trim_lines(doc.text)
        self._starts: list[int] | None = None

    def find(self, old: str, *, folded: bool) -> tuple[Spot, ...]:
        part = trim_lines(old)
        # Blanks at the very end were dropped: what they stood for is the end of a line.
        whole_end = old[-1] in _BLANKS
        text = fold(self._text) if folded else self._text
        part = fold(part) if folded else part
        if not part:
            return ()
        hits = (at for at in find_all(text, part) if not whole_end or text[at + len(part) : at + len(part) + 1] in "\n")
        offsets = list(itertools.islice(hits, CANDIDATES_LIMIT))
        if self._doc.codec == RAW:
            offsets = [at for at in offsets if at == 0 or text[at - 1] < "\x80"]
        return tuple(Spot(self._real(at), self._real(at + len(part))) for at in offsets)

    def _real(self, offset: int) -> int:
        if self._starts is None:
            self._starts = [0, *(at + 1 for at in find_all(self._text, "\n"))]
        line = bisect_right(self._starts, offset) - 1
        return self._doc.starts[line] + offset - self._starts[line]


def _find_indented(doc: Document, old: str) -> tuple[Spot, ...]:
    old_lines = old.split("\n")
    whole = old_lines[-1] == "" and len(old_lines) > 1
    if whole:
        old_lines.pop()
    spots = []
    for first, shift in indented_lines(doc.lines, old_lines):
        last = first + len(old_lines) - 1
        end = doc.starts[last] + len(doc.lines[last])
        # The old text ends with a newline: so must the document there.
        if whole and end >= len(doc.text):
            continue
        spots.append(Spot(doc.starts[first], end + whole, shift))
    return tuple(spots)


def indented_lines(lines: Sequence[str], old: Sequence[str]) -> list[tuple[int, Shift]]:
    """Return where *old* stands in *lines* with all of its lines indented more, or less, by the same blanks."""
    telling = next((step for step, line in enumerate(old) if line.strip(_BLANKS)), None)
    if telling is None:
        return []
    trimmed = [line.rstrip(_BLANKS) for line in lines]
    wanted = [line.rstrip(_BLANKS) for line in old]
    part = "\n" + "\n".join(line.strip(_BLANKS) for line in old) + "\n"
    starts = line_hits("\n" + "\n".join(line.strip(_BLANKS) for line in lines) + "\n", part, CANDIDATES_LIMIT)
    shifts = dict.fromkeys(_shift(trimmed[at + telling], wanted[telling]) for at in starts)
    text = "\n" + "\n".join(trimmed) + "\n"
    found: list[tuple[int, Shift]] = []
    # Each way to shift is searched for as a text of its own: quick, however often the lines are repeated.
    for shift in shifts:
        moved = None if shift is None else [shift.apply(line) for line in wanted]
        if shift is None or moved is None or None in moved:
            continue
        part = "\n" + "\n".join(line or "" for line in moved) + "\n"
        found += [(at, shift) for at in line_hits(text, part, CANDIDATES_LIMIT)]
    return sorted(found, key=lambda item: item[0])


def line_hits(text: str, part: str, limit: int | None = None) -> list[int]:
    """Return the indexes of lines at which *part* stands; both texts have a newline before and after each line."""
    found = []
    counted = line = 0
    for at in itertools.islice(find_all(text, part), limit):
        line += text.count("\n", counted, at)
        counted = at
        found.append(line)
    return found


def _shift(have: str, want: str) -> Shift | None:
    """Return how the indentation of one line differs, or None when that is not all, or does not."""
    if have.endswith(want):
        shift = Shift(have[: len(have) - len(want)], True)
    elif want.endswith(have):
        shift = Shift(want[: len(want) - len(have)], False)
    else:
        return None
    return shift if shift.prefix else None


def carry(old: Sequence[str], new: Sequence[str], have: Sequence[str], shift: Shift | None = None) -> list[str] | None:
    """Return *have*, the document's lines that stand for *old*, with the change from *old* to *new* made.

    Lines that the change leaves alone stay as the document has them; in a changed line, so does
    every character that the change leaves alone. None when *shift* can't be applied to a new line.
    """
    result: list[str] = []
    for tag, i1, i2, j1, j2 in line_opcodes(old, new):
        if tag == "equal":
            result += have[i1:i2]
            continue
        for step, line in enumerate(new[j1:j2]):
            if shift is not None:
                moved = shift.apply(line)
                if moved is None:
                    return None
                result.append(moved)
            elif i1 + step < i2:
                result.append(_carry_line(old[i1 + step], line, have[i1 + step]))
            else:
                result.append(line)
    return result


def _carry_line(old: str, new: str, have: str) -> str:
    old, have = old.rstrip(_BLANKS), have.rstrip(_BLANKS)
    if old == have or len(old) != len(have) or max(len(old), len(new)) > _CHAR_DIFF_LIMIT:
        return new
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    pieces = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        pieces.append(have[i1:i2] if tag == "equal" else new[j1:j2])
    return "".join(pieces)
