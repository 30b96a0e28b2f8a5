"""What the commands share: their argument parser and their output."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from xun_cli.exit_codes import FAILED
from xun_cli.streams import say
from xun_cli.usage import usage_error

if TYPE_CHECKING:
    from xun_cli.commands.output import Output


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence and exit code 2."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def error(self, message: str) -> NoReturn:
        """Print one sentence and end with exit code 2."""
        raise SystemExit(usage_error(message, self.prog))


def parse_words(parser: argparse.ArgumentParser, argv: list[str], default: str) -> argparse.Namespace:
    """Return the arguments of a command of several words; the word *default* is meant when none is given."""
    found, rest = parser.parse_known_args(argv)
    if found.word:
        return parser.parse_args(argv)
    # What the command itself does not know belongs to the word that is meant.
    return parser.parse_args([*(item for item in argv if item not in rest), default, *rest])


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Add ``-C DIR``, which must exist."""
    parser.add_argument("-C", dest="folder", default=".", metavar="DIR", type=_folder, help="the folder (default: .)")


def _folder(text: str) -> Path:
    path = Path(os.path.expanduser(text))
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"no such folder: {text}")
    return Path(os.path.realpath(path))


def fail(command: str, message: object, code: int = FAILED) -> int:
    """Print one sentence on standard error and return *code*."""
    say(str(message), command=command)
    return code


def print_json(data: Any, *, indent: int | None = None) -> None:
    """Print *data* as JSON that is valid UTF-8; on a terminal what could deceive it is written as ``\\uXXXX``."""
    from xun_cli.session.lines import out_line

    if indent:
        sys.stdout.write(json.dumps(data, indent=indent, ensure_ascii=True, default=str) + "\n")
    else:
        sys.stdout.write(out_line(data, terminal=sys.stdout.isatty()) + "\n")


def print_text(text: str) -> None:
    """Print *text* with what could deceive a terminal made visible."""
    from xun_cli.render.safe import safe

    sys.stdout.write(safe(text) + "\n")


def print_outputs(outputs: Iterable[Output]) -> bool:
    """Print what a command function gave; return whether none of it is an error."""
    good = True
    for output in outputs:
        if output.kind == "error":
            good = False
            fail("xun", output.text)
        else:
            print_text(output.plain())
    return good
