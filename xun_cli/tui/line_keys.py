"""The keys of a shell's line that Textual's text area lacks: words by Alt, and what was cut comes back by Ctrl-Y."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.widgets import TextArea

_MOVES = {"escape b": "cursor_word_left", "escape f": "cursor_word_right", "c-f": "cursor_right"}
_CUTS = {"c-w": "word_left", "escape backspace": "word_left", "escape d": "word_right", "c-u": "", "c-k": ""}
_ENDS = {"home": 0, "c-a": 0, "end": 1, "c-e": 1}
_TO_THE_LEFT = frozenset({"c-w", "escape backspace", "c-u"})


class LineKeys:
    """Keys of one text area.

    Args:
        area: What is edited.
    """

    def __init__(self, area: TextArea) -> None:
        self._area = area
        self._cut, self._goes_on = "", False

    def take(self, name: str) -> bool:
        """Take a key; False leaves it to the text area."""
        goes_on, self._goes_on = self._goes_on, name in _CUTS
        if name in _CUTS:
            self._remove(name, goes_on)
        elif name in _ENDS:
            self._area.move_cursor(self._line()[_ENDS[name]])
        elif name in _MOVES:
            getattr(self._area, f"action_{_MOVES[name]}")()
        elif name == "c-y":
            self._area.replace(self._cut, *self._area.selection, maintain_selection_offset=False)
        else:
            # A letter with Alt is no text, whatever it would do elsewhere.
            return name.startswith("escape ")
        return True

    def _line(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the two ends of the line; Textual's keys know only those of the row on the screen."""
        row = self._area.cursor_location[0]
        return (row, 0), (row, len(self._area.document.get_line(row)))

    def _remove(self, name: str, goes_on: bool) -> None:
        """Cut what *name* says; cuts right behind each other are one."""
        area = self._area
        before, at = area.text, area.cursor_location
        start, end = self._line()
        if name == "c-k" and at == end:
            area.action_delete_right()  # the newline, as in a shell's editor
        elif name in ("c-u", "c-k"):
            area.delete(*((start, at) if name == "c-u" else (at, end)), maintain_selection_offset=False)
        else:
            getattr(area, f"action_delete_{_CUTS[name]}")()
        after = area.text
        if after == before:
            return
        same = _shared(before, after, len(area.get_text_range((0, 0), min(at, area.cursor_location))))
        cut = before[same : same + len(before) - len(after)]
        kept = self._cut if goes_on else ""
        self._cut = cut + kept if name in _TO_THE_LEFT else kept + cut


def _shared(before: str, after: str, at_most: int) -> int:
    """Return how many characters *before* and *after* begin with in common, *at_most* so many."""
    at = min(at_most, len(after))
    return at if before[:at] == after[:at] else 0
