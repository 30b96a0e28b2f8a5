"""What the line-based front end writes: each line once, nothing ever moves."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from xun_cli.render.safe import safe

if TYPE_CHECKING:
    from xun_cli.render.text import Line
    from xun_cli.session.session import Session


def read_any_text() -> None:
    """Let standard input and output take any text."""
    for stream in (sys.stdin, sys.stdout):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")


class PlainScreen:
    """Standard output, and whether the prompt stands at its end."""

    def __init__(self) -> None:
        self._terminal = sys.stdin.isatty()
        self._prompted = False
        self._held: list[str] | None = None

    @contextmanager
    def _lent(self) -> Iterator[None]:
        """Keep what is written meanwhile: another program has the terminal."""
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            for text in held:
                self._write(text)

    def _write(self, text: str) -> None:
        if self._held is not None:
            self._held.append(text)
            return
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
        self._prompted = False

    def _welcome(self, session: Session) -> None:
        from xun_cli._version import __version__

        self._say(f"xun {__version__}, model {session.model_name}, in {session.cwd}")
        self._say("Type a request, or /help. An empty line does nothing, /quit leaves.")
        if session.model_name.startswith("demo"):
            self._say("No model is connected: rules answer, not a model. `xun setup` or /model connects one.")

    def _columns(self) -> int:
        return max(40, shutil.get_terminal_size().columns) if self._terminal else 100

    def _say(self, text: str) -> None:
        self._write(safe(text))

    def _print(self, lines: list[Line]) -> None:
        from xun_cli.render.text import plain_lines

        if lines:
            self._write(plain_lines(lines))
