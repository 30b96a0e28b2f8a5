"""Where the hunks of a patch go in a file: by content, in order, and only when there is one way."""

from __future__ import annotations

import dataclasses
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from xun.errors import EditError
from xun_builtin_tools.edit.document import Document, Splice
from xun_builtin_tools.edit.hunks import Hunk
from xun_builtin_tools.edit.lookalikes import fold
from xun_builtin_tools.edit.matching import LEVELS, Level, Shift, carry, indented_lines, line_hits
from xun_builtin_tools.edit.messages import ambiguous, cut, edit_error, not_found
from xun_builtin_tools.edit.replacing import Replaced, splice_document


@dataclass(frozen=True, slots=True)
class Place:
    """One candidate of a hunk: its old lines stand at index *at* of the file."""

    at: int
    level: Level = "exact"
    shift: Shift | None = None


def apply_hunks(doc: Document, hunks: Sequence[Hunk], **facts: Any) -> Replaced:
    """Return *doc* with *hunks* carried out.

    Raises:
        EditError: kinds ``not_found``, ``ambiguous``, ``overlap``, ``encoding``, ``noop``, with ``hunk_index``.
    """
    if doc.mark:
        hunks = [_without_mark(hunk) for hunk in hunks]
    placed = _Placer(doc, hunks, facts).place()
    for index, hunk in enumerate(hunks):
        doc.check_new_text("\n".join(hunk.new), hunk_index=index, patch_line=hunk.line, **facts)
    level = max((place.level for place in placed), key=LEVELS.index)
    edits: list[_LineEdit] = []
    for index, (hunk, place) in enumerate(zip(hunks, placed, strict=True)):
        for edit in _line_edits(doc, hunk, place, {"hunk_index": index, **facts}):
            # Neighbours become one: at the end of a file both would see to its last newline.
            if edits and edits[-1].last == edit.first:
                edit = _LineEdit(edits[-1].first, edit.last, edits.pop().new + edit.new, hunk)
            edits.append(edit)
    try:
        return splice_document(doc, [_line_splice(doc, edit) for edit in edits], level)
    except EditError as exc:
        exc.facts.update(facts)
        raise


def _without_mark(hunk: Hunk) -> Hunk:
    # Whoever copied the mark with the first line means the mark that the file has.
    return dataclasses.replace(hunk, rows=tuple((tag, text.removeprefix("\ufeff")) for tag, text in hunk.rows))


