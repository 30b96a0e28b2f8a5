"""Views over the whole screen: the same ones as the inline front end shows, drawn over the widgets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from xun_cli.render.text import Line

if TYPE_CHECKING:
    from xun_cli.frontend.full_screen import FullScreen as View
    from xun_cli.tui.app import FullScreen


class Overlay:
    """Shows one view at a time.

    Args:
        app: The widgets below.
        refresh: Draws soon.
    """

    def __init__(self, app: FullScreen, refresh: Callable[[], None]) -> None:
        self._app, self._refresh = app, refresh
        self._view: View | None = None
        self._closed: asyncio.Future[None] | None = None
        self._lent = False

    @property
    def open(self) -> bool:
        """Whether a view is shown, or something else has the terminal."""
        return self._view is not None or self._lent

    async def show(self, view: View) -> Any:
        """Show *view* until it is closed and return its result; None when another one is open."""
        if self.open:
            return None
        self._view, self._closed = view, asyncio.get_running_loop().create_future()
        self._app.over.display = True
        self._refresh()
        try:
            await self._closed
        finally:
            self._view = self._closed = None
            self._app.over.display = False
            self._refresh()
        return view.result

    async def lend(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Give the terminal, in its ordinary modes, to *work*, such as an editor."""
        if self.open:
            return None
        self._lent = True
        try:
            return await self._app.lend(work)
        finally:
            self._lent = False
            self._refresh()

    def remark(self, text: str) -> None:
        """Say *text* in the open view; nothing without one."""
        if self._view is not None:
            self._view.note = text

    def key(self, name: str) -> None:
        """Give a key to the open view."""
        if self._view is not None:
            self._view.key(name)
            self._after()

    def typed(self, text: str) -> None:
        """Give pasted text to the open view."""
        if self._view is not None:
            self._view.typed("".join(char for char in text if char.isprintable() or char in "\r\n\t"))
            self._after()

    def _after(self) -> None:
        if self._view is not None and self._view.closed and self._closed is not None and not self._closed.done():
            self._closed.set_result(None)
        self._refresh()

    def lines(self, columns: int, rows: int) -> list[Line]:
        """Return what the open view shows."""
        return self._view.draw(columns, rows) if self._view is not None else []
