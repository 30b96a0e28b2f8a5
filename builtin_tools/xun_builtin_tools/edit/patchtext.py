"""Tell the two patch forms apart, and take off what models wrap around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from xun_builtin_tools.edit.document import fold_newlines
from xun_builtin_tools.edit.envelope import BEGIN, END, parse_envelope
from xun_builtin_tools.edit.hunks import FilePatch, parse_error
from xun_builtin_tools.edit.unified import parse_unified

_HERE = re.compile(r"\s*(?:(?:apply_?patch|git apply|patch)(?: -\S+)*\s+)?<<-?\s*(['\"]?)(\w+)\1\s*")
_ENVELOPE = re.compile(r"\s*\*\*\* (?:Begin Patch\s*$|(?:Add|Update|Delete) File:)")
_UNIFIED = re.compile(r"(?:diff --git |--- |\+\+\+ |@@ |Index: )")


def parse_patch(patch: str) -> list[FilePatch]:
    """Return what *patch* does to each file.

    Raises:
        EditError: kind ``parse``, with the line of the patch and what was expected there.
    """
    lines = fold_newlines(patch).removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    first, last = _unwrapped(lines)
    kept = lines[first:last]
    if not kept:
        raise parse_error(1, "the patch is empty")
    if _form(kept) != "envelope":
        return parse_unified(kept, first + 1)
    if kept[0].strip() == BEGIN and kept[-1].strip() == END and _form(kept[1:]) == "unified":
        # A unified diff in the markers of the other form.
        return parse_unified(kept[1:-1], first + 2)
    return parse_envelope(kept, first + 1)


def _form(lines: Sequence[str]) -> Literal["envelope", "unified"] | None:
    for line in lines:
        if _ENVELOPE.match(line):
            return "envelope"
        if _UNIFIED.match(line):
            return "unified"
    return None


def _unwrapped(lines: Sequence[str]) -> tuple[int, int]:
    """Return the range of lines inside blank lines, a code fence and a here-document, each at most once."""
    first, last = _trimmed(lines, 0, len(lines))
    for _ in range(2):
        if first >= last:
            break
        here = _HERE.fullmatch(lines[first])
        if here is not None:
            first += 1
            if first < last and lines[last - 1].strip() == here[2]:
                last -= 1
        elif lines[first].startswith("```") and lines[first].strip() != BEGIN:
            first += 1
            if first < last and lines[last - 1].strip() == "```":
                last -= 1
        first, last = _trimmed(lines, first, last)
    return first, last


def _trimmed(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    while first < last and not lines[first].strip():
        first += 1
    # A last line of one blank may be an empty context line, so only truly empty ones go.
    while first < last and not lines[last - 1]:
        last -= 1
    return first, last
