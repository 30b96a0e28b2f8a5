"""Asking a terminal what it can do, for the doctor; never waits longer than a tenth of a second."""

from __future__ import annotations

import os
import re
import sys
import time

WAIT = 0.1
"""Seconds for all answers together."""

_QUESTIONS = b"\x1b[?u\x1b[?2026$p\x1b[c"  # kitty keyboard, synchronized output, then what all terminals answer


def ask_terminal() -> dict[str, bool] | None:
    """Return what the terminal answers; None where there is no terminal to ask, empty when it said nothing."""
    if os.name != "posix" or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    if os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return None
    answer = _exchange(sys.stdin.fileno(), sys.stdout.fileno())
    if b"c" not in answer:
        return {}
    attributes = re.search(rb"\x1b\[\?([\d;]+)c", answer)
    return {
        "kitty keyboard": re.search(rb"\x1b\[\?\d+u", answer) is not None,
        "synchronized output": re.search(rb"\x1b\[\?2026;[12]\$y", answer) is not None,
        "clipboard (OSC 52)": attributes is not None and b"52" in attributes[1].split(b";"),
    }


def _exchange(read_fd: int, write_fd: int) -> bytes:
    import select
    import termios
    import tty

    try:
        old = termios.tcgetattr(read_fd)
    except termios.error:
        return b""
    answer = b""
    try:
        tty.setcbreak(read_fd)
        os.write(write_fd, _QUESTIONS)
        end = time.monotonic() + WAIT
        while not re.search(rb"\x1b\[\?[\d;]+c", answer) and (left := end - time.monotonic()) > 0:
            if select.select([read_fd], [], [], left)[0]:
                answer += os.read(read_fd, 1024)
    finally:
        termios.tcsetattr(read_fd, termios.TCSADRAIN, old)
    return answer