class _LineText:
    """The lines of a file as one searchable text per level."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._found: dict[tuple[Level, tuple[str, ...]], list[Place]] = {}

    @cached_property
    def exact(self) -> str:
        return "\n" + "\n".join(self.lines) + "\n"

    @cached_property
    def trailing_ws(self) -> str:
        return "\n" + "\n".join(line.rstrip(" \t") for line in self.lines) + "\n"

    @cached_property
    def unicode(self) -> str:
        return fold(self.trailing_ws)

    @cached_property
    def block_ends(self) -> list[int]:
        """For each line the last line of the block that it opens, by indentation; a closing bracket ends none."""
        ends = [0] * len(self.lines)
        depths: list[int] = []
        places: list[int] = []
        for at in range(len(self.lines) - 1, -1, -1):
            depth = _depth(self.lines[at])
            # Of the lines below that could end a block, the nearest one that is indented no more.
            nearer = bisect_right(depths, depth)
            ends[at] = places[nearer - 1] - 1 if nearer else len(self.lines) - 1
            text = self.lines[at].strip()
            if text and text[0] not in "})]":
                del depths[nearer:], places[nearer:]
                depths.append(depth)
                places.append(at)
        return ends

    def inside(self, anchors: Sequence[int], lines: Sequence[int]) -> list[int]:
        """Return those of *lines* that are in a block that one of *anchors* opens; both are in order."""
        chosen = []
        end, step = -1, 0
        for at in lines:
            while step < len(anchors) and anchors[step] <= at:
                end = max(end, self.block_ends[anchors[step]])
                step += 1
            if at <= end:
                chosen.append(at)
        return chosen

    def find(self, old: Sequence[str], level: Level) -> list[Place]:
        """Return the candidates for *old* at *level*, in order."""
        if not self.lines:
            return []
        # Hunks may be alike, and what they look for in a file a hundred thousand times.
        key = level, tuple(old)
        if key not in self._found:
            self._found[key] = self._find(old, level)
        return self._found[key]

    def _find(self, old: Sequence[str], level: Level) -> list[Place]:
        if level == "indent":
            return [Place(at, level, shift) for at, shift in indented_lines(self.lines, old)]
        part = "\n" + "\n".join(old if level == "exact" else [line.rstrip(" \t") for line in old]) + "\n"
        if level == "unicode":
            part = fold(part)
        return [Place(at, level) for at in line_hits(getattr(self, level), part)]


class _Placer:
    def __init__(self, doc: Document, hunks: Sequence[Hunk], facts: dict[str, Any]) -> None:
        self.doc = doc
        self.hunks = hunks
        self.facts = facts
        self.text = _LineText(doc.lines)
        self.drift = 0

    def place(self) -> list[Place]:
        candidates = [self._candidates(index, hunk) for index, hunk in enumerate(self.hunks)]
        for apart in (True, False):
            # Hunks that share lines of context are taken only when there is no way to keep them apart.
            first = self._leftmost(candidates, apart)
            last = self._rightmost(candidates, apart)
            if first is None or last is None:
                continue
            for index, (low, high) in enumerate(zip(first, last, strict=True)):
                if low.at != high.at:
                    raise self._ambiguous(index, [p.at for p in candidates[index] if low.at <= p.at <= high.at])
            return first
        raise edit_error(
            "overlap",
            f"The hunks for {self.doc.path} overlap or are not in the order of the file; nothing was changed. "
            "Give them from top to bottom, each line in one hunk.",
            hunk_index=len(self.hunks) - 1,
            **self.facts,
        )

    def _candidates(self, index: int, hunk: Hunk) -> list[Place]:
        if not hunk.old:
            return self._for_addition(index, hunk)
        after = self._anchored(index, hunk)
        stated = None if hunk.old_start is None else hunk.old_start - 1 + self.drift
        for level in LEVELS:
            found = self.text.find(hunk.old, level)
            if hunk.needs_end:
                found = [place for place in found if place.at + len(hunk.old) == len(self.doc.lines)]
            if after is not None:
                found = self._in_section(found, after)
            if not found:
                continue
            if level == "exact" and any(place.at == stated for place in found):
                return [place for place in found if place.at == stated]
            if len(found) == 1 and hunk.old_start is not None:
                self.drift = found[0].at - (hunk.old_start - 1)
            return found
        facts: dict[str, Any] = {}
        elsewhere = self.text.find(hunk.old, "exact") if hunk.needs_end and after is None else ()
        if elsewhere:
            facts["nearest_line"] = elsewhere[0].at + 1
            facts["hint"] = (
                f"It is at line {elsewhere[0].at + 1}, but the patch says that the file ends with it. Leave out "
                "'*** End of File' or '\\ No newline at end of file', or give the lines up to the end."
            )
        raise not_found(
            self.doc,
            hunk.old,
            "\n".join(hunk.new),
            what=self._what(index, hunk) + (" at the end of the file" if hunk.needs_end else ""),
            **facts,
            hunk_index=index,
            patch_line=hunk.line,
            **self.facts,
        )

    def _what(self, index: int, hunk: Hunk) -> str:
        return f"Hunk {index + 1} (line {hunk.line} of the patch)"

    def _for_addition(self, index: int, hunk: Hunk) -> list[Place]:
        """Lines that come with no context go where the patch says, or nowhere."""
        count = len(self.doc.lines)
        anchors = self._anchored(index, hunk)
        if hunk.needs_end or not count:
            return [Place(count)]
        if anchors is not None:
            if len(anchors) > 1:
                raise self._ambiguous(index, anchors)
            return [Place(anchors[0] + 1)]
        if hunk.old_count == 0 and hunk.old_start and hunk.old_start + self.drift <= count:
            return [Place(hunk.old_start + self.drift)]
        raise edit_error(
            "ambiguous",
            f"{self._what(index, hunk)} only adds lines, and does not say where in {self.doc.path}; nothing changed. "
            "Give lines of context, an '@@' anchor, or '*** End of File'.",
            hunk_index=index,
            patch_line=hunk.line,
            **self.facts,
        )

    def _anchored(self, index: int, hunk: Hunk) -> list[int] | None:
        """Return the indexes of the lines that the last anchor may be; None without anchors."""
        if not hunk.anchors:
            return None
        ends: list[int] = []
        for anchor in hunk.anchors:
            found = [at for at in self._anchor_lines(anchor) if not ends or at > ends[0]]
            if not found:
                raise not_found(
                    self.doc,
                    [anchor],
                    "",
                    what=f"The anchor {cut(anchor, 80)!r} (line {hunk.line} of the patch), one whole line,",
                    hunk_index=index,
                    patch_line=hunk.line,
                    **self.facts,
                )
            ends = self.text.inside(ends, found) or found
        return ends

    def _anchor_lines(self, anchor: str) -> list[int]:
        for level in LEVELS[:3]:
            found = self.text.find([anchor], level)
            if found:
                return [place.at for place in found]
        wanted = fold(anchor.strip())
        return [at for at, line in enumerate(self.doc.lines) if wanted in line and fold(line.strip()) == wanted]

    def _in_section(self, found: list[Place], anchors: list[int]) -> list[Place]:
        """Keep the candidates after an anchor; of several, those in a block that an anchor opens."""
        # A first line of context may repeat the anchor.
        found = [place for place in found if place.at >= anchors[0]]
        if len(found) < 2:
            return found
        inside = set(self.text.inside(anchors, [place.at for place in found]))
        return [place for place in found if place.at in inside] or found

    def _leftmost(self, candidates: list[list[Place]], apart: bool) -> list[Place] | None:
        chosen: list[Place] = []
        bound = 0
        for hunk, places in zip(self.hunks, candidates, strict=True):
            head, tail = _margins(hunk, apart)
            at = bisect_left(places, bound - head, key=lambda place: place.at)
            if at == len(places):
                return None
            chosen.append(places[at])
            bound = places[at].at + len(hunk.old) - tail
        return chosen

    def _rightmost(self, candidates: list[list[Place]], apart: bool) -> list[Place] | None:
        chosen: list[Place] = []
        bound = len(self.doc.lines)
        for hunk, places in zip(reversed(self.hunks), reversed(candidates), strict=True):
            head, tail = _margins(hunk, apart)
            fitting = bisect_right(places, bound - len(hunk.old) + tail, key=lambda place: place.at)
            if not fitting:
                return None
            chosen.append(places[fitting - 1])
            bound = places[fitting - 1].at + head
        return chosen[::-1]

    def _ambiguous(self, index: int, at: Sequence[int]) -> EditError:
        hunk = self.hunks[index]
        return ambiguous(
            self.doc,
            [line + 1 for line in at],
            what=self._what(index, hunk),
            way_out="Add lines of context, or give the right line number in its '@@' line."
            if hunk.old_start is not None
            else "Add lines of context, or an '@@' line with the line that comes before it, such as its function.",
            hunk_index=index,
            patch_line=hunk.line,
            **self.facts,
        )


def _depth(line: str) -> int:
    line = line.expandtabs(8)
    return len(line) - len(line.lstrip())


def _margins(hunk: Hunk, apart: bool) -> tuple[int, int]:
    """Return how many context lines at its top and its bottom a hunk may share with its neighbours."""
    if apart:
        return 0, 0
    tags = [tag for tag, _ in hunk.rows]
    head = next(at for at, tag in enumerate(tags) if tag != " ")
    tail = next(at for at, tag in enumerate(reversed(tags)) if tag != " ")
    return head, tail


@dataclass(frozen=True, slots=True)
class _LineEdit:
    """The lines ``first:last`` of a file become *new*, as *hunk* has it."""

    first: int
    last: int
    new: list[str]
    hunk: Hunk


def _line_edits(doc: Document, hunk: Hunk, place: Place, facts: dict[str, Any]) -> list[_LineEdit]:
    """Return the changes of one placed hunk; its context lines stay as the file has them."""
    edits = []
    at = place.at
    gone: list[str] = []
    came: list[str] = []
    for tag, text in (*hunk.rows, (" ", "")):
        if tag == "-":
            gone.append(text)
        elif tag == "+":
            came.append(text)
        else:
            if gone or came:
                lines = _carried(doc, place, at, gone, came, facts)
                edits.append(_LineEdit(at, at + len(gone), lines, hunk))
                at += len(gone)
                gone, came = [], []
            at += 1
    return edits


def _carried(
    doc: Document, place: Place, at: int, gone: list[str], came: list[str], facts: dict[str, Any]
) -> list[str]:
    if place.level == "exact":
        return came
    lines = carry(gone, came, doc.lines[at : at + len(gone)], place.shift)
    if lines is None:
        raise edit_error(
            "not_found",
            f"A hunk stands in {doc.path} at line {place.at + 1} with less indentation, and its added lines have too "
            "little of it to be moved alike. Copy the indentation from the file.",
            nearest_line=place.at + 1,
            **facts,
        )
    return lines


def _line_splice(doc: Document, edit: _LineEdit) -> Splice:
    """Return the splice for an edit; the state of the file's last line is kept unless the hunk states it."""
    first, new = edit.first, edit.new
    if edit.last < len(doc.lines):
        return Splice(doc.starts[first], doc.starts[edit.last], "".join(line + "\n" for line in new))
    closed = doc.final_newline
    if edit.hunk.old_open != edit.hunk.new_open:
        closed = edit.hunk.old_open
    end = len(doc.text)
    body = "\n".join(new) + ("\n" if closed and new else "")
    start = min(doc.starts[first], end)
    if first == 0:
        return Splice(0, end, body)
    if new and doc.starts[first] > end:
        # Lines after a last line that has no newline: it needs one first.
        return Splice(end, end, "\n" + body)
    if not new:
        # The line before becomes the last one.
        return Splice(start - 1, end, "\n" if closed else "")
    return Splice(start, end, body)
