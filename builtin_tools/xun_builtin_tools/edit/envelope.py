"""The patch form that begins with ``*** Begin Patch``.

Its markers count only at the start of a line, where a line of a hunk has its prefix; so a file may
hold the very same words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from xun_builtin_tools.edit.hunks import FilePatch, Hunk, HunkRows, added_text, parse_error

BEGIN, END, END_OF_FILE = "*** Begin Patch", "*** End Patch", "*** End of File"
_MOVE = "*** Move to:"
_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File:(.*)")
NUMBERS = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)")
"""The header of a unified hunk."""


def parse_envelope(lines: Sequence[str], first: int) -> list[FilePatch]:
    """Return the files of an envelope.

    Args:
        lines: The lines of the patch, without what was wrapped around it.
        first: The number of the first of them in the text as it was given.

    Raises:
        EditError: kind ``parse``.
    """
    return _Envelope(lines, first).parse()


class _Envelope:
    def __init__(self, lines: Sequence[str], first: int) -> None:
        self.lines = lines
        self.first = first
        self.at = _begin_line(lines)
        self.end = _end_line(lines)

    @property
    def number(self) -> int:
        return self.first + self.at

    @property
    def line(self) -> str:
        return self.lines[self.at]

    @property
    def done(self) -> bool:
        return self.at >= self.end

    def parse(self) -> list[FilePatch]:
        if not self.lines or self.line.strip() != BEGIN:
            raise parse_error(self.number, f"'{BEGIN}' was expected", self.line if self.lines else "")
        self.at += 1
        if self.end == len(self.lines):
            raise parse_error(self.first + self.end - 1, f"'{END}' is missing, so the patch may have been cut short")
        files = []
        while not self.done:
            if self.line.strip() in ("", BEGIN, END):
                self.at += 1
                continue
            files.append(self._file())
        if not files:
            raise parse_error(self.number, "the patch names no file")
        for at in range(self.end + 1, len(self.lines)):
            if self.lines[at].startswith(("+", "-", "@@")):
                raise parse_error(self.first + at, f"a line of a patch comes after '{END}'", self.lines[at])
        return files

    def _file(self) -> FilePatch:
        match = _FILE.fullmatch(self.line.strip())
        if match is None:
            raise parse_error(
                self.number, "'*** Add File:', '*** Update File:' or '*** Delete File:' was expected", self.line
            )
        number, word, path = self.number, match[1], match[2].strip()
        if not path:
            raise parse_error(number, "the path is empty", self.line)
        self.at += 1
        if word == "Add":
            return FilePatch(number, "add", path, content=self._content())
        if word == "Delete":
            if not self._at_marker() and self.line.strip():
                raise parse_error(self.number, "nothing may follow '*** Delete File:'", self.line)
            return FilePatch(number, "delete", path)
        return self._update(number, path)

    def _at_marker(self) -> bool:
        return self.done or self.line.rstrip() in (BEGIN, END) or _FILE.match(self.line) is not None

    def _content(self) -> str:
        rows = HunkRows(self.number)
        while not self._at_marker():
            if self.line.startswith("\\ ") and rows.rows:
                rows.mark_open()
            elif self.line.strip() and self.line.rstrip() != END_OF_FILE:
                if not self.line.startswith("+"):
                    raise parse_error(self.number, "a line of a new file begins with '+'", self.line)
                rows.add(self.line)
            elif not self.line.strip() and not self._only_blanks_left():
                raise parse_error(self.number, "an empty line of a new file is a '+' alone", self.line)
            self.at += 1
        return added_text(rows.line, rows.rows, closed=not rows.new_open)

    def _update(self, number: int, path: str) -> FilePatch:
        target = None
        if not self.done and self.line.startswith(_MOVE):
            target = self.line[len(_MOVE) :].strip()
            if not target:
                raise parse_error(self.number, "the new path is empty", self.line)
            self.at += 1
        hunks: list[Hunk] = []
        self._skip_names()
        while not self._at_marker():
            if not self.line.strip() and (self._only_blanks_left() or self._blanks_before_hunk()):
                self.at += 1
                continue
            hunks.append(self._hunk(first=not hunks))
        if not hunks and target is None:
            raise parse_error(number, "an update needs a hunk: '@@' and lines that begin with ' ', '-' or '+'")
        return FilePatch(number, "update", path, target, tuple(hunks))

    def _skip_names(self) -> None:
        """Pass over the ``---`` and ``+++`` lines of a unified diff: the marker has named the file."""
        head = self.lines[self.at : min(self.at + 3, self.end)]
        if len(head) == 3 and all(map(str.startswith, head, ("--- ", "+++ ", "@@"))):
            self.at += 2

    def _next_text(self) -> str | None:
        """Return the next line that is not blank, or None."""
        return next((line for line in self.lines[self.at : self.end] if line.strip()), None)

    def _only_blanks_left(self) -> bool:
        line = self._next_text()
        return line is None or line.startswith("***")

    def _blanks_before_hunk(self) -> bool:
        line = self._next_text()
        return line is not None and line.startswith("@@")

    def _hunk(self, *, first: bool) -> Hunk:
        rows = HunkRows(self.number)
        if not self.line.startswith("@@") and not first:
            raise parse_error(self.number, "'@@' was expected", self.line)
        while not self.done and self.line.startswith("@@"):
            self._header(rows)
            self.at += 1
        while not self._at_marker() and not self.line.startswith("@@"):
            if self.line.rstrip() == END_OF_FILE:
                rows.at_end = True
                self.at += 1
                break
            if self.line.startswith("\\ ") and rows.rows:
                rows.mark_open()
            elif not rows.add(self.line):
                raise parse_error(self.number, "a line of a hunk begins with ' ', '-' or '+'", self.line)
            self.at += 1
        return rows.finish()

    def _header(self, rows: HunkRows) -> None:
        numbers = NUMBERS.fullmatch(self.line.rstrip())
        if numbers is not None:
            rows.old_start = int(numbers[1])
            rows.old_count = int(numbers[2] or 1)
            return
        anchor = self.line[2:].removeprefix(" ").rstrip().removesuffix(" @@")
        if anchor.strip():
            rows.anchors.append(anchor)


def _begin_line(lines: Sequence[str]) -> int:
    """Return the index of the first begin marker, before which only words of explanation may stand; else 0."""
    for at, line in enumerate(lines):
        if line.strip() == BEGIN:
            return at
        if line.lstrip().startswith("***"):
            break
    return 0


def _end_line(lines: Sequence[str]) -> int:
    """Return the index of the last end marker; the number of lines when there is none."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    for at in range(len(lines) - 1, -1, -1):
        # A marker with blanks before it would be a context line anywhere but at the very end.
        if lines[at].rstrip() == END or (lines[at] is last and last.strip() == END):
            return at
        if lines[at].startswith("***"):
            break
    return len(lines)
