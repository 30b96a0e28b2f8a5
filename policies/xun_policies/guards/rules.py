"""The shape of a guard rule, and how one is applied to the arguments of a command."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from xun_policies.guards.options import NOT_FREE, Arguments, Call, compiled, walk
from xun_policies.shell.lexer import Problem, Word


@dataclass(frozen=True, slots=True)
class Rule:
    """One listed prefix with its guard.

    Attributes:
        prefix: The tokens that a command must start with.
        options: The free options, in the notation of `xun_policies.guards.options`.
        operands: paths (each must be inside), pattern (the first is text, the rest are paths), text, none.
        most: Most operands, -1 for any number.
        check: The name of a further check, "" for none.
        globs: A word may begin with an unquoted wildcard: no option of the command is dangerous.
        free: Every argument is free: the command can only print them.
        follows: Options that make the command follow links while it descends.
        allows: Commands that this rule lets through, checked by a test.
        asks: Commands that it does not.
    """

    prefix: tuple[str, ...]
    options: str = ""
    operands: str = "paths"
    most: int = -1
    check: str = ""
    globs: bool = False
    free: bool = False
    follows: tuple[str, ...] = ()
    allows: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The prefix as text."""
        return _joined(self.prefix)


@cache
def _joined(prefix: tuple[str, ...]) -> str:
    return " ".join(prefix)


_FROM_TOP = r":(?:[!^]*/|\([^)]*\btop\b)"
_CLIMBS = r":(?:[\s\S]*[:/)!^])?\.\.(?:/|$)"
"""A ``..`` behind a colon: in REVISION:PATH, :STAGE:PATH or behind the (magic) of a path."""
_ONLY_NAMES = r"-[A-HJ-SU-Zabce-vx-z0-9]*d|--directory$"
_PATTERN_OPTIONS = ("-e", "-f", "--regexp", "--file", "--files", "--type-list")


@cache
def _checks() -> dict[str, Callable[[Rule, Call], Problem | None]]:
    # The checks use this module in turn.
    from xun_policies.guards.checks import CHECKS

    return CHECKS


def apply(rule: Rule, call: Call) -> Problem | None:
    """Return what in *call* is not free under *rule*, or None."""
    for word in call.words:
        if word.glob:
            if word.lead and not (rule.globs or rule.free):
                return Problem("glob", f"{word.text} may match a file whose name is an option; {_instead(rule, word)}")
            problem = _dashed(rule, word, call) if word.lead and not rule.free else None
            if problem is not None:
                return problem
            call.named = rule.free or (rule.name == "ls" and _only_names(call))
            problem = call.path(word.text, glob=True, named=call.named)
            if problem is not None:
                return problem
    if rule.free:
        return None
    if rule.check:
        return _checks()[rule.check](rule, call)
    found = walk(compiled(rule.options), call)
    return found if isinstance(found, Problem) else operands(rule, call, found)


def _dashed(rule: Rule, word: Word, call: Call) -> Problem | None:
    """Return a problem when *word*, a leading wildcard, matches a name that is an option which is not free."""
    for name in call.places.dashed(word.text, call.cwds):
        # An option that makes the command follow links is free, but what it follows was not looked at.
        if rule.follows or isinstance(walk(compiled(rule.options), call.of([Word(name, 0, 0)])), Problem):
            return Problem("glob", f"{word.text} matches {name}, which would be an option; {_instead(rule, word)}")
    return None


def _only_names(call: Call) -> bool:
    for word in call.words:
        if word.text == "--":
            break
        if re.match(_ONLY_NAMES, word.text):
            return True
    return False


def _instead(rule: Rule, word: Word) -> str:
    """Return how to write what *word* most likely means, so that it is free."""
    return "quote it" if rule.name == "find" else f"./{word.text} can't"


def of_lines(found: Arguments, call: Call) -> Problem | None:
    """Return what is wrong with the file of ``git log -L RANGE:FILE``, which counts from the current folder."""
    for value in found.options.get("-L", "").split("\n"):
        problem = call.path(value.rpartition(":")[2]) if ":" in value else None
        if problem is not None:
            return problem
    return None


def operands(rule: Rule, call: Call, found: Arguments) -> Problem | None:
    """Return what is wrong with the operands that *found* holds."""
    words = found.operands
    if rule.operands == "text":
        pass
    elif rule.operands == "none" and words:
        return Problem(NOT_FREE, f"the operand {words[0].text} is not free")
    else:
        for word in words[_first_path(rule, found) :]:
            problem = _above(word, call) if rule.prefix[0] == "git" else None
            problem = problem or call.operand_path(word)
            if problem is not None:
                return problem
    if 0 <= rule.most < len(words):
        return Problem(NOT_FREE, f"the operand {words[rule.most].text} is one too many")
    return follow(rule, call, found)


def _above(word: Word, call: Call) -> Problem | None:
    """Return what is wrong with *word* as git's revision:path or as a path that counts from the top."""
    if ":" not in word.text:
        return None
    if re.search(_CLIMBS, word.text):
        return Problem("path", f"{word.text} may name a file above the workspace")
    if re.match(_FROM_TOP, word.text) and call.places.in_larger_tree(call.cwds):
        return Problem("path", f"{word.text} counts from the top of the repository, which is above the workspace")
    return None


def _first_path(rule: Rule, found: Arguments) -> int:
    """Return the index of the first operand that is a path: the pattern before it is text."""
    return 1 if rule.operands == "pattern" and found.options.keys().isdisjoint(_PATTERN_OPTIONS) else 0


def follow(rule: Rule, call: Call, found: Arguments) -> Problem | None:
    """Return a link below the operands that leads outside, when the options make the command follow it."""
    if not rule.follows or not all(any(one in found.options for one in name.split("|")) for name in rule.follows):
        return None
    return links_out(found.operands[_first_path(rule, found) :], call)


def _fixed(pattern: str) -> str:
    return re.split(r"[*?\[]", pattern, maxsplit=1)[0].rpartition("/")[0] or ("/" if pattern.startswith("/") else ".")


def links_out(starts: Sequence[Word], call: Call) -> Problem | None:
    """Return a link below *starts* that leads outside, for a command that follows links as it descends."""
    # All that a pattern matches is below its fixed part.
    for start in [_fixed(word.text) if word.glob else word.text for word in starts] or ["."]:
        reason = call.places.links_out(start, call.cwds)
        if reason is not None:
            return Problem("path", reason)
    return None
