"""Replace a text in a document: the core of replace, multi_edit and insert_lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xun.errors import EditError
from xun_builtin_tools.edit.document import Document, Splice, fold_newlines, suggest_encodings
from xun_builtin_tools.edit.linediff import line_opcodes
from xun_builtin_tools.edit.matching import CANDIDATES_LIMIT, Found, Level, Spot, carry, find_exact, find_text
from xun_builtin_tools.edit.messages import ambiguous, cut, edit_error, not_found

_SNIPPET_LINES = 12


@dataclass(frozen=True, slots=True)
class Replaced:
    """One replacement that fits.

    Attributes:
        doc: The document after it.
        level: How the old text matched.
        lines: First and last line of each new text, numbers from 1, in the new document.
        added: Lines added.
        removed: Lines removed.
        shifts: For each new text, the line (in the old document) behind which lines moved, and by how many.
        at: The offset of the first new text in the new document's `source`.
    """

    doc: Document
    level: Level
    lines: list[list[int]]
    added: int
    removed: int
    shifts: list[tuple[int, int]]
    at: int = 0


def replace_text(doc: Document, old: str, new: str, *, replace_all: bool = False, **facts: Any) -> Replaced:
    """Return *doc* with *old* replaced by *new*.

    Raises:
        EditError: kinds ``empty_old``, ``noop``, ``not_found``, ``ambiguous``, ``encoding``; *facts* are added to it.
    """
    given = old, new
    old, new = fold_newlines(old), fold_newlines(new)
    if doc.mark:
        # The mark is kept apart from the text: whoever copied it with the text means one mark, not two.
        old, new = old.removeprefix("\ufeff"), new.removeprefix("\ufeff")
    what = "The old text" if "edit_index" not in facts else f"The old text of edits[{facts['edit_index']}]"
    if old and old == new and given[0] != given[1]:
        raise edit_error(
            "noop",
            f"{what} and the new one differ in line ends only, which edits keep as {doc.path} has them, so nothing was "
            "changed. Change them with a command, such as sed -i 's/\\r$//'.",
            **facts,
        )
    _check_call(doc, old, new, what, facts)
    limit = None if replace_all else CANDIDATES_LIMIT
    in_source = doc.in_source(old, new)
    if in_source is not None:
        verbatim, (own_old, own_new) = in_source
        hits = find_exact(verbatim, own_old, limit)
        if len(hits.spots) + hits.unsafe == 1 or (replace_all and hits.spots):
            spots = _choose(verbatim, hits, own_old, own_new, replace_all, what, facts)
            doc.check_new_text(new, **facts)
            return splice_document(verbatim, [Splice(spot.start, spot.end, own_new) for spot in spots], "exact")
    found = find_text(doc, old, limit)
    spots = _choose(doc, found, old, new, replace_all, what, facts)
    splices = [_splice_at(doc, spot, found.level, old, new, facts) for spot in spots]
    doc.check_new_text(new, **facts)
    return splice_document(doc, splices, found.level)


def _check_call(doc: Document, old: str, new: str, what: str, facts: dict[str, Any]) -> None:
    if not old:
        raise edit_error(
            "empty_old",
            f"{what} is empty, and {doc.path} exists: give the text to replace, or use insert_lines.",
            **facts,
        )
    if old == new:
        raise edit_error(
            "noop",
            f"{what} and the new one are the same, so {doc.path} was not changed.",
            **facts,
        )


def _choose(
    doc: Document, found: Found, old: str, new: str, replace_all: bool, what: str, facts: dict[str, Any]
) -> Sequence[Spot]:
    if found.unsafe and (replace_all or not found.spots):
        raise edit_error(
            "encoding",
            f"{what}, {cut(old, 60)!r}, is in {doc.path} directly after a byte that is not ASCII, where it may be half "
            f"a character. Use replace with encoding=, such as {suggest_encodings(doc.source)}.",
            **facts,
        )
    if not found.spots:
        hint = ""
        if not doc.final_newline and doc.text.endswith(old.removesuffix("\n")):
            hint = "It is at the end of the file, whose last line has no newline: leave out the one at its end."
            facts = {"nearest_line": doc.line_at(len(doc.text) - len(old) + 1), **facts}
        raise not_found(doc, old.removesuffix("\n").split("\n"), new, what=what, hint=hint, **facts)
    if len(found.spots) + found.unsafe == 1:
        return found.spots
    if replace_all and found.level == "exact":
        return _apart(found.spots)
    way_out = "Add lines around it to the old text"
    way_out += ", or pass replace_all=true." if found.level == "exact" else "; replace_all needs an exact match."
    raise ambiguous(doc, _lines_of(doc, found.spots), what=f"{what}, {cut(old, 60)!r},", way_out=way_out, **facts)


def _lines_of(doc: Document, spots: Sequence[Spot]) -> list[int]:
    lines = []
    at, line = 0, 1
    for spot in spots:
        line += doc.text.count("\n", at, spot.start)
        at = spot.start
        lines.append(line)
    return lines


def _apart(spots: Sequence[Spot]) -> list[Spot]:
    """Left to right, as `str.replace` takes them."""
    chosen: list[Spot] = []
    for spot in spots:
        if not chosen or spot.start >= chosen[-1].end:
            chosen.append(spot)
    return chosen


def _splice_at(doc: Document, spot: Spot, level: Level, old: str, new: str, facts: dict[str, Any]) -> Splice:
    if level == "exact":
        return Splice(spot.start, spot.end, new)
    have = doc.text[spot.start : spot.end].split("\n")
    lines = carry(old.split("\n"), new.split("\n"), have, spot.shift)
    if lines is None:
        raise edit_error(
            "not_found",
            f"The old text is in {doc.path} at line {doc.line_at(spot.start)} with less indentation, and the new text "
            "has lines with too little of it to be moved alike. Copy the indentation from the file.",
            nearest_line=doc.line_at(spot.start),
            **facts,
        )
    return Splice(spot.start, spot.end, "\n".join(lines))


def splice_document(doc: Document, splices: Sequence[Splice], level: Level) -> Replaced:
    """Carry out *splices* and say which lines changed.

    Raises:
        EditError: kind ``noop`` when the result is the same.
    """
    changed = doc.splice(splices)
    if changed.source == doc.source:
        raise EditError(f"The edit leaves {doc.path} as it is, so nothing was changed.", kind="noop")
    lines: list[list[int]] = []
    shifts: list[tuple[int, int]] = []
    added = removed = moved = counted = 0
    at, line, first = 0, 1, 0
    for item in splices:
        line += doc.text.count("\n", at, item.start)
        at = item.start
        if not lines:
            first = doc.source_offset(at, line)
        gone, came = doc.text.count("\n", at, item.end), item.new.count("\n")
        if gone or came:
            plus, minus = _count(doc, item)
            added, removed = added + plus, removed + minus
        elif line != counted:
            added, removed = added + 1, removed + 1
        counted = line + gone
        last = line + moved + came - (1 if item.new.endswith("\n") else 0)
        lines.append([line + moved, max(line + moved, last)])
        shifts.append((line + gone, came - gone))
        moved += came - gone
    return Replaced(changed, level, lines, added, removed, shifts, first)


def _count(doc: Document, item: Splice) -> tuple[int, int]:
    """Return how many lines a splice adds and removes, counting whole lines."""
    start = doc.text.rfind("\n", 0, item.start) + 1
    end = doc.text.find("\n", item.end)
    if end < 0:
        end = len(doc.text)
    before, after = doc.text[start : item.start], doc.text[item.end : end]
    return count_changes(before + doc.text[item.start : item.end] + after, before + item.new + after)


def count_changes(old: str, new: str) -> tuple[int, int]:
    """Return the lines added and removed between two texts."""
    a, b = old.split("\n"), new.split("\n")
    # The empty end after a final newline is no line; it is kept apart so that it never counts as one.
    a, b = a[:-1] if a[-1] == "" else a, b[:-1] if b[-1] == "" else b
    if a == b:
        return (1, 1) if old != new else (0, 0)  # only the final newline differs
    added = removed = 0
    for tag, i1, i2, j1, j2 in line_opcodes(a, b):
        if tag != "equal":
            added, removed = added + j2 - j1, removed + i2 - i1
    return added, removed


def snippet(doc: Document, lines: Sequence[Sequence[int]], at: int | None = None) -> str:
    """Return the first changed lines with two lines around them, numbered; *at*: where they are in `source`."""
    if not lines:
        return ""
    first, wanted = lines[0][0], lines[0][1] - lines[0][0] + 1
    before, found = _around(doc, first, wanted + 2, at)
    number = first - len(before)
    shown = [*before, *found][:_SNIPPET_LINES]
    text = "\n".join(f"{number + step:>6}\t{cut(line, 200)}" for step, line in enumerate(shown))
    more = len(before) + wanted - len(shown)
    return text + (f"\n      \t({more} more changed lines)" if more > 0 else "")


def _around(doc: Document, first: int, count: int, at: int | None) -> tuple[list[str], list[str]]:
    """Return up to two lines before line *first*, and up to *count* lines from it on."""
    if at is None:
        return doc.lines[max(0, first - 3) : first - 1], doc.lines[first - 1 : first - 1 + count]
    # By offsets: a large document is not split for a few lines.
    text = doc.source
    start = text.rfind("\n", 0, at) + 1
    head = start
    for _ in range(min(2, first - 1)):
        head = text.rfind("\n", 0, head - 1) + 1
    before = fold_newlines(text[head:start]).split("\n")[:-1]
    end = start
    for _ in range(min(count, _SNIPPET_LINES)):
        end = text.find("\n", end) + 1
        if end == 0:
            rest = fold_newlines(text[start:]).split("\n")
            return before, rest[:-1] if rest[-1] == "" else rest
    return before, fold_newlines(text[start:end]).split("\n")[:-1]
