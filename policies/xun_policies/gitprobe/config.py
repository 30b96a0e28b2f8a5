"""A reader of git's configuration syntax (git-config(1), "Syntax"). It runs nothing and resolves no include."""

from __future__ import annotations

import re
from typing import NamedTuple

_SPACE = re.compile(r"(?:[ \t\n\v\f\r]+|[#;][^\n]*)*")
_SECTION = re.compile(r'\[[ \t]*([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?[ \t]*\]', re.S)
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(=|(?=\n)|\Z)[ \t]*")
_BLANKS = " \t\n\v\f\r"
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\", "\n": ""}


class ConfigFault(ValueError):
    """The text is not what git's own reader accepts, or not what this one does."""


class Setting(NamedTuple):
    """One line: ``section.subsection.key`` with section and key in lower case; value None is a bare key."""

    section: str
    subsection: str
    key: str
    value: str | None

    @property
    def name(self) -> str:
        """The name as git prints it."""
        return ".".join(part for part in (self.section, self.subsection, self.key) if part)


def read(text: str) -> list[Setting]:
    """Return the settings of *text* in order.

    Raises:
        ConfigFault: A line is not understood.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    settings: list[Setting] = []
    section, subsection = "", ""
    at = 0
    while True:
        space = _SPACE.match(text, at)
        at = space.end() if space else at
        if at >= len(text):
            return settings
        header = _SECTION.match(text, at)
        if header:
            section, _, dotted = header[1].lower().partition(".")
            subsection = dotted if header[2] is None else re.sub(r"\\(.)", r"\1", header[2], flags=re.S)
            at = header.end()
            continue
        key = _KEY.match(text, at)
        if not key or not section:
            raise ConfigFault(f"line {text.count(chr(10), 0, at) + 1}")
        at = key.end()
        value: str | None = None
        if key[2]:
            value, at = _value(text, at)
        settings.append(Setting(section, subsection, key[1].lower(), value))


def _value(text: str, at: int) -> tuple[str, int]:
    parts: list[str] = []
    kept = 0
    quoted = False
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\n":
            if quoted:
                raise ConfigFault("a quote without its end")
            break
        if char == "\\":
            following = text[at : at + 1]
            at += 1
            if following not in _ESCAPES or not following:
                raise ConfigFault("an unknown escape")
            parts.append(_ESCAPES[following])
            kept = len(parts)
        elif char == '"':
            quoted = not quoted
            kept = len(parts)
        elif not quoted and char in "#;":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end + 1
            break
        else:
            parts.append(char)
            if quoted or char not in _BLANKS:
                kept = len(parts)
    if quoted:
        raise ConfigFault("a quote without its end")
    return "".join(parts[:kept]), at


def is_boolean(value: str | None) -> bool:
    """Tell whether git reads *value* as true or false."""
    return value is None or value.lower() in ("true", "false", "yes", "no", "on", "off", "1", "0", "")


def is_false(value: str | None) -> bool:
    """Tell whether git reads *value* as false."""
    return value is not None and value.lower() in ("false", "no", "off", "0", "")
