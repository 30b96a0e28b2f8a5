"""Programs that read a text or a file for a tool: found outside the workspace, given it as input, bounded in time."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xun.errors import ToolError
from xun_policies.paths.programs import find_program

SECONDS = 30.0
"""The longest that a check may take."""

_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and what it said."""

    status: int
    output: str
    errors: str


def find_checker(name: str, roots: Sequence[str]) -> str | None:
    """Return the real path of a program of PATH, or of the folder of this Python; None when there is none.

    One of *roots*, the folders of the workspace, does not count: a project must not bring its own.
    """
    path = os.pathsep.join([os.environ.get("PATH", ""), os.path.dirname(sys.executable)])
    found = find_program(name, roots, path)
    return None if found is None else os.path.realpath(found)


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
    if not isinstance(source, int):
        # A file and no pipe: communicate() forgets the rest of its input once it was interrupted by its timeout.
        with tempfile.TemporaryFile() as file:
            file.write(source)
            file.seek(0)
            return run_bytes(arguments, file.fileno(), environment, check, folder)
    try:
        process = subprocess.Popen(
            arguments,
            cwd=folder,
            env=dict(environment),
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as exc:
        raise ToolError(f"{arguments[0]} can't be started: {exc.strerror}.") from exc
    end = time.monotonic() + SECONDS
    with process:
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    output, errors = process.communicate(timeout=_POLL_SECONDS)
                    break
                check()
                if time.monotonic() > end:
                    raise ToolError(f"The check took more than {SECONDS:g} seconds, so it was ended.")
        finally:
            if process.poll() is None:
                process.kill()
    return process.returncode, output, errors
