"""What an uncaught error leaves: one sentence on the screen and a report in the state folder."""

from __future__ import annotations

import sys
from itertools import pairwise
from types import TracebackType
from typing import TYPE_CHECKING

from xun_cli.exit_codes import FAILED
from xun_cli.places import Places, private_dir, write_private

if TYPE_CHECKING:
    from pathlib import Path

    from xun_cli.keys import Credentials


def write_report(places: Places, error: BaseException, credentials: Credentials | None = None) -> Path | None:
    """Write the traceback of *error*, without any key, and return the file; None when it can't be written."""
    import platform
    import time
    import traceback

    from xun_cli._version import __version__

    text = "".join(traceback.format_exception(error))
    for value in credentials.known_values() if credentials else []:
        text = text.replace(value, "***")
    head = f"xun {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    path = places.crash_dir / (time.strftime("%Y%m%d-%H%M%S") + f"-{type(error).__name__}.txt")
    try:
        private_dir(places.crash_dir, places.state)
        write_private(path, (head + text).encode("utf-8", "replace"))
    except OSError:
        return None
    return path


def json_failure(argv: list[str], code: int, message: str, kind: str) -> None:
    """Keep stdout valid for a program that asked for JSON, also when there was no session to report on."""
    formats = {"json", "stream-json"}
    spaced = any(flag == "--output" and value in formats for flag, value in pairwise(argv))
    if spaced or formats & {item.removeprefix("--output=") for item in argv if item.startswith("--output=")}:
        from xun_cli.session.envelope import never_started
        from xun_cli.session.lines import to_line

        record = {**never_started(code), "error": {"kind": kind, "message": message}}
        sys.stdout.write(to_line(record) + "\n")


def report(places: Places, error: BaseException, credentials: Credentials | None = None) -> None:
    """Write the report of *error* and say in one line where it is."""
    if isinstance(error, KeyboardInterrupt):
        return
    path = write_report(places, error, credentials)
    where = f"The report is in {path}" if path else "No report could be written"
    sys.stderr.write(
        f"xun: stopped by an error of its own ({type(error).__name__}). {where}. "
        "A session up to here is kept: `xun -c` goes on with it.\n"
    )
    json_failure(sys.argv[1:], FAILED, f"{type(error).__name__}, an error of xun's own", "internal")


def install(places: Places, credentials: Credentials | None = None) -> None:
    """Report uncaught errors of this process in this way from now on; its exit code is then 1."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        report(places, error, credentials)

    sys.excepthook = hook
