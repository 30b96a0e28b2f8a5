"""Copy text to the clipboard, and say honestly by which way."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Callable, Mapping

from xun_cli.frontend.programs import own_program

OSC52_LIMIT = 74_994
"""Bytes that terminals commonly take in one OSC 52."""

_PROGRAMS = (
    ("WAYLAND_DISPLAY", ["wl-copy"]),
    ("DISPLAY", ["xclip", "-selection", "clipboard"]),
    ("DISPLAY", ["xsel", "--clipboard", "--input"]),
)


def copy_text(
    text: str, write: Callable[[str], None], flush: Callable[[], None], environ: Mapping[str, str] | None = None
) -> str:
    """Copy *text* and return a sentence about it.

    A program of the desktop is asked first, because it can report failure; over SSH or without one the
    terminal is told by OSC 52, which never reports back.
    """
    env = os.environ if environ is None else environ
    if not env.get("SSH_CONNECTION"):
        for variable, command in _PROGRAMS:
            path = own_program(command[0], env) if env.get(variable) else None
            if path and _by_program([path, *command[1:]], text):
                return f"Copied {len(text):,} characters with {command[0]}."
    data = text.encode("utf-8", "replace")
    if len(data) > OSC52_LIMIT:
        return f"Not copied: {len(data):,} bytes are more than a terminal takes ({OSC52_LIMIT:,}); use /export."
    payload = base64.b64encode(data).decode("ascii")
    sequence = f"\x1b]52;c;{payload}\x07"
    if env.get("TMUX"):
        sequence = f"\x1bPtmux;\x1b{sequence}\x1b\\"
    write(sequence)
    flush()
    return f"Sent {len(text):,} characters to the terminal's clipboard (OSC 52); not every terminal takes that."


def _by_program(command: list[str], text: str) -> bool:
    try:
        done = subprocess.run(
            command,
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=3,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
