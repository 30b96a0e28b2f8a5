"""From keys to actions: the open view's, the question's, the search's, the draft's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from xun_cli.tui.keys import as_names, key_name

if TYPE_CHECKING:
    from textual.events import Key

    from xun_cli.frontend.bindings import KeyMap
    from xun_cli.tui.app import FullScreen
    from xun_cli.tui.face import Face
    from xun_cli.tui.vi_draft import ViDraft

BURST = 0.03
"""Seconds in which a second character shows that text was dropped into the terminal: nobody types that fast."""

_READING = frozenset({"pageup", "pagedown", "c-home", "c-end", "s-up", "s-down"})
_ANYWHERE = ("redraw", "suspend")


class Router:
    """Decides what a key does.

    Args:
        face: What is shown.
        app: The widgets.
        keys: The keys of each action.
        vi: Whether the draft has vi's keys.
    """

    def __init__(self, face: Face, app: FullScreen, keys: KeyMap, *, vi: bool = False) -> None:
        self._face, self._app = face, app
        self.vi: ViDraft | None = None
        if vi:
            from xun_cli.tui.vi_draft import ViDraft

            search = app.composer.recall.begin_search
            asks = {"earlier": self._earlier, "later": self._later, "search": lambda: search(app.composer.text)}
            self.vi = ViDraft(app.composer, asks)
            app.composer.on_take = self.vi.keys.begin
        self._held: tuple[str, asyncio.TimerHandle] | None = None
        self._actions: dict[str, Callable[[], None]] = {}
        self._reserved: dict[str, Callable[[], None]] = {}
        self.problems: list[str] = []
        for action, handler in self._table().items():
            names, beyond = as_names(keys.keys.get(action, ()))
            self._actions |= dict.fromkeys(names, handler)
            if action in _ANYWHERE:
                self._reserved |= dict.fromkeys(names, handler)
            if beyond:
                self.problems.append(f"keys.{action}: {beyond[0]!r} is a sequence, which only the inline front end has")

    def _table(self) -> dict[str, Callable[[], None]]:
        face, actions = self._face, self._face.actions
        return {
            "submit": self._submit,
            "newline": self._app.composer.newline,
            "steer": actions.steer,
            "interrupt": self._escape,
            "cancel": self._cancel,
            "leave": self._leave,
            "earlier": self._earlier,
            "later": self._later,
            "editor": face.doing.edit_draft,
            "complete": self._tab,
            "mode": self._back_tab,
            "expand": face.doing.expand,
            "todo": face.doing.show_todos,
            "panel": face.toggle_panel,
            "transcript": lambda: self._read("pageup"),
            "image": face.views.image,
            "redraw": face.doing.redraw,
            "suspend": self._app.stop_process,
        }

    # -- keys -----------------------------------------------------------------------------------

    def take(self, event: Key) -> bool:
        """Take a key; False leaves it to the input that has the focus."""
        name = key_name(event)
        face = self._face
        if face.overlay.open:
            face.overlay.key(name)
            return True
        taken = self._take(name)
        face.refresh()
        return taken

    def _take(self, name: str) -> bool:
        face, dialog = self._face, self._face.dialog
        if name in self._reserved:
            self._reserved[name]()
        elif dialog.field:
            return self._in_field(name)
        elif dialog.focused:
            self._in_dialog(name)
        else:
            dialog.guard.typed()
            if self._app.composer.recall.searching:
                return self._in_search(name)
            return self._in_draft(name)
        face.refresh()
        return True

    def paste(self, text: str) -> None:
        """Take pasted text: it never answers anything."""
        face, dialog = self._face, self._face.dialog
        if face.overlay.open:
            face.overlay.typed(text)
            return
        if dialog.field:
            self._app.field.insert(text.replace("\r\n", "\n").replace("\r", "\n"))
            return
        dialog.guard.typed()
        dialog.paste()
        if not face.views.dropped(text):
            self._app.composer.add_paste(text)
        face.refresh()

    # -- a question -------------------------------------------------------------------------------

    def _in_dialog(self, name: str) -> None:
        """Hold a character for a moment: text that is dropped into the terminal comes as many at once."""
        held = self._release()
        character = len(name) == 1 or name == "enter"
        if held is not None and character:
            self._give(held, burst=True)
            self._give(name, burst=True)
            return
        if held is not None:
            self._give(held, burst=False)
        if not character:
            self._face.dialog.key(name)
            return
        timer = asyncio.get_running_loop().call_later(BURST, self._give_held)
        self._held = (name, timer)

    def _release(self) -> str | None:
        if self._held is None:
            return None
        name, timer = self._held
        timer.cancel()
        self._held = None
        return name

    def _give_held(self) -> None:
        if (name := self._release()) is not None:
            self._give(name, burst=False)
            self._face.refresh()

    def _give(self, name: str, *, burst: bool) -> None:
        dialog, composer = self._face.dialog, self._app.composer
        taken = dialog.focused and dialog.key(name, burst=burst)
        if not taken and len(name) == 1 and name.isprintable():
            composer.insert(name)

    def _in_field(self, name: str) -> bool:
        dialog = self._face.dialog
        if name == "enter":
            dialog.submit_field(self._app.field.text)
        elif name in ("escape enter", "c-j"):
            self._app.field.insert("\n")
        elif name == "escape":
            dialog.back()
        elif name == "c-c":
            dialog.refuse()
        elif name == "s-tab":
            dialog.unfocus()
        else:
            return False
        self._face.refresh()
        return True

    # -- the draft --------------------------------------------------------------------------------

    def _in_draft(self, name: str) -> bool:
        handler = self._actions.get(name)
        if self.vi is not None and self._in_vi(self.vi, name, free=handler is None or name == "escape"):
            return True
        if handler is not None:
            handler()
        elif name in _READING or (name in ("home", "end") and self._at_end(name)):
            self._read(name)
        elif name == "c-r":
            self._app.composer.recall.begin_search(self._app.composer.text)
        elif name in ("c-p", "c-n"):
            (self._earlier if name == "c-p" else self._later)()
        elif name == "backspace":
            self._app.composer.backspace()
        elif name == "c-underscore":
            self._app.composer.undo()  # Ctrl-Z, Textual's key for it, stops the process
        else:
            return False
        return True

    def _in_vi(self, vi: ViDraft, name: str, *, free: bool) -> bool:
        """Let vi take a key that is *free*: what the settings bind goes on doing that."""
        taken = free and vi.take(name)
        if free and not taken and name.startswith("escape ") and len(name) == len("escape x"):
            # Esc and the next letter came together: a fast hand, or a slow line.
            vi.take("escape")
            return self._in_draft(name[-1])
        if taken:
            self._face.completing.close()
        else:
            vi.keys.forget()
        return taken

    def _at_end(self, name: str) -> bool:
        """Tell whether Home or End has nothing left to do in the draft."""
        composer = self._app.composer
        if self.vi is not None and self.vi.normal:
            return True  # vi has taken it if there was
        return composer.cursor_at_start_of_line if name == "home" else composer.cursor_at_end_of_line

    def _read(self, name: str) -> None:
        transcript = self._app.transcript
        if name in ("pageup", "pagedown"):
            transcript.page(-1 if name == "pageup" else 1)
        elif name in ("s-up", "s-down"):
            transcript.step(-1 if name == "s-up" else 1)
        elif name in ("home", "c-home"):
            transcript.go_to_top()
        else:
            transcript.go_to_end()

    def _submit(self) -> None:
        completing, composer = self._face.completing, self._app.composer
        if completing.open and completing.chosen is not None:
            completing.close()
            if not composer.text.startswith("/"):
                return
        if composer.before_cursor.endswith("\\"):
            composer.newline()
            return
        completing.close()
        self._face.actions.submit()
        self._face.dialog.guard.sent()
        self._face.uncover()
        self._app.transcript.go_to_end()

    def _escape(self) -> None:
        if self._face.completing.open:
            self._face.completing.cancel()
        else:
            self._face.actions.interrupt_or(self._face.views.rewind)

    def _cancel(self) -> None:
        if not self._face.doing.copy_selection():
            self._face.completing.close()
            self._face.actions.cancel()

    def _leave(self) -> None:
        if self._app.composer.text:
            self._app.composer.action_delete_right()
        else:
            self._face.actions.leave()
            self._face.dialog.guard.sent()

    def _earlier(self) -> None:
        completing, composer = self._face.completing, self._app.composer
        if completing.open:
            completing.move(-1)
        elif not composer.cursor_at_first_line:
            composer.action_cursor_up()
        elif composer.text or not self._face.actions.recall_queued():
            self._recall(composer.recall.earlier(composer.text))

    def _later(self) -> None:
        completing, composer = self._face.completing, self._app.composer
        if completing.open:
            completing.move(1)
        elif not composer.cursor_at_last_line:
            composer.action_cursor_down()
        else:
            self._recall(composer.recall.later())

    def _recall(self, text: str | None) -> None:
        if text is not None:
            self._app.composer.pasted = True  # no completion for what was typed long ago
            self._app.composer.put(text)

    def _tab(self) -> None:
        completing = self._face.completing
        if completing.open:
            completing.move(1)
        elif self._face.dialog.open:
            self._face.dialog.focus()
        elif self._app.composer.text:
            completing.look(choose=True)

    def _back_tab(self) -> None:
        if self._face.completing.open:
            self._face.completing.move(-1)
        else:
            self._face.actions.cycle_mode()

    # -- the search -------------------------------------------------------------------------------

    def _in_search(self, name: str) -> bool:
        recall = self._app.composer.recall
        if name == "c-r":
            self._found(recall.search(recall.query, older=True))
        elif name == "backspace":
            self._found(recall.search(recall.query[:-1]))
        elif name in ("escape", "c-c", "c-g"):
            self._found(recall.end_search(keep=False))
        elif len(name) == 1:
            self._found(recall.search(recall.query + name))
        else:
            recall.end_search(keep=True)
            return name == "enter" or self._in_draft(name)
        return True

    def _found(self, text: str | None) -> None:
        self._recall(text)
