"""What a patch says, in either form, before it meets a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from xun.errors import EditError
from xun_builtin_tools.edit.messages import cut, edit_error

Action = Literal["add", "update", "delete", "copy"]


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place of a file that changes.

    Attributes:
        line: The line of the patch, from 1, at which it begins.
        rows: Pairs of ``" "``, ``"-"`` or ``"+"`` and the line's text.
        anchors: Lines of the file that come before it, in order.
        old_start: The stated first line, from 1; None when there is no number.
        old_count: The stated number of old lines.
        at_end: Its last old line is the last line of the file.
        old_open: The old file's last line, which is in it, has no newline.
        new_open: The new file's last line, which is in it, has no newline.
    """

    line: int
    rows: tuple[tuple[str, str], ...]
    anchors: tuple[str, ...] = ()
    old_start: int | None = None
    old_count: int | None = None
    at_end: bool = False
    old_open: bool = False
    new_open: bool = False

    @property
    def old(self) -> list[str]:
        """The lines that the file must have."""
        return [text for tag, text in self.rows if tag != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that it has afterwards."""
        return [text for tag, text in self.rows if tag != "-"]

    @property
    def needs_end(self) -> bool:
        """Whether it fits only at the end of the file."""
        return self.at_end or self.old_open or self.new_open


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What happens to one file.

    Attributes:
        line: The line of the patch, from 1, that names the file.
        action: add, update, delete or copy.
        path: The path as the patch has it.
        target: Where the file goes, for a move or copy.
        hunks: The changes, in the order of the patch.
        content: The whole text of an added file.
        executable: Whether the file becomes executable, or stops being so; None leaves it.
        verify: For a delete: the hunks must account for the whole file.
        other: What *path* may stand for when there is no such file.
    """

    line: int
    action: Action
    path: str
    target: str | None = None
    hunks: tuple[Hunk, ...] = ()
    content: str = ""
    executable: bool | None = None
    verify: bool = False
    other: str | None = None

    @property
    def fills(self) -> bool:
        """Whether it puts text into what it takes to be empty: such a patch makes the file when it is not there."""
        hunk = self.hunks[0] if len(self.hunks) == 1 else None
        return hunk is not None and hunk.old_start == 0 and hunk.old_count == 0 and not hunk.old


@dataclass(slots=True)
class HunkRows:
    """Collects the rows of one hunk while it is parsed."""

    line: int
    anchors: list[str] = field(default_factory=list)
    old_start: int | None = None
    old_count: int | None = None
    new_count: int | None = None
    rows: list[tuple[str, str]] = field(default_factory=list)
    bare: int = 0
    at_end: bool = False
    old_open: bool = False
    new_open: bool = False

    def add(self, line: str) -> bool:
        """Take one line of the patch; False when it is no hunk line."""
        if line == "":
            # An empty context line whose blank was trimmed away.
            self.rows.append((" ", ""))
            self.bare += 1
            return True
        if line[0] in " -+":
            self.rows.append((line[0], line[1:]))
            self.bare = 0
            return True
        return False

    def mark_open(self) -> None:
        """The last row has no newline at its end."""
        tag = self.rows[-1][0] if self.rows else " "
        self.old_open = self.old_open or tag != "+"
        self.new_open = self.new_open or tag != "-"

    def finish(self) -> Hunk:
        """Return the hunk.

        Raises:
            EditError: kind ``parse``: it changes nothing.
        """
        rows = self.rows[: len(self.rows) - self.bare] if self.bare else self.rows
        if not any(tag != " " for tag, _ in rows):
            raise parse_error(self.line, "this hunk has no line that begins with '+' or '-'")
        return Hunk(
            self.line,
            tuple(rows),
            tuple(self.anchors),
            self.old_start,
            self.old_count,
            self.at_end,
            self.old_open,
            self.new_open,
        )


def parse_error(line: int, why: str, text: str | None = None) -> EditError:
    """Return the error for line *line* of a patch."""
    shown = f" ({cut(text, 80)!r})" if text is not None else ""
    return edit_error(
        "parse", f"The patch can't be read at its line {line}{shown}: {why}. Nothing was changed.", patch_line=line
    )


def added_text(line: int, rows: Sequence[tuple[str, str]], *, closed: bool = True) -> str:
    """Return the text of a new file.

    Raises:
        EditError: kind ``parse``: a row is not an added one.
    """
    if any(tag != "+" for tag, _ in rows):
        raise parse_error(line, "a new file has lines that begin with '+' only")
    text = "\n".join(text for _, text in rows)
    return text + "\n" if rows and closed else text
