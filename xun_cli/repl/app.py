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
from typing import TYPE_CHECKING, Any

from prompt_toolkit.application import Application
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from xun_cli._version import __version__
from xun_cli.frontend.clipboard import copy_text
from xun_cli.frontend.conversation import Conversation
from xun_cli.frontend.dialog import Dialog
from xun_cli.frontend.paths import PathOffers
from xun_cli.frontend.threads import in_thread
from xun_cli.render.live import FRAME
from xun_cli.render.safe import safe
from xun_cli.render.status import Status
from xun_cli.render.text import ACCENT, BOLD, DIM, PLAIN, Line, ansi, cut, cut_left, line_width
from xun_cli.render.transcript import Transcript
from xun_cli.repl.actions import Hint, KeyActions
from xun_cli.repl.bindings import key_map, register_sequences
from xun_cli.repl.completion import InputCompleter
from xun_cli.repl.composer import Composer
from xun_cli.repl.history import PrivateHistory
from xun_cli.repl.keys import make_bindings
from xun_cli.repl.notify import Notifier
from xun_cli.repl.screen import InlineRenderer
from xun_cli.repl.view import View

if TYPE_CHECKING:
    from prompt_toolkit.input import Input

    from xun_cli.options import StartOptions
    from xun_cli.places import Places
    from xun_cli.session.session import Session
    from xun_cli.settings import Settings


GONE = 129
"""The exit code when the terminal went away, as a shell reports SIGHUP."""

_TERMINAL_GONE = frozenset({errno.EIO, errno.ENXIO})
"""What reading or writing a terminal that was closed gives; such an end is no fault of xun."""


def run_repl(
    options: StartOptions,
    settings: Settings,
    places: Places,
    build: Callable[[], Session],
    *,
    rebuild: Callable[[StartOptions], Session] | None = None,
) -> int:
    """Run the inline front end until the person leaves, and return the exit code.

    The prompt is drawn and takes keys before *build* starts in a thread.

    Args:
        options: As xun was started.
        settings: The settings in force.
        places: The user's files.
        build: Makes the session of this start.
        rebuild: Makes another session, for ``/clear`` and ``/resume``; None: by the composition root.
    """

    def compose(changed: StartOptions) -> Session:
        from xun_cli.compose import build_session

        return build_session(changed, settings, interactive=True)

    async def main() -> tuple[int, str]:
        repl = Repl(options, settings, places, build, rebuild or compose)
        return await repl.run()

    code, farewell = asyncio.run(main())
    try:
        if farewell:
            sys.stdout.write(farewell + "\n")
        sys.stdout.flush()
    except OSError:
        # Nobody reads this terminal any more; what is left in the buffer must not fail at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


