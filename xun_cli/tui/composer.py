"""The input of the full-screen front end: the draft, and the fields of questions."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.style import Style
from rich.text import Text
from textual import events
from textual.geometry import Offset
from textual.widgets import TextArea
from textual.widgets.text_area import TextAreaTheme

from xun_cli.frontend.draft import Draft
from xun_cli.frontend.folds import Folds
from xun_cli.frontend.history import InputHistory
from xun_cli.render.safe import hides_something
from xun_cli.tui.keys import key_name
from xun_cli.tui.line_keys import LineKeys
from xun_cli.tui.recall import Recall
from xun_cli.tui.thumb import ThinScrollBar

PASTE_GUARD = 0.3
"""Seconds after a paste in which Enter runs no command: faster than a person who has read it."""

_HIDDEN = Style(color="yellow", reverse=True)


class Input(TextArea):
    """A text area that gives every key to somebody else first and shows what could not be seen.

    Args:
        take_key: Takes a key; True when nothing more is to happen with it.
        take_paste: Takes pasted text.
        on_edit: Called when the text changes.
    """

    def __init__(
        self,
        take_key: Callable[[events.Key], bool],
        take_paste: Callable[[str], None],
        on_edit: Callable[[], None] = lambda: None,
        *,
        id: str,
    ) -> None:
        self._muted = False
        self._line_keys = LineKeys(self)
        super().__init__(id=id, soft_wrap=True, tab_behavior="focus", show_line_numbers=False, compact=True)
        self._take_key, self._take_paste, self._on_edit = take_key, take_paste, on_edit
        self.cursor_blink = False
        self.highlight_cursor_line = False
        plain = TextAreaTheme("xun", cursor_style=Style(reverse=True), selection_style=Style(reverse=True))
        self.register_theme(plain)
        self.theme = "xun"

    def on_mount(self) -> None:
        """Draw a thin scrollbar."""
        self.vertical_scrollbar.renderer = ThinScrollBar  # type: ignore[misc]

    async def _on_key(self, event: events.Key) -> None:
        bound = self._bindings.key_to_bindings.get(event.key, ())
        if self._take_key(event) or self._line_keys.take(key_name(event)):
            event.stop()
            event.prevent_default()
        elif bound:
            # At once: left to bubble, it would be done after the letters that were typed behind it.
            event.stop()
            event.prevent_default()
            await self.run_action(bound[0].action)
        else:
            await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._take_paste(event.text)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Tell that the text is another one."""
        event.stop()
        self._on_edit()

    @property
    def muted(self) -> bool:
        """Whether keys go elsewhere: no cursor is drawn."""
        return self._muted

    @muted.setter
    def muted(self, value: bool) -> None:
        if value is not self._muted:
            self._muted = value
            self._line_cache.clear()
            self.refresh()

    @property
    def _draw_cursor(self) -> bool:
        return self.has_focus and not self._muted

    def get_line(self, line_index: int) -> Text:
        """Return a row with a mark in the place of each character that could not be seen or would move the cursor."""
        text = super().get_line(line_index)
        shown = text.plain
        if shown.isascii() and shown.isprintable():
            return text
        # Rich drops some control characters: one mark for each keeps the cursor where it belongs.
        source = self.document.get_line(line_index)
        bad = [at for at, char in enumerate(source) if _is_hidden(char)]
        marked = Text("".join("?" if _is_hidden(char) else char for char in source), end="", no_wrap=True)
        for at in bad:
            marked.stylize(_HIDDEN, at, at + 1)
        return marked

    @property
    def before_cursor(self) -> str:
        """The text before the cursor."""
        return self.get_text_range((0, 0), self.cursor_location)

    def put(self, text: str) -> None:
        """Replace the text; the cursor stands at its end."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def change_before(self, start: int, text: str) -> None:
        """Replace what stands between the offset *start* and the cursor."""
        before = self.before_cursor
        line = before.count("\n", 0, start)
        column = start - (before.rfind("\n", 0, start) + 1)
        self.replace(text, (line, column), self.cursor_location, maintain_selection_offset=False)

    @property
    def rows(self) -> int:
        """How many rows the text takes."""
        return max(1, self.wrapped_document.height)

    @property
    def caret(self) -> Offset:
        """Where the terminal's cursor is to stand."""
        return self.cursor_screen_offset


def _is_hidden(char: str) -> bool:
    return (char < " " and char != "\t") or char == "\x7f" or (not char.isascii() and hides_something(char))


class Composer(Input):
    """The draft of one person.

    Args:
        take_key, take_paste, on_edit: See `Input`.
        history: What was typed before.
        folds: The folded pastes.
        clock: Gives seconds.
    """

    def __init__(
        self,
        take_key: Callable[[events.Key], bool],
        take_paste: Callable[[str], None],
        on_edit: Callable[[], None],
        *,
        history: InputHistory,
        folds: Folds,
        clock: Callable[[], float] = time.monotonic,
        id: str,
    ) -> None:
        super().__init__(take_key, take_paste, on_edit, id=id)
        self.folds, self.recall = folds, Recall(history)
        self._history, self._clock, self._pasted_at = history, clock, float("-inf")
        self.pasted = False
        """The last change came by a paste: no completion is offered for it."""
        self.on_take: Callable[[], None] = lambda: None
        """Called when the draft was taken."""

    @property
    def runs_unseen(self) -> bool:
        """Whether Enter would run a command that came in a moment ago by a paste.

        A pasted text can hold the mark that ends a paste, and an Enter behind it: nobody has seen that command.
        """
        return self._clock() - self._pasted_at < PASTE_GUARD and self.text.startswith(("!", "/"))

    def add_paste(self, raw: str) -> None:
        """Insert pasted text at the cursor: line ends become newlines, much text is shown folded."""
        self._pasted_at, self.pasted = self._clock(), True
        self.replace(self.folds.fold(raw), *self.selection, maintain_selection_offset=False)

    def take(self) -> Draft:
        """Return the draft, remember it in the history and empty the composer."""
        draft = self.peek()
        if draft.text.strip():
            self._history.add(draft.text)
        self.recall.reset()
        self.put("")
        self.on_take()
        return draft

    def peek(self) -> Draft:
        """Return the draft and leave it where it is."""
        shown = self.text
        text = self.folds.expand(shown)
        return Draft(text, shown if text != shown else "")

    def newline(self) -> None:
        """Insert a newline; a backslash right before the cursor that asked for it goes."""
        if self.before_cursor.endswith("\\"):
            self.action_delete_left()
        self.insert("\n")

    def backspace(self) -> None:
        """Delete before the cursor; a folded paste goes as a whole."""
        mark = self.folds.ending(self.before_cursor) if self.selection.is_empty else ""
        if mark:
            self.change_before(len(self.before_cursor) - len(mark), "")
        else:
            self.action_delete_left()
