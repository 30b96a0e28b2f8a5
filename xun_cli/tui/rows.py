"""Which answer of a question stands in which row, for the mouse."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from xun_cli.render.approval import approval_view, rows_of
from xun_cli.render.text import ACCENT, DIM, WARN, Line

if TYPE_CHECKING:
    from xun.choice import ChoiceRequest
    from xun_cli.render.approval import DialogState

_POINTER = (ACCENT, "▸")


def option_at(request: ChoiceRequest, columns: int, rows: int, state: DialogState, row: int) -> int | None:
    """Return the answer that is drawn in *row* of the dialog, None for any other row.

    The dialog is drawn once for each answer with the pointer before it: what the person sees decides, not a
    second reckoning of the layout.
    """
    first: dict[int, int] = {}
    for index in range(len(rows_of(request))):
        drawn = approval_view(request, columns, rows, replace(state, selected=index))
        at = next((y for y in range(len(drawn) - 1, -1, -1) if _points(drawn[y])), None)
        if at is not None:
            first[at] = index
    if not first:
        return None
    starts = [at for at in first if at <= row]
    # The rows below the last answer are hints, not a part of it.
    height = len(approval_view(request, columns, rows, state))
    return first[max(starts)] if starts and row < height - 1 else None


def in_frame(line: Line) -> Line:
    """Return a row of the dialog with its frame in the colour of a question."""
    if line and line[0] in ((DIM, "┌ "), (DIM, "│ "), (DIM, "└ ")):
        return [(WARN, line[0][1]), *line[1:]]
    return line


def _points(line: Line) -> bool:
    return any(fragment == _POINTER for fragment in line[:3])
