"""Choosing a session by number, before a front end runs."""

from __future__ import annotations

import sys

from xun_cli.render.safe import safe
from xun_cli.session.store import SessionInfo
from xun_cli.usage import UsageError

_SHOWN = 15


def pick(sessions: list[SessionInfo]) -> SessionInfo | None:
    """Ask for one of *sessions*; None for a new one.

    Raises:
        UsageError: There is no session to choose.
    """
    if not sessions:
        raise UsageError("-r: there is no session of this folder yet")
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
