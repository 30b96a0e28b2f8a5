"""One TOML file as flat dotted keys, each with the line that it stands on."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xun.errors import ConfigError

USER_LIMIT = 1_000_000
"""The most bytes of a settings file of the user's own."""

PROJECT_LIMIT = 64_000
"""The most bytes of a settings file that came with a project."""

# Python's reader takes time in the square of a key's length; the look-behind keeps this search linear.
_LONG_KEY = re.compile(r"""(?<![\w"'-])(?:[\w"'-]++\s*+\.\s*+){30}""", re.ASCII)

_TOO_LARGE = "a whole number is too large; no setting needs more than 64 bits"

_DEPTH = 6  # no key of ours is deeper; what is deeper is reported as one unknown key


@dataclass(frozen=True, slots=True)
class TomlFile:
    """The settings of one file.

    Attributes:
        path: The file.
        values: Value by dotted key.
        lines: Line by dotted key, from 1; missing where it could not be found.
    """

    path: Path
    values: dict[str, Any]
    lines: dict[str, int]

    def where(self, key: str) -> str:
        """Return ``FILE:LINE`` of *key*, or the file alone."""
        below = (number for name, number in self.lines.items() if name.startswith(f"{key}."))
        line = self.lines.get(key) or next(below, None)
        return f"{short(self.path)}:{line}" if line else short(self.path)


def short(path: Path | str) -> str:
    """Return *path* with the home folder as ``~``."""
    text, home = str(path), os.path.expanduser("~")
    return "~" + text[len(home) :] if len(home) > 1 and text.startswith(home + os.sep) else text


def read_toml(path: Path, *, leaves: Collection[str], limit: int = USER_LIMIT, follow: bool = True) -> TomlFile | None:
    """Read *path*; None when there is no such file.

    Args:
        path: The file.
        leaves: Dotted keys whose value is a table itself and is not taken apart.
        limit: The most bytes.
        follow: Whether the file may be a link.

    Raises:
        ConfigError: It can't be read or is no TOML; the text names the file and the line.
    """
    raw = _read_regular(path, limit, follow)
    if raw is None:
        return None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{short(path)}:{line}: not valid UTF-8; save the file as UTF-8") from None
    if long_key := _LONG_KEY.search(text):
        line = text.count("\n", 0, long_key.start()) + 1
        raise ConfigError(f"{short(path)}:{line}: a key of more than 30 parts; no setting is so deep")
    import tomllib

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_toml_message(path, text, str(error))) from None
    except RecursionError:
        raise ConfigError(f"{short(path)}: tables or lists are nested too deeply; flatten the file") from None
    except ValueError:
        # Python reads no number of thousands of digits, and tomllib lets that through.
        raise ConfigError(f"{short(path)}: {_TOO_LARGE}") from None
    if any(_holds_giant(value) for value in table.values()):
        raise ConfigError(f"{short(path)}: {_TOO_LARGE}")
    values = dict(_flat(table, "", leaves, 0))
    return TomlFile(path, values, key_lines(text))


def _holds_giant(value: Any) -> bool:
    """Tell whether there is a whole number beyond 64 bits: TOML has none, and the longest can't be shown."""
    if isinstance(value, dict | list):
        return any(_holds_giant(item) for item in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def _read_regular(path: Path, limit: int, follow: bool) -> bytes | None:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    try:
        fd = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{short(path)}: can't be read: {error.strerror}") from None
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ConfigError(f"{short(path)}: not a regular file; replace it by one or remove it")
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise ConfigError(f"{short(path)}:1: larger than {limit // 1000} kB; settings files are small: shorten it")
    return raw


def _toml_message(path: Path, text: str, problem: str) -> str:
    found = re.search(r" \(at line (\d+), column \d+\)", problem)
    line = int(found[1]) if found else text.count("\n") + 1
    words = re.sub(r" \(at (line \d+, column \d+|end of document)\)", "", problem)
    return f"{short(path)}:{line}: not valid TOML: {words[:1].lower()}{words[1:]}"


def _flat(table: dict[str, Any], prefix: str, leaves: Collection[str], depth: int) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        key = prefix + name
        if isinstance(value, dict) and key not in leaves and depth < _DEPTH and value:
            yield from _flat(value, key + ".", leaves, depth + 1)
        else:
            yield key, value


_HEADER = re.compile(r"\s*\[\[?\s*(?P<name>[^\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(
    r"""\s*(?P<name>(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")


def key_lines(text: str) -> dict[str, int]:
    """Return the line of each dotted key, and of each table, as far as a scan of lines can tell."""
    lines: dict[str, int] = {}
    prefix = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            prefix = _dotted(header["name"])
            lines.setdefault(prefix, number)
            prefix += "."
        elif key := _KEY.match(line):
            parts = _dotted(key["name"]).split(".")
            for size in range(1, len(parts) + 1 if len(parts) <= _DEPTH else 2):
                lines.setdefault(prefix + ".".join(parts[:size]), number)
    return lines


def _dotted(name: str) -> str:
    return ".".join(part.strip("\"'") for part in _PART.findall(name))
