"""Patterns of file names as regular expressions: those of ignore files and those of the tools.

Both are read into the same tokens. The expressions need no backtracking worth the name: what stands
between two stars is matched at the first place where it fits (an atomic group), which for stars is
never worse than a later place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto


class PatternSyntaxError(ValueError):
    """A pattern of names is wrong; the text says how."""


class Wild(Enum):
    """What a token takes when it is not a character or a set."""

    ONE = auto()
    """One character, no slash."""
    STAR = auto()
    """Any number of characters, no slash."""
    FOLDERS = auto()
    """No folder or several, each with its slash: the ``**/`` of a path."""
    ALL = auto()
    """Everything that is left, slashes too."""


@dataclass(frozen=True, slots=True)
class Set:
    """One character out of a set; never a slash."""

    body: str
    """What stands between the brackets of a regular expression."""


Token = str | Wild | Set


def to_regex(tokens: list[Token]) -> str:
    """Return an expression for `re.Pattern.fullmatch`."""
    runs: list[tuple[Wild | None, list[Token]]] = [(None, [])]
    for token in tokens:
        if token in (Wild.STAR, Wild.FOLDERS, Wild.ALL):
            runs.append((token, []))
        else:
            runs[-1][1].append(token)
    return _sections(runs)


def _sections(runs: list[tuple[Wild | None, list[Token]]]) -> str:
    """Join the runs; each section between two ``**`` is one atomic group, but for the last."""
    sections: list[list[tuple[Wild | None, list[Token]]]] = [[]]
    for run in runs:
        if run[0] in (Wild.FOLDERS, Wild.ALL):
            sections.append([])
        sections[-1].append(run)
    out = []
    for index, section in enumerate(sections):
        last = index == len(sections) - 1
        body = "".join(_run(run, last, last and at == len(section) - 1) for at, run in enumerate(section))
        out.append(body if last or not section else f"(?>{body})")
    return "".join(out)


def _run(run: tuple[Wild | None, list[Token]], last_section: bool, last: bool) -> str:
    wild, tokens = run
    fixed = "".join(map(_fixed, tokens))
    if wild is None:
        return fixed
    if wild is Wild.FOLDERS:
        return f"(?s:(?:.*/)?){fixed}" if last_section else f"(?s:(?:.*?/)??){fixed}"
    if wild is Wild.ALL:
        return f"(?s:.*){fixed}"
    return f"[^/]*{fixed}" if last else f"(?>[^/]*?{fixed})"


def _fixed(token: Token) -> str:
    if isinstance(token, Set):
        return f"(?!/)[{token.body}]"
    return "[^/]" if token is Wild.ONE else re.escape(str(token))


def expand_braces(pattern: str, limit: int = 1000) -> list[str]:
    """Return the patterns that ``{a,b}`` stands for; escapes and sets are left alone.

    Raises:
        PatternSyntaxError: A brace is not closed, or there would be more than *limit* patterns.
    """
    out: list[str] = []
    todo = [pattern]
    while todo:
        current = todo.pop()
        found = _first_braces(current)
        if found is None:
            out.append(current)
        else:
            start, end, parts = found
            todo.extend(current[:start] + part + current[end:] for part in reversed(parts))
        if len(out) + len(todo) > limit:
            raise PatternSyntaxError(f"the braces of the pattern stand for more than {limit:,} patterns")
    return out


def _first_braces(pattern: str) -> tuple[int, int, list[str]] | None:
    start = -1
    depth = 0
    parts: list[str] = []
    mark = i = 0
    while i < len(pattern):
        char = pattern[i]
        if char == "\\":
            i += 1
        elif char == "[":
            i = set_end(pattern, i)
        elif char == "{":
            depth += 1
            if depth == 1:
                start, mark, parts = i, i + 1, []
        elif char == "}" and depth:
            depth -= 1
            if depth == 0:
                return start, i + 1, [*parts, pattern[mark:i]]
        elif char == "," and depth == 1:
            parts.append(pattern[mark:i])
            mark = i + 1
        i += 1
    if depth:
        raise PatternSyntaxError("a '{' of the pattern is not closed; write \\{ for the character itself")
    return None


def set_end(pattern: str, start: int) -> int:
    """Return the index of the bracket that closes the set at *start*; *start* itself when none does."""
    i = start + 1
    if pattern[i : i + 1] in ("!", "^"):
        i += 1
    first = True
    while i < len(pattern):
        if pattern[i] == "\\":
            i += 1
        elif pattern[i] == "]" and not first:
            return i
        first = False
        i += 1
    return start


def glob_tokens(pattern: str) -> list[Token]:
    r"""Read one pattern of the tools (braces expanded): ``? * ** [a-z] [!a] \``.

    Raises:
        PatternSyntaxError: A set is not closed, or a backslash ends the pattern.
    """
    tokens: list[Token] = []
    i = 0
    while i < len(pattern):
        char = pattern[i]
        if char == "*":
            end = i
            while pattern[end : end + 1] == "*":
                end += 1
            whole = end - i > 1 and pattern[i - 1 : i] in ("", "/") and pattern[end : end + 1] in ("", "/")
            if whole and end < len(pattern):
                tokens.append(Wild.FOLDERS)
                end += 1
            else:
                tokens.append(Wild.ALL if whole else Wild.STAR)
            i = end
        elif char == "[":
            end = set_end(pattern, i)
            if end == i:
                raise PatternSyntaxError("a '[' of the pattern is not closed; write \\[ for the character itself")
            tokens.append(_glob_set(pattern[i + 1 : end]))
            i = end + 1
        elif char == "\\":
            if i + 1 == len(pattern):
                raise PatternSyntaxError("a backslash ends the pattern; write \\\\ for the character itself")
            tokens.append(pattern[i + 1])
            i += 2
        else:
            tokens.append(Wild.ONE if char == "?" else char)
            i += 1
    return tokens


def _glob_set(body: str) -> Set:
    negated = body[:1] in ("!", "^")
    members: list[tuple[str, bool]] = []
    i = 1 if negated else 0
    while i < len(body):
        escaped = body[i] == "\\" and i + 1 < len(body)
        i += escaped
        members.append((body[i], escaped))
        i += 1
    out = "^" if negated else ""
    at = 0
    while at < len(members):
        char = members[at][0]
        if at + 2 < len(members) and members[at + 1] == ("-", False):
            high = members[at + 2][0]
            if high < char:
                raise PatternSyntaxError(f"the range {char}-{high} of the pattern runs backwards")
            out += f"{re.escape(char)}-{re.escape(high)}"
            at += 3
        else:
            out += re.escape(char)
            at += 1
    return Set(out)
