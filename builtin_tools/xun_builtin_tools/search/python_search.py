"""Searches without ripgrep."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator

from xun_builtin_tools.search.encodings import is_utf16, to_text
from xun_builtin_tools.search.folders import Folder, open_folder
from xun_builtin_tools.search.hits import Hits, Line
from xun_builtin_tools.search.limits import MAX_FILE, MAX_HITS, Clock
from xun_builtin_tools.search.regex.matcher import Matcher
from xun_builtin_tools.search.request import GrepRequest
from xun_policies.paths.names import shown_name

_FILE_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_CHUNK = 1 << 17


class PythonSearch:
    """Looks for one pattern in the content of files."""

    def __init__(
        self, request: GrepRequest, clock: Clock, hits: Hits, grown: Callable[[int], None] = lambda size: None
    ) -> None:
        """Prepare the search; *grown* hears how many bytes were read and may raise to give up."""
        self.request = request
        self.clock = clock
        self.hits = hits
        self._since_tick = 0
        self._bytes = 0
        self._grown = grown

    def in_folders(self, folders: Iterator[Folder]) -> None:
        """Search all files of *folders*."""
        for folder in folders:
            for name in folder.files:
                self._file(folder.path + name, name, folder.fd)

    def in_one(self) -> None:
        """Search the one file that the scope names."""
        scope = self.request.scope
        try:
            fd = open_folder(str(scope.folder))
        except OSError:
            self.hits.skipped.append(shown_name(str(scope.file)))
            return
        try:
            self._file(str(scope.file), str(scope.file), fd)
        finally:
            os.close(fd)

    def _file(self, path: str, name: str, folder: int) -> None:
        try:
            data = _read(name, folder)
        except OSError:
            self.hits.skipped.append(shown_name(path))
            return
        if data is None:
            self.hits.skipped.append(f"{shown_name(path)} (larger than {MAX_FILE // 1_000_000} MB)")
            return
        self._bytes += len(data)
        self._grown(self._bytes)
        self._since_tick += 50_000 + len(data)
        if self._since_tick > 5_000_000:
            self._since_tick = 0
            self.clock.tick()
        request = self.request
        if request.codec is None and not request.matcher.may_match(data) and not is_utf16(data):
            return
        found = to_text(data, request.codec, whole=request.matcher.multiline)
        if found is None or not found.text:
            return
        lines, count = _FileSearch(found.text, request.matcher, request, self.clock.tick).run()
        self.hits.add(path, lines, count)


def _read(name: str, folder: int) -> bytes | None:
    """Return the bytes of a file; None when they are too many."""
    fd = os.open(name, _FILE_FLAGS, dir_fd=folder)
    try:
        data = os.read(fd, _CHUNK)
        if len(data) < _CHUNK:
            return data
        if os.fstat(fd).st_size > MAX_FILE:
            return None
        with open(fd, "rb", closefd=False) as file:
            return data + file.read(MAX_FILE)
    finally:
        os.close(fd)


class _FileSearch:
    """The search in one text."""

    def __init__(self, text: str, matcher: Matcher, request: GrepRequest, tick: Callable[[], None]) -> None:
        self.text = text
        self.matcher = matcher
        self.request = request
        self.tick = tick

    def run(self) -> tuple[list[Line], int]:
        """Return the lines to show and the number of matches."""
        request = self.request
        blocks: list[tuple[int, int, int]] = []
        count = 0
        for start, end, column in self._blocks():
            count += 1
            if request.output == "files":
                break
            if request.output == "matches":
                blocks.append((start, end, column))
                if count >= MAX_HITS:
                    break
        return self._lines(blocks), count

    def _blocks(self) -> Iterator[tuple[int, int, int]]:
        """Yield start and end of the lines of each match, and where in them the match begins.

        Matches on lines that touch are one block, when matches may run over lines at all.
        """
        text = self.text
        pending: tuple[int, int, int] | None = None
        for start, end in self.matcher.spans(text, self.tick):
            first = text.rfind("\n", 0, start) + 1
            # A match that takes a line break at its end is not on the next line.
            last = end - 1 if end > start and text[end - 1] == "\n" else text.find("\n", end)
            last = len(text) if last < 0 else last
            if not self.matcher.multiline:
                yield first, last, start - first
                continue
            if pending is not None and first <= pending[1] + 1:
                pending = (pending[0], max(last, pending[1]), pending[2])
                continue
            if pending is not None:
                yield pending
            pending = (first, last, start - first)
        if pending is not None:
            yield pending

    def _lines(self, blocks: list[tuple[int, int, int]]) -> list[Line]:
        if not blocks:
            return []
        text = self.text
        if not (self.request.before or self.request.after):
            out = []
            number, at = 1, 0
            for start, end, column in blocks:
                number += text.count("\n", at, start)
                at = start
                block = text[start:end]
                if "\0" in block:
                    break
                out.append(Line(number, block.removesuffix("\r"), column))
            return out
        return self._with_context(blocks)

    def _with_context(self, blocks: list[tuple[int, int, int]]) -> list[Line]:
        text = self.text
        starts = [0]
        at = text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = text.find("\n", at + 1)
        if starts[-1] == len(text):
            starts.pop()
        out: list[Line] = []
        done = 0
        for index, (start, end, column) in enumerate(blocks):
            first = bisect_right(starts, start)
            last = bisect_right(starts, max(end, start))
            following = bisect_right(starts, blocks[index + 1][0]) if index + 1 < len(blocks) else len(starts) + 1
            for number in range(max(done + 1, first - self.request.before), first):
                out.append(self._context(starts, number))
            out.append(Line(first, text[start:end].removesuffix("\r"), column))
            done = last
            for number in range(last + 1, min(last + self.request.after + 1, following)):
                out.append(self._context(starts, number))
                done = number
        return out

    def _context(self, starts: list[int], number: int) -> Line:
        start = starts[number - 1]
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return Line(number, self.text[start:end].removesuffix("\n").removesuffix("\r"), context=True)
