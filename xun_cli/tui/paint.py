"""From styled lines to what Textual draws: in the terminal's own 16 colours, never from markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.strip import Strip

from xun_cli.render.text import Line
from xun_cli.render.theme import Theme, themed

_ATTRIBUTES = frozenset({"bold", "dim", "italic", "underline", "reverse", "strike"})
_COLORS = {"ansigray": "white", "ansiwhite": "bright_white"}


class Painter:
    """Makes strips of lines.

    Args:
        theme: Replaces style words.
        color: Whether there are colours; attributes stay without them.
    """

    def __init__(self, theme: Theme, *, color: bool) -> None:
        self.theme, self.color = theme, color
        self._styles: dict[str, Style] = {}

    def use(self, theme: Theme) -> bool:
        """Use *theme* from now on; returns whether it is another one, and everything is to be drawn again."""
        if theme is self.theme:
            return False
        self.theme = theme
        self._styles.clear()
        return True

    def style(self, words: str) -> Style:
        """Return the style that *words* stand for."""
        found = self._styles.get(words)
        if found is None:
            found = self._styles[words] = self._made(themed(words, self.theme))
        return found

    def strip(self, line: Iterable[tuple[str, str]], width: int) -> Strip:
        """Return one row of exactly *width* cells."""
        strip = Strip([Segment(text, self.style(words)) for words, text in line if text])
        return strip.adjust_cell_length(width, Style.null())

    def _made(self, words: str) -> Style:
        attributes = {word: True for word in words.split() if word in _ATTRIBUTES}
        colors = [word for word in words.split() if word.startswith("ansi")] if self.color else []
        return Style(color=_color(colors[-1]) if colors else None, **attributes)  # type: ignore[arg-type]


def _color(word: str) -> str:
    name = word.removeprefix("ansi")
    return _COLORS.get(word) or (f"bright_{name.removeprefix('bright')}" if name.startswith("bright") else name)


class NoColors(LineFilter):
    """Takes every colour away, also those of Textual itself: NO_COLOR means that no colour code is written."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return *segments* without colours."""
        return [
            Segment(text, style.without_color if style is not None else None, control)
            for text, style, control in segments
        ]


def selected(strip: Strip, span: tuple[int, int], text: Sequence[str]) -> Strip:
    """Return *strip* with the characters of *span* reversed; an end of -1 is that of the row."""
    whole = "".join(text)
    start, end = span[0], len(whole) if span[1] == -1 else span[1]
    first, last = _cells(whole[:start]), _cells(whole[:end])
    if last <= first:
        return strip
    before, middle, after = strip.crop(0, first), strip.crop(first, last), strip.crop(last)
    return Strip.join([before, middle.apply_style(Style(reverse=True)), after])


def _cells(text: str) -> int:
    from xun_cli.render.text import width

    return width(text)


def row_text(line: Line) -> list[str]:
    """Return the texts of *line*."""
    return [text for _, text in line]
