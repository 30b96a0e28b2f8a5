"""Options as data: a compact specification per command, and the walk over arguments that it drives.

A specification is words separated by blanks:

    -abc        short options without value, may be clustered
    -n#         a short option with a value; the sign says of what kind
    -C?#        a short option whose value can only be attached
    -P=:        a short option whose value can only be the next word
    --name      a long option without value
    --name=:    a long option with a value, attached or in the next word
    --name=?:   a long option whose value can only be attached
    --name==:   a long option that must have its value attached
    -#          -NUMBER, the old form of a count

Kinds: ``#`` a number, ``:`` any text, ``!`` any text that may begin with a dash too, ``@`` a path to
be read, ``%`` text without a slash. A value in the next word that begins with a dash is refused
but for ``!`` and ``#``: should the command not take a value there, it would be an option.
Only what is listed is free. Long options count by their full name only: GNU tools accept
abbreviations, and ``--outp`` writes as ``--output`` does, so an abbreviation asks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from xun_policies.guards.effects import effects
from xun_policies.shell.lexer import Problem, Word
from xun_policies.shell.places import Places

NOT_FREE = "guard"
"""The id of the rule that speaks when a guard lets something not through."""

_NUMBER = r"[+-]{0,2}(?:0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[bcw]|[kKmMGTPEZY](?:i?B)?)?"
_GLOB_CHAR = r"[*?\[]"
_INSPECTED = ("--format", "--pretty", "--group", "--sort", "--output", "--write-out")
"""Options whose value a check reads, so that it must be the text that the command gets."""


class Options:
    """A compiled specification: kind of value by option; "" for none, a leading ``?`` for attached only."""

    __slots__ = ("long", "number", "short")

    def __init__(self, specification: str) -> None:
        self.short: dict[str, str] = {}
        self.long: dict[str, str] = {}
        self.number = False
        for item in specification.split():
            if item.startswith("--"):
                name, _, kind = item.partition("=")
                self.long[name] = kind
            elif item == "-#":
                self.number = True
            elif item[-1] in "#:@%!" and len(item) > 2:
                self.short[item[1]] = item[2:]
            else:
                self.short.update(dict.fromkeys(item[1:], ""))


@cache
def compiled(specification: str) -> Options:
    """Return *specification* compiled; the result is never changed."""
    return Options(specification)


class Call:
    """One command as a guard sees it.

    Attributes:
        words: The arguments after the matched prefix.
        places: Answers whether a path is inside.
        cwds: The folders that the command may run in.
        named: The command shows only the names of its operands.
        rule: The name of the rule, for what is said of an option.
        runs: The listed commands that this one runs in turn, filled by a check.
    """

    __slots__ = ("cwds", "named", "places", "rule", "runs", "words")

    def __init__(self, words: Sequence[Word], places: Places, cwds: tuple[str, ...], rule: str = "") -> None:
        self.named = False
        self.rule = rule
        self.runs: list[str] = []
        self.words = words
        self.places = places
        self.cwds = cwds

    def of(self, words: Sequence[Word]) -> Call:
        """Return the same call with other *words*."""
        return Call(words, self.places, self.cwds, self.rule)

    def unlisted(self, option: str) -> Problem:
        """Return the problem that *option* is not free, with what it does where that is known."""
        effect = effects(self.rule).get(option)
        return Problem(
            NOT_FREE, f"the option {option} is not on the free list" if effect is None else f"{option} {effect}"
        )

    def path(self, text: str, *, glob: bool = False, named: bool = False) -> Problem | None:
        """Return a problem when *text*, as a path, leads outside."""
        reason = self.places.outside(text, self.cwds, glob=glob, named=named)
        return None if reason is None else Problem("path", reason)

    def operand_path(self, word: Word) -> Problem | None:
        """Return a problem when the operand *word* leads outside; ``-`` is standard input."""
        if word.text == "-" and not word.glob:
            return None
        return self.path(word.text, glob=word.glob, named=self.named)


class Arguments:
    """What a walk found: operands in order, the values of each option, one a line, and the last option behind one."""

    __slots__ = ("late", "operands", "options")

    def __init__(self) -> None:
        self.late = ""
        self.operands: list[Word] = []
        self.options: dict[str, str] = {}

    def note(self, name: str, value: str) -> None:
        """Remember that the option *name* was given with *value*."""
        known = self.options.get(name)
        self.options[name] = value if known is None else f"{known}\n{value}"


def walk(options: Options, call: Call) -> Arguments | Problem:
    """Sort the words of *call* into options and operands, as getopt with permutation does."""
    result = Arguments()
    words = call.words
    count = len(words)
    index = 0
    while index < count:
        word = words[index]
        text = word.text
        index += 1
        if text[:1] != "-" or text == "-":
            result.operands.append(word)
            continue
        if result.operands:
            result.late = text
        if text == "--":
            result.operands.extend(words[index:])
            break
        if word.glob and not (text.startswith("--") and _only_value_globs(text)):
            return Problem("glob", f"a pattern in the option {text}")
        following = words[index] if index < count else None
        take = _long if text[1] == "-" else _short
        step = take(options, word, following, call, result)
        if not isinstance(step, int):
            return step
        index += step
    return result


def _only_value_globs(text: str) -> bool:
    name, equals, _ = text.partition("=")
    return bool(equals) and not re.search(_GLOB_CHAR, name)


def _long(options: Options, word: Word, following: Word | None, call: Call, result: Arguments) -> int | Problem:
    name, equals, value = word.text.partition("=")
    kind = options.long.get(name)
    if kind is None:
        return call.unlisted(name)
    if equals:
        result.note(name, value)
        if not kind:
            return Problem(NOT_FREE, f"the option {name} takes no value")
        if word.glob and (kind[-1] != ":" or name in _INSPECTED):
            return Problem("glob", f"a pattern in the option {name}")
        return _value(name, kind[-1], value, call) or 0
    if not kind or kind[0] == "?":
        result.note(name, "")
        return 0
    if kind[0] == "=":
        return Problem(NOT_FREE, f"the option {name} needs a value after =")
    return _separate(name, kind, following, call, result)


def _short(options: Options, word: Word, following: Word | None, call: Call, result: Arguments) -> int | Problem:
    cluster = word.text
    if options.number and cluster[1:].isdigit() and cluster.isascii():
        return 0
    for place in range(1, len(cluster)):
        letter = cluster[place]
        kind = options.short.get(letter)
        name = f"-{letter}"
        if kind is None:
            return call.unlisted(name)
        if not kind:
            result.note(name, "")
            continue
        value = cluster[place + 1 :]
        if value and kind[0] == "=":
            return Problem(NOT_FREE, f"the value of {name} must be a word of its own")
        if value:
            result.note(name, value)
            return _value(name, kind[-1], value, call) or 0
        if kind[0] == "?":
            result.note(name, "")
            return 0
        return _separate(name, kind[-1], following, call, result)
    return 0


def _separate(name: str, kind: str, following: Word | None, call: Call, result: Arguments) -> int | Problem:
    if following is None:
        return Problem(NOT_FREE, f"the option {name} needs a value")
    if following.glob:
        return Problem("glob", f"a pattern as the value of {name} may become several words")
    text = following.text
    if text[:1] == "-" and len(text) > 1 and kind not in "#!":
        return Problem(NOT_FREE, f"the value {text} of {name} looks like an option")
    result.note(name, text)
    if result.operands and kind in ":!" and call.path(text) is not None:
        # awk, and more on other systems, take no options behind the first operand: this would be a file then.
        return Problem("path", f"{text}, the value of {name} behind an operand, may be taken for a file outside")
    return _value(name, kind, text, call) or 1


def _value(name: str, kind: str, value: str, call: Call) -> Problem | None:
    if kind in ":!":
        return None
    if kind == "@":
        return None if value == "-" else call.path(value)
    if kind == "#":
        good = value == "" or re.fullmatch(_NUMBER, value) is not None
        return None if good else Problem(NOT_FREE, f"the value of {name} is no number")
    good = "/" not in value or len(value) <= 1
    return None if good else Problem(NOT_FREE, f"the value of {name} looks like a path")
