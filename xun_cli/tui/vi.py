"""vi's keys for one text: what a key does to it, in insert and in normal mode. It knows no widget.

The commands are those that prompt_toolkit has in the inline front end and that a prompt has a use for: no
registers by name, no macros, no visual mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from xun_cli.tui.vi_text import (
    Target,
    first_word,
    found,
    line_by,
    line_end,
    line_start,
    motion,
    on_character,
    text_object,
    word_change_end,
    words_only,
)

MOST = 10_000
"""The highest count that is taken: a slip of the finger should not fill the memory."""

Mode = Literal["insert", "normal"]
Ask = Literal["", "undo", "redo", "earlier", "later", "search"]

_OPERATORS = frozenset("dcy")
_WITH_ARGUMENT = frozenset("fFtTg")
_PLAIN_KEYS = {"left": "h", "right": "l", "backspace": "h", "delete": "x", " ": "l"}
_IN_OPERATOR = {"up": "k", "down": "j", "home": "0", "end": "$"}
_SHORT = {"x": "dl", "X": "dh", "D": "d$", "C": "c$", "s": "cl", "S": "cc", "Y": "yy"}
_FINDS = frozenset("fFtT;,")
_DIGITS = frozenset("0123456789")
_OPPOSITE = {"f": "F", "F": "f", "t": "T", "T": "t"}


@dataclass(frozen=True, slots=True)
class Step:
    """What a key comes to.

    Attributes:
        at: Where the cursor goes, after the change.
        change: The text between two offsets, and what takes its place.
        ask: What somebody else has to do: undo, redo, go through the history.
        times: How often.
    """

    at: int
    change: tuple[int, int, str] | None = None
    ask: Ask = ""
    times: int = 1


class ViKeys:
    """The state between keys."""

    def __init__(self) -> None:
        self.mode: Mode = "insert"
        self._register: tuple[str, bool] = ("", False)
        self._find: tuple[str, str] | None = None
        self._goal: int | None = None
        self.forget()

    def begin(self) -> None:
        """Be as at an empty prompt: in insert mode."""
        self.mode = "insert"
        self.forget()

    def forget(self) -> None:
        """Forget what was begun: a count, an operator."""
        self._count = self._operator = self._waits = ""

    @property
    def pending(self) -> bool:
        """Whether a command is begun."""
        return bool(self._count or self._operator or self._waits)

    def key(self, name: str, text: str, at: int) -> Step | None:
        """Take a key at the offset *at* of *text*; None leaves it to others."""
        if self.mode == "insert":
            if name != "escape":
                return None
            self._to("normal")
            return Step(max(line_start(text, at), at - 1))
        goal, self._goal = self._goal, None
        step = self._normal(name, text, on_character(text, at), goal)
        if step is not None and self.mode == "normal" and step.change is None and not step.ask:
            return Step(on_character(text, step.at))
        return step

    def _to(self, mode: Mode) -> None:
        self.forget()
        self.mode = mode

    # -- a key of the normal mode -------------------------------------------------------------

    def _normal(self, name: str, text: str, at: int, goal: int | None) -> Step | None:
        if name == "escape":
            begun = self.pending
            self.forget()
            return Step(at) if begun else None
        if self._waits:
            step = self._with_argument(name, text, at)
            self.forget()
            return step or Step(at)
        name = (_IN_OPERATOR if self._operator else {}).get(name, _PLAIN_KEYS.get(name, name))
        if name in ("home", "end"):
            return self._line_key(name, text, at)
        if len(name) > 1 and name != "c-r":
            self.forget()
            return None
        if name in _DIGITS and (name != "0" or self._count[-1:].isdigit()):
            self._count += name
            return Step(at)
        operator = self._operator
        step = self._command(name, text, at, goal)
        if not self._waits and (operator or not self._operator or name in _SHORT):
            self.forget()
        return step or Step(at)

    def _line_key(self, name: str, text: str, at: int) -> Step | None:
        """Take Home or End, unless nothing is left to do in the line."""
        self.forget()
        target = line_start(text, at) if name == "home" else on_character(text, line_end(text, at))
        return None if target == at else Step(target)

    def _times(self) -> int | None:
        """Return the count, that of the operator times that of the motion; None when none was typed."""
        numbers = [min(int(part[:6]), MOST) for part in self._count.split("×") if part]
        return min(math.prod(numbers), MOST) if numbers else None

    def _command(self, name: str, text: str, at: int, goal: int | None) -> Step | None:
        """Do what *name* says; None when it does nothing, or is only the beginning of something."""
        if name in _WITH_ARGUMENT or name in ("ia" if self._operator else "r"):
            self._waits = name
            return None
        if self._operator:
            return self._by_motion(name, text, at)
        if name in _OPERATORS:
            self._operator, self._count = name, self._count + "×"
            return None
        if name in _SHORT:
            self._operator = _SHORT[name][0]
            return self._by_motion(_SHORT[name][1], text, at)
        if name in ("j", "k"):
            return self._up_or_down(name, text, at, goal)
        handler = self._table(self._times() or 1).get(name)
        return handler(text, at) if handler is not None else self._by_motion(name, text, at)

    def _table(self, times: int) -> Mapping[str, Callable[[str, int], Step | None]]:
        return {
            "i": lambda text, at: self._insert(at),
            "a": lambda text, at: self._insert(min(at + 1, line_end(text, at))),
            "I": lambda text, at: self._insert(first_word(text, at)),
            "A": lambda text, at: self._insert(line_end(text, at)),
            "o": lambda text, at: self._insert(line_end(text, at) + 1, (line_end(text, at), line_end(text, at), "\n")),
            "O": lambda text, at: self._insert(
                line_start(text, at), (line_start(text, at), line_start(text, at), "\n")
            ),
            "u": lambda text, at: Step(at, ask="undo", times=times),
            "c-r": lambda text, at: Step(at, ask="redo", times=times),
            "/": lambda text, at: Step(at, ask="search"),
            "?": lambda text, at: Step(at, ask="search"),
            "p": lambda text, at: self._put(text, at, times, after=True),
            "P": lambda text, at: self._put(text, at, times, after=False),
            "J": lambda text, at: _joined(text, at, times),
            "~": lambda text, at: _other_case(text, at, times),
        }

    def _with_argument(self, name: str, text: str, at: int) -> Step | None:
        """Take the second key of f F t T r g, or of a text object."""
        waits, self._waits = self._waits, ""
        if waits == "g":
            return self._by_motion("g" + name, text, at)
        if waits == "r":
            return self._replaced("\n" if name == "enter" else name, text, at)
        if len(name) != 1:
            return None
        if waits in "ia":
            span = text_object(text, at, name, around=waits == "a", count=self._times() or 1)
            return self._on_span(text, *span) if span is not None else None
        self._find = (waits, name)
        return self._by_motion(waits, text, at)

    # -- motions ------------------------------------------------------------------------------

    def _target(self, name: str, text: str, at: int) -> Target | None:
        count = self._times()
        if name in _FINDS:
            return self._found(name, text, at, count or 1)
        if self._operator == "c" and name in ("w", "W") and text[at : at + 1].strip():
            return Target(word_change_end(text, at, name == "W", count or 1), inclusive=True)
        target = motion(text, at, name, count)
        if target is not None and target.lines and not self._operator:
            return Target(first_word(text, target.at))
        return target

    def _found(self, name: str, text: str, at: int, count: int) -> Target | None:
        if self._find is None:
            return None
        how, char = self._find
        how = _OPPOSITE[how] if name == "," else how
        step = 1 if how in "ft" else -1
        # Repeated, t goes on from behind the character that it stands before.
        start = at + step if name in (";", ",") and how in "tT" and text[at + step : at + step + 1] == char else at
        place = found(text, max(0, start), how, char, count)
        return None if place is None else Target(place, inclusive=how in "ft")

    def _up_or_down(self, name: str, text: str, at: int, goal: int | None) -> Step:
        column = at - line_start(text, at) if goal is None else goal
        times = self._times() or 1
        start = line_by(text, at, times if name == "j" else -times)
        if start is None:
            return Step(at, ask="earlier" if name == "k" else "later", times=min(times, 100))
        self._goal = column
        return Step(min(start + column, line_end(text, start)))

    def _by_motion(self, name: str, text: str, at: int) -> Step | None:
        """Go where *name* leads, or let the operator take what lies between."""
        if self._operator == name:
            below = line_by(text, at, (self._times() or 1) - 1)
            return self._on_lines(text, at, len(text) if below is None else below, at)
        target = self._target(name, text, at)
        if target is None or not self._operator:
            return Step(target.at) if target is not None else None
        if target.lines:
            return self._on_lines(text, min(at, target.at), max(at, target.at), at)
        start, end = min(at, target.at), max(at, target.at)
        if target.inclusive:
            end += end < len(text) and text[end] != "\n"
        elif name in ("w", "W"):
            end = words_only(text, start, end)
        elif start < end and line_start(text, end) == end:
            end -= 1  # what ends before a line leaves its newline, and takes whole lines if it begins with one
            if not text[line_start(text, start) : start].strip():
                return self._on_lines(text, start, end, start)
        return self._on_span(text, start, end)

    # -- changes ------------------------------------------------------------------------------

    def _on_span(self, text: str, start: int, end: int) -> Step | None:
        operator = self._operator
        if operator != "c" and start == end:
            return None
        self._register = (text[start:end], False)
        if operator == "y":
            return Step(start)
        if operator == "c":
            return self._insert(start, (start, end, ""))
        return _after(text, (start, end, ""), start)

    def _on_lines(self, text: str, first: int, last: int, at: int) -> Step:
        start, end = line_start(text, first), line_end(text, last)
        self._register = (text[start:end], True)
        if self._operator == "y":
            return Step(first)
        if self._operator == "c":
            return self._insert(start, (start, end, ""))
        change = (start, end + 1, "") if end < len(text) else (max(0, start - 1), end, "")
        rest = text[: change[0]] + text[change[1] :]
        return Step(first_word(rest, min(start, len(rest)) if end < len(text) else change[0]), change)

    def _insert(self, at: int, change: tuple[int, int, str] | None = None) -> Step:
        self._to("insert")
        return Step(at, change)

    def _put(self, text: str, at: int, times: int, *, after: bool) -> Step | None:
        taken, lines = self._register
        times = min(times, MOST // max(1, len(taken)) + 1)
        if lines:
            more = "\n".join([taken] * times)
            place = line_end(text, at) if after else line_start(text, at)
            change = (place, place, f"\n{more}" if after else f"{more}\n")
            return Step(first_word(text[:place] + change[2] + text[place:], place + after), change)
        if not taken:
            return None
        place = min(at + 1, line_end(text, at)) if after else at
        more = taken * times
        return Step(place if "\n" in more else place + len(more) - 1, (place, place, more))

    def _replaced(self, char: str, text: str, at: int) -> Step | None:
        times = self._times() or 1
        if len(char) != 1 or at + times > line_end(text, at):
            return None
        if char == "\n":
            return Step(at + 1, (at, at + times, "\n"))
        return Step(at + times - 1, (at, at + times, char * times))


def _after(text: str, change: tuple[int, int, str], at: int) -> Step:
    start, end, new = change
    return Step(on_character(text[:start] + new + text[end:], at), change)


def _joined(text: str, at: int, times: int) -> Step | None:
    """Join the line with the one below, or so many lines."""
    start, end = line_start(text, at), line_end(text, at)
    if end == len(text):
        return None
    below = line_by(text, at, max(1, times - 1))
    last = len(text) if below is None else line_end(text, below)
    first, *more = text[start:last].split("\n")
    line, seam = first, len(first)
    for row in more:
        row = row.lstrip()
        seam = len(line.rstrip(" ")) if row else max(0, len(line) - 1)
        line = f"{line.rstrip(' ')} {row}" if row and line.strip() else line + row
    return Step(start + seam, (start, last, line))


def _other_case(text: str, at: int, times: int) -> Step | None:
    end = min(at + times, line_end(text, at))
    if end == at:
        return None
    change = (at, end, text[at:end].swapcase())
    return _after(text, change, at + len(change[2]))
