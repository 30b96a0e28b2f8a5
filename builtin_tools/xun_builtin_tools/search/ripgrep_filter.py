"""The `glob` argument of `grep` as ripgrep is told of it.

ripgrep gets patterns that take at least what is wanted, and what it finds is looked at once more: it holds ``?`` and
sets against single bytes, drops empty alternatives, and reads ``-g`` like a line of an ignore file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from xun_builtin_tools.search.request import NamePattern
from xun_builtin_tools.search.wildcards import Set, Token, Wild

_TYPE = "xun"
_META = re.compile(r"([\\*?\[\]{}])")


def filter_arguments(pattern: NamePattern | None, prefix: str) -> list[str]:
    """Return the arguments that leave out files of which *pattern* takes none.

    Args:
        pattern: Which files are wanted; None for all.
        prefix: The root as seen from where ripgrep runs, with a slash at its end; or "".
    """
    if pattern is None:
        return []
    parts = [part for part in pattern.parts if part]
    if pattern.negated:
        return [item for part in filter(_exact, parts) for item in ("-g", "!" + _line(part, pattern, prefix))]
    if _by_type(pattern):
        names = [item for part in parts for item in ("--type-add", f"{_TYPE}:{_widened(part)}")]
        return [*names, "--type", _TYPE] if names else []
    return [item for part in parts for item in ("-g", _line(part, pattern, prefix))]


def lists_ignored(pattern: NamePattern) -> bool:
    """Return whether ripgrep also lists files that are ignored, when it is told of this pattern."""
    return not pattern.negated and not _by_type(pattern)


def _by_type(pattern: NamePattern) -> bool:
    """Return whether a pattern can be the definition of a type of files.

    Such a one is held against names only, whatever is in the names of folders, and ignore rules stay in force.
    """
    return pattern.basename and not any(
        ":" in token for part in pattern.parts for token in part if isinstance(token, str)
    )


def _exact(part: Sequence[Token]) -> bool:
    """Return whether ripgrep takes this for what it is; what is too much must not be left out."""
    plain = not any(isinstance(token, Set) or token is Wild.ONE for token in part)
    return plain and part[-1] != "/" and not _blank(part[-1])


def _line(part: Sequence[Token], pattern: NamePattern, prefix: str) -> str:
    """Return a pattern from where ripgrep runs; it never begins with a mark, nor ends with a blank."""
    body = _widened((*part[:-1], Wild.STAR)) if _blank(part[-1]) else _widened(part)
    return f"/{prefix}{'**/' * pattern.basename}{body}"


def _blank(token: Token) -> bool:
    return isinstance(token, str) and token.isspace()


def _widened(part: Sequence[Token]) -> str:
    out: list[str] = []
    for token in part:
        if isinstance(token, str):
            out.append(_META.sub(r"\\\1", token))
        elif token in (Wild.FOLDERS, Wild.ALL):
            out.append("**/" if token is Wild.FOLDERS else "**")
        elif out[-1:] != ["*"]:
            out.append("*")
    return "".join(out)
