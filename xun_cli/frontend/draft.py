"""Draft: what is sent, and how it was shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Draft:
    """What was in the composer.

    Attributes:
        text: The whole text, folded pastes expanded.
        shown: The text as it was shown, "" when that is the same.
    """

    text: str
    shown: str = ""
