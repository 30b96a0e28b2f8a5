"""Styled lines: the one form in which everything is drawn.

A fragment is ``(style, text)``, a line is a list of fragments. Styles are prompt_toolkit style words
(``bold``, ``dim``, ``ansired`` ...) and only those of the terminal's own 16 colours, so that any
theme of the terminal stays readable. Widths are terminal cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from xun_cli.render.theme import Theme, themed

Fragment = tuple[str, str]
"""A style and a text without newlines."""

Line = list[Fragment]
"""Fragments from left to right."""

PLAIN = ""
DIM = "dim"
BOLD = "bold"
ACCENT = "ansicyan"
GOOD = "ansigreen"
BAD = "ansired"
WARN = "ansiyellow"
"""For marks. Words that warn are bold: yellow vanishes on a light background."""
CODE = "ansicyan"
ADDED = "ansigreen"
REMOVED = "ansired"
HUNK = "ansicyan"
SELECTED = "reverse"
NAME = "bold"
QUOTE = "italic"

_CODES = {
    "bold": 1,
    "dim": 2,
    "italic": 3,
    "underline": 4,
    "reverse": 7,
    "strike": 9,
    "ansiblack": 30,
    "ansired": 31,
    "ansigreen": 32,
    "ansiyellow": 33,
    "ansiblue": 34,
    "ansimagenta": 35,
    "ansicyan": 36,
    "ansigray": 37,
    "ansibrightblack": 90,
    "ansibrightred": 91,
    "ansibrightgreen": 92,
    "ansibrightyellow": 93,
    "ansibrightblue": 94,
    "ansibrightmagenta": 95,
    "ansibrightcyan": 96,
    "ansiwhite": 97,
}

NO_THEME: Theme = {}

_PIECES = re.compile(r" +|[^ ]+")
TAB = 4
"""Columns that a tab is drawn as inside the live region and in questions."""


_OWN_SIGNS = str.maketrans("", "", "…·›»•●▸▲■◆○✓✗─│┌└├−–—“”←→↑↓⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")


def width(text: str) -> int:
    """Return how many cells *text* takes on one line; control characters count as nothing."""
    if text.isascii() or text.translate(_OWN_SIGNS).isascii():
        return len(text)  # the tables of all widths are loaded when a text needs them: forty milliseconds
    from wcwidth import wcwidth

    return sum(max(0, wcwidth(char)) for char in text)


def line_width(line: Iterable[Fragment]) -> int:
    """Return how many cells *line* takes."""
    return sum(width(text) for _, text in line)


def plain(line: Iterable[Fragment]) -> str:
    """Return the text of *line* without styles."""
    return "".join(text for _, text in line)


def plain_lines(lines: Iterable[Line]) -> str:
    """Return *lines* as text, one per row, blanks at the ends removed."""
    return "\n".join(plain(line).rstrip() for line in lines)


def cut(text: str, limit: int) -> str:
    """Return *text* shortened to *limit* cells, ending with ``…`` when something is missing."""
    if width(text) <= limit:
        return text
    if limit <= 0:
        return ""
    return _head(text, limit - 1) + "…"


def cut_left(text: str, limit: int) -> str:
    """Return the last *limit* cells of *text*, beginning with ``…`` when something is missing."""
    if width(text) <= limit:
        return text
    if limit <= 0:
        return ""
    tail = _head(text[::-1], limit - 1)
    return "…" + tail[::-1]


def cut_middle(text: str, limit: int) -> str:
    """Return *text* shortened to *limit* cells in its middle, of which more of the beginning stays than of the end."""
    if width(text) <= limit:
        return text
    if limit <= 0:
        return ""
    head = _head(text, (limit - 1) * 2 // 3)
    return head + cut_left(text, limit - width(head))


def cut_path(path: str, limit: int) -> str:
    """Return *path* shortened to *limit* cells such that its last part, which tells files apart, stays longest."""
    if width(path) <= limit:
        return path
    folder, slash, name = path.rstrip("/").rpartition("/")
    room = limit - width(name) - 2
    return f"{_head(folder, room)}…/{name}" if slash and room >= 0 else cut_middle(name, limit)


def fitting(parts: Sequence[str], limit: int) -> str:
    """Return as many of *parts*, from the first, as fit into *limit* cells; the first one is cut when it must be."""
    text = cut(parts[0], limit) if parts else ""
    for part in parts[1:]:
        if width(longer := f"{text} · {part}") > limit:
            break
        text = longer
    return text


def cut_line(line: Sequence[Fragment], limit: int) -> Line:
    """Return *line* shortened to *limit* cells."""
    if line_width(line) <= limit:
        return list(line)
    result: Line = []
    left = max(0, limit - 1)
    for style, text in line:
        took = _head(text, left)
        if took:
            result.append((style, took))
        left -= width(took)
        if took != text:
            break
    if limit > 0:
        result.append((DIM, "…"))
    return result


def _head(text: str, limit: int) -> str:
    if text.isascii():
        return text[: max(0, limit)]
    used = 0
    for index, char in enumerate(text):
        used += width(char)
        if used > limit:
            return text[:index]
    return text


def expand_tabs(text: str) -> str:
    """Return one line of *text* with tabs as blanks."""
    return text.expandtabs(TAB) if "\t" in text else text


def hard_wrap(text: str, limit: int) -> list[str]:
    """Cut *text* into pieces of at most *limit* cells; joined they are *text* again."""
    limit = max(1, limit)
    if text.isascii():
        return [text[i : i + limit] for i in range(0, len(text), limit)] or [""]
    pieces: list[str] = []
    rest = text
    while rest:
        head = _head(rest, limit) or rest[0]
        pieces.append(head)
        rest = rest[len(head) :]
    return pieces or [""]


def wrap(
    line: Sequence[Fragment], limit: int, first: Sequence[Fragment] = (), rest: Sequence[Fragment] = ()
) -> list[Line]:
    """Wrap *line* at blanks to *limit* cells; longer words and wide characters break anywhere.

    Args:
        line: What to wrap.
        limit: Cells per row, prefixes included.
        first: What the first row begins with.
        rest: What each further row begins with.
    """
    rows: list[Line] = [list(first)]
    left, empty = max(1, limit - line_width(first)), True
    more = max(1, limit - line_width(rest))
    gap: Fragment | None = None
    for word in _words(line):
        if word[0][1][0] == " ":
            gap = word[0]
            continue
        if not empty and line_width(word) + (len(gap[1]) if gap else 0) > left:
            rows.append(list(rest))
            left, empty, gap = more, True, None
        if gap is not None:
            took = gap[1][: max(0, left - 1)] if empty else gap[1]
            rows[-1].append((gap[0], took))
            left, gap = left - len(took), None
        for style, piece in word:
            while width(piece) > left:
                head = _head(piece, left) or (piece[0] if left == more else "")
                rows[-1] += [(style, head)] if head else []
                rows.append(list(rest))
                piece, left = piece[len(head) :], more
            rows[-1] += [(style, piece)] if piece else []
            left -= width(piece)
        empty = False
    return rows


def _words(line: Sequence[Fragment]) -> Iterator[Line]:
    """Yield runs of blanks and words; a word may go on in the next fragment, such as a comma behind a name."""
    word: Line = []
    for style, text in line:
        for at, piece in enumerate(_pieces(text)):
            goes_on = word and not at and " " not in (piece[0], word[-1][1][0])
            if goes_on and width(piece[0]) < 2 and width(word[-1][1][-1]) < 2:
                word.append((style, piece))
                continue
            if word:
                yield word
            word = [(style, piece)]
    if word:
        yield word


def _pieces(text: str) -> Iterator[str]:
    """Yield runs of blanks, and words in the pieces between which a row may end."""
    for match in _PIECES.finditer(text):
        piece = match.group()
        if piece[0] == " " or piece.isascii():
            yield piece
        else:
            yield from _breakable(piece)


def _breakable(word: str) -> Iterator[str]:
    """Split a word where the script allows a break: around wide characters."""
    start = 0
    for index, char in enumerate(word):
        if not char.isascii() and width(char) == 2:
            end = index + 1
            if start < index:
                yield word[start:index]
            while end < len(word) and not word[end].isascii() and width(word[end]) == 0:
                end += 1
            if index >= start:
                yield word[index:end]
            start = max(start, end)
    if start < len(word):
        yield word[start:]


def sgr(style: str, color: bool = True) -> str:
    """Return the escape sequence that switches *style* on, "" for none; without *color* only attributes."""
    codes = [str(_CODES[word]) for word in style.split() if word in _CODES and (color or not word.startswith("ansi"))]
    return f"\x1b[{';'.join(codes)}m" if codes else ""


def ansi(line: Iterable[Fragment], color: bool = True, theme: Theme = NO_THEME) -> str:
    """Return *line* as terminal text. The fragments must have been made by ``safe()``."""
    parts: list[str] = []
    for style, text in merged(line):
        start = sgr(themed(style, theme), color) if style else ""
        parts.append(f"{start}{text}\x1b[0m" if start else text)
    return "".join(parts)


def merged(line: Iterable[Fragment]) -> Line:
    """Return *line* with neighbours of one style joined."""
    result: Line = []
    for style, text in line:
        if result and result[-1][0] == style:
            result[-1] = (style, result[-1][1] + text)
        elif text:
            result.append((style, text))
    return result
