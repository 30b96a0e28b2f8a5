"""A full-screen view before any front end runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xun_cli.repl.bindings import register_sequences
from xun_cli.repl.colors import Look
from xun_cli.repl.overlay import overlay_application
from xun_cli.repl.terminal import terminal_output

if TYPE_CHECKING:
    from xun_cli.frontend.full_screen import FullScreen
    from xun_cli.settings import Settings


def show_alone(view: FullScreen, settings: Settings, *, color: bool) -> Any:
    """Show *view* until it is closed and return its result; None when the terminal went away meanwhile."""
    register_sequences()
    output = terminal_output()

    def size() -> tuple[int, int]:
        found = output.get_size()
        return found.columns, found.rows

    try:
        overlay_application(view, size=size, keyboard=None, output=output, look=Look(settings, color)).run()
    except (EOFError, OSError):
        return None
    return view.result
