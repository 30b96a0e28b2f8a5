"""Reading the rest of a command's line."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from xun.errors import XunError


class BadArguments(XunError):
    """A command was typed with arguments that it does not take; the text says how it is used."""

    kind = "usage"


def words(rest: str, usage: str) -> list[str]:
    """Split *rest* into words as sh quotes them.

    Raises:
        BadArguments: A quote is left open.
    """
    try:
        return shlex.split(rest)
    except ValueError as exc:
        raise BadArguments(f"{str(exc).rstrip('.')} in {rest!r}. Usage: {usage}") from None


def take_flags(given: list[str], allowed: tuple[str, ...], usage: str) -> tuple[list[str], set[str]]:
    """Return the words that are no flags, and the flags.

    Raises:
        BadArguments: A flag is none of *allowed*.
    """
    flags = {word for word in given if word.startswith("--") and len(word) > 2}
    unknown = sorted(flags - set(allowed))
    if unknown:
        raise BadArguments(f"Unknown flag {unknown[0]}. Usage: {usage}")
    return [word for word in given if word not in flags], flags


def file_argument(folder: Path, given: str) -> Path:
    """Return the path that a person typed, from *folder* on; a leading ``~`` is the home folder.

    Raises:
        BadArguments: No file can have that name.
    """
    if "\0" in given or any("\ud800" <= char <= "\udfff" for char in given):
        raise BadArguments(f"No file can be called {given!r}.")
    # Unlike that of Path, this one leaves a name as it is whose ~ is nobody's.
    return folder / os.path.expanduser(given)


def number(text: str, what: str, *, most: int = 10_000) -> int:
    """Read a whole number from 1.

    Raises:
        BadArguments: It is no number, or not within the limits.
    """
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise BadArguments(f"{what} must be a whole number from 1 to {most}, not {text!r}.")
    return int(text)


def no_arguments(rest: str, usage: str) -> None:
    """Refuse arguments.

    Raises:
        BadArguments: There are some.
    """
    if rest.strip():
        raise BadArguments(f"{usage} takes no arguments, but got {rest.strip()!r}.")
