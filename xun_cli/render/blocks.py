"""Cut a stream of markdown into blocks that will not change any more.

Only complete lines decide, so any cutting of the stream gives the same blocks, and the blocks and the
open tail joined are always the whole text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "fence", "list", "heading", "rule", "blank"]

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_INNER_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(\1[ \t]*){2,}$")
_ITEM = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])([ \t]+\S|[ \t]*$)")
_MARKER = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])[ \t]+")
_BREAKS_TEXT = re.compile(r" {0,3}([-*+]|1[.)])[ \t]+\S")
_DEEP = re.compile(r"( {2,}|\t)")


@dataclass(frozen=True, slots=True)
class Block:
    """One finished piece.

    Attributes:
        kind: What it is; a list is cut at its top-level items.
        text: Its source, newlines and following blank lines included.
    """

    kind: Kind
    text: str


class BlockSplitter:
    """Feed it pieces of a stream; it gives back the blocks that are finished."""

    def __init__(self) -> None:
        self._line = ""
        self._lines: list[str] = []
        self._kind: Kind = "blank"
        self._fence = ""
        self._blank_seen = False

    @property
    def tail(self) -> str:
        """What came since the last finished block."""
        return "".join(self._lines) + self._line

    @property
    def tail_kind(self) -> Kind:
        """What the open tail is so far."""
        return self._kind

    def feed(self, text: str) -> list[Block]:
        """Take the next piece of the stream and return the blocks that it finished."""
        done: list[Block] = []
        start = 0
        while (end := text.find("\n", start)) >= 0:
            line = self._line + text[start : end + 1]
            self._line = ""
            start = end + 1
            done.extend(self._take(line))
        self._line += text[start:]
        return done

    def close(self) -> list[Block]:
        """End the stream and return what is left."""
        done = self._take(self._line) if self._line else []
        self._line = ""
        return done + self._flush()

    def _take(self, line: str) -> list[Block]:
        bare = line.rstrip("\r\n")
        if self._fence:
            return self._in_fence(line, bare)
        if self._kind == "list":
            return self._in_list(line, bare)
        return self._at_top(line, bare)

    def _in_fence(self, line: str, bare: str) -> list[Block]:
        text = bare.strip()
        if self._kind == "list" and text and not _DEEP.match(bare):
            self._fence = ""  # CommonMark ends a fence with the list item that holds it
            return self._in_list(line, bare)
        self._lines.append(line)
        closes = len(text) >= len(self._fence) and set(text) == {self._fence[0]}
        if not closes:
            return []
        self._fence = ""
        return self._flush() if self._kind == "fence" else []

    def _in_list(self, line: str, bare: str) -> list[Block]:
        if not bare.strip():
            self._lines.append(line)
            self._blank_seen = True
            return []
        deep = _DEEP.match(bare)
        item = _ITEM.match(bare) and not _RULE.match(bare)
        lazy = not self._blank_seen and not item and not self._starts_block(bare)
        if deep or lazy:
            self._blank_seen = False
            self._lines.append(line)
            self._open_fence(bare)
            return []
        return self._flush() + self._at_top(line, bare)

    def _at_top(self, line: str, bare: str) -> list[Block]:
        if not bare.strip():
            self._lines.append(line)
            return self._flush() if self._kind != "blank" else []
        if fence := _FENCE.match(bare):
            done = self._flush()
            self._kind, self._fence = "fence", fence.group(1)
            self._lines.append(line)
            return done
        if _HEADING.match(bare):
            return [*self._flush(), Block("heading", line)]
        if self._kind != "text" and _RULE.match(bare):
            return [*self._flush(), Block("rule", line)]
        starts = _BREAKS_TEXT if self._kind == "text" else _ITEM
        if starts.match(bare) and not _RULE.match(bare):
            done = self._flush()
            self._kind, self._blank_seen = "list", False
            self._lines.append(line)
            self._open_fence(_MARKER.sub("", bare, count=1))
            return done
        done = self._flush() if self._kind == "blank" else []
        self._kind = "text"
        self._lines.append(line)
        return done

    def _open_fence(self, bare: str) -> None:
        if fence := _INNER_FENCE.match(bare):
            self._fence = fence.group(1)

    def _starts_block(self, bare: str) -> bool:
        return bool(_FENCE.match(bare) or _HEADING.match(bare) or _RULE.match(bare))

    def _flush(self) -> list[Block]:
        if not self._lines:
            return []
        block = Block(self._kind, "".join(self._lines))
        self._lines = []
        self._kind = "blank"
        self._fence = ""
        return [block]
