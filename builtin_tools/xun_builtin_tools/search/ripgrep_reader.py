"""What ripgrep says it has found, taken in as the search without it would have it."""

from __future__ import annotations

import json
import os
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import Any

from xun_builtin_tools.search.encodings import SNIFFED, to_text
from xun_builtin_tools.search.hits import Hits, Line
from xun_builtin_tools.search.limits import MAX_HITS
from xun_builtin_tools.search.request import GrepRequest
from xun_builtin_tools.search.ripgrep_filter import lists_ignored
from xun_builtin_tools.search.visible import Visibility

_MAX_SNIFFED = 1_000
"""So many files of a list are looked into; of a longer one only the first are shown."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class Reader:
    """Reads ripgrep's messages, file by file.

    Args:
        request: What is searched for.
        relative: Makes a path of ripgrep's relative to the root; None for one that is not wanted.
        hits: Gets what is found.
    """

    def __init__(self, request: GrepRequest, relative: Callable[[str], str | None], hits: Hits) -> None:
        self.request = request
        self.hits = hits
        self.unfinished: list[str] = []
        """Files with a NUL byte too late to make them binary: ripgrep stops there, or some lines before."""
        self._relative = relative
        self._accepts = request.filter.matches if request.filter else None
        # A filter by path has files listed that are ignored; else ripgrep's word is enough.
        outer = request.scope.outer if request.filter is not None and lists_ignored(request.filter) else None
        self._visibility = Visibility(request.scope.folder, outer) if outer is not None else None
        self._base = str(request.scope.folder).rstrip("/") + "/"
        self._sniffed = 0
        self._path: str | None = None
        self._lines: list[Line] = []
        self._count = 0

    def read_paths(self, batches: Iterator[bytes]) -> None:
        """Take in a list of paths only."""
        for batch in batches:
            for path in map(self._wanted, os.fsdecode(batch[:-1]).split("\0")):
                if path is not None and not self._is_binary(path):
                    self.hits.add(path, [], 1)

    def _wanted(self, raw: str) -> str | None:
        path = self._relative(raw)
        if path is None or (self._accepts is not None and not self._accepts(path)):
            return None
        return path if self._visibility is None or self._visibility.shows(path) else None

    def _is_binary(self, path: str) -> bool:
        """Return whether a file that is only to be listed is binary: ripgrep looks no further than the first match."""
        self._sniffed += 1
        if self._sniffed > _MAX_SNIFFED:
            return False
        try:
            fd = os.open(self._base + path, _FLAGS)
        except OSError:
            return False
        try:
            data = os.read(fd, SNIFFED)
        finally:
            os.close(fd)
        return b"\0" in data and to_text(data, None, whole=True) is None

    def read(self, messages: Iterator[bytes]) -> None:
        """Take all messages in."""
        shown = self.request.output == "matches"
        for message in messages:
            if message.startswith(b'{"type":"match"'):
                self._match(message, shown)
            elif message.startswith(b'{"type":"context"'):
                if self._path is not None:
                    self._lines.append(_line(json.loads(message)["data"], True))
            elif message.startswith(b'{"type":"begin"'):
                self._begin(json.loads(message)["data"])
            elif message.startswith(b'{"type":"end"'):
                self._end(json.loads(message)["data"])

    def _match(self, message: bytes, shown: bool) -> None:
        matcher = self.request.matcher
        in_line = b"\\r" in message and matcher.crlf and not matcher.multiline
        if self._path is None or not (in_line or (shown and self._count < MAX_HITS)):
            self._count += 1
            return
        data = json.loads(message)["data"]
        line = _line(data, False)
        if in_line and "\r" in line.text and not any(matcher.spans(_text(data["lines"], "surrogateescape"), _nothing)):
            # From version 14 on a line ends at any carriage return, and before it at several in a row.
            if self.request.before or self.request.after:
                self._lines.append(Line(line.number, line.text, context=True))
            return
        self._count += 1
        if shown and self._count <= MAX_HITS:
            self._lines.append(line)

    def _begin(self, data: dict[str, Any]) -> None:
        self._lines, self._count = [], 0
        self._path = self._wanted(_text(data["path"], "surrogateescape"))

    def _end(self, data: dict[str, Any]) -> None:
        offset = data.get("binary_offset")
        if self._path is None or (offset is not None and offset < SNIFFED):
            return
        if offset is not None and not self.request.matcher.multiline:
            self.unfinished.append(self._path)
            return
        self.hits.add(self._path, self._lines, min(self._count, MAX_HITS) if self._lines else self._count)


def _nothing() -> None:
    return


def _text(value: dict[str, str], errors: str) -> str:
    return value["text"] if "text" in value else b64decode(value["bytes"]).decode("utf-8", errors)


def _line(data: dict[str, Any], context: bool) -> Line:
    text = _text(data["lines"], "surrogateescape")
    column = data["submatches"][0]["start"] if data["submatches"] else 0
    if column and not text.isascii():
        column = len(text.encode("utf-8", "surrogateescape")[:column].decode("utf-8", "ignore"))
    return Line(data["line_number"], text.removesuffix("\n").removesuffix("\r"), column, context)
