"""Patterns for paths, written as the lines of a .gitignore, that settings name.

Matching takes time in proportion to pattern and path, whatever the pattern: one may come with a project.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xun_policies.errors import PolicyError
from xun_policies.paths.protected import folded

MAX_PATTERNS = 1_000
"""Patterns of one list."""

MAX_LENGTH = 1_000
"""Characters of one pattern."""

_ODD = re.compile(r"[:~]|[. ](?:/|\Z)")
_ANY, _STAR = "?", "*"
_MAX_KNOWN = 20_000


@dataclass(frozen=True, slots=True)
class _Class:
    """``[...]``: one character of a set, or none of it."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool

    def takes(self, char: str) -> bool:
        return any(low <= char <= high for low, high in self.ranges) != self.negated


@dataclass(frozen=True, slots=True)
class _Literal:
    char: str


_Token = str | _Class | _Literal
_Places = list[frozenset[int]] | None


@dataclass(frozen=True, slots=True)
class _Name:
    """What one name has to look like."""

    tokens: tuple[_Token, ...]
    ending: str
    plain: bool

    def takes(self, name: str) -> bool:
        if self.plain:
            return name == self.ending
        return name.endswith(self.ending) and _matches(self.tokens, name)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A pattern by its parts; where one can be in it is a set of their numbers, and the number of parts its end."""

    parts: tuple[_Name | None, ...]
    """None stands for ``**``."""
    folder_only: bool

    def step(self, at: frozenset[int], name: str) -> frozenset[int]:
        """Return where one can be after *name*."""
        after: set[int] = set()
        for index in at:
            part = self.parts[index]
            if part is None:
                after |= {index, index + 1} if index + 1 == len(self.parts) else {index}
            elif part.takes(name):
                after.add(index + 1)
        return self.settled(after)

    def settled(self, at: set[int]) -> frozenset[int]:
        """Return *at* with what can be reached from there because ``**`` may stand for nothing."""
        for index in sorted(at):
            while index + 1 < len(self.parts) and self.parts[index] is None:
                index += 1
                at.add(index)
        return frozenset(at)


def _matches(tokens: Sequence[_Token], name: str) -> bool:
    at = position = 0
    star = -1
    mark = 0
    while position < len(name):
        token = tokens[at] if at < len(tokens) else None
        if token == _STAR:
            star, mark = at, position
            at += 1
        elif token is not None and _takes(token, name[position]):
            at += 1
            position += 1
        elif star >= 0:
            # The star takes one more: only the last one ever has to be tried again.
            mark += 1
            at, position = star + 1, mark
        else:
            return False
    return all(token == _STAR for token in tokens[at:])


def _takes(token: _Token, char: str) -> bool:
    if isinstance(token, _Literal):
        return token.char == char
    return token.takes(char) if isinstance(token, _Class) else token == _ANY


class PathPatterns:
    """A list of patterns, held against paths below a folder. Upper and lower case count as the same.

    A pattern without a slash holds at every depth, one with a slash from the folder on; one that begins with ``/`` or
    ``~`` may be a path of the whole machine as well. What matches covers everything below it.

    Raises:
        PolicyError: A pattern is none; the text names it.
    """

    __slots__ = ("_absolute", "_below", "texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(texts)
        if len(self.texts) > MAX_PATTERNS:
            raise PolicyError(f"{len(self.texts)} patterns are too many; a list holds at most {MAX_PATTERNS}")
        self._below = _Matcher([_parsed(text) for text in self.texts])
        whole = [os.path.expanduser(text) for text in self.texts if text.startswith(("/", "~"))]
        self._absolute = _Matcher([_parsed(text) for text in dict.fromkeys([*whole, *map(_canonical, whole)])])

    def __bool__(self) -> bool:
        return bool(self.texts)

    def covers(self, path: str, root: str, *, is_folder: bool = True) -> bool:
        """Tell whether the canonical *path*, which is *root* or below it, or a folder above it, matches.

        With *is_folder* false a pattern that ends with a slash does not mean the path itself.
        """
        prefix = root.rstrip("/") + "/"
        below = path[len(prefix) :] if path.startswith(prefix) else ""
        return self._below.covers(below, is_folder) or self._absolute.covers(path[1:], is_folder)


class _Matcher:
    """Patterns of one kind, with what they make of the folders that were looked at."""

    __slots__ = ("_known", "_patterns", "_start")

    def __init__(self, patterns: Sequence[_Pattern]) -> None:
        self._patterns = patterns
        self._start: _Places = [pattern.settled({0}) for pattern in patterns]
        self._known: dict[str, _Places] = {}

    def covers(self, path: str, is_folder: bool) -> bool:
        if not (self._patterns and path):
            return False
        if self._holds(path.casefold(), is_folder):
            return True
        # As the most forgiving file system compares names.
        odd = not path.isascii() or _ODD.search(path) is not None
        return odd and self._holds("/".join(map(folded, path.split("/"))), is_folder)

    def _holds(self, path: str, is_folder: bool) -> bool:
        folder, _, name = path.rpartition("/")
        before = self._places(folder)
        if before is None:
            return True
        return any(
            len(pattern.parts) in pattern.step(at, name) and (is_folder or not pattern.folder_only)
            for pattern, at in zip(self._patterns, before, strict=True)
        )

    def _places(self, folder: str) -> _Places:
        """Return where each pattern is after *folder*; None when one covers it."""
        start = self._start
        if not folder:
            return start
        # One look each: another thread may empty it in between.
        if (places := self._known.get(folder, start)) is not start:
            return places
        walked = ""
        for name in folder.split("/"):
            walked = f"{walked}/{name}" if walked else name
            if (known := self._known.get(walked, start)) is not start:
                places = known
            elif places is not None:
                places = [pattern.step(at, name) for pattern, at in zip(self._patterns, places, strict=True)]
                if any(len(pattern.parts) in at for pattern, at in zip(self._patterns, places, strict=True)):
                    places = None
            if places is None:
                break
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[folder] = places
        return places


def _parsed(text: str) -> _Pattern:
    _check(text)
    body = text.removeprefix("./")
    folder_only = body.endswith("/")
    anchored = "/" in body.rstrip("/")
    names = [name for name in body.split("/") if name not in ("", ".")]
    if not names or ".." in names:
        raise PolicyError(f'the pattern "{text}" names nothing below the folder; write a name, a path or * for all')
    parts: list[_Name | None] = [] if anchored else [None]
    for name in names:
        if name == "**":
            if not parts or parts[-1] is not None:
                parts.append(None)
        else:
            parts.append(_name(name, text))
    return _Pattern(tuple(parts), folder_only)


def _canonical(text: str) -> str:
    """Return an absolute pattern with what is plain at its beginning as a canonical path, as which paths are given."""
    magic = re.search(r"[*?\[\\]", text)
    at = len(text) if magic is None else text.rfind("/", 0, magic.start()) + 1
    plain, rest = text[:at], text[at:]
    if not plain.startswith("/"):
        return text
    real = re.sub(r"([*?\[\\])", r"\\\1", os.path.realpath(plain)).rstrip("/")
    return f"{real}/{rest}" if rest or plain.endswith("/") else real or "/"


def _check(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise PolicyError(f'the pattern "{text[:40]}..." has more than {MAX_LENGTH} characters')
    if not text.strip():
        raise PolicyError("a pattern is empty")
    if any(char < " " or char == "\x7f" for char in text):
        raise PolicyError(f"the pattern {text!r} holds a control character")
    if text.startswith("!"):
        raise PolicyError(f'the pattern "{text}" begins with "!": none takes another one back; write [!] for the sign')


def _name(name: str, text: str) -> _Name:
    tokens = _tokens(name, text)
    ending = ""
    for token in reversed(tokens):
        if not isinstance(token, _Literal):
            return _Name(tokens, ending, plain=False)
        ending = token.char + ending
    return _Name(tokens, ending, plain=True)


def _tokens(name: str, text: str) -> tuple[_Token, ...]:
    tokens: list[_Token] = []
    at = 0
    while at < len(name):
        char = name[at]
        if char == "*":
            if not tokens or tokens[-1] != _STAR:
                tokens.append(_STAR)
        elif char == "?":
            tokens.append(_ANY)
        elif char == "[":
            found, at = _class(name, at, text)
            tokens.append(found)
            continue
        else:
            if char == "\\" and at + 1 < len(name):
                at += 1
            tokens += [_Literal(folded_char) for folded_char in name[at].casefold()]
        at += 1
    return tuple(tokens)


def _class(name: str, at: int, text: str) -> tuple[_Class, int]:
    start = at + 1
    negated = name[start : start + 1] in ("!", "^") and name[start + 1 : start + 2] != "]"
    start += negated
    end = name.find("]", start + 1)
    if end < 0:
        raise PolicyError(f'the pattern "{text}" opens a "[" that it does not close; write [[] for the sign')
    chars = name[start:end].casefold()
    ranges = []
    index = 0
    while index < len(chars):
        if chars[index + 1 : index + 2] == "-" and index + 2 < len(chars):
            ranges.append((chars[index], chars[index + 2]))
            index += 3
        else:
            ranges.append((chars[index], chars[index]))
            index += 1
    return _Class(tuple(ranges), negated), end + 1
