"""The one way in which foreign text reaches a terminal.

Model text, tool output, file names, diffs and error messages may hold escape sequences,
reordering marks or invisible letters. `safe` replaces such characters by a visible ``<U+XXXX>``.
It replaces characters and never parses sequences, so a stream may be cut anywhere without a leak.
"""

from __future__ import annotations

import functools
import re

from xun_cli.render.marks import MARKS, MOST

_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f"
# Invisible, reordering or filler characters: nothing on the screen would tell that they are there.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U00013430-\U0001343f\U00016fe4"
    "\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_SURROGATE = "\ud800-\udfff"
_SELECTOR = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_BLANK = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u2800"
_MARK = (
    "\u0300-\u034e\u0350-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u0610-\u061a\u064b-\u065f\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84\u135d-\u135f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\u2de0-\u2dff"
    "\u302a-\u302d\u3099\u309a\ua66f-\ua672\ua674-\ua67d\ua6f0\ua6f1\ufe20-\ufe2f\U0001e8d0-\U0001e8d6"
)
_EMOJI = "\u00a9\u00ae\u2100-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_LETTER = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u1000-\u109f\u1820-\u18aa"

MARKS_PER_LETTER = 4
"""How many combining marks one letter may carry before the rest is counted instead of drawn."""

SPACES_IN_A_ROW = 8
"""A longer run of spaces in a question is shown as its count."""

# Looked for only where five letters in a row are not Latin: it is a large class to try at every character.
_PILE = f"(?=[\u0300-\U0010ffff]{{5}})(?:[{_MARK}]{{{MARKS_PER_LETTER + 1},}}|[{_MARK}{MARKS}]{{{MOST + 1},}})"
_HIDDEN = f"{_CONTROL}{_INVISIBLE}{_SURROGATE}{_SELECTOR}"
_PATTERNS = {
    "lines": f"[{_HIDDEN}]|{_PILE}",
    "one line": f"[\t\n{_HIDDEN}]|{_PILE}",
    "question": f"[{_HIDDEN}{_BLANK}]|{_PILE}",
    "question in one line": f"[\t\n{_HIDDEN}{_BLANK}]|{_PILE}",
    "emoji": f"[{_EMOJI}\U0001f3fb-\U0001f3ff]",
    "takes a selector": f"[{_EMOJI}{_LETTER}0-9#*]",
    "selector": f"[{_SELECTOR}]",
    "spaces": f" {{{SPACES_IN_A_ROW + 1},}}",
}


@functools.cache
def _pattern(name: str) -> re.Pattern[str]:
    # Compiled at the first text that needs it: ten milliseconds that a start does not have.
    return re.compile(_PATTERNS[name])


def safe(text: str, multiline: bool = True, *, prompt: bool = False) -> str:
    """Return *text* with every character that could deceive a reader or a terminal made visible.

    Args:
        text: Foreign text of any kind, lone surrogates included.
        multiline: Keep newlines and tabs; else they are made visible too.
        prompt: For questions: also show odd blanks, and the joiners inside emoji, which other text may keep.
    """
    if text.isascii() and text.isprintable():
        return text
    if prompt:
        pattern = _pattern("question" if multiline else "question in one line")
        return pattern.sub(lambda m: _visible(m.group()), text)
    pattern = _pattern("lines" if multiline else "one line")
    if pattern.search(text) is None:
        return text
    return pattern.sub(_kept_or_visible, text)


def visible(char: str) -> str:
    """Return the ``<U+XXXX>`` form of one character."""
    return f"<U+{ord(char):04X}>"


def hides_something(text: str) -> bool:
    """Tell whether a question about *text* would have to show characters that are not there to see.

    A newline counts as visible, a tab does not (a command may use it to look like another one).
    """
    return "\t" in text or _pattern("question").search(text) is not None


def fold_spaces(text: str) -> str:
    """Return *text* with long runs of spaces replaced by their count, such as ``<400 spaces>``."""
    return _pattern("spaces").sub(lambda m: f" <{len(m.group())} spaces> ", text)


def _visible(found: str) -> str:
    if len(found) == 1:
        return visible(found)
    return found[:MARKS_PER_LETTER] + f"<+{len(found) - MARKS_PER_LETTER} marks>"


def _kept_or_visible(match: re.Match[str]) -> str:
    found, text, at = match.group(), match.string, match.start()
    before = text[at - 1] if at else ""
    if found == "\u200d":
        after = text[at + 1 : at + 2]
        base = text[at - 2 : at - 1] if before == "\ufe0f" else before
        joins = base and _pattern("emoji").match(base) and _pattern("emoji").match(after)
        return found if joins else visible(found)
    if len(found) == 1 and _pattern("selector").match(found):
        return found if before and _pattern("takes a selector").match(before) else visible(found)
    return _visible(found)
