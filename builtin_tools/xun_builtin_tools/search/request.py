"""What is asked for, checked: the same for every way to search."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from xun.errors import SearchError
from xun_builtin_tools.search.encodings import codec_name
from xun_builtin_tools.search.ignore_rules import OuterRules, outer_rules
from xun_builtin_tools.search.regex.matcher import Matcher
from xun_builtin_tools.search.regex.parse import Parsed, PatternError, parse, parse_literal
from xun_builtin_tools.search.wildcards import (
    PatternSyntaxError,
    Set,
    Token,
    Wild,
    expand_braces,
    glob_tokens,
    to_regex,
)
from xun_policies.paths.real import escape_display

_MAGIC = frozenset("*?[{\\")
_BY_ENDING = re.compile(r"\*\*/\*[^*?\[\]{}\\/]*")


def _ignores_nothing(path: str, is_folder: bool) -> bool:
    return False


@dataclass(frozen=True)
class Scope:
    """Where to search, and what to leave out there."""

    folder: Path
    """The folder that paths are relative to; resolved."""
    file: str | None
    """The name of the one file to search in it; None for all."""
    hidden: bool
    gitignore: bool
    boundary: Path
    """Where the search for ignore files above ends when no repository is around."""
    inside: Callable[[str], bool] = field(compare=False)
    """Tells of a real path whether it may be seen."""
    private: tuple[str, ...] = ()
    """Absolute paths that are never searched."""
    ignore: tuple[str, ...] = ()
    """The roots and the patterns of the workspace for what is left out: what `ignores` goes by."""
    ignores: Callable[[str, bool], bool] = field(default=_ignores_nothing, compare=False)
    """Tells of a path below the folder, and of whether it is a folder, whether the workspace leaves it out."""

    @cached_property
    def outer(self) -> OuterRules | None:
        """The ignore rules above the folder; None when none are to be kept."""
        return outer_rules(self.folder, self.boundary) if self.gitignore else None

    @cached_property
    def closed(self) -> tuple[str, ...]:
        """The private paths below the folder, relative to it."""
        base = str(self.folder).rstrip("/") + "/"
        return tuple(path[len(base) :] for path in self.private if path.startswith(base))

    def is_closed(self, path: str) -> bool:
        """Return whether a path below the folder is private."""
        return any(path == closed or path.startswith(closed + "/") for closed in self.closed)


@dataclass(frozen=True)
class NamePattern:
    """A pattern for paths below a root."""

    source: str
    regex: re.Pattern[str]
    negated: bool = False
    basename: bool = False
    """The pattern has no slash and is held against the last part of a path only."""
    endings: tuple[str, ...] = ("",)
    """Every path that the expression takes ends with one of these."""
    by_ending: bool = False
    """Every path that ends so is taken."""
    parts: tuple[tuple[Token, ...], ...] = ()
    """What the pattern stands for, one by one, as seen from the root."""

    def matches(self, path: str) -> bool:
        """Return whether the file *path*, relative to the root, is wanted."""
        if not self.negated:
            return self._takes(path)
        return self.enters(path) and all(self.enters(path[:at]) for at, char in enumerate(path) if char == "/")

    def select(self, folder: str, names: Sequence[str]) -> Sequence[str]:
        """Return the wanted ones among the *names* of files in a folder (its path with a slash at its end, or "")."""
        if self.negated:
            return [name for name in names if self.matches(folder + name)]
        if self._endings_of_names:
            # The ending of a string is looked at far faster than an expression is.
            names = [name for name in names if name.endswith(self.endings)]
            if self.by_ending:
                return names
        takes = self.regex.fullmatch
        if self.basename:
            return [name for name in names if takes(name)]
        return [name for name in names if takes(folder + name)]

    @cached_property
    def _endings_of_names(self) -> bool:
        return not any("/" in ending for ending in self.endings)

    def enters(self, folder: str) -> bool:
        """Return whether anything in a folder may be wanted: what leaves out a folder leaves out all in it."""
        return not (self.negated and self._takes(folder))

    def _takes(self, path: str) -> bool:
        return self.regex.fullmatch(path.rpartition("/")[2] if self.basename else path) is not None


def path_pattern(pattern: str, scope: Scope, case_sensitive: bool) -> NamePattern:
    """Read the pattern of `glob`.

    Raises:
        SearchError: It is empty, broken (bad_pattern), or climbs out of the root (outside).
    """
    _check(pattern)
    text = pattern.removeprefix("./")
    base = str(scope.folder).rstrip("/") + "/"
    text = text.removeprefix(base)
    if not text.strip():
        raise SearchError("The pattern is empty; '**/*' stands for every file.", kind="bad_pattern")
    if text.startswith("/") or ".." in text.split("/"):
        raise SearchError(
            f"The pattern {pattern!r} leads out of the folder that is searched; give that folder as path instead.",
            kind="outside",
        )
    if any(char in _MAGIC for char in text) and _is_file(scope.folder / text):
        return NamePattern(pattern, re.compile(re.escape(text)))
    regex, parts = _compiled(pattern, text, 0 if case_sensitive else re.IGNORECASE)
    if not case_sensitive:
        return NamePattern(pattern, regex)
    endings = tuple(set(map(_ending, parts)))
    return NamePattern(pattern, regex, endings=endings, by_ending=_BY_ENDING.fullmatch(text) is not None)


def file_filter(pattern: str) -> NamePattern:
    """Read the `glob` argument of `grep`, which works as ripgrep's `-g`.

    Without a slash it is held against names at every depth; with one against paths from the root. A
    leading ``!`` leaves out what matches.

    Raises:
        SearchError: It is empty or broken (bad_pattern).
    """
    _check(pattern)
    negated = pattern.startswith("!")
    text = pattern[1:] if negated else pattern
    basename = "/" not in text.rstrip("/")
    text = text.removeprefix("./").removeprefix("/")
    if not text.strip():
        raise SearchError("The glob argument is empty; leave it out to search every file.", kind="bad_pattern")
    if text.endswith("/"):
        # What names a folder means what is in it.
        basename, text = False, ("**/" if basename else "") + text + "**"
    regex, parts = _compiled(pattern, text, 0)
    return NamePattern(pattern, regex, negated, basename, parts=parts)


def _check(pattern: str) -> None:
    if "\0" in pattern:
        shown = escape_display(pattern[:200])
        raise SearchError(f"The pattern contains a NUL byte, which no file name can have: {shown}", kind="bad_pattern")


def _compiled(pattern: str, text: str, flags: int) -> tuple[re.Pattern[str], tuple[tuple[Token, ...], ...]]:
    try:
        parts = [glob_tokens(part) for part in expand_braces(text)]
        regex = re.compile("|".join(f"(?:{to_regex(part)})" for part in parts), flags)
    except (PatternSyntaxError, re.error) as exc:
        raise SearchError(f"The pattern {pattern!r} is broken: {exc}.", kind="bad_pattern") from None
    return regex, tuple(map(tuple, parts))


def _ending(tokens: Sequence[Token]) -> str:
    plain = ""
    for token in reversed(tokens):
        if isinstance(token, Wild | Set):
            break
        plain = token + plain
    return plain


def _is_file(path: Path) -> bool:
    try:
        return os.path.isfile(path)
    except ValueError:
        return False


@dataclass(frozen=True)
class GlobRequest:
    """A search for paths."""

    scope: Scope
    pattern: NamePattern


@dataclass(frozen=True)
class GrepRequest:
    """A search in the content of files."""

    scope: Scope
    parsed: Parsed
    matcher: Matcher
    filter: NamePattern | None
    ignore_case: bool
    literal: bool
    word: bool
    dotall: bool
    before: int
    after: int
    output: str
    codec: str | None


@dataclass(frozen=True, slots=True)
class Wording:
    """The pattern of `grep` and how it is meant."""

    pattern: str
    literal: bool = False
    ignore_case: bool = False
    word: bool = False
    multiline: bool = False
    dotall: bool = False

    def read(self) -> tuple[Parsed, Matcher]:
        """Parse the pattern.

        Raises:
            SearchError: It is no pattern that can be searched for (bad_regex).
        """
        if not self.pattern:
            raise SearchError("The pattern is empty; glob lists files.", kind="bad_regex")
        try:
            if self.literal:
                parsed = parse_literal(self.pattern, ignore_case=self.ignore_case)
            else:
                dotall = self.multiline and self.dotall
                parsed = parse(self.pattern, ignore_case=self.ignore_case, dotall=dotall)
            return parsed, Matcher(parsed, word=self.word, multiline=self.multiline)
        except PatternError as exc:
            hint = "" if self.literal else " To search for the text as it stands, set literal=true."
            raise SearchError(
                f"{self.pattern[:200]!r} cannot be searched for: {exc}.{hint}", kind="bad_regex"
            ) from None


def encoding_of(name: str | None) -> str | None:
    """Return the codec for the `encoding` argument.

    Raises:
        SearchError: No such encoding (bad_pattern).
    """
    if name is None or name.lower() in ("auto", ""):
        return None
    codec = codec_name(name)
    if codec is None:
        raise SearchError(
            f"The encoding {name!r} is not known; utf-16le, latin1, shift_jis and gb18030 are examples.",
            kind="bad_pattern",
        )
    return None if codec in ("utf-8", "utf-8-sig") else codec
