"""Which key does what, with the changes of ``[keys]``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys

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
    "redraw": ("c-l",),
    "suspend": ("c-z",),
}
"""Every action with its keys; a sequence of keys is written with blanks."""

_SHIFT_ENTER = ("\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;5u", "\x1b[27;5;13~")
FOCUS_IN, FOCUS_OUT = Keys.F23, Keys.F24
"""Keys that stand for the terminal's focus reports."""


@dataclass(frozen=True, slots=True)
class KeyMap:
    """The keys of each action, and what of the settings could not be used."""

    keys: Mapping[str, tuple[tuple[str, ...], ...]]
    problems: tuple[str, ...] = ()


def key_map(changes: Mapping[str, Sequence[str]]) -> KeyMap:
    """Return the default keys with *changes*; an empty list unbinds, a wrong entry leaves the default and is named."""
    keys = {action: tuple(tuple(key.split()) for key in default) for action, default in DEFAULTS.items()}
    problems: list[str] = []
    for action, wanted in changes.items():
        if action not in DEFAULTS:
            near = difflib.get_close_matches(action, DEFAULTS, n=1)
            hint = f", did you mean {near[0]}?" if near else ": there are " + ", ".join(DEFAULTS)
            problems.append(f"keys.{action} is no action{hint}")
            continue
        sequences = [wanted] if isinstance(wanted, str) else list(wanted)
        bad = [key for text in sequences for key in text.split() if not _known(key)]
        if bad:
            problems.append(f"keys.{action}: {bad[0]!r} is no key; write keys as c-x, escape enter, f2, s-tab")
            continue
        keys[action] = tuple(tuple(text.split()) for text in sequences if text.split())
    return KeyMap(keys, tuple(problems))


def register_sequences() -> None:
    """Teach prompt_toolkit what it does not know: Shift-Enter of modern terminals, focus reports."""
    for sequence in _SHIFT_ENTER:
        ANSI_SEQUENCES[sequence] = (Keys.Escape, Keys.ControlM)
    ANSI_SEQUENCES["\x1b[I"] = FOCUS_IN
    ANSI_SEQUENCES["\x1b[O"] = FOCUS_OUT


def _known(key: str) -> bool:
    try:
        KeyBindings().add(key)
    except ValueError:
        return False
    return True
