"""What a search of contents finds, and the value that the tool returns for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xun_builtin_tools.search.encodings import shown
from xun_builtin_tools.search.limits import MAX_BLOCK, MAX_HITS, MAX_LINE, Enough
from xun_policies.paths.names import shown_name

CUT = "[…]"
"""Stands where a long line was shortened."""


@dataclass(frozen=True, slots=True)
class Line:
    """One match with the lines it is on, or one line of context."""

    number: int
    text: str
    column: int = 0
    """Where in the text the match begins."""
    context: bool = False


@dataclass(slots=True)
class Hits:
    """Everything found so far, by path."""

    output: str
    lines: dict[str, list[Line]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    total: int = 0
    enough: int = MAX_HITS
    """So many matches, when they are shown, end the scan."""

    def add(self, path: str, lines: list[Line], count: int) -> None:
        """Add what one file holds.

        Raises:
            Enough: No more is needed.
        """
        if not count:
            return
        self.counts[path] = count
        self.lines[path] = lines
        self.total += count
        if self.output == "matches" and self.total >= self.enough:
            raise Enough


def by_path(path: str) -> str:
    """Return the sort key of a path: folder by folder, as a listing has it."""
    return path.replace("/", "\0")


def in_order(paths: list[str], limit: int | None = None) -> list[str]:
    """Return *paths* sorted by `by_path`, at most *limit* of them; a key for each of many would take far longer."""
    text = "\n".join(paths)
    if not paths or text.count("\n") != len(paths) - 1:
        return sorted(paths, key=by_path)[:limit]  # a name with a line break
    keys = by_path(text).split("\n")
    if limit is not None and limit < len(keys) // 4:
        from heapq import nsmallest

        first = nsmallest(limit, keys)
    else:
        first = sorted(keys)[:limit]
    return "\n".join(first).replace("\0", "/").split("\n") if first else []


def match_rows(hits: Hits, limit: int, after: int) -> tuple[list[dict[str, Any]], bool]:
    """Return the rows of the first *limit* matches with their context, and whether any were left out."""
    rows: list[dict[str, Any]] = []
    left = limit
    for path in in_order(list(hits.lines)):
        name = shown_name(path)
        last = -after
        for line in hits.lines[path]:
            if line.context:
                if left or line.number <= last + after:
                    rows.append({"path": name, "line": line.number, "text": short(line.text, 0), "context": True})
                continue
            if not left:
                return rows, True
            left -= 1
            last = line.number + line.text.count("\n")
            rows.append({"path": name, "line": line.number, "text": short(line.text, line.column)})
    return rows, False


def short(text: str, column: int) -> str:
    """Return *text* as it is shown: without what is no character, and cut around *column* when long."""
    limit = MAX_BLOCK if "\n" in text else MAX_LINE
    if len(text) <= limit:
        return shown(text)
    start = max(min(column - limit // 4, len(text) - limit), 0)
    end = start + limit
    return (CUT if start else "") + shown(text[start:end]) + (CUT if end < len(text) else "")
