"""Programs that are asked something: run to their end, without input, for what they say."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

_SHOWN = 300


def ask(
    argv: Sequence[str], seconds: float, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str] | str:
    """Run *argv* to its end, for *seconds* at most; a text says why that could not be done.

    *env* is its whole environment; None for that of this process.
    """
    try:
        return subprocess.run(
            argv,
            cwd="/",
            env=None if env is None else dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        return shortened(str(exc))


def shortened(text: str) -> str:
    """Return the end of *text* as one line, for a sentence that quotes it."""
    return " ".join(text.split())[-_SHOWN:]
