"""A status line of the person's own: a command that gets the facts as JSON and prints one line.

It runs when a fact has changed, one run at a time, and not while nothing happens. Only the person's own settings name
it. What it prints is foreign text: of its escape sequences only the sixteen colours and plain styles count.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xun_cli._version import __version__
from xun_cli.frontend.threads import in_thread
from xun_cli.render.safe import safe
from xun_cli.render.text import Line

if TYPE_CHECKING:
    from xun_cli.frontend.conversation import Conversation
    from xun_cli.hook_process import HookOutcome
    from xun_cli.render.status import Status
    from xun_cli.session.session import Session
    from xun_cli.settings import Settings

LIMIT = 5.0
"""Seconds that one run may take."""

PAUSE = 0.3
"""Seconds before a run, in which more facts may change."""

_STOPPING = 1.0  # seconds at most until a run that nobody waits for any more has ended

_SGR = re.compile(r"(\x1b\[[0-9;]*m)")
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "gray")
_BRIGHT = (
    "brightblack",
    "brightred",
    "brightgreen",
    "brightyellow",
    "brightblue",
    "brightmagenta",
    "brightcyan",
    "white",
)
_STYLES = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse"}
_BEYOND = (38, 48, 58)
"""What a colour beyond the sixteen begins with: of the text, behind it, of its line."""
_PARTS = {5: 1, 2: 3}
_ENDS = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",)}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a `StatusCommand` needs of its front end.

    Attributes:
        folder: Where it runs.
        spawn: Runs a coroutine beside the rest.
        refresh: Draws the status line again.
        warn: Shows a warning.
        shell: The bash that runs it.
    """

    folder: Path
    spawn: Callable[[Coroutine[Any, Any, Any]], None]
    refresh: Callable[[], None]
    warn: Callable[[str], None]
    shell: str = ""


class StatusCommand:
    """Keeps the line that the command printed last.

    Args:
        command: A line for bash; "" for none.
        around: The front end.
    """

    def __init__(self, command: str, around: Surroundings) -> None:
        self._command, self._around = command, around
        self._line: Line = []
        self._facts: dict[str, Any] = {}
        self._running = self._warned = False

    def over(self, status: Status, session: Session) -> Status:
        """Return *status* with the line of the command, which runs again when something has changed."""
        if not self._command:
            return status
        facts = status_facts(status, session, self._around.folder)
        if facts != self._facts:
            self._facts = facts
            if not self._running:
                self._running = True
                self._around.spawn(self._run())
        return replace(status, own=tuple(self._line))

    async def _run(self) -> None:
        done: dict[str, Any] | None = None
        try:
            while self._facts != done:
                await asyncio.sleep(PAUSE)
                facts = done = self._facts
                self._take(await self._outcome(facts))
        finally:
            self._running = False

    async def _outcome(self, facts: dict[str, Any]) -> HookOutcome:
        from xun_cli.hook_process import run_hook

        folder, shell = self._around.folder, self._around.shell
        stop, ended = threading.Event(), threading.Event()

        def work() -> HookOutcome:
            try:
                return run_hook(self._command, folder, facts, LIMIT, shell, stop)
            finally:
                ended.set()

        try:
            outcome: HookOutcome = await in_thread(work)
        except asyncio.CancelledError:
            # xun ends, and the thread with it: what it has started must not stay. It looks twenty times a second.
            stop.set()
            ended.wait(_STOPPING)
            raise
        return outcome

    def _take(self, outcome: HookOutcome) -> None:
        self._line = styled(outcome.text) if outcome.ok else []
        if not outcome.ok and not self._warned:
            how = f"was ended after {LIMIT:g} s" if outcome.code is None else f"ended with exit code {outcome.code}"
            said = f": {outcome.text.strip().splitlines()[0]}" if outcome.text.strip() else ""
            self._around.warn(f"ui.status_command {how}{said}. The usual status line is shown until it works.")
        self._warned = not outcome.ok
        self._around.refresh()


def status_command(
    settings: Settings, folder: Path, conversation: Conversation, refresh: Callable[[], None]
) -> StatusCommand:
    """Return the command of *settings* for a front end in *folder*; none with ``--safe``."""
    command = "" if settings.safe else settings.ui.status_command
    return StatusCommand(
        command, Surroundings(folder, conversation.spawn, refresh, conversation.warn, settings.bash.shell)
    )


def status_facts(status: Status, session: Session, folder: Path) -> dict[str, Any]:
    """Return what the command is told; names are added to it and never changed."""
    return {
        "hook": "status",
        "version": __version__,
        "session": {"id": session.id, "name": session.name, "turn": session.turn},
        "folder": str(folder),
        "branch": status.branch,
        "model": status.model,
        "mode": status.mode,
        "auto": status.auto,
        "running": bool(session.running),
        "context_pct": status.context_pct,
        "tokens": status.tokens,
        "cost_usd": round(status.cost_usd, 6),
        "sandbox": status.sandbox[0],
        "background": status.background,
        "granted": {"commands": status.granted[0], "paths": status.granted[1]},
    }


def styled(text: str) -> Line:
    """Return the first line of *text* with its colours as a styled line; every other sequence is shown, not obeyed."""
    line: Line = []
    words: list[str] = []
    for piece in _SGR.split(text.strip("\r\n").partition("\n")[0].rstrip("\r")):
        if _SGR.fullmatch(piece):
            words = _after(words, piece[2:-1])
        elif piece:
            line.append((" ".join(words), safe(piece, multiline=False)))
    return line


def _after(words: list[str], codes: str) -> list[str]:
    """Return the style words that hold after an SGR sequence; colours beyond the sixteen are left out."""
    numbers = iter([int(code[:3] or 0) for code in codes.split(";")])
    for number in numbers:
        if number in _BEYOND:
            # Its parts are no codes of their own: 5 and one number, or 2 and three.
            for _ in range(_PARTS.get(next(numbers, 0), 0)):
                next(numbers, 0)
        elif number == 0:
            words = []
        elif number in _STYLES:
            words = [*words, _STYLES[number]]
        elif number in _ENDS:
            words = [word for word in words if word not in _ENDS[number]]
        elif 30 <= number <= 37 or 90 <= number <= 97 or number == 39:
            name = "" if number == 39 else _NAMES[number - 30] if number < 90 else _BRIGHT[number - 90]
            words = [word for word in words if not word.startswith("ansi")]
            words += [f"ansi{name}"] if name else []
    return words
