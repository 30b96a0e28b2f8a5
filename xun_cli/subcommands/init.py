"""``xun init``: a first AGENTS.md."""

from __future__ import annotations

from pathlib import Path

from xun_cli.agents_file import starter, write_new
from xun_cli.exit_codes import OK
from xun_cli.subcommands.common import Parser, add_folder, fail, print_text

COMMAND = "xun init"


def main(argv: list[str]) -> int:
    """Run ``xun init`` with the arguments *argv*."""
    parser = Parser(prog=COMMAND, description="Write a first AGENTS.md: what an agent should know about this project.")
    add_folder(parser)
    parser.add_argument("--print", action="store_true", help="to standard output, write nothing (default: off)")
    found = parser.parse_args(argv)
    folder: Path = found.folder
    content = starter(folder)
    if found.print:
        print_text(content.rstrip("\n"))
        return OK
    path = folder / "AGENTS.md"
    try:
        write_new(path, content)
    except FileExistsError:
        return fail(COMMAND, f"{path} exists and stays as it is; `xun init --print` shows the starter")
    except OSError as error:
        return fail(COMMAND, f"{path} can't be written: {error.strerror}")
    print_text(f"Wrote {path}. Change it to what a new colleague would need to know.")
    return OK
