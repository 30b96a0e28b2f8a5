"""From key presses to actions: the composer's, the running turn's, the dialog's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from prompt_toolkit.filters import Condition, has_completions, is_searching, vi_insert_mode, vi_navigation_mode
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.keys import Keys

from xun_cli.repl.bindings import FOCUS_IN, FOCUS_OUT

if TYPE_CHECKING:
    from xun_cli.frontend.bindings import KeyMap
    from xun_cli.frontend.dialog import Dialog
    from xun_cli.repl.composer import Composer
    from xun_cli.repl.view import View

_DIALOG_KEYS = {
    "enter": "enter",
    "tab": "tab",
    "s-tab": "s-tab",
    "up": "up",
    "down": "down",
    "left": "left",
    "right": "right",
    "pageup": "pageup",
    "pagedown": "pagedown",
    "home": "home",
    "end": "end",
    "c-e": "c-e",
    "escape": "escape",
    "c-c": "c-c",
}
_SENDING = ("submit", "steer", "cancel")
_EVERYWHERE = ("redraw", "suspend")
_IGNORED_IN_DIALOG = (
    "backspace",
    "delete",
    "c-a",
    "c-b",
    "c-d",
    "c-f",
    "c-k",
    "c-n",
    "c-p",
    "c-r",
    "c-u",
    "c-w",
    "c-y",
)


class Actions(Protocol):
    """What keys can do; the application implements it."""

    def submit(self) -> None:
        """Send the draft."""

    def steer(self) -> None:
        """Send the draft into the running turn."""

    def interrupt(self) -> None:
        """End the running turn."""

    def cancel(self) -> None:
        """Interrupt, clear the input, or leave at the second time."""

    def leave(self) -> None:
        """Leave, asking when something runs."""

    def recall_queued(self) -> bool:
        """Take the last queued message back into the composer; False when none waits."""

    def cycle_mode(self) -> None:
        """Go to the next mode."""

    def expand(self) -> None:
        """Show the last folded output in full."""

    def show_todos(self) -> None:
        """Show the todo list."""

    def edit_draft(self) -> None:
        """Let the person write the draft in their editor."""

    def show_transcript(self) -> None:
        """Open the whole session to read."""

    def show_work(self) -> None:
        """Open the list of sub-agents and background commands."""

    def paste_image(self) -> None:
        """Take the image of the clipboard along with the next message."""

    def take_dropped(self, text: str) -> bool:
        """Take an image whose path was pasted with the next message; False when *text* is other text."""

    def redraw(self) -> None:
        """Draw the live region again."""

    def suspend(self) -> None:
        """Stop the process until it is continued."""

    def focus_changed(self, focused: bool) -> None:
        """The terminal got or lost the focus."""


def make_bindings(keys: KeyMap, actions: Actions, composer: Composer, dialog: Dialog, view: View) -> KeyBindings:
    """Return all key bindings of the inline front end."""
    bindings = KeyBindings()
    _Composer(bindings, keys, actions, composer, dialog, view).bind()
    _bind_dialog(bindings, composer, dialog, view)
    bindings.add(FOCUS_IN)(lambda event: actions.focus_changed(True))
    bindings.add(FOCUS_OUT)(lambda event: actions.focus_changed(False))
    return bindings


class _Composer:
    """Bindings while the composer, or a field of the dialog, has the keyboard."""

    def __init__(
        self, bindings: KeyBindings, keys: KeyMap, actions: Actions, composer: Composer, dialog: Dialog, view: View
    ) -> None:
        self._bindings, self._keys, self._actions = bindings, keys, actions
        self._composer, self._dialog, self._view = composer, dialog, view
        self._typing = ~is_searching & Condition(lambda: not dialog.focused)
        self._in_field = Condition(lambda: bool(dialog.field))

    def bind(self) -> None:
        composer, actions = self._composer, self._actions
        table: Mapping[str, Callable[[KeyPressEvent], None]] = {
            "submit": self._submit,
            "newline": lambda event: composer.newline(),
            "steer": lambda event: actions.steer(),
            "interrupt": self._escape,
            "cancel": lambda event: actions.cancel(),
            "leave": self._leave,
            "earlier": self._earlier,
            "later": self._later,
            "editor": lambda event: actions.edit_draft(),
            "complete": self._tab,
            "mode": lambda event: self._back_tab(),
            "expand": lambda event: actions.expand(),
            "todo": lambda event: actions.show_todos(),
            "transcript": lambda event: actions.show_transcript(),
            "panel": lambda event: actions.show_work(),
            "image": lambda event: actions.paste_image(),
            "redraw": lambda event: actions.redraw(),
            "suspend": lambda event: actions.suspend(),
        }
        for action, handler in table.items():
            # In vi's insert mode Esc leaves that mode first, as everywhere.
            active = self._typing & ~vi_insert_mode if action == "interrupt" else self._typing
            done = self._sent(handler) if action in _SENDING else handler
            if action in _EVERYWHERE:
                active = ~is_searching
            for keys in self._keys.keys[action]:
                self._bindings.add(*keys, filter=active)(self._then_sync(done))
        self._bind_rest()

    def _bind_rest(self) -> None:
        """Bind what no setting changes: pastes, a field of the dialog."""
        composer = self._composer
        self._bindings.add("backspace", filter=self._typing & ~vi_navigation_mode)(
            self._then_sync(lambda event: composer.backspace(event.arg))
        )
        redo = self._bindings.add("c-r", filter=self._typing & vi_navigation_mode, save_before=lambda event: False)
        redo(lambda event: composer.buffer.redo())
        self._bindings.add(Keys.BracketedPaste, filter=~is_searching)(self._paste)
        self._bindings.add("enter", filter=self._in_field)(lambda event: self._field_done())
        for keys in self._keys.keys["newline"]:
            self._bindings.add(*keys, filter=self._in_field)(lambda event: self._view.field.insert_text("\n"))
        for name in ("escape", "c-c", "s-tab"):
            self._bindings.add(name, filter=self._in_field)(self._field_left(name))

    def _then_sync(self, handler: Callable[[KeyPressEvent], None]) -> Callable[[KeyPressEvent], None]:
        def handle(event: KeyPressEvent) -> None:
            handler(event)
            self._view.sync_focus()

        return handle

    def _sent(self, handler: Callable[[KeyPressEvent], None]) -> Callable[[KeyPressEvent], None]:
        def handle(event: KeyPressEvent) -> None:
            handler(event)
            if not self._composer.text:
                event.app.vi_state.input_mode = InputMode.INSERT  # a new prompt is typed into, as in a shell

        return handle

    def _submit(self, event: KeyPressEvent) -> None:
        buffer = self._composer.buffer
        state = buffer.complete_state
        if state is not None and state.current_completion is not None:
            buffer.complete_state = None
            if not buffer.text.startswith("/"):
                return
        if buffer.document.text_before_cursor.endswith("\\"):
            self._composer.newline()
            return
        self._actions.submit()
        self._dialog.guard.sent()

    def _escape(self, event: KeyPressEvent) -> None:
        buffer = self._composer.buffer
        if buffer.complete_state is not None:
            buffer.cancel_completion()
        else:
            self._actions.interrupt()

    def _leave(self, event: KeyPressEvent) -> None:
        if self._composer.text:
            self._composer.buffer.delete()
        else:
            self._actions.leave()
            self._dialog.guard.sent()

    def _earlier(self, event: KeyPressEvent) -> None:
        buffer = self._composer.buffer
        if has_completions():
            buffer.complete_previous()
        elif buffer.document.cursor_position_row > 0:
            buffer.cursor_up(event.arg)
        elif buffer.text or not self._actions.recall_queued():
            buffer.history_backward(event.arg)

    def _later(self, event: KeyPressEvent) -> None:
        buffer = self._composer.buffer
        if has_completions():
            buffer.complete_next()
        elif buffer.document.cursor_position_row < buffer.document.line_count - 1:
            buffer.cursor_down(event.arg)
        else:
            buffer.history_forward(event.arg)

    def _tab(self, event: KeyPressEvent) -> None:
        buffer = self._composer.buffer
        if has_completions():
            buffer.complete_next()
        elif self._dialog.open:
            self._dialog.focus()
        elif buffer.text:
            buffer.start_completion(select_first=True)

    def _back_tab(self) -> None:
        if has_completions():
            self._composer.buffer.complete_previous()
        else:
            self._actions.cycle_mode()

    def _paste(self, event: KeyPressEvent) -> None:
        if self._dialog.field:
            self._view.field.insert_text(event.data.replace("\r\n", "\n").replace("\r", "\n"))
            return
        self._dialog.paste()
        if not self._actions.take_dropped(event.data):
            self._composer.paste(event.data)
        self._view.sync_focus()

    def _field_done(self) -> None:
        self._dialog.submit_field(self._view.field.text)
        self._view.sync_focus()

    def _field_left(self, name: str) -> Callable[[KeyPressEvent], None]:
        def handle(event: KeyPressEvent) -> None:
            if name == "c-c":
                self._dialog.refuse()
            elif name == "s-tab":
                self._dialog.unfocus()
            else:
                self._dialog.back()
            self._view.sync_focus()

        return handle


def _bind_dialog(bindings: KeyBindings, composer: Composer, dialog: Dialog, view: View) -> None:
    """Bind every key while a question has the keyboard, so that nothing slips through to the draft unasked."""
    in_dialog = Condition(lambda: dialog.focused and not dialog.field)

    def named(name: str) -> Callable[[KeyPressEvent], None]:
        def handle(event: KeyPressEvent) -> None:
            dialog.key(name)
            view.sync_focus()

        return handle

    for key, name in _DIALOG_KEYS.items():
        bindings.add(key, filter=in_dialog)(named(name))
    for key in _IGNORED_IN_DIALOG:
        bindings.add(key, filter=in_dialog)(lambda event: None)

    def character(event: KeyPressEvent) -> None:
        data = event.data
        behind = event.app.key_processor.input_queue
        burst = len(data) > 1 or any(_is_character(press.key, press.data) for press in list(behind)[:1])
        if not dialog.key(data, burst=burst) and data.isprintable():
            composer.buffer.insert_text(data)
        view.sync_focus()

    bindings.add(Keys.Any, filter=in_dialog)(character)


def _is_character(key: Keys | str, data: str) -> bool:
    return not isinstance(key, Keys) and data.isprintable()
