"""The Textual application: widgets and events; what they mean is decided in `xun_cli.tui.face`."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App, ComposeResult
from textual.containers import Horizontal

from xun_cli.frontend.outcome import Carried, Leave, Switch
from xun_cli.frontend.signals import handled
from xun_cli.frontend.threads import in_thread
from xun_cli.render.theme import theme_for
from xun_cli.tui.areas import FilledArea, LineArea
from xun_cli.tui.composer import Composer, Input
from xun_cli.tui.drawing import ROOMY
from xun_cli.tui.face import Face
from xun_cli.tui.keys import register_sequences
from xun_cli.tui.paint import NoColors, Painter
from xun_cli.tui.scroll import ScrollArea
from xun_cli.tui.style import CSS
from xun_cli.tui.terminal import driver_class

if TYPE_CHECKING:
    from xun_cli.options import StartOptions
    from xun_cli.settings import Settings

GONE = 129
"""The exit code when the terminal went away, as a shell reports SIGHUP."""

SETTLED = 0.1
"""Seconds between the first frame and what is loaded behind it."""

_OWN_SIGNALS = ("SIGTSTP", "SIGCONT", "SIGWINCH", "SIGTTOU", "SIGTTIN")


class FullScreen(App[int | Switch], inherit_bindings=False):
    """The whole terminal while it runs.

    Args:
        options: As xun was started.
        settings: The settings in force.
        carried: The conversation, and what the front end before has left.
        clock: Gives seconds.
    """

    CSS = CSS
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        options: StartOptions,
        settings: Settings,
        carried: Carried,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(driver_class=driver_class(), ansi_color=True)
        self.theme = "ansi-dark"
        color = options.color and not os.environ.get("NO_COLOR")
        if not color:
            self._filters = [NoColors()]
        self.painter = Painter(theme_for(settings.ui.theme, os.environ), color=color)
        self.failed: BaseException | None = None
        """What ended it, if anything of ours did."""
        self.began = False
        """Whether it has been drawn."""
        self.dead_click = False
        """The mouse press of this moment only brought the terminal to the front."""
        self._came_back = False
        self.lent = False
        """Something else has the terminal: nothing is drawn."""
        self.face = Face(self, options, settings, carried, clock=clock)
        self._make_parts(settings, carried, clock)

    def _make_parts(self, settings: Settings, carried: Carried, clock: Callable[[], float]) -> None:
        face = self.face
        self.transcript = ScrollArea(
            self.painter,
            face.conversation.journal,
            face.fresh_transcript,
            face.welcome,
            mounted=settings.ui.max_mounted,
            id="transcript",
        )
        self.side = FilledArea(self.painter, id="side")
        self.working = LineArea(self.painter, id="working")
        self.dialog = LineArea(self.painter, id="dialog")
        self.menu = LineArea(self.painter, id="menu")
        self.prompt = LineArea(self.painter, id="prompt")
        self.status = LineArea(self.painter, id="status")
        self.over = FilledArea(self.painter, id="over")
        self.composer = Composer(
            face.take_key,
            face.take_paste,
            face.edited,
            history=carried.history,
            folds=carried.folds,
            clock=clock,
            id="composer",
        )
        self.field = Input(face.take_key, face.take_paste, face.refresh, id="field")
        self.main = Horizontal(self.transcript, id="main")
        self.frame = Horizontal(self.prompt, self.composer, id="input")

    def compose(self) -> ComposeResult:
        """Put what the first frame shows together, from top to bottom."""
        yield self.main
        yield self.frame
        yield self.status

    async def _complete(self) -> None:
        """Add the parts that nothing stands in yet."""
        await self.main.mount(self.side)
        await self.screen.mount(self.working, self.dialog, self.menu, before=self.frame)
        await self.frame.mount(self.field)
        await self.screen.mount(self.over)

    def on_mount(self) -> None:
        """Draw first; everything heavy begins once that is on the screen."""
        self.field.display = False
        self.composer.focus()
        self.face.begin()
        self.call_after_refresh(self._drawn)

    async def _drawn(self) -> None:
        gc.enable()
        await self._complete()
        self.began = True
        # Not at once: the first key that is typed is to be seen before anything heavy is loaded beside it.
        self.set_timer(SETTLED, self.face.drawn)

    # -- events -------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """See focus reports and mouse presses before any widget does."""
        if isinstance(event, events.AppFocus):
            self._came_back = True
            self.face.focus_changed(True)
        elif isinstance(event, events.AppBlur):
            self.face.focus_changed(False)
        elif isinstance(event, events.MouseDown) and not event.is_forwarded:
            # A click that brings the window to the front is not meant for what lies under the pointer.
            self.dead_click = self._came_back or not self.app_focus
            self._came_back = False
        await super().on_event(event)

    def on_resize(self, event: events.Resize) -> None:
        """Fit everything into the new size."""
        self.frame.set_class(event.size.height < ROOMY, "narrow")
        if self.began:
            self.call_after_refresh(self.face.resized)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel was turned over something that does not scroll by itself, such as an open view."""
        self.face.wheel("up")

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel was turned the other way."""
        self.face.wheel("down")

    def on_line_area_pressed(self, message: LineArea.Pressed) -> None:
        """A row of an area was clicked."""
        message.stop()
        if not self.dead_click:
            self.face.clicked(message.area, message.row)

    def on_text_selected(self, event: events.TextSelected) -> None:
        """Something was selected with the mouse."""
        self.face.text_selected(self.screen.get_selected_text() or "")

    def repaint(self) -> None:
        """Draw every part again, as in other colours."""
        for widget in self.screen.walk_children():
            widget.refresh()

    # -- the terminal ---------------------------------------------------------------------------

    def write_raw(self, text: str) -> None:
        """Write to the terminal as it is; nothing while somebody else has it, or at the end."""
        if self._driver is not None and not self.is_headless and not self.lent and self.face.alive:
            self._driver.write(text)

    @contextmanager
    def given_back(self) -> Iterator[None]:
        """Give the terminal back in its ordinary modes within the block; nothing is drawn meanwhile."""
        self.face.notifier.stop()
        self.lent = True
        try:
            with self.batch_update(), self.suspend():
                yield
        finally:
            self.lent = False
            self.face.notifier.start()

    async def lend(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Give the terminal to *work*, such as an editor."""
        with self.given_back():
            done = await work()
        self.refresh(layout=True)
        self.face.refresh()
        return done

    def stop_process(self) -> None:
        """Stop the process; the terminal gets its modes back until it is continued."""
        if self.is_headless or sys.platform == "win32":
            return
        with self.given_back():
            os.kill(os.getpid(), signal.SIGSTOP)
        self.refresh(layout=True)
        self.face.refresh()

    def _fatal_error(self) -> None:
        """Keep the error: it is reported when the terminal is back, in one sentence and a file."""
        self.failed = self.failed or sys.exc_info()[1]
        self.face.notifier.stop()
        self._close_messages_no_wait()

    def panic(self, *renderables: Any) -> None:
        """End without a word about it here: the terminal can't be read, or drawn on."""
        self.failed = self.failed or sys.exc_info()[1]
        self.face.leave(GONE)
        self._close_messages_no_wait()

    def failed_beside(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """End because a task of ours has failed."""
        error = context.get("exception")
        if error is not None:
            self.failed = self.failed or error
            self.face.leave(1)


async def run_full(options: StartOptions, settings: Settings, carried: Carried) -> Leave | Switch:
    """Run the full-screen front end; where it can't start, ask for the inline one and say why."""
    register_sequences()
    app = FullScreen(options, settings, carried)
    before = {name: signal.getsignal(getattr(signal, name)) for name in _OWN_SIGNALS if hasattr(signal, name)}
    outcome: int | Switch | None = None
    try:
        with _signals(app):
            outcome = await app.run_async()
    except Exception as error:  # noqa: BLE001 - whatever keeps it from starting, the inline front end can go on
        app.failed = app.failed or error
    finally:
        gc.enable()
        for name, handler in before.items():
            if handler is not None:
                signal.signal(getattr(signal, name), handler)
        app.face.end()
    if app.failed is not None and not app.began:
        reason = f"{type(app.failed).__name__}: {app.failed}"
        return Switch("inline", f"the full screen could not start ({reason}), so this is the inline front end")
    if isinstance(outcome, Switch) and app.failed is None:
        return outcome
    code = outcome if isinstance(outcome, int) else 1
    await carried.conversation.close(code)
    if app.failed is not None and code != GONE:
        raise app.failed
    return Leave(code, app.face.farewell())


@contextmanager
def _signals(app: FullScreen) -> Iterator[None]:
    """End in an orderly way when somebody ends the process."""
    loop = asyncio.get_running_loop()
    factory = loop.get_task_factory()
    loop.set_exception_handler(app.failed_beside)
    names = ("SIGINT", "SIGTERM", "SIGHUP")  # Ctrl-C is a key here; this one was sent
    ends = {name: partial(app.face.leave, 128 + int(getattr(signal, name, 0))) for name in names}
    try:
        with handled(ends):
            yield
    finally:
        loop.set_exception_handler(None)
        loop.set_task_factory(factory)  # Textual sets one of its own


async def copy(text: str, write: Callable[[str], None]) -> str:
    """Copy *text* in a thread, as a program of the desktop may take its time; returns a sentence about it."""
    from xun_cli.frontend.clipboard import copy_text

    with suppress(OSError):
        said: str = await in_thread(lambda: copy_text(text, write, lambda: None))
        return said
    return "Not copied: no program could be started."
