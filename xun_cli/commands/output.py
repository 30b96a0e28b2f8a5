"""What a command gives back: pieces to show, and at most one action for the front end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from xun.errors import XunError

Kind = Literal["text", "markdown", "diff", "table", "error"]
"""How a front end draws a piece."""

Action = Literal[
    "", "quit", "new_session", "resume", "redraw", "submit", "clear_screen", "copy", "switch", "rewound", "edit"
]
"""What only a front end can do: see `CommandResult`."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A text that the person changes in their editor.

    Attributes:
        name: The name of the file, for the editor.
        before: What the editor begins with.
        take: Takes what the person made of it, and says what came of that.
    """

    name: str
    before: str
    take: Callable[[str], Awaitable[CommandResult]]

    async def taken(self, after: str | None) -> CommandResult:
        """Return what comes of *after*; nothing when it is None or as before. An error becomes an output."""
        if after is None or after == self.before:
            return said("Nothing was changed.")
        try:
            return await self.take(after)
        except (XunError, OSError) as exc:
            return failed(str(exc))


@dataclass(frozen=True, slots=True)
class Output:
    """One piece that a command shows.

    The texts are as they came: a front end passes them through ``safe()`` before a terminal sees them.

    Attributes:
        kind: text, markdown, diff (unified), table or error.
        text: The piece; for a table, a line above it.
        rows: The cells of a table.
        header: The column titles of a table.
    """

    kind: Kind
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    header: tuple[str, ...] = ()

    def plain(self) -> str:
        """Return the piece as plain text, for pipes and tests; a table gets aligned columns."""
        if self.kind != "table":
            return self.text
        lines = [self.text] if self.text else []
        return "\n".join([*lines, *_aligned(([self.header] if self.header else []) + list(self.rows))])


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command did.

    Attributes:
        outputs: Pieces to show, in order.
        action: "" for none; quit; new_session; resume (data: the SessionInfo); redraw; submit (data: the text to
            send); clear_screen; copy (data: the text for the clipboard); switch (data: the front end to go on in,
            "" to say which one it is); rewound (data: the text for the composer); edit (data: a
            `FileEdit`).
        data: What the action needs; without an action, the answer as JSON values, where there is one.
    """

    outputs: tuple[Output, ...] = ()
    action: Action = ""
    data: Any = None

    @property
    def ok(self) -> bool:
        """Whether no piece is an error."""
        return all(output.kind != "error" for output in self.outputs)


def text(*lines: str) -> Output:
    """Return a plain piece of these lines."""
    return Output("text", "\n".join(lines))


def error(message: str) -> Output:
    """Return an error of one sentence."""
    return Output("error", message)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> Output:
    """Return a table; *caption* stands above it."""
    return Output("table", caption, tuple(tuple(row) for row in rows), tuple(header))


def said(*lines: str) -> CommandResult:
    """Return a result that only shows these lines."""
    return CommandResult((text(*lines),))


def failed(message: str) -> CommandResult:
    """Return a result that only shows an error."""
    return CommandResult((error(message),))


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    columns = max(len(row) for row in rows)
    widths = [max((_width(row[i]) for row in rows if i < len(row)), default=0) for i in range(columns)]
    lines = []
    for row in rows:
        cells = [cell + " " * (widths[i] - _width(cell)) for i, cell in enumerate(row)]
        lines.append("  ".join(cells).rstrip())
    return lines


def _width(cell: str) -> int:
    if cell.isascii():
        return len(cell)
    import unicodedata

    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in cell)
    marks = sum(unicodedata.combining(char) != 0 for char in cell)
    return len(cell) + wide - marks
