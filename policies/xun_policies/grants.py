"""What a person may grant for a command, and the entries that hold such grants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xun_policies.errors import PolicyError
from xun_policies.grant_tables import (
    EXACT_PAIRS,
    EXACT_SECONDS,
    EXACT_TRIPLES,
    NEVER,
    PYTHON_MODULES,
    THREE_WORDS,
    TWO_WORDS,
)

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from typing import Any

MAX_OFFERED = 5
"""Most prefixes that one answer may grant."""


def join_words(words: Sequence[str]) -> str:
    """Return *words* as one command text, each quoted as a shell needs it."""
    import shlex

    return shlex.join(words)


@dataclass(frozen=True, slots=True)
class CommandGrant:
    """A permission for commands that start with *tokens*, or for exactly *tokens*."""

    tokens: tuple[str, ...]
    exact: bool = False

    @property
    def text(self) -> str:
        """The tokens as a shell would quote them."""
        return join_words(self.tokens)

    def to_json(self) -> dict[str, Any]:
        """Return ``{"tokens", "exact"}``."""
        return {"tokens": list(self.tokens), "exact": self.exact}

    @classmethod
    def from_json(cls, data: Any) -> CommandGrant:
        """Build a grant from its JSON form.

        Raises:
            PolicyError: The value holds no list of words.
        """
        return cls(*_tokens_of(data))


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """One entry of the command allowlist that a person made.

    Attributes:
        tokens: The words that a command must start with.
        exact: Whether nothing may follow them.
        source: Who made it: user, dialog, import, config.
        when: ISO time, "" when not known.
    """

    tokens: tuple[str, ...]
    exact: bool = False
    source: str = "user"
    when: str = ""

    @property
    def text(self) -> str:
        """The tokens as a shell would quote them."""
        return join_words(self.tokens)

    def to_json(self) -> dict[str, Any]:
        """Return the entry as JSON values."""
        return {"tokens": list(self.tokens), "exact": self.exact, "source": self.source, "when": self.when}

    @classmethod
    def from_json(cls, data: Any) -> CommandEntry:
        """Build an entry from its JSON form.

        Raises:
            PolicyError: The value holds no list of words.
        """
        tokens, exact = _tokens_of(data)
        return cls(tokens, exact, str(data.get("source", "user")), str(data.get("when", "")))


def _tokens_of(data: Any) -> tuple[tuple[str, ...], bool]:
    tokens = data.get("tokens") if isinstance(data, dict) else None
    if (
        not isinstance(tokens, list)
        or not tokens
        or not all(isinstance(token, str) for token in tokens)
        or not tokens[0]
    ):
        raise PolicyError(f"A command entry needs a list of words: {data!r}.")
    return tuple(tokens), data.get("exact") is True


class CommandAllowlist:
    """The entries that a person made, in the order of their making."""

    __slots__ = ("_entries", "_used")

    def __init__(self, entries: tuple[CommandEntry, ...] = ()) -> None:
        self._entries: dict[tuple[tuple[str, ...], bool], CommandEntry] = {(e.tokens, e.exact): e for e in entries}
        self._used: dict[tuple[tuple[str, ...], bool], int] = {}

    def add(self, tokens: Sequence[str], exact: bool = False, source: str = "user", when: str = "") -> CommandEntry:
        """Add an entry, or return the one that is there already.

        Raises:
            PolicyError: No words, or an empty first word.
        """
        if isinstance(tokens, str):
            raise PolicyError("A command entry takes a list of words, not one text.")
        words = tuple(tokens)
        if not words or not words[0]:
            raise PolicyError("A command entry needs at least one word.")
        return self._entries.setdefault((words, exact), CommandEntry(words, exact, source, when))

    def remove(self, tokens: Sequence[str], exact: bool | None = None) -> tuple[CommandEntry, ...]:
        """Remove the entries with exactly *tokens*; return them (none: an empty tuple)."""
        words = tuple(tokens)
        kinds = (False, True) if exact is None else (exact,)
        found = (self._entries.pop((words, kind), None) for kind in kinds)
        return tuple(entry for entry in found if entry is not None)

    def clear(self) -> None:
        """Remove every entry."""
        self._entries.clear()

    def covering(self, words: Sequence[str], patterns: Sequence[str] = ()) -> Iterator[CommandEntry]:
        """Yield the entries that match *words* token by token, in the order of their making.

        The words of an entry stand for themselves, so an entry with one of *patterns* in it, the words of which bash
        makes something else, matches nothing.
        """
        given = tuple(words)
        for entry in self._entries.values():
            size = len(entry.tokens)
            if given[:size] == entry.tokens and (not entry.exact or len(given) == size):
                if patterns and not set(patterns).isdisjoint(entry.tokens):
                    continue
                yield entry

    def covers(self, words: Sequence[str], patterns: Sequence[str] = ()) -> CommandEntry | None:
        """Return the first entry that `covering` yields, or None."""
        return next(self.covering(words, patterns), None)

    def note_use(self, entry: CommandEntry) -> None:
        """Count one use of *entry*."""
        key = (entry.tokens, entry.exact)
        self._used[key] = self._used.get(key, 0) + 1

    def used(self, entry: CommandEntry) -> int:
        """Return how often *entry* was used in this process."""
        return self._used.get((entry.tokens, entry.exact), 0)

    def __iter__(self) -> Iterator[CommandEntry]:
        return iter(tuple(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)


def is_wide(tokens: Sequence[str]) -> bool:
    """Tell whether a prefix grant of *tokens* would let nearly anything through, such as ``python`` or ``sudo``."""
    name = _base(tokens[0])
    if len(tokens) == 1:
        return _runs_anything(name) or name in TWO_WORDS
    if _runs_anything(name):
        return not (name.startswith("python") and len(tokens) >= 3 and tokens[1] == "-m")
    pair = f"{name}/{tokens[1]}"
    if tokens[1].startswith("-") or pair in EXACT_PAIRS or (name in TWO_WORDS and tokens[1] in EXACT_SECONDS):
        return True
    return len(tokens) > 2 and f"{pair}/{tokens[2]}" in EXACT_TRIPLES


def offer(words: Sequence[str]) -> CommandGrant:
    """Return what to offer for a command of *words*: its prefix by arity, or all of it where that is too wide."""
    prefix = _prefix(words)
    if prefix is None or is_wide(prefix):
        return CommandGrant(tuple(words), True)
    return CommandGrant(prefix)


def _prefix(words: Sequence[str]) -> tuple[str, ...] | None:
    name = _base(words[0])
    if name.rstrip("0123456789.") == "python" and len(words) >= 3 and words[1] == "-m" and words[2] in PYTHON_MODULES:
        return tuple(words[:3])
    if _runs_anything(name):
        return None
    size = 2 if name in TWO_WORDS else 1
    if size == 2 and len(words) >= 2 and f"{name}/{words[1]}" in THREE_WORDS:
        size = 3
    prefix = tuple(words[:size])
    if len(prefix) < size or any(not _plain(word) for word in prefix[1:]):
        return None
    return prefix


def _base(word: str) -> str:
    """Return the name of the program that *word* names, without the version of a ``pip3.11``."""
    name = word.rsplit("/", 1)[-1]
    plain = name.rstrip("0123456789.")
    return plain if name not in TWO_WORDS and plain in TWO_WORDS else name


def _runs_anything(name: str) -> bool:
    """Tell whether *name*, with or without a version as in ``python3.12``, is in the table of such commands."""
    return name in NEVER or name.rstrip("0123456789.-") in NEVER


def _plain(word: str) -> bool:
    return bool(word) and not word.startswith("-") and "=" not in word
