"""The keys of the settings for prompt_toolkit, and sequences that it does not know by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys

from xun_cli.frontend.bindings import KeyMap
from xun_cli.frontend.bindings import key_map as _key_map

_SHIFT_ENTER = ("\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;5u", "\x1b[27;5;13~")
FOCUS_IN, FOCUS_OUT = Keys.F23, Keys.F24
"""Keys that stand for the terminal's focus reports."""


def key_map(changes: Mapping[str, Sequence[str]]) -> KeyMap:
    """Return the default keys with *changes*; an empty list unbinds, a wrong entry leaves the default and is named."""
    return _key_map(changes, _known)


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
