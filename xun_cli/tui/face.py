"""What the full-screen front end shows and does: the host of the conversation, drawn by `xun_cli.tui.app`."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from xun_cli.frontend.actions import ConversationActions, Hint
from xun_cli.frontend.bindings import key_map
from xun_cli.frontend.dialog import Dialog, DialogViews
from xun_cli.frontend.notify import Notifier
from xun_cli.frontend.outcome import Carried, Switch
from xun_cli.frontend.paths import PathOffers
from xun_cli.frontend.signs import show_state, signs_for
from xun_cli.frontend.status_command import status_command
from xun_cli.frontend.texts import branch_now, farewell, welcome_lines
from xun_cli.frontend.viewing import Viewing
from xun_cli.render.live import FRAME
from xun_cli.render.text import Line, ansi
from xun_cli.render.theme import theme_for
from xun_cli.render.transcript import Transcript
from xun_cli.tui.completing import Completing
from xun_cli.tui.doing import Doing
from xun_cli.tui.drawing import Drawing
from xun_cli.tui.keys import known
from xun_cli.tui.overlay import Overlay
from xun_cli.tui.router import Router
from xun_cli.tui.rows import option_at
from xun_cli.tui.side import Facts, facts_of

if TYPE_CHECKING:
    from textual.events import Key

    from xun_cli.options import StartOptions
    from xun_cli.settings import Settings
    from xun_cli.tui.app import FullScreen
    from xun_cli.tui.areas import LineArea

FULL = "This is the full-screen front end. /tui inline keeps the terminal's own scrollback, /tui plain prints lines."
"""What /tui answers here."""

WHEEL_ROWS = 3


class Face:
    """One run of the full-screen front end.

    Args:
        app: The widgets.
        options: As xun was started.
        settings: The settings in force.
        carried: The conversation, and what the front end before has left.
        clock: Gives seconds.
    """

    def __init__(
        self,
        app: FullScreen,
        options: StartOptions,
        settings: Settings,
        carried: Carried,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._options, self._settings, self._carried = app, options, settings, carried
        self._clock = clock
        self.conversation = carried.conversation
        self.transcript = self._new_transcript(self._columns)
        self.hint = Hint(clock, self.refresh)
        ui, self.hints = settings.ui, settings.ui.hints
        self._signs = signs_for(ui.title, ui.progress, os.environ, app.write_raw, clock)
        self.notifier = Notifier(ui.notify, ui.notify_when, app.write_raw, reports=False, signs=self._signs)
        self.status_command = status_command(settings, options.cwd, self.conversation, self.refresh)
        self.overlay = Overlay(app, self.refresh)
        self.views = Viewing(self, self.overlay, self.conversation, settings)
        self.dialog = Dialog(
            self.conversation.answer,
            self.conversation.interrupt,
            has_draft=lambda: bool(app.composer.text) or app.composer.recall.searching or self.overlay.open,
            views=DialogViews(self.views.question, self.views.edit, ui.diff_split_min, ui.diff == "split"),
            withdraw=self.conversation.own.withdraw,
            size=lambda: (self.drawing.dialog_columns(), self.drawing.dialog_rows()),
            clock=clock,
        )
        self.views.serve(self.dialog)
        self.facts = Facts()
        self.branch = ""
        self.drawing = Drawing(self, app)
        self._ticking = self._dirty = False
        self._alive = True

    # -- life -----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Build what needs the widgets."""
        app = self._app
        self.actions = ConversationActions(
            self, self.conversation, app.composer, self.notifier, hint=self.hint, clock=self._clock
        )
        self.doing = Doing(self, app)
        paths = PathOffers(self._options.cwd, self._settings.workspace.ignore)
        self.completing = Completing(app.composer, self._slash, paths.offers, self.refresh)
        keys = key_map(self._settings.keys, known)
        self.router = Router(self, app, keys, vi=self._settings.ui.editing == "vi")
        self._problems = [*keys.problems, *self.router.problems]
        app.transcript.on_follow = self.refresh
        app.composer.put(self._carried.draft)
        self.paint()

    def drawn(self) -> None:
        """Go on once the first frame is on the screen: attach to the conversation, or start it."""
        self.notifier.start()
        self.conversation.attach(self, self.transcript, self._columns, seen=self.conversation.journal.last)
        self.conversation.view_of, self.conversation.edited = self.doing.view_of, self.views.edited
        session = self.conversation.session
        if session is not None:
            self.facts = facts_of(item.event for item in session.history())
        self._app.transcript.reload()
        for problem in self._problems:
            self.conversation.warn(problem)
        self.conversation.start()
        self.conversation.spawn(self._read_branch())
        self.paint()

    def end(self) -> None:
        """Detach; what was typed and not sent goes over to the next front end."""
        self._alive = False
        self._carried.draft = self._app.composer.text
        self.conversation.detach()

    def farewell(self) -> str:
        """Return the last line to print."""
        painter = self._app.painter
        return ansi(farewell(self.conversation.session), painter.color, painter.theme)

    def _new_transcript(self, columns: Callable[[], int]) -> Transcript:
        return Transcript(columns, clock=self._clock, animated=self._settings.ui.animations)

    def fresh_transcript(self, columns: int) -> Transcript:
        """Return a transcript that draws entries of the journal again."""
        made = self._new_transcript(lambda: columns)
        made.cwd, made.label = self.transcript.cwd, self.transcript.label
        return made

    def welcome(self, columns: int) -> list[Line]:
        """Return what stands above everything."""
        return [*welcome_lines(self._options.cwd, columns, hints=self._settings.ui.hints), []]

    # -- what the conversation asks for -----------------------------------------------------------

    def show(self, lines: Iterable[Line]) -> None:
        """Show the lines of the newest entry of the journal."""
        entries = self.conversation.journal.entries
        if entries and (event := entries[-1].event) is not None:
            self.facts.take(event)
        if self._alive:
            self._app.transcript.append(lines)

    def opened(self, earlier: Callable[[], list[Line]]) -> None:
        """Show a session from its beginning."""
        session = self.conversation.session
        self.facts = facts_of(item.event for item in session.history()) if session is not None else Facts()
        if self._alive:
            self._app.transcript.open()

    def refresh(self) -> None:
        """Draw soon, and keep drawing while something moves."""
        if not self._alive:
            return
        if not self._dirty and self._app.is_running:
            self._dirty = True
            self._app.call_later(self.paint)
        if not self._ticking and self._moves():
            self._ticking = True
            self.conversation.spawn(self._tick())

    def questions_changed(self) -> None:
        """Show the oldest open question, or none."""
        before = self.dialog.request.id if self.dialog.request is not None else ""
        self.dialog.update(self.conversation.pending())
        if self.dialog.request is not None and self.dialog.request.id != before:
            self.notifier.waiting(self.dialog.request.prompt)
            self.overlay.remark("A question waits: close this view to answer it.")
        self.refresh()

    def finish(self, code: int) -> None:
        """Leave with *code*."""
        self.leave(code)

    @property
    def alive(self) -> bool:
        """Whether the widgets may be touched."""
        return self._alive

    def leave(self, outcome: int | Switch) -> None:
        """End the application; widgets are touched no more, the journal keeps what is missed."""
        if self._alive:
            self.notifier.stop()
            self._alive = False
            self._app.exit(outcome)

    def switch(self, to: str) -> None:
        """Give way to another front end."""
        if to in ("", "full"):
            self.conversation.own_lines(lambda transcript: transcript.note(FULL))
        else:
            self.leave(Switch(to))

    def clear_screen(self) -> None:
        """Scroll everything up, out of sight."""
        self._app.transcript.forget()

    def copy(self, text: str) -> None:
        """Put *text* into the clipboard and say how."""
        self.conversation.spawn(self._copy(text, remark=False))

    async def _copy(self, text: str, *, remark: bool) -> None:
        from xun_cli.tui.app import copy

        said = await copy(text, self._app.write_raw)
        if remark:
            self.hint.say(said)
        else:
            self.conversation.own_lines(lambda transcript: transcript.note(said))

    def turn_ended(self) -> None:
        """Look at the branch again, and tell who is not looking."""
        self.notifier.waiting("xun has finished")
        self.conversation.spawn(self._read_branch())

    # -- what views ask for -----------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Show a passing remark."""
        self.hint.say(text)

    def put_draft(self, text: str) -> None:
        """Replace the draft, when it is empty."""
        if not self._app.composer.text:
            self._app.composer.put(text)

    # -- what widgets tell ------------------------------------------------------------------------

    def take_key(self, event: Key) -> bool:
        """Take a key before the input does."""
        self.conversation.give_way()
        return self.router.take(event)

    def take_paste(self, text: str) -> None:
        """Take pasted text."""
        self.router.paste(text)

    def edited(self) -> None:
        """The draft is another one."""
        self.completing.edited()
        self.refresh()

    def wheel(self, name: str) -> None:
        """Scroll the open view."""
        for _ in range(WHEEL_ROWS if self.overlay.open else 0):
            self.overlay.key(name)

    def clicked(self, area: LineArea, row: int) -> None:
        """A row was clicked: an answer, or a completion."""
        if area is self._app.menu:
            self.completing.choose(self.drawing.offer_at(row))
        elif area is self._app.dialog:
            self._clicked_dialog(row)
        elif area is self._app.side:
            self.views.work()
        self.refresh()

    def _clicked_dialog(self, row: int) -> None:
        dialog = self.dialog
        if dialog.request is None or dialog.field:
            return
        if not dialog.focused:
            dialog.focus()
            return
        at = option_at(dialog.request, self.drawing.dialog_columns(), self.drawing.dialog_rows(), dialog.state, row)
        if at is not None and not dialog.guard.left:
            dialog.key(str(at + 1))

    @property
    def copies_on_select(self) -> bool:
        """Whether selected text goes to the clipboard at once."""
        return self._settings.ui.copy_on_select

    def text_selected(self, text: str) -> None:
        """Something was selected with the mouse."""
        if text and self.copies_on_select:
            self.copy_text(text)

    def copy_text(self, text: str) -> None:
        """Put *text* into the clipboard and say how in passing."""
        self.conversation.spawn(self._copy(text, remark=True))

    def focus_changed(self, focused: bool) -> None:
        """The terminal got or lost the focus."""
        self.notifier.focused = focused

    def resized(self) -> None:
        """Draw every part for the new size; the transcript sees to itself."""
        self.paint()

    def toggle_panel(self) -> None:
        """Show or hide the side panel."""
        self.drawing.panel_open = not self.drawing.panel_open
        self.paint()

    def uncover(self) -> None:
        """Close the side panel where it covers the transcript: who sends wants to see the answer."""
        if self.drawing.panel_open and not self._app.transcript.display:
            self.toggle_panel()

    # -- drawing ----------------------------------------------------------------------------------

    def _moves(self) -> bool:
        return self.transcript.running or bool(self.hint.text) or self.conversation.held > 0

    async def _tick(self) -> None:
        """Draw again and again while something moves; at rest nothing runs."""
        try:
            while self._moves():
                await asyncio.sleep(FRAME if self._settings.ui.animations else 1.0)
                self.paint()
        finally:
            self._ticking = False
        self.paint()

    def paint(self) -> None:
        """Bring every part up to date; what has not changed costs nothing."""
        self._dirty = False
        if self._alive and self._app.is_running and not self._app.lent:
            if self._app.painter.use(theme_for(self._settings.ui.theme, os.environ)):
                self._app.repaint()
            self.drawing.paint()
            show_state(self._signs, self.conversation, self.transcript, self.dialog, self._options.cwd)

    async def _read_branch(self) -> None:
        self.branch = await branch_now(self._options.cwd, known=bool(self.branch))
        self.refresh()

    def _columns(self) -> int:
        return self._app.transcript.columns

    def _slash(self, text: str) -> list[tuple[str, str]]:
        context, registry = self.conversation.context(), self.conversation.registry
        return registry.complete(context, text) if registry is not None and context is not None else []