class Repl:
    """The application: owns the terminal while it runs."""

    def __init__(
        self,
        options: StartOptions,
        settings: Settings,
        places: Places,
        build: Callable[[], Session],
        rebuild: Callable[[StartOptions], Session],
        *,
        keyboard: Input | None = None,
        output: Output | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options, self._settings, self._clock = options, settings, clock
        self._output = output or terminal_output()
        self._color = options.color and not os.environ.get("NO_COLOR")
        self._error: BaseException | None = None
        self._hint = Hint(clock, self.refresh)
        self._branch = ""
        self._ticking = False
        self.transcript = Transcript(self._columns, clock=clock, animated=settings.ui.animations)
        self.conversation = Conversation(
            self,
            self.transcript,
            options=options,
            settings=settings,
            places=places,
            build=build,
            rebuild=rebuild,
            columns=self._columns,
        )
        self.notifier = Notifier(settings.ui.notify, settings.ui.notify_when, self._output)
        self.composer = self._make_composer(places)
        self.dialog = self._make_dialog()
        self.view = self._make_view()
        self.app = self._application(keyboard)

    def _make_view(self) -> View:
        return View(
            self.composer,
            self.dialog,
            self.transcript,
            status=self._status,
            size=self._output.get_size,
            notes=self._notes,
            hints=self._settings.ui.hints,
        )

    def _make_composer(self, places: Places) -> Composer:
        ui = self._settings.ui
        history = PrivateHistory(None if self._options.no_session else places.history_file)
        completer = InputCompleter(self._slash, PathOffers(self._options.cwd).offers)
        return Composer(
            history, completer, fold_lines=ui.paste_fold_lines, fold_chars=ui.paste_fold_chars, clock=self._clock
        )

    def _make_dialog(self) -> Dialog:
        return Dialog(
            self.conversation.answer,
            self.conversation.interrupt,
            has_draft=lambda: bool(self.composer.text) or self.view.layout.is_searching,
            withdraw=self.conversation.own.withdraw,
            size=lambda: (self._columns(), self.view.dialog_rows()),
            clock=self._clock,
        )

    def _columns(self) -> int:
        return self._output.get_size().columns

    def _application(self, keyboard: Input | None) -> Application[int]:
        register_sequences()
        keys = key_map(self._settings.keys)
        self._key_problems = keys.problems
        app: Application[int] = Application(
            layout=self.view.layout,
            key_bindings=make_bindings(keys, self._actions(), self.composer, self.dialog, self.view),
            style=Style([]),
            include_default_pygments_style=False,
            full_screen=False,
            mouse_support=False,
            erase_when_done=True,
            color_depth=ColorDepth.DEPTH_4_BIT if self._color else ColorDepth.DEPTH_1_BIT,
            editing_mode=EditingMode.VI if self._settings.ui.editing == "vi" else EditingMode.EMACS,
            enable_page_navigation_bindings=False,
            terminal_size_polling_interval=None,
            input=keyboard,
            output=self._output,
        )
        app.ttimeoutlen = 0.05  # how long ESC waits for the rest of a sequence
        app.timeoutlen = 0.1
        reflows = "XTERM_VERSION" not in os.environ and os.environ.get("TERM") != "linux"
        self.screen = InlineRenderer(Style([]), self._output, color=self._color, reflows=reflows)
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
            hint=self._hint,
            clock=self._clock,
        )

    async def run(self) -> tuple[int, str]:
        """Run until the end; returns the exit code and the last line to print."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._failed)
        if sys.platform != "win32":
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self.finish, 128 + number)
            loop.add_signal_handler(signal.SIGCONT, self._continued)
        self.show(self.transcript.say(self._welcome(), "welcome"))
        for problem in self._key_problems:
            self.conversation.warn(problem)
        code = 1
        try:
            code = await self.app.run_async(pre_run=self._drawn_soon, set_exception_handler=False)
        except (EOFError, OSError):
            code = GONE
        finally:
            with suppress(OSError):
                self.notifier.stop()
                self._output.write_raw(self.screen.take_above())
                self._output.flush()
            await self.conversation.close(code)
        if self._error is not None:
            raise self._error
        return code, self._farewell()

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
        if isinstance(error, OSError) and error.errno in _TERMINAL_GONE:
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
        if not self._ticking and self._moves():
            self._ticking = True
            self.conversation.spawn(self._tick())

    def questions_changed(self) -> None:
        """Show the oldest open question, or none."""
        before = self.dialog.request.id if self.dialog.request is not None else ""
        self.dialog.update(self.conversation.pending())
        if self.dialog.request is not None and self.dialog.request.id != before:
            self.notifier.waiting(self.dialog.request.prompt)
        self.view.sync_focus()
        self.refresh()

    def finish(self, code: int) -> None:
        """Leave with *code*."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit(result=code)

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
                await asyncio.sleep(FRAME if self._settings.ui.animations else 1.0)
                self.app.invalidate()
        finally:
            self._ticking = False
        self.app.invalidate()

    def _notes(self) -> list[Line]:
        if not self.conversation.held:
            return []
        count = self.conversation.held
        what = "your message goes" if count == 1 else f"your {count} messages go"
        columns = self._columns()
        return [[(DIM, cut(f"One moment: {what} out as soon as xun is ready.", columns))]]

    def _status(self) -> Status:
        hint = self._hint.text
        session = self.conversation.session
        if session is None:
            return Status(hint=hint)
        policy, usage = session.policy, session.usage
        return Status(
            model=session.model_name,
            context_pct=session.context_pct,
            cost_usd=usage.cost_usd,
            tokens=usage.input + usage.output,
            mode=policy.mode,
            auto=policy.auto_remaining,
            branch=self._branch,
            granted=(len(policy.command_allowlist), len(policy.write_allowlist)),
            hint=hint,
        )

    async def _read_branch(self) -> None:
        def read() -> str:
            from xun_cli.vcs import read_branch

            return read_branch(self._options.cwd)

        self._branch = await in_thread(read)
        self.refresh()

    def _welcome(self) -> list[Line]:
        columns = self._columns()
        folder = str(self._options.cwd)
        home = os.path.expanduser("~")
        shown = "~" + folder[len(home) :] if folder == home or folder.startswith(home + os.sep) else folder
        head: Line = [(f"{BOLD} {ACCENT}", "xun"), (DIM, f" {__version__}  ")]
        lines: list[Line] = [[*head, (PLAIN, cut_left(safe(shown, multiline=False), columns - line_width(head)))]]
        if self._settings.ui.hints:
            lines.append([(DIM, cut("/help lists the commands · Esc interrupts · Ctrl-D leaves", columns))])
        return lines

    def _farewell(self) -> str:
        session = self.conversation.session
        if session is None or session.store is None or not session.turn:
            return ""
        return ansi([(DIM, "Go on with this session: "), (PLAIN, f"xun -r {safe(session.id)}")], self._color)


def terminal_output() -> Vt100_Output:
    """Return the terminal as it is; the cursor's position is never asked for, no answer is waited for."""
    output = Vt100_Output.from_pty(sys.stdout, term=os.environ.get("TERM"))
    output.enable_cpr = False
    return output
