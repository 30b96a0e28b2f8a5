"""``xun``: the help, the commands by name, else a session."""

from __future__ import annotations

import sys

from xun_cli import exit_codes
from xun_cli.usage import COMMANDS, HELP, UsageError, usage_error


def main(argv: list[str]) -> int:
    """Run xun with the arguments *argv* and return its exit code."""
    sys.excepthook = _crashed
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_missing_streams()
    _never_fail_to_write()
    try:
        code = _dispatch(argv)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        from xun_cli.crash import json_failure

        json_failure(argv, exit_codes.INTERRUPTED, "interrupted", "interrupted")
        return exit_codes.INTERRUPTED
    except BrokenPipeError as error:
        from xun_cli.streams import discard_stdout

        return discard_stdout(error)
    return code


def _open_missing_streams() -> None:
    """Started with a closed stdin, stdout or stderr (``>&-``): what would go there goes nowhere.

    The numbers 0 to 2 are taken as well, so that no file of ours is given one of them.
    """
    import os

    while (null := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(null)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open to the end


def _never_fail_to_write() -> None:
    """A character that the terminal's encoding lacks becomes ``?``: an arrow in a sentence is no reason to stop."""
    import io

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _crashed(kind: type[BaseException], error: BaseException, trace: object) -> None:
    from xun_cli.crash import report
    from xun_cli.places import Places

    report(Places.from_environment(), error)


def _subcommand(word: str, argv: list[str]) -> int:
    from importlib import import_module

    from xun_policies.errors import XunError

    try:
        module = import_module(f"xun_cli.subcommands.{word}")
        code: int = module.main(argv)
    except XunError as error:
        from xun_cli.subcommands.common import fail

        return fail(f"xun {word}", error, exit_codes.of_error(error))
    return code


def _dispatch(argv: list[str]) -> int:
    if argv[:1] == ["help"] and len(argv) == 2 and argv[1] in COMMANDS:
        argv = [argv[1], "-h"]
    if argv[:1] in (["-h"], ["--help"]) or argv in (["help"], ["run", "-h"], ["run", "--help"]):
        sys.stdout.write(HELP)
        return 0
    folder, rest = (argv[:2], argv[2:]) if argv[:1] == ["-C"] and len(argv) > 2 else ([], argv)
    if rest and rest[0] in COMMANDS and rest[0] != "run":
        return _subcommand(rest[0], [*folder, *rest[1:]])
    from xun_cli.arguments import parse

    from_file = rest[:1] == ["run"]
    try:
        options, found = parse([*folder, *rest[1:]] if from_file else argv, file_prompt=from_file)
        if found.help:
            sys.stdout.write(HELP)
            return 0
        if found.version:
            from xun_cli._version import __version__

            sys.stdout.write(f"xun {__version__}\n")
            return 0
        from xun_cli.start import start

        return start(options)
    except UsageError as error:
        code = usage_error(str(error))
        from xun_cli.crash import json_failure

        json_failure(argv, code, str(error), "usage")
        return code
