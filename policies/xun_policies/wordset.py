"""A set of words written as one text: the compact notation of the tables in this package."""

from __future__ import annotations


def wordset(text: str) -> frozenset[str]:
    """Return the words of *text*, which blanks separate."""
    return frozenset(text.split())
