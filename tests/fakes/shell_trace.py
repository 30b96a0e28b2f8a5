"""What bash itself says it ran: a reader of its xtrace, for the oracle of the command gate."""

from __future__ import annotations

import re

_LINE = re.compile(r"\++ ")
_PIECE = re.compile(r"'([^']*)'|\$'((?:[^'\\]|\\.)*)'|\\([\s\S])|([^\s'\\$]+|\$)")
_ESCAPE = re.compile(r"\\([0-7]{1,3}|[\s\S])")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}


class TraceFault(ValueError):
    """The trace is not what bash writes, or is cut short."""


def commands(trace: bytes) -> list[tuple[str, ...]]:
    """Return the words of each command in *trace*, as bash had them after every expansion; assignments are left out.

    Raises:
        TraceFault: The trace can't be read.
    """
    text = trace.decode("utf-8", "surrogateescape")
    found: list[tuple[str, ...]] = []
    at = 0
    while at < len(text):
        mark = _LINE.match(text, at)
        if mark is None:
            raise TraceFault(f"no mark of a command at {text[at : at + 60]!r}")
        words, at = _words(text, mark.end())
        if words and not (len(words) == 1 and re.match(r"[A-Za-z_]\w*=", words[0])):
            found.append(tuple(words))
    return found


def _words(text: str, at: int) -> tuple[list[str], int]:
    words: list[str] = []
    word: str | None = None
    while at < len(text) and text[at] != "\n":
        if text[at] == " ":
            words += [] if word is None else [word]
            word = None
            at += 1
            continue
        piece = _PIECE.match(text, at)
        if piece is None:
            raise TraceFault(f"an odd word at {text[at : at + 60]!r}")
        word = (word or "") + _plain(piece)
        at = piece.end()
    return words + ([] if word is None else [word]), at + 1


def _plain(piece: re.Match[str]) -> str:
    if piece[1] is not None:
        return piece[1]
    if piece[2] is not None:
        data = _ESCAPE.sub(_unescaped, piece[2])
        # Octal escapes are bytes; what was read as text already stays.
        return data.encode("latin-1").decode("utf-8", "surrogateescape") if _is_bytes(piece[2], data) else data
    return piece[3] if piece[3] is not None else piece[4]


def _is_bytes(escaped: str, data: str) -> bool:
    return escaped.isascii() and all(ord(char) < 256 for char in data)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code, 8)) if code[0] in "01234567" else _LETTERS.get(code, code)


def fits(words: tuple[str, ...], expected: tuple[str, ...]) -> bool:
    """Tell whether *words* are what bash makes of *expected*, in which a wildcard or ``$`` stands for any words."""
    if not expected:
        return not words
    head, rest = expected[0], expected[1:]
    if re.search(r"[*?\[$]", head) is None:
        return bool(words) and words[0] == head and fits(words[1:], rest)
    if head == "[" and words[:1] == ("[",) and fits(words[1:], rest):
        return True
    return any(fits(words[count:], rest) for count in range(1, len(words) + 1))
