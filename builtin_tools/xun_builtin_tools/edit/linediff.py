"""Line comparisons that stay quick on large and repetitive texts."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

LINES_LIMIT, PAIRS_LIMIT = 2_000, 50_000
"""Lines, and pairs of equal lines, up to which difflib compares: its time can be their product."""

STEPS_LIMIT, PART_STEPS_LIMIT = 700, 400
"""Lines that may differ for a comparison of the whole, and of a part between two lines that are unique."""

Opcode = tuple[str, int, int, int, int]

Run = tuple[int, int, int]
"""Lines that two texts have in common: where they begin in each, and how many they are."""


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
    codes += [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in _middle(a, b)]
    if tail:
        codes.append(("equal", len(old) - tail, len(old), len(new) - tail, len(new)))
    return codes


def _middle(a: Sequence[str], b: Sequence[str]) -> list[Opcode]:
    if not a or not b:
        return [("delete" if a else "insert", 0, len(a), 0, len(b))] if a or b else []
    counts = Counter(b)
    if len(a) <= LINES_LIMIT and sum(counts[line] for line in a) <= PAIRS_LIMIT:
        return list(difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes())
    return list(_opcodes(_long_runs(a, b), len(a), len(b)))


def _long_runs(a: Sequence[str], b: Sequence[str]) -> list[Run]:
    """Return runs of common lines of long texts: lines that both have once, and what is alike between those."""
    runs: list[Run] = []
    i = j = 0
    unique = _unique_pairs(a, b)
    limit = PART_STEPS_LIMIT if unique else STEPS_LIMIT
    for x, y in (*unique, (len(a), len(b))):
        part = _common_runs(a[i:x], b[j:y], limit) if i < x and j < y else ()
        runs += [(i + left, j + right, size) for left, right, size in part or ()]
        if x < len(a):
            runs.append((x, y, 1))
        i, j = x + 1, y + 1
    return _joined(runs)


def _unique_pairs(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Return places of lines that both have exactly once, the most that are in the same order."""
    once = {line for line, count in Counter(a).items() if count == 1}
    there = {line: at for at, line in enumerate(b) if line in once}
    once &= {line for line, count in Counter(b).items() if count == 1}
    tops: list[int] = []
    last: list[tuple[int, int]] = []
    before: dict[tuple[int, int], tuple[int, int] | None] = {}
    for x, line in enumerate(a):
        if line in once:
            y = there[line]
            at = bisect_left(tops, y)
            tops[at : at + 1], last[at : at + 1] = [y], [(x, y)]
            before[x, y] = last[at - 1] if at else None
    chain = []
    item = last[-1] if last else None
    while item is not None:
        chain.append(item)
        item = before[item]
    return chain[::-1]


def _joined(runs: Sequence[Run]) -> list[Run]:
    joined: list[Run] = []
    for x, y, size in runs:
        if joined and joined[-1][0] + joined[-1][2] == x and joined[-1][1] + joined[-1][2] == y:
            joined[-1] = (joined[-1][0], joined[-1][1], joined[-1][2] + size)
        else:
            joined.append((x, y, size))
    return joined


def _common_runs(a: Sequence[str], b: Sequence[str], limit: int) -> list[Run] | None:
    """Return runs of common lines, by the greedy algorithm of E. Myers (1986); None when more than *limit* differ.

    Its time is the length and the square of the number of lines that differ, however often a line is repeated.
    """
    reach = {1: 0}
    history: list[dict[int, int]] = []
    for steps in range(min(len(a) + len(b), limit) + 1):
        row: dict[int, int] = {}
        for k in range(-steps, steps + 1, 2):
            down = k == -steps or (k != steps and reach[k - 1] < reach[k + 1])
            x = reach[k + 1] if down else reach[k - 1] + 1
            y = x - k
            if x > len(a) or y > len(b):
                row[k] = x
                continue
            while x < len(a) and y < len(b) and a[x] == b[y]:
                x, y = x + 1, y + 1
            row[k] = x
            if x == len(a) and y == len(b):
                return _traced(history, k, x)
        history.append(row)
        reach = {**reach, **row}
    return None


def _traced(history: list[dict[int, int]], k: int, x: int) -> list[Run]:
    """Follow the steps back from the end, and return the runs between them in order."""
    runs = []
    for steps in range(len(history), 0, -1):
        before = history[steps - 1]
        down = k == -steps or (k != steps and before[k - 1] < before[k + 1])
        previous = k + 1 if down else k - 1
        start = before[previous] if down else before[previous] + 1
        runs.append((start, start - k, x - start))
        k, x = previous, before[previous]
    runs.append((0, 0, x))
    return [run for run in reversed(runs) if run[2]]


def _opcodes(runs: Sequence[Run], left: int, right: int) -> Iterator[Opcode]:
    i = j = 0
    for a, b, size in (*runs, (left, right, 0)):
        if i < a or j < b:
            yield ("replace" if i < a and j < b else "delete" if i < a else "insert", i, a, j, b)
        if size:
            yield ("equal", a, a + size, b, b + size)
        i, j = a + size, b + size
