"""The inline front end: draws first, loads after, and never leaves the terminal in a wrong mode."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from prompt_toolkit.enums import EditingMode
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style

from xun_cli.frontend.actions import Hint
from xun_cli.frontend.clipboard import copy_text
from xun_cli.frontend.dialog import Dialog, DialogViews
from xun_cli.frontend.notify import Notifier
from xun_cli.frontend.outcome import Carried, Leave, Switch
from xun_cli.frontend.paths import PathOffers
from xun_cli.frontend.signs import show_state, signs_for
from xun_cli.frontend.status_command import status_command
from xun_cli.frontend.texts import branch_now, farewell, notes_of, status_of, welcome_lines
from xun_cli.frontend.viewing import Viewing
from xun_cli.render.live import FRAME
from xun_cli.render.text import Line, ansi
from xun_cli.render.transcript import Transcript
from xun_cli.repl.actions import KeyActions
from xun_cli.repl.bindings import key_map, register_sequences
from xun_cli.repl.colors import Look
from xun_cli.repl.completion import InputCompleter
from xun_cli.repl.composer import Composer
from xun_cli.repl.history import PrivateHistory
from xun_cli.repl.keys import make_bindings
from xun_cli.repl.overlay import InlineApplication, Overlays
from xun_cli.repl.screen import InlineRenderer
from xun_cli.repl.terminal import terminal_output
from xun_cli.repl.view import View

if TYPE_CHECKING:
    from prompt_toolkit.input import Input

    from xun_cli.options import StartOptions
    from xun_cli.settings import Settings


GONE = 129
"""The exit code when the terminal went away, as a shell reports SIGHUP."""

INLINE = "This is the inline front end. /tui full takes the whole terminal, /tui plain prints line by line."
"""What /tui answers here."""

_TERMINAL_GONE = frozenset({errno.EIO, errno.ENXIO})
"""What reading or writing a terminal that was closed gives; such an end is no fault of xun."""


class Repl:
    """The application: owns the terminal while it runs.

    Args:
        options: As xun was started.
        settings: The settings in force.
        carried: The conversation, and what the front end before has left.
        keyboard, output: The terminal.
        clock: Gives seconds.
    """

    def __init__(
        self,
        options: StartOptions,
        settings: Settings,
        carried: Carried,
        *,
        keyboard: Input | None = None,
        output: Output | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options, self._settings, self._carried, self._clock = options, settings, carried, clock
        self._output = output or terminal_output()
        self._look = Look(settings, options.color)
        self._error: BaseException | None = None
        self._hint = Hint(clock, self.refresh)
        self._branch = ""
        self._ticking = False
        self.transcript = Transcript(self._columns, clock=clock, animated=settings.ui.animations)
        self.conversation = carried.conversation
        ui = settings.ui
        self._signs = signs_for(ui.title, ui.progress, os.environ, self._write, clock)
        self.notifier = Notifier(ui.notify, ui.notify_when, self._write, signs=self._signs)
        self.composer = self._make_composer()
        self.overlays = Overlays(
            self._output,
            self._look,
            focus_changed=partial(setattr, self.notifier, "focused"),
            key_pressed=lambda: self.dialog.guard.typed(),
            lending=lambda on: self.notifier.stop() if on else self.notifier.start(),
        )
        self.views = Viewing(self, self.overlays, self.conversation, settings)
        self.dialog = self._make_dialog()
        self.views.serve(self.dialog)
        self.view = self._make_view()
        self.app = self._application(keyboard)
        self.overlays.over(self.app)

    def _make_view(self) -> View:
        command = status_command(self._settings, self._options.cwd, self.conversation, self.refresh)
        return View(
            self.composer,
            self.dialog,
            self.transcript,
            status=lambda: status_of(
                self.conversation.session, hint=self._hint.text, branch=self._branch, command=command
            ),
            size=self._output.get_size,
            notes=lambda: notes_of(self.conversation, self._columns()),
            hints=self._settings.ui.hints,
        )

    def _write(self, text: str) -> None:
        self._output.write_raw(text)
        self._output.flush()

    def _make_composer(self) -> Composer:
        history = PrivateHistory(self._carried.history)
        completer = InputCompleter(self._slash, PathOffers(self._options.cwd, self._settings.workspace.ignore).offers)
        composer = Composer(history, completer, folds=self._carried.folds, clock=self._clock)
        composer.put(self._carried.draft)
        return composer

    def _make_dialog(self) -> Dialog:
        ui = self._settings.ui
        return Dialog(
            self.conversation.answer,
            self.conversation.interrupt,
            has_draft=lambda: bool(self.composer.text) or self.view.layout.is_searching or self.overlays.open,
            views=DialogViews(self.views.question, self.views.edit, ui.diff_split_min, ui.diff == "split"),
            withdraw=self.conversation.own.withdraw,
            size=lambda: (self._columns(), self.view.dialog_rows()),
            clock=self._clock,
        )

    def _columns(self) -> int:
        return self._output.get_size().columns

    def rows(self) -> int:
        """Return the height of the terminal."""
        return self._output.get_size().rows

    def _application(self, keyboard: Input | None) -> InlineApplication:
        register_sequences()
        keys = key_map(self._settings.keys)
        self._key_problems = keys.problems
        app = InlineApplication(
            layout=self.view.layout,
            key_bindings=make_bindings(keys, self._actions(), self.composer, self.dialog, self.view),
            style=Style([]),
            style_transformation=self._look.region,
            include_default_pygments_style=False,
            full_screen=False,
            mouse_support=False,
            erase_when_done=True,
            color_depth=self._look.depth,
            editing_mode=EditingMode.VI if self._settings.ui.editing == "vi" else EditingMode.EMACS,
            enable_page_navigation_bindings=False,
            terminal_size_polling_interval=None,
            input=keyboard,
            output=self._output,
        )
        app.ttimeoutlen = 0.05  # how long ESC waits for the rest of a sequence
        app.timeoutlen = 0.1
        reflows = "XTERM_VERSION" not in os.environ and os.environ.get("TERM") != "linux"
        self.screen = InlineRenderer(
            Style([]), self._output, color=self._look.color, reflows=reflows, theme=self._look.theme
        )
        app.renderer = self.screen
        app.key_processor.before_key_press += self._key_pressed
        return app

    def _actions(self) -> KeyActions:
        return KeyActions(
            self,
            self.conversation,
            self.composer,
            self.transcript,
            self.notifier,
            views=self.views,
            hint=self._hint,
            clock=self._clock,
        )

    async def run(self) -> Leave | Switch:
        """Run until the person leaves or wants another front end."""
        self._signals()
        if not self._carried.seen:
            welcome = welcome_lines(self._options.cwd, self._columns(), hints=self._settings.ui.hints)
            self.show(self.transcript.say(welcome, "welcome"))
        missed = self.conversation.attach(self, self.transcript, self._columns, seen=self._carried.seen)
        self.conversation.view_of, self.conversation.edited = self.views.of_line, self.views.edited
        self.show(missed)
        for problem in self._key_problems:
            self.conversation.warn(problem)
        outcome: int | Switch = 1
        try:
            outcome = await self.app.run_async(pre_run=self._drawn_soon, set_exception_handler=False)
        except (EOFError, OSError):
            outcome = GONE
        finally:
            self._carried.draft = self.composer.text
            self._carried.seen = self.conversation.detach()
            with suppress(OSError):
                self.notifier.stop()
                self._write(self.screen.take_above())
            self._signals(own=False)
            if not isinstance(outcome, Switch):
                await self.conversation.close(outcome)
        if self._error is not None:
            raise self._error
        last = ansi(farewell(self.conversation.session), self._look.color, self._look.theme())
        return outcome if isinstance(outcome, Switch) else Leave(outcome, last)

    def _signals(self, *, own: bool = True) -> None:
        """Handle signals here, or no more."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._failed if own else None)
        if sys.platform == "win32":
            return
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCONT):
            if not own:
                loop.remove_signal_handler(number)
            elif number == signal.SIGCONT:
                loop.add_signal_handler(number, self._continued)
            else:
                loop.add_signal_handler(number, self.finish, 128 + number)

    def _drawn_soon(self) -> None:
        """Start everything heavy once the prompt has been drawn for the first time."""

        def drawn(_: Any) -> None:
            self.app.after_render -= drawn
            self.notifier.start()
            self.conversation.start()

        self.app.after_render += drawn

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is None:
            return
        if isinstance(error, EOFError) or (isinstance(error, OSError) and error.errno in _TERMINAL_GONE):
            self.finish(GONE)
            return
        self._error = self._error or error
        self.finish(1)

    # -- what the conversation asks for -------------------------------------------------------

    def show(self, lines: Iterable[Line]) -> None:
        """Print finished lines above the live region."""
        self.screen.print_above(lines)
        self.refresh()

    def refresh(self) -> None:
        """Draw soon, and keep drawing while something moves."""
        self.app.invalidate()
        show_state(self._signs, self.conversation, self.transcript, self.dialog, self._options.cwd)
        if not self._ticking and self._moves():
            self._ticking = True
            self.conversation.spawn(self._tick())

    def questions_changed(self) -> None:
        """Show the oldest open question, or none."""
        before = self.dialog.request.id if self.dialog.request is not None else ""
        self.dialog.update(self.conversation.pending())
        if self.dialog.request is not None and self.dialog.request.id != before:
            self.notifier.waiting(self.dialog.request.prompt)
        waits = self.dialog.request is not None and not self.dialog.focused
        self.overlays.remark("an approval waits" if waits else "")
        self.view.sync_focus()
        self.refresh()

    def opened(self, earlier: Callable[[], list[Line]]) -> None:
        """Show the last turns of a session that goes on, and from now on the branch."""
        self.show(earlier())
        self.conversation.spawn(self._read_branch())

    def finish(self, code: int) -> None:
        """Leave with *code*."""
        self._end(code)

    def switch(self, to: str) -> None:
        """Give way to another front end."""
        if to in ("", "inline"):
            self.conversation.own_lines(lambda transcript: transcript.note(INLINE))
        else:
            self._end(Switch(to))

    def say(self, text: str) -> None:
        """Show a passing remark."""
        self._hint.say(text)

    def put_draft(self, text: str) -> None:
        """Replace the draft, when it is empty."""
        if not self.composer.text:
            self.composer.put(text)

    def _end(self, outcome: int | Switch) -> None:
        if self.overlays.close(lambda: self._end(outcome)):
            return
        if self.app.is_running and not self.app.is_done:
            self.app.exit(result=outcome)

    def clear_screen(self) -> None:
        """Scroll everything into the scrollback; nothing is erased."""
        self.screen.scroll_away()
        self.refresh()

    def copy(self, text: str) -> None:
        """Put *text* into the clipboard and say how."""
        self.show(self.transcript.note(copy_text(text, self._output.write_raw, self._output.flush)))

    def redraw_region(self) -> None:
        """Erase the live region and draw it again."""
        self.screen.erase(leave_alternate_screen=False)
        self.refresh()

    def stop_process(self) -> None:
        """Stop the process; the terminal gets its modes back until it is continued."""
        self.notifier.stop()
        self.app.suspend_to_background()

    def _continued(self) -> None:
        self.notifier.start()
        self.refresh()

    def turn_ended(self) -> None:
        """Look at the branch again, and tell who is not looking."""
        self.notifier.waiting("xun has finished")
        self.conversation.spawn(self._read_branch())

    # -- parts --------------------------------------------------------------------------------

    def _key_pressed(self, _: Any) -> None:
        if not self.dialog.focused:
            self.dialog.guard.typed()

    def _slash(self, text: str) -> list[tuple[str, str]]:
        context, registry = self.conversation.context(), self.conversation.registry
        return registry.complete(context, text) if registry is not None and context is not None else []

    def _moves(self) -> bool:
        return self.transcript.running or bool(self._hint.text) or self.conversation.held > 0

    async def _tick(self) -> None:
        """Draw again and again while something moves; at rest nothing runs."""
        try:
            while self._moves():
                await asyncio.sleep(FRAME if self._settings.ui.animations and not self.overlays.open else 1.0)
                self.refresh()
        finally:
            self._ticking = False
        self.refresh()

    async def _read_branch(self) -> None:
        self._branch = await branch_now(self._options.cwd, known=bool(self._branch))
        self.refresh()
