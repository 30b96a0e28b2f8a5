"""The live region: what stands below the finished lines, as a prompt_toolkit layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from prompt_toolkit.application.current import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.layout.containers import ConditionalContainer, HSplit, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.layout import Layout
from prompt_toolkit.layout.processors import (
    AfterInput,
    ConditionalProcessor,
    HighlightIncrementalSearchProcessor,
    Processor,
)
from prompt_toolkit.widgets.toolbars import SearchToolbar

from xun_cli.frontend.dialog import LABELS
from xun_cli.frontend.texts import input_mark
from xun_cli.render.approval import approval_view
from xun_cli.render.status import status_line
from xun_cli.render.text import ACCENT, BOLD, DIM, PLAIN, SELECTED, Line, cut, fitting, width
from xun_cli.repl.composer import VisibleCharacters

if TYPE_CHECKING:
    from prompt_toolkit.data_structures import Size

    from xun_cli.frontend.dialog import Dialog
    from xun_cli.render.status import Status
    from xun_cli.render.transcript import Transcript
    from xun_cli.repl.composer import Composer

COMPOSER_ROWS = 8
MENU_ROWS = 6
GAP_FROM = 16
"""Rows of a terminal from which a blank row sets the live region apart."""
_HINT = ("Ask for something", "/ commands", "@ files", "! shell")


class View:
    """Puts the parts of the live region together and keeps them within the terminal.

    Args:
        composer: The draft.
        dialog: The question.
        transcript: What runs.
        status: Gives the status line's content.
        size: Gives the terminal's size.
        notes: Gives short lines of ours that stand above the composer.
        hints: Say in an empty composer what can be typed.
    """

    def __init__(
        self,
        composer: Composer,
        dialog: Dialog,
        transcript: Transcript,
        *,
        status: Callable[[], Status],
        size: Callable[[], Size],
        notes: Callable[[], list[Line]],
        hints: bool = True,
    ) -> None:
        self._composer, self._dialog, self._transcript = composer, dialog, transcript
        self._status, self._size, self._notes, self._hints = status, size, notes, hints
        self._made: tuple[int, list[Line]] = (-1, [])
        self.field = Buffer(multiline=True, name="field")
        self._search = SearchToolbar(forward_search_prompt="search: ", backward_search_prompt="search: ")
        self._top_window = Window(
            FormattedTextControl(self._top_text, focusable=True, show_cursor=False),
            height=self._top_height,
            always_hide_cursor=True,
        )
        self._composer_window = self._input_window(composer.buffer, self._prefix, [self._hint()])
        self._field_window = self._input_window(self.field, self._field_prefix, [])
        self.layout = self._layout()

    def dialog_rows(self) -> int:
        """Return how many rows a dialog may take: all but input, status and one finished line."""
        size = self._size()
        return max(4, size.rows - self._input_rows() - (2 if size.rows > 12 else 1))

    def sync_focus(self) -> None:
        """Give the keyboard to the part that should have it now."""
        dialog, layout = self._dialog, self.layout
        if dialog.field:
            if layout.current_window is not self._field_window:
                self.field.text = dialog.field_text
                self.field.cursor_position = len(self.field.text)
                get_app().vi_state.input_mode = InputMode.INSERT
                layout.focus(self._field_window)
        elif dialog.focused:
            if layout.current_window is not self._top_window:
                layout.focus(self._top_window)
        elif layout.current_window in (self._field_window, self._top_window):
            layout.focus(self._composer_window)

    # -- parts ----------------------------------------------------------------------------

    def _layout(self) -> Layout:
        has_top = Condition(lambda: bool(self._top()))
        in_field = Condition(lambda: bool(self._dialog.field))
        menu = Window(FormattedTextControl(self._menu_text), height=lambda: Dimension.exact(len(self._menu())))
        status = Window(FormattedTextControl(lambda: joined([self._status_row()])), height=1)
        root = HSplit(
            [
                ConditionalContainer(self._top_window, has_top),
                ConditionalContainer(self._composer_window, ~in_field),
                ConditionalContainer(self._field_window, in_field),
                ConditionalContainer(menu, Condition(lambda: bool(self._menu()))),
                self._search,
                ConditionalContainer(status, ~is_searching | Condition(lambda: self._size().rows > 6)),
            ]
        )
        return Layout(root, focused_element=self._composer_window)

    def _input_window(
        self, buffer: Buffer, prefix: Callable[[int, int], StyleAndTextTuples], processors: list[Processor]
    ) -> Window:
        control = BufferControl(
            buffer,
            input_processors=[HighlightIncrementalSearchProcessor(), VisibleCharacters(), *processors],
            include_default_input_processors=False,
            search_buffer_control=self._search.control,
            preview_search=True,
            focusable=True,
        )
        return Window(
            control,
            height=lambda: Dimension(min=1, max=self._input_cap()),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=prefix,
        )

    def _hint(self) -> Processor:
        empty = ~is_searching & Condition(lambda: self._hints and not self._composer.text and not self._dialog.open)
        return ConditionalProcessor(
            AfterInput(
                lambda: fitting(_HINT, max(0, self._size().columns - 2 - width(input_mark("", _vi_mode())))), style=DIM
            ),
            empty,
        )

    def _prefix(self, line: int, wrapped: int) -> StyleAndTextTuples:
        mark = input_mark(self._composer.text, _vi_mode())
        if line or wrapped:
            return [(PLAIN, " " * width(mark))]
        return [(DIM if self._dialog.focused else f"{BOLD} {ACCENT}", mark)]

    def _field_prefix(self, line: int, wrapped: int) -> StyleAndTextTuples:
        label = LABELS.get(self._dialog.field, "") + " › "
        return [(f"{BOLD} {ACCENT}", label)] if not line and not wrapped else [(PLAIN, " " * width(label))]

    def _input_cap(self) -> int:
        rows = self._size().rows
        return max(1, min(COMPOSER_ROWS, rows // 3))

    def _input_rows(self) -> int:
        buffer = self.field if self._dialog.field else self._composer.buffer
        columns = max(1, self._size().columns - width(input_mark("", _vi_mode())))
        rows = sum(max(1, -(-(width(line) + 1) // columns)) for line in buffer.text.split("\n"))
        return min(rows, self._input_cap())

    def _status_row(self) -> Line:
        return status_line(self._status(), self._size().columns)

    def _top(self) -> list[Line]:
        """Return the rows above the input, made once per drawing."""
        counter = get_app().render_counter
        if self._made[0] != counter:
            self._made = (counter, self._make_top())
        return self._made[1]

    def _make_top(self) -> list[Line]:
        """Make the rows above the input: the dialog, or what is open, and our notes."""
        size = self._size()
        notes = self._notes()
        request = self._dialog.request
        gap: list[Line] = [[]] if size.rows >= GAP_FROM else []
        if request is not None and self._dialog.focused:
            return [*gap, *approval_view(request, size.columns, self.dialog_rows() - len(gap), self._dialog.state)]
        cap = max(6, size.rows // 3)
        room = min(size.rows - 1, cap) - self._input_rows() - 1 - len(self._menu()) - len(notes) - len(gap)
        waiting = approval_view(request, size.columns, 1, self._dialog.state) if request is not None else []
        return [*gap, *self._transcript.live(max(1, room - len(waiting))), *waiting, *notes]

    def _top_text(self) -> StyleAndTextTuples:
        return joined(self._top())

    def _top_height(self) -> Dimension:
        return Dimension.exact(len(self._top()))

    def _menu(self) -> list[Line]:
        """Return the completions, at most a few rows around the chosen one."""
        state = self._composer.buffer.complete_state
        if state is None or not state.completions or self._dialog.focused:
            return []
        size = self._size()
        rows = min(MENU_ROWS, max(1, size.rows // 3 - 1))
        at = state.complete_index or 0
        start = max(0, min(at - rows // 2, len(state.completions) - rows))
        shown = state.completions[start : start + rows]
        names = max(width(item.display_text) for item in shown)
        lines: list[Line] = []
        for index, item in enumerate(shown, start):
            last = index == start + len(shown) - 1
            # Without a count the few rows look like all there is.
            more = f"  {index + 1} of {len(state.completions)}" if last and len(shown) < len(state.completions) else ""
            style = SELECTED if index == state.complete_index else PLAIN
            name = cut(item.display_text, size.columns - 2 - len(more))
            line: Line = [(PLAIN, "  "), (style, name)]
            room = size.columns - names - 6 - len(more)
            if item.display_meta_text and room >= 10:
                gap = " " * (names - width(name) + 2)
                line.append((DIM, gap + cut(item.display_meta_text, room)))
            lines.append([*line, (DIM, more)] if more else line)
        return lines

    def _menu_text(self) -> StyleAndTextTuples:
        return joined(self._menu())


def _vi_mode() -> str:
    """Return the letter of vi's mode, "" when the keys are not vi's."""
    app = get_app()
    if app.editing_mode != EditingMode.VI:
        return ""
    if app.current_buffer.selection_state is not None:
        return "V"
    mode = app.vi_state.input_mode
    return {InputMode.NAVIGATION: "N", InputMode.REPLACE: "R", InputMode.REPLACE_SINGLE: "R"}.get(mode, "I")


def joined(lines: Iterable[Line]) -> StyleAndTextTuples:
    """Return *lines* as prompt_toolkit wants them."""
    result: StyleAndTextTuples = []
    for index, line in enumerate(lines):
        if index:
            result.append((PLAIN, "\n"))
        result.extend(line)
    return result
