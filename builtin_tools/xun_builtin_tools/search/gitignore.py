"""Ignore rules as git has them (gitignore(5), and `dir.c` and `wildmatch.c` of git where it is silent).

Names are compared byte by byte, as git does: a name or a pattern that is not ASCII is looked at as its
UTF-8 bytes, each of them one character.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xun_builtin_tools.search.wildcards import Set, Token, Wild, to_regex

_BOM = b"\xef\xbb\xbf"
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "\\x21-\\x7e",
    "lower": "a-z",
    "print": "\\x20-\\x7e",
    "punct": "\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
# Patterns on which git and every version of ripgrep agree: plain names, stars, simple sets.
_PART = (
    r"(?:\*\*|(?:(?!\*\*)[\w.+\-~@ ,=%()$&';:#<>*?]|[^\x00-\x7f]"
    r"|\[[A-Za-z0-9]+\]|\[(?:a-z|a-zA-Z|A-Z|0-9)\])+)"
)
_PLAIN = re.compile(rf"!?/?{_PART}(?:/{_PART})*/?")


def byte_name(name: str) -> str:
    """Return *name* with one character per byte of it."""
    return name if name.isascii() else os.fsencode(name).decode("latin-1")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file."""

    negated: bool
    folders_only: bool
    by_name: bool
    """The pattern has no slash, so that it is held against the last part of a path only."""
    literal: str | None
    """The pattern when it has no wildcard."""
    suffix: str | None
    """What follows the star of a pattern like ``*.log``."""
    regex: str | None
    """Any other pattern, as an expression; None when it can match nothing."""
    source: str


class _Quick(NamedTuple):
    """What tells in one step whether any of many rules speaks of a name."""

    names: frozenset[str]
    suffixes: tuple[str, ...]
    by_name: re.Pattern[str] | None
    by_path: re.Pattern[str] | None


class RuleSet:
    """The rules of one ignore file, ready to be asked."""

    __slots__ = ("_names", "_others", "_paths", "_quick", "_suffixes", "folder", "negates", "plain", "rules")

    def __init__(self, data: bytes, folder: str = "") -> None:
        """Read the content of an ignore file.

        Args:
            data: The file.
            folder: Where the file is, relative to where paths begin, with a slash at its end; or "".
        """
        self.folder = folder
        self.rules = parse_rules(data)
        self.plain = not data.startswith(_BOM) and all(_PLAIN.fullmatch(rule.source) for rule in self.rules)
        self._names: dict[str, list[int]] = {}
        self._suffixes: list[tuple[str, int]] = []
        self._others: list[tuple[re.Pattern[str], int]] = []
        self._paths: list[tuple[re.Pattern[str], int]] = []
        for index, rule in enumerate(self.rules):
            self._sort_in(index, rule)
        self.negates = any(rule.negated for rule in self.rules)
        self._quick = (self._quick_for(False), self._quick_for(True))

    def _sort_in(self, index: int, rule: Rule) -> None:
        if rule.by_name and rule.literal is not None:
            self._names.setdefault(rule.literal, []).append(index)
        elif rule.by_name and rule.suffix is not None:
            self._suffixes.append((rule.suffix, index))
        elif rule.literal is not None or rule.regex is not None:
            regex = re.compile(re.escape(rule.literal) if rule.literal is not None else str(rule.regex))
            (self._others if rule.by_name else self._paths).append((regex, index))

    def _quick_for(self, folders: bool) -> _Quick:
        def counts(index: int) -> bool:
            return folders or not self.rules[index].folders_only

        def any_of(expressions: list[tuple[re.Pattern[str], int]]) -> re.Pattern[str] | None:
            parts = [f"(?:{regex.pattern})" for regex, index in expressions if counts(index)]
            return re.compile("|".join(parts)) if parts else None

        return _Quick(
            frozenset(name for name, indices in self._names.items() if any(map(counts, indices))),
            tuple(suffix for suffix, index in self._suffixes if counts(index)),
            any_of(self._others),
            any_of(self._paths),
        )

    def decide_all(self, folder: str, names: Sequence[str], are_folders: bool) -> dict[str, bool]:
        """Return whether the rules ignore names in a folder, for those of which a rule speaks.

        Args:
            folder: The path of the folder relative to where paths begin, with a slash at its end, or "".
            names: The names in it, or some of them (see `byte_name`).
            are_folders: Whether they are those of folders.
        """
        known, suffixes, by_name, by_path = self._quick[are_folders]
        found = [name for name in names if name in known or name.endswith(suffixes)]
        if by_name is not None:
            found += filter(by_name.fullmatch, names)
        if by_path is not None:
            below = folder[len(self.folder) :]
            found += [name for name in names if by_path.fullmatch(below + name)]
        if not self.negates:
            return dict.fromkeys(found, True)
        return {name: self.decide(folder + name, name, are_folders) is True for name in found}

    def decide(self, path: str, name: str, is_folder: bool) -> bool | None:
        """Return whether the rules ignore the path, or None when no rule speaks of it.

        Args:
            path: The path relative to where paths begin (see `byte_name`).
            name: Its last part.
            is_folder: Whether it is a folder, and no link to one.
        """
        rules = self.rules
        best = -1
        for index in self._names.get(name, ()):
            if is_folder or not rules[index].folders_only:
                best = index
        for suffix, index in self._suffixes:
            if index > best and name.endswith(suffix) and (is_folder or not rules[index].folders_only):
                best = index
        for regex, index in self._others:
            if index > best and (is_folder or not rules[index].folders_only) and regex.fullmatch(name):
                best = index
        if self._paths:
            below = path[len(self.folder) :]
            for regex, index in self._paths:
                if index > best and (is_folder or not rules[index].folders_only) and regex.fullmatch(below):
                    best = index
        return None if best < 0 else not rules[best].negated


