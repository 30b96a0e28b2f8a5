"""The demo's small grammar: how the words of a request are read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

QUOTED = r"""\"[^\"]*\"|'[^']*'|`[^`]*`|“[^”]*”|‘[^’]*’|«[^»]*»|„[^“”]*[“”]|”[^”]*”"""
"""A quoted text, in the quotation marks of several languages."""

_PRONOUN = r"(?:this|that|the)\s+(?:same\s+)?(?:file|folder|directory)|it|this|that|file"
_TOKEN = r"""@?[^\s"'`“”‘’«»„@][^\s"'`“”‘’«»„]*"""
_PATH = rf"(?:@?(?:{QUOTED})|{_PRONOUN}|{_TOKEN})"

_PARTS = re.compile(r"<(path|text|word|rest|number|kind)(?::(\w+))?>")

KINDS: Mapping[str, str] = {
    "python": "py",
    "markdown": "md",
    "javascript": "js",
    "typescript": "ts",
    "rust": "rs",
    "go": "go",
    "json": "json",
    "yaml": "yaml",
    "yml": "yml",
    "toml": "toml",
    "html": "html",
    "css": "css",
    "java": "java",
    "ruby": "rb",
    "shell": "sh",
    "text": "txt",
    "sql": "sql",
    "csv": "csv",
}
"""Kinds of files by the words that people use, and their endings."""

_KNOWN_FILES = frozenset({"readme", "makefile", "license", "licence", "dockerfile", "changelog", "authors", "procfile"})

_POLITE = re.compile(
    r"(?:(?:please|pls|kindly|now|okay|ok|so|well|hey|xun|(?:hi|hello)(?=,|!| xun| please| can)"
    r"|just|first|next|then|also|and"
    r"|(?:can|could|would|will) (?:you|we)|i(?: would|'d|’d)? (?:want|like|need)(?: you)?(?: to)?|i want"
    r"|let(?:'|’)?s|let us|let me|go ahead and|try to|you should|we should|i need to)\b[\s,:!.]*)+",
    re.IGNORECASE,
)
_THANKS = re.compile(r"[\s,]+(?:please|pls|thanks|thank you|thx|for me|now|right now)[\s.!]*$", re.IGNORECASE)
_END = re.compile(r"(?<=[\w\"'`”’“»)\]*/])\s*[.!?…]+$")
_PATHS_NOTE = re.compile(r"\n\n\[Paths mentioned with @[^\n]*\]\s*$")


def compiled(pattern: str, fragments: Mapping[str, str]) -> re.Pattern[str]:
    """Return the expression of a rule; ``{name}`` stands for one of *fragments*.

    A blank stands for white space (one with a question mark also for none), ``<path>`` for one path,
    ``<text:a>`` for quoted or bare words, ``<word:a>`` for one such word, ``<rest:a>`` for all that
    follows, ``<number:n>`` for digits, and ``<kind>`` for a kind of file.
    """
    kinds = "|".join(sorted(KINDS, key=len, reverse=True))
    forms = {
        "path": _PATH,
        "text": rf"(?:{QUOTED}|.+?)",
        "word": rf"(?:{QUOTED}|\S+)",
        "rest": r".+",
        "number": r"\d{1,9}",
        "kind": rf"(?:{kinds}|\*?\.\w{{1,12}})",
    }
    pattern = re.sub(r"\{([a-z]+)\}", lambda m: fragments[m[1]], pattern)
    spaced = re.sub(r" (\??)", lambda m: r"\s*" if m[1] else r"\s+", pattern)
    body = _PARTS.sub(lambda m: f"(?P<{m[2] or m[1]}>{forms[m[1]]})", spaced)
    return re.compile(body, re.IGNORECASE | re.DOTALL)


def request_of(text: str) -> str:
    """Return the request without the words of courtesy around it."""
    text = _PATHS_NOTE.sub("", text).strip()
    asked = _POLITE.sub("", text, count=1) if _POLITE.match(text) else text
    return asked.strip() or text


def tidy(text: str) -> str:
    """Return the request without closing courtesies and punctuation."""
    previous = ""
    while text != previous:
        previous = text
        text = _END.sub("", _THANKS.sub("", text)).strip()
    return text


def unquote(text: str) -> str:
    """Return *text* without its quotation marks, if it is one quoted text."""
    text = text.strip()
    return text[1:-1] if re.fullmatch(QUOTED, text, re.DOTALL) else text


def is_quoted(text: str) -> bool:
    """Tell whether *text* is one quoted text."""
    return re.fullmatch(QUOTED, text.strip(), re.DOTALL) is not None


def path_of(text: str) -> str:
    """Return the path that a ``<path>`` names, "" for a pronoun."""
    text = text.strip()
    if re.fullmatch(_PRONOUN, text, re.IGNORECASE):
        return ""
    if text.startswith('@"'):
        try:
            return str(json.loads(text[1:]))
        except ValueError:
            pass
    if text.startswith("@"):
        text = text[1:]
    bare = unquote(text)
    if bare == text:
        # A dot at the end belongs to the sentence, unless the path is made of dots.
        bare = text if set(text) <= set("./") else text.rstrip(".,;:!?)…").lstrip("(")
    return bare


def looks_like_path(text: str) -> bool:
    """Tell whether a word is plainly a path and not just a word."""
    path = path_of(text)
    if text.startswith("@") or path.lower() in _KNOWN_FILES:
        return True
    if re.search(r"\s", path) and not is_quoted(text):
        return False
    return "/" in path or re.search(r"\w\.\w+$|^\.\w+$", path) is not None


def ending_of(kind: str) -> str:
    """Return the file name ending that a ``<kind>`` means, without its dot."""
    return KINDS.get(kind.lower(), kind.lstrip("*").lstrip("."))


def split_steps(text: str, separator: str) -> Sequence[str]:
    """Split *text* at *separator*, an expression, where that is outside of quotation marks."""
    pieces = [""]
    for part in re.split(rf"({QUOTED})", text):
        if part and re.fullmatch(QUOTED, part, re.DOTALL):
            pieces[-1] += part
            continue
        first, *others = re.split(separator, part, flags=re.IGNORECASE)
        pieces[-1] += first
        pieces += others
    return [piece.strip() for piece in pieces if piece.strip()]
