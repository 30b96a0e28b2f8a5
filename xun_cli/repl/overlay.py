"""Shows a full-screen view over the inline front end, and gives the terminal back as it was.

The inline application is paused meanwhile: its region is erased first, so that nothing of it is left in
the normal buffer, and what becomes final while the view is open is printed when it has gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from prompt_toolkit.application import Application
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout.containers import Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.layout.layout import Layout
from prompt_toolkit.styles import Style

from xun_cli.frontend.outcome import Switch
from xun_cli.repl.bindings import FOCUS_IN, FOCUS_OUT
from xun_cli.repl.view import joined

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from xun_cli.frontend.full_screen import FullScreen
    from xun_cli.repl.colors import Look

_NAMED = (
    "enter",
    "escape",
    "tab",
    "s-tab",
    "up",
    "down",
    "left",
    "right",
    "pageup",
    "pagedown",
    "home",
    "end",
    "delete",
    "backspace",
    "c-b",
    "c-c",
    "c-d",
    "c-f",
    "c-n",
    "c-p",
    "c-u",
)


class InlineApplication(Application[int | Switch]):
    """An application whose drawing and keys can be set aside for something else on its terminal."""

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """Erase the region, and neither draw nor read keys within the block.

        prompt_toolkit's own way goes through the terminal's line mode, where a key of that moment would be echoed
        into the normal buffer.
        """
        self.renderer.erase()
        self._running_in_terminal = True
        try:
            with self.input.detach():
                # An escape that came with the last key is flushed into this application by then, not later.
                await asyncio.sleep(self.ttimeoutlen + 0.01)
                yield
        finally:
            self._running_in_terminal = False
            self.renderer.reset()
            self.invalidate()


def overlay_application(
    view: FullScreen,
    *,
    size: Callable[[], tuple[int, int]],
    keyboard: Input | None,
    output: Output,
    look: Look,
    focus_changed: Callable[[bool], None] = lambda focused: None,
    key_pressed: Callable[[], None] = lambda: None,
) -> Application[None]:
    """Return the application that shows *view* on the alternate screen until it is closed."""

    def text() -> StyleAndTextTuples:
        return joined(view.draw(*size()))

    control = FormattedTextControl(text, focusable=True, show_cursor=False)
    app: Application[None] = Application(
        layout=Layout(Window(control, always_hide_cursor=True)),
        key_bindings=_bindings(view, focus_changed, key_pressed),
        style=Style([]),
        style_transformation=look.region,
        include_default_pygments_style=False,
        full_screen=True,
        mouse_support=False,
        color_depth=look.depth,
        enable_page_navigation_bindings=False,
        terminal_size_polling_interval=None,
        input=keyboard,
        output=output,
    )
    app.ttimeoutlen = 0.05
    app.timeoutlen = 0.1
    return app


def _bindings(view: FullScreen, focus_changed: Callable[[bool], None], key_pressed: Callable[[], None]) -> KeyBindings:
    bindings = KeyBindings()

    def after(event: KeyPressEvent) -> None:
        key_pressed()
        if view.closed and not event.app.is_done:
            event.app.exit()
        event.app.invalidate()

    def named(name: str) -> Callable[[KeyPressEvent], None]:
        def handle(event: KeyPressEvent) -> None:
            if not view.closed:
                view.key(name)
            after(event)

        return handle

    def character(event: KeyPressEvent) -> None:
        if not view.closed and len(event.data) == 1 and event.data.isprintable():
            view.key(event.data)
        after(event)

    def pasted(event: KeyPressEvent) -> None:
        view.typed("".join(char for char in event.data if char.isprintable() or char in "\r\n\t"))
        after(event)

    for name in _NAMED:
        bindings.add(name)(named(name))
    bindings.add("c-l")(lambda event: event.app.renderer.clear())
    bindings.add(Keys.BracketedPaste)(pasted)
    bindings.add(FOCUS_IN)(lambda event: focus_changed(True))
    bindings.add(FOCUS_OUT)(lambda event: focus_changed(False))
    bindings.add(Keys.Any)(character)
    return bindings


class Overlays:
    """Shows one view at a time over an application.

    Args:
        output: The terminal.
        look: Its colours.
        focus_changed: Told of the terminal's focus reports.
        key_pressed: Told of each key.
        lending: Told that another program gets the terminal (True), and that it is back.
    """

    def __init__(
        self,
        output: Output,
        look: Look,
        *,
        focus_changed: Callable[[bool], None],
        key_pressed: Callable[[], None],
        lending: Callable[[bool], None] = lambda on: None,
    ) -> None:
        self._app: InlineApplication | None = None
        self._output, self._look, self._busy = output, look, False
        self._focus_changed, self._key_pressed, self._lending = focus_changed, key_pressed, lending
        self._view: FullScreen | None = None
        self._shown: Application[None] | None = None
        self._lent: asyncio.Future[Any] | None = None
        self._afterwards: Callable[[], None] | None = None

    @property
    def open(self) -> bool:
        """Whether a view is shown, or something else has the terminal."""
        return self._busy

    def over(self, app: InlineApplication) -> None:
        """Take the application over which views are shown: when it is to be drawn, so is the view that covers it."""
        self._app = app
        app.on_invalidate += lambda _: self._shown.invalidate() if self._shown is not None else None

    async def show(self, view: FullScreen) -> Any:
        """Show *view* until it is closed and return its result; None when another one is open."""
        app = self._app
        if self._busy or app is None or not app.is_running:
            return None
        self._busy, self._view = True, view
        try:
            async with app.aside():
                self._shown = overlay_application(
                    view,
                    size=self._columns_and_rows,
                    keyboard=app.input,
                    output=self._output,
                    look=self._look,
                    focus_changed=self._focus_changed,
                    key_pressed=self._key_pressed,
                )
                if not view.closed:  # xun may have been told to end by now
                    await self._shown.run_async(set_exception_handler=False, handle_sigint=False)
        finally:
            self._busy, self._view, self._shown = False, None, None
            self._continue()
        return view.result

    async def lend(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Give the terminal, in its ordinary modes, to *work*, such as an editor; it is awaited."""
        app = self._app
        if self._busy or app is None or not app.is_running:
            return None
        self._busy = True
        self._lent = asyncio.ensure_future(work())
        try:
            async with app.aside():
                with app.input.cooked_mode():
                    self._lending(True)
                    return await self._lent
        except asyncio.CancelledError:
            if self._afterwards is None:
                raise
            return None
        finally:
            self._lending(False)
            self._busy, self._lent = False, None
            self._continue()

    def remark(self, text: str) -> None:
        """Say *text* in the open view; nothing without one."""
        if self._view is not None and self._shown is not None:
            self._view.note = text
            self._shown.invalidate()

    def close(self, then: Callable[[], None]) -> bool:
        """Close the open view and call *then* when the terminal is back; False when none is open."""
        if not self._busy:
            return False
        self._afterwards = then
        if self._view is not None:
            self._view.closed = True
        if self._lent is not None:
            self._lent.cancel()
        if self._shown is not None and self._shown.is_running and not self._shown.is_done:
            self._shown.exit()
        return True

    def _continue(self) -> None:
        then, self._afterwards = self._afterwards, None
        if then is not None:
            then()

    def _columns_and_rows(self) -> tuple[int, int]:
        size = self._output.get_size()
        return size.columns, size.rows
