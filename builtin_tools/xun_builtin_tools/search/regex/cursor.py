"""A reading position in a pattern, with errors that point at it."""

from __future__ import annotations


class PatternError(ValueError):
    """A pattern is wrong; the text says what and where."""


class Cursor:
    """Reads a pattern from left to right and notes what has to be rewritten for ripgrep."""

    __slots__ = ("_fixes", "at", "lossy", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lossy = False
        self._fixes: list[tuple[int, int, str]] = []

    @property
    def done(self) -> bool:
        """Whether nothing is left."""
        return self.at >= len(self.text)

    def peek(self) -> str:
        """Return the next character, or "" at the end."""
        return self.text[self.at : self.at + 1]

    def rest(self, skip: int = 0) -> str:
        """Return a little of what follows, after *skip* characters."""
        return self.text[self.at + skip : self.at + skip + 40]

    def next(self, count: int = 1) -> str:
        """Return the next character(s) and go past."""
        self.at += count
        return self.text[self.at - count : self.at]

    def take(self, text: str) -> bool:
        """Go past *text* if it is next."""
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def until(self, end: str, complaint: str, *, at: int | None = None) -> str:
        """Return what stands before *end* and go past it."""
        start = self.at
        close = self.text.find(end, start)
        if close < 0:
            raise self.error(complaint, at=start - 1 if at is None else at)
        self.at = close + len(end)
        return self.text[start:close]

    def skip_line(self) -> None:
        """Go to the next line."""
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end + 1

    def fix(self, length: int, replacement: str, *, back: int = 0, lossy: bool = False) -> None:
        """Go past *length* characters, which ripgrep is to read as *replacement*.

        *back* characters before them are replaced too; *lossy* says that ripgrep cannot be told exactly.
        """
        self._fixes.append((self.at - back, length + back, replacement))
        self.lossy = self.lossy or lossy
        self.at += length

    def rewritten(self) -> str:
        """Return the pattern with all fixes."""
        out = []
        last = 0
        for start, length, replacement in self._fixes:
            out += [self.text[last:start], replacement]
            last = start + length
        return "".join([*out, self.text[last:]])

    def error(self, message: str, *, at: int | None = None, back: int = 0) -> PatternError:
        """Return the error that says *message* about a position."""
        place = max(self.at - back if at is None else at, 0)
        shown = self.text[place : place + 20]
        where = f" (at {shown!r}, character {place + 1})" if shown else " (at its end)"
        return PatternError(message + where)
