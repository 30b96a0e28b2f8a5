"""Letters that a person does not see but a model reads: they are left out of what a model is sent, and counted.

Files, pages, results and tool descriptions can carry instructions in the tag letters of Unicode, or in long runs of
zero-width characters and variation selectors, which no screen shows.
"""

from __future__ import annotations

import functools
import re

_TAGS = "\U000e0000-\U000e007f"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_NO_WIDTH = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"
)
_FLAGS = "|".join("".join(chr(0xE0000 + ord(char)) for char in name) for name in ("gbeng", "gbsct", "gbwls"))
_RUN = 4
"""So many in a row carry a message; fewer are what emoji, Persian and Indic texts need."""


@functools.cache
def _pattern() -> re.Pattern[str]:
    # Compiled at the first text that is not ASCII.
    flag = f"(?P<flag>\U0001f3f4(?:{_FLAGS})\U000e007f)"
    run = f"[{_NO_WIDTH}{_SELECTORS}{_TAGS}]{{{_RUN},}}"
    return re.compile(f"{flag}|[{_TAGS}]+|{run}|(?<=[{_SELECTORS}])[{_SELECTORS}]+")


def without_unseen(text: str) -> tuple[str, int]:
    """Return *text* without the letters that nobody sees, and how many they were."""
    if text.isascii():
        return text, 0
    kept = _pattern().sub(lambda found: found["flag"] or "", text)
    return kept, len(text) - len(kept)


def noted(text: str) -> str:
    """Return *text* without the letters that nobody sees; when there were any, a last line says how many."""
    kept, count = without_unseen(text)
    return f"{kept}\n[{count} invisible characters in it were left out]" if count else text
