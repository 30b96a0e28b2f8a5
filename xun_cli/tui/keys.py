"""Textual's keys under the names that settings and dialogs use."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from textual.events import Key

_NAMED = re.compile(
    r"(?:[cs]-|s-c-)?(?:up|down|left|right|home|end|insert|delete|pageup|pagedown|tab|enter|escape|backspace|space)"
    r"|f(?:[1-9]|1\d|2[0-4])|c-[a-z0-9@\\\]^_]|[^\s]"
)
_PREFIXES = {"ctrl": "c", "shift": "s"}
_SAME = {
    "f24": "escape enter",
    "s-enter": "escape enter",
    "c-enter": "escape enter",
    "c-m": "enter",
    "c-i": "tab",
    "c-h": "backspace",
}
"""Keys that modern terminals report and that mean the same everywhere."""

_ALT_ENTER = ("\x1b\r", "\x1b\n", "\x1b[27;2;13~", "\x1b[27;5;13~")


def register_sequences() -> None:
    """Teach Textual what it takes for a caret and an Enter, which would send the draft: Alt-Enter and its kin."""
    from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
    from textual.keys import Keys

    known_sequences = cast("MutableMapping[str, Any]", ANSI_SEQUENCES_KEYS)
    for sequence in _ALT_ENTER:
        known_sequences[sequence] = (Keys.F24,)


def key_name(event: Key) -> str:
    """Return a key as settings write it: a character, or ``c-x``, ``s-tab``, ``pageup``, ``escape enter``."""
    if event.character is not None and event.is_printable and not event.key.startswith(("ctrl+", "alt+")):
        return event.character
    *modifiers, key = event.key.replace("\r", "enter").split("+")
    alt = "alt" in modifiers
    prefix = "".join(f"{_PREFIXES[word]}-" for word in ("shift", "ctrl") if word in modifiers)
    if not prefix and alt and event.character is not None and event.is_printable:
        key = event.character
    name = _SAME.get(prefix + key, prefix + key)
    return f"escape {name}" if alt and not name.startswith("escape ") else name


def known(key: str) -> bool:
    """Tell whether a part of a setting is a key."""
    return _NAMED.fullmatch(key) is not None


def as_names(sequences: tuple[tuple[str, ...], ...]) -> tuple[set[str], list[str]]:
    """Return key sequences as `key_name` gives them, and those that only the inline front end has."""
    names: set[str] = set()
    beyond: list[str] = []
    for keys in sequences:
        if len(keys) == 1:
            names.add(_SAME.get(keys[0], keys[0]))
        elif len(keys) == 2 and keys[0] == "escape":
            names.add(" ".join(keys))
        else:
            beyond.append(" ".join(keys))
    return names, beyond
