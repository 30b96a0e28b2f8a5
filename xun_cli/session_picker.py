"""Choosing a session before a front end runs: on the whole screen, or by number."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from xun_cli.render.safe import safe
from xun_cli.session.store import SessionInfo
from xun_cli.usage import UsageError

if TYPE_CHECKING:
    from xun_cli.settings import Settings

_SHOWN = 15


def pick(sessions: list[SessionInfo], settings: Settings | None = None, *, color: bool = True) -> SessionInfo | None:
    """Ask for one of *sessions*; None for a new one.

    Args:
        sessions: The last used first.
        settings: Those in force, for a terminal that takes a full-screen view; None: ask by number.
        color: Use colours.

    Raises:
        UsageError: There is no session to choose.
    """
    if not sessions:
        raise UsageError("-r: there is no session of this folder yet")
    if settings is not None:
        from xun_cli.frontend.choosing import session_picker
        from xun_cli.repl.standalone import show_alone

        view = session_picker(sessions, back="Esc begins a new one")
        chosen: SessionInfo | None = show_alone(view, settings, color=color)
        if view.cancelled:
            raise KeyboardInterrupt
        return chosen
    return _by_number(sessions)


def _by_number(sessions: list[SessionInfo]) -> SessionInfo | None:
    shown = sessions[:_SHOWN]
    for number, info in enumerate(shown, 1):
        title = info.name or info.first_input or "(nothing typed)"
        turns = "turn " if info.turns == 1 else "turns"
        line = f"{number:3}  {info.updated[:16].replace('T', ' ')}  {info.turns:3} {turns}  {title}"
        sys.stdout.write(safe(line, multiline=False)[:100] + "\n")
    if len(sessions) > _SHOWN:
        sys.stdout.write(f"     and {len(sessions) - _SHOWN} older ones: `xun sessions list`, then xun -r ID\n")
    while True:
        try:
            answer = input("Go on with which? (a number; nothing for a new session) ").strip()
        except EOFError:
            answer = ""
        if not answer:
            return None
        if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(shown):
            return shown[int(answer) - 1]
        sys.stdout.write(f"Type a number from 1 to {len(shown)}, or nothing.\n")
