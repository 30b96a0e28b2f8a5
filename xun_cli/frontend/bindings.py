"""Which key does what in every interactive front end, with the changes of ``[keys]``.

Keys are written as prompt_toolkit names them: ``c-x``, ``s-tab``, ``f2``, ``escape enter`` for Alt-Enter.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "submit": ("enter",),
    "newline": ("c-j", "escape enter"),
    "steer": ("c-s",),
    "interrupt": ("escape",),
    "cancel": ("c-c",),
    "leave": ("c-d",),
    "earlier": ("up",),
    "later": ("down",),
    "editor": ("c-g",),
    "complete": ("tab",),
    "mode": ("s-tab",),
    "expand": ("c-o",),
    "todo": ("c-t",),
    "panel": ("c-b",),
    "transcript": ("pageup",),
    "image": ("c-v",),
    "redraw": ("c-l",),
    "suspend": ("c-z",),
}
"""Every action with its keys; a sequence of keys is written with blanks."""


@dataclass(frozen=True, slots=True)
class KeyMap:
    """The keys of each action, and what of the settings could not be used."""

    keys: Mapping[str, tuple[tuple[str, ...], ...]]
    problems: tuple[str, ...] = ()


def key_map(changes: Mapping[str, Sequence[str]], known: Callable[[str], bool]) -> KeyMap:
    """Return the default keys with *changes*; an empty list unbinds, a wrong entry leaves the default and is named.

    Args:
        changes: Keys by action, as the settings have them.
        known: Tells whether there is such a key.
    """
    keys = {action: tuple(tuple(key.split()) for key in default) for action, default in DEFAULTS.items()}
    problems: list[str] = []
    for action, wanted in changes.items():
        if action not in DEFAULTS:
            near = difflib.get_close_matches(action, DEFAULTS, n=1)
            hint = f", did you mean {near[0]}?" if near else ": there are " + ", ".join(DEFAULTS)
            problems.append(f"keys.{action} is no action{hint}")
            continue
        sequences = [wanted] if isinstance(wanted, str) else list(wanted)
        bad = [key for text in sequences for key in text.split() if not known(key)]
        if bad:
            problems.append(f"keys.{action}: {bad[0]!r} is no key; write keys as c-x, escape enter, f2, s-tab")
            continue
        keys[action] = tuple(tuple(text.split()) for text in sequences if text.split())
    return KeyMap(keys, tuple(problems))
