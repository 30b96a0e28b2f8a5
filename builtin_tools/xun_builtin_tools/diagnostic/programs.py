"""Programs that check a text: found outside the workspace, given the text on standard input, bounded in time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xun.errors import ToolError

SECONDS = 30.0
"""The longest that a check may take."""

_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and what it said."""

    status: int
    output: str
    errors: str


def find_program(name: str, inside: Callable[[str], bool]) -> str | None:
    """Return the absolute path of a program of PATH, or of the folder of this Python; None when there is none.

    Relative folders and those of the workspace do not count: a project must not bring its own.
    """
    file = f"{name}.exe" if os.name == "nt" else name
    for folder in [*os.environ.get("PATH", "").split(os.pathsep), os.path.dirname(sys.executable)]:
        place = os.path.join(folder, file)
        if not os.path.isabs(folder) or not os.path.isfile(place) or not os.access(place, os.X_OK):
            continue
        real = os.path.realpath(place)
        if not inside(real) and not inside(os.path.realpath(folder)):
            return real
    return None


def run(
    arguments: Sequence[str], text: bytes, environment: Mapping[str, str], check: Callable[[], None], folder: str = "/"
) -> Ended:
    """Run a program with *text* as its input, in a folder that is not the project's.

    Raises:
        ToolError: It can't be started, or takes more than `SECONDS`.
        CancelledError: By *check*, which is called often.
    """
    status, output, errors = run_bytes(arguments, text, environment, check, folder)
    return Ended(status, output.decode("utf-8", "replace"), errors.decode("utf-8", "replace"))


def run_bytes(
    arguments: Sequence[str],
    source: bytes | int,
    environment: Mapping[str, str],
    check: Callable[[], None],
    folder: str = "/",
) -> tuple[int, bytes, bytes]:
    """As `run`, but its output and error output come as bytes; *source* may be the descriptor of a file."""
    try:
        process = subprocess.Popen(
            arguments,
            cwd=folder,
            env=dict(environment),
            stdin=source if isinstance(source, int) else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as exc:
        raise ToolError(f"{arguments[0]} can't be started: {exc.strerror}.") from exc
    end = time.monotonic() + SECONDS
    with process:
        try:
            rest = None if isinstance(source, int) else source
            while True:
                try:
                    output, errors = process.communicate(rest, timeout=_POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    rest = None
                check()
                if time.monotonic() > end:
                    raise ToolError(f"The check took more than {SECONDS:g} seconds, so it was ended.")
        finally:
            if process.poll() is None:
                process.kill()
    return process.returncode, output, errors