def parse_rules(data: bytes) -> tuple[Rule, ...]:
    """Return the rules of an ignore file."""
    rules = []
    for line in data.removeprefix(_BOM).decode("latin-1").split("\n"):
        text = _without_trailing_blanks(line.removesuffix("\r"))
        if text and not text.startswith("#"):
            rules.append(_rule(text))
    return tuple(rules)


def _without_trailing_blanks(line: str) -> str:
    """Drop blanks at the end, but not one that a backslash keeps."""
    end = 0
    i = 0
    while i < len(line):
        if line[i] == "\\":
            i += 1
            end = min(i + 1, len(line))
        elif line[i] != " ":
            end = i + 1
        i += 1
    return line[:end]


def _rule(source: str) -> Rule:
    negated = source.startswith("!")
    text = source[1:] if negated else source
    folders_only = text.endswith("/")
    text = text.removesuffix("/")
    by_name = "/" not in text
    plain_length = next((i for i, char in enumerate(text) if char in "*?[\\"), len(text))
    literal = suffix = regex = None
    if plain_length == len(text):
        literal = text.removeprefix("/") or None
    elif by_name and text.startswith("*") and not any(char in "*?[\\" for char in text[1:]):
        suffix = text[1:]
    else:
        anchored = text.removeprefix("/")
        tokens = wildmatch_tokens(anchored, plain_length - (len(text) - len(anchored)), by_name)
        regex = None if tokens is None else to_regex(tokens)
    return Rule(negated, folders_only, by_name, literal, suffix, regex, source)


def wildmatch_tokens(pattern: str, plain_length: int, by_name: bool) -> list[Token] | None:
    """Read a pattern of git; None when it can match nothing.

    The first *plain_length* characters have no wildcard. git compares them on their own, so that two
    stars right after them count as if they began the pattern.
    """
    tokens: list[Token] = list(pattern[:plain_length])
    i = plain_length
    while i < len(pattern):
        char = pattern[i]
        if char == "*":
            i = _stars(pattern, i, i == plain_length, by_name, tokens)
        elif char == "?":
            tokens.append(Wild.ONE)
            i += 1
        elif char == "[":
            found = _set(pattern, i + 1)
            if found is None:
                return None
            i = found[0]
            tokens.append(Set(found[1]))
        elif char == "\\":
            if i + 1 == len(pattern):
                return None
            tokens.append(pattern[i + 1])
            i += 2
        else:
            tokens.append(char)
            i += 1
    return tokens


def _stars(pattern: str, start: int, begins: bool, by_name: bool, tokens: list[Token]) -> int:
    end = start
    while pattern[end : end + 1] == "*":
        end += 1
    before = begins or pattern[start - 1] == "/"
    whole = not by_name and end - start > 1 and before
    if whole and end == len(pattern):
        tokens.append(Wild.ALL)
    elif whole and pattern[end] == "/":
        tokens.append(Wild.FOLDERS)
        end += 1
    else:
        tokens.append(Wild.STAR)
    return end


def _set(pattern: str, i: int) -> tuple[int, str] | None:
    """Read a set after its bracket; return where it ends and its body, or None when it is broken."""
    negated = pattern[i : i + 1] in ("!", "^")
    i += negated
    body = ""
    previous = ""
    first = True
    while first or pattern[i : i + 1] != "]":
        first = False
        char = pattern[i : i + 1]
        if not char:
            return None
        if char == "[" and pattern[i + 1 : i + 2] == ":":
            close = pattern.find("]", i + 2)
            # With no colon before the next bracket it is no class, and the bracket stands for itself.
            if close < 0 or (close > i + 2 and pattern[close - 1] == ":"):
                named = _POSIX.get(pattern[i + 2 : close - 1]) if close >= 0 else None
                if named is None:
                    return None
                body, previous, i = body + named, "", close + 1
                continue
        if char == "-" and previous and pattern[i + 1 : i + 2] not in ("", "]"):
            i += 1
            i += pattern[i] == "\\"
            high = pattern[i : i + 1]
            if not high:
                return None
            body += f"{_code(previous)}-{_code(high)}" if previous <= high else ""
            previous = ""
        else:
            i += char == "\\"
            previous = pattern[i : i + 1]
            if not previous:
                return None
            body += _code(previous)
        i += 1
    if not body:
        return i + 1, "\\s\\S" if negated else "^\\s\\S"
    return i + 1, f"^{body}" if negated else body


def _code(char: str) -> str:
    return f"\\x{ord(char):02x}"
