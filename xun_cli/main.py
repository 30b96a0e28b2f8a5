"""``xun``: the help, the commands by name, else a session."""

from __future__ import annotations

import sys
from importlib import import_module

from xun_cli.arguments import COMMANDS, HELP, UsageError, parse, usage_error


def main(argv: list[str]) -> int:
    """Run xun with the arguments *argv* and return its exit code."""
    try:
        code = _dispatch(argv)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError as error:
        from xun_cli.headless import discard_stdout

        return discard_stdout(error)
    return code


def _dispatch(argv: list[str]) -> int:
    if argv[:1] in (["-h"], ["--help"]):
        sys.stdout.write(HELP)
        return 0
    folder, rest = (argv[:2], argv[2:]) if argv[:1] == ["-C"] and len(argv) > 2 else ([], argv)
    if rest and rest[0] in COMMANDS and rest[0] != "run":
        module = import_module(f"xun_cli.subcommands.{rest[0]}")
        code: int = module.main([*folder, *rest[1:]])
        return code
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
        return usage_error(str(error))
