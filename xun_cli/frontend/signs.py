"""What a terminal shows outside its screen: the title of the window or tab, and the progress in it.

With many tabs open the title is what tells which session works, which one waits for an answer and which one is done.
It is written when the state changes, never on a timer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from xun_cli.render.safe import safe
from xun_cli.render.text import cut

if TYPE_CHECKING:
    from xun_cli.frontend.conversation import Conversation
    from xun_cli.frontend.dialog import Dialog
    from xun_cli.render.transcript import Transcript

State = Literal["idle", "working", "waiting"]
"""waiting: for the person."""

TITLE = 60
"""Cells of a title; tabs show fewer."""

AGAIN = 10.0
"""Seconds after which a progress is written again: some terminals take one that is silent for a dead program's."""

_MARKS: Mapping[State, str] = {"idle": "", "working": "● ", "waiting": "▲ "}
# ConEmu's sequence, which the others took over: 3 is progress of unknown length, 4 paused, 0 none.
_PROGRESS: Mapping[State, str] = {
    "idle": "\x1b]9;4;0\x1b\\",
    "working": "\x1b]9;4;3\x1b\\",
    "waiting": "\x1b]9;4;4;100\x1b\\",
}
_KEEP, _GIVE_BACK = "\x1b[22;0t", "\x1b]0;\x1b\\\x1b[23;0t"
"""Keep the present title on the terminal's stack; take it from there, or leave none where there is no stack."""

_SHOW_PROGRESS = frozenset({"ghostty", "WezTerm"})
_VTE_SINCE, _ITERM_SINCE = 7900, (3, 6, 6)


class Signs:
    """Writes title and progress while it is started.

    Args:
        write: Writes to the terminal at once, as it is.
        title: Write titles.
        progress: Write progress.
        clock: Gives seconds.
    """

    def __init__(
        self, write: Callable[[str], None], *, title: bool, progress: bool, clock: Callable[[], float]
    ) -> None:
        self._write, self._title, self._progress, self._clock = write, title, progress, clock
        self._on = False
        self._shown: tuple[str, State] | None = None
        self._written_at = 0.0

    def start(self) -> None:
        """Begin, keeping the title that there is."""
        if not self._on:
            self._on, self._shown = True, None
            if self._title:
                self._write(_KEEP)

    def stop(self) -> None:
        """End: the former title is back, and no progress is shown."""
        if not self._on:
            return
        self._on = False
        if self._progress and self._shown is not None and self._shown[1] != "idle":
            self._write(_PROGRESS["idle"])
        if self._title:
            self._write(_GIVE_BACK)

    def show(self, name: str, state: State) -> None:
        """Show that the session *name* is in *state*; what is shown already costs nothing."""
        if not self._on:
            return
        before, now = self._shown, (name, state)
        self._shown = now
        if self._title and before != now:
            self._write(f"\x1b]0;{_MARKS[state]}{cut(safe(name, multiline=False), TITLE)}\x1b\\")
        # A terminal that was never told of progress need not hear that there is none.
        changed = state != (before[1] if before is not None else "idle")
        again = state != "idle" and self._clock() - self._written_at >= AGAIN
        if self._progress and (changed or again):
            self._written_at = self._clock()
            self._write(_PROGRESS[state])


def signs_for(
    title: bool, progress: str, environ: Mapping[str, str], write: Callable[[str], None], clock: Callable[[], float]
) -> Signs:
    """Return the signs of this terminal.

    Args:
        title: ``ui.title``.
        progress: ``ui.progress``: auto, on or off.
        environ: The environment; tells which terminal it is.
        write, clock: As for `Signs`.
    """
    titled = title and environ.get("TERM", "") not in ("", "dumb", "linux", "unknown")
    shows = progress == "on" or (progress == "auto" and shows_progress(environ))
    return Signs(write, title=titled, progress=shows, clock=clock)


def shows_progress(environ: Mapping[str, str]) -> bool:
    """Tell whether this terminal is known to draw progress.

    Others may take the sequence for a notification, and a multiplexer does not hand it on.
    """
    if environ.get("TMUX") or environ.get("STY"):
        return False
    if environ.get("WT_SESSION") or environ.get("ConEmuPID"):
        return True
    program = environ.get("TERM_PROGRAM", "")
    if program == "iTerm.app":
        return _version(environ.get("TERM_PROGRAM_VERSION", "")) >= _ITERM_SINCE
    vte = environ.get("VTE_VERSION", "")
    return program in _SHOW_PROGRESS or (vte.isascii() and vte.isdigit() and int(vte[:9]) >= _VTE_SINCE)


def _version(text: str) -> tuple[int, ...]:
    parts = text.split(".")[:3]
    return tuple(int(part[:9]) if part.isascii() and part.isdigit() else 0 for part in parts)


def show_state(signs: Signs, conversation: Conversation, transcript: Transcript, dialog: Dialog, folder: Path) -> None:
    """Show what the session of *conversation* does."""
    session = conversation.session
    name = (session.name if session is not None else "") or folder.name or os.sep
    state: State = "waiting" if dialog.open else "working" if transcript.running else "idle"
    signs.show(f"{name} · xun", state)
