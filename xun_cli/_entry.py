"""The console script: a guarded import path first, then xun.

Nothing outside the standard library is imported before the guard ran: a folder named ``rich`` or
``xun_policies`` in the current folder must never be imported. What this can't stop is a hostile
``xun_cli`` reached by ``PYTHONPATH`` or ``python -m``; ``python -I -m xun_cli`` is clean there.
"""

from __future__ import annotations

import os
import sys


def guard_path() -> None:
    """Take the current folder and every ``PYTHONPATH`` entry out of ``sys.path``.

    Kept are the folder that xun is installed in, and in a checkout what lies inside it.
    ``os.environ`` stays as it is: commands see the user's own ``PYTHONPATH``.
    """
    root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    checkout = os.path.isfile(os.path.join(root, "pyproject.toml"))
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        here = ""
    foreign = {os.path.realpath(entry or ".") for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)}
    foreign.add(here)

    def kept(entry: str) -> bool:
        if entry == "":
            return False
        real = os.path.realpath(entry)
        ours = real == root or (checkout and real.startswith(root + os.sep))
        return ours or real not in foreign

    sys.path[:] = [entry for entry in sys.path if kept(entry)]


def speak_utf8() -> None:
    """Begin anew in Python's UTF-8 mode where the locale gives file names and arguments another encoding.

    Python enters that mode by itself in the C locale, unless it is told not to: then no name that is not ASCII could
    be written. It can't be entered later, so the process replaces itself, with the same arguments and number.
    """
    if sys.flags.utf8_mode or sys.getfilesystemencoding().lower() in ("utf-8", "utf8") or os.name == "nt":
        return
    words = list(getattr(sys, "orig_argv", ()))
    if words and sys.executable:
        os.execv(sys.executable, [words[0], "-X", "utf8", *words[1:]])


def main() -> int:
    """Run xun and return its exit code."""
    try:
        return _run()
    except KeyboardInterrupt:
        return 130  # Ctrl-C while the first modules are loaded; from then on it is main's to say so


def _run() -> int:
    guard_path()
    speak_utf8()
    if sys.argv[1:] in (["--version"], ["-V"]):
        from xun_cli._version import __version__

        if sys.stdout is not None:  # None when started with a closed stdout
            sys.stdout.write(f"xun {__version__}\n")
        return 0
    from xun_cli.main import main as run

    return run(sys.argv[1:])
