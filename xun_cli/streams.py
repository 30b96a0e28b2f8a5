"""Lines that xun writes on standard error, and a standard output that can't be written."""

from __future__ import annotations

import os
import sys

from xun_cli.exit_codes import BROKEN_PIPE, FAILED


def say(text: str, kind: str = "", *, command: str = "xun") -> None:
    """Write one line about *text* on standard error, from *command*; *kind*, as ``warning: ``, comes before it."""
    from xun_cli.render.safe import safe

    sys.stderr.write(f"{command}: {kind}{safe(text, multiline=False)}\n")
    sys.stderr.flush()


def discard_stdout(error: OSError) -> int:
    """Let stdout go nowhere after *error*, say so unless its reader just went away, and return the exit code."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    say(f"standard output can't be written: {error.strerror}")
    return FAILED
