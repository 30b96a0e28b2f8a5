"""Line comparisons that stay quick on large and repetitive texts."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

PAIRS_LIMIT = 4_000_000
"""Pairs of lines beyond which a middle part is taken as replaced as a whole: a comparison would take seconds."""

Opcode = tuple[str, int, int, int, int]


def line_opcodes(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    """Return the steps from *old* to *new*, in the form of `difflib.SequenceMatcher.get_opcodes`."""
    head = 0
    shorter = min(len(old), len(new))
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    codes: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
    if a and b and len(a) * len(b) <= PAIRS_LIMIT:
        found = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        codes += [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in found]
    elif a or b:
        tag = "replace" if a and b else "delete" if a else "insert"
        codes.append((tag, head, head + len(a), head, head + len(b)))
    if tail:
        codes.append(("equal", len(old) - tail, len(old), len(new) - tail, len(new)))
    return codes
