"""``xun mcp serve``: the tools as an MCP server on the standard streams, through the same gate as in a session."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

from xun.errors import ConfigError
from xun_cli.exit_codes import BAD_CALL, NOT_CONFIGURED, OK
from xun_cli.subcommands.common import Parser, add_folder, fail
from xun_cli.subcommands.tool import add_grants, configured, gated_agent
from xun_cli.usage import UsageError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

COMMAND = "xun mcp"


def main(argv: list[str]) -> int:
    """Run ``xun mcp`` with the arguments *argv*."""
    parser = Parser(
        prog=COMMAND,
        description="Serve the tools over standard input and output, for any MCP client. Nobody can be asked there: "
        "what is not allowed by the settings or by these flags is denied.",
    )
    add_folder(parser)
    parser.add_argument("action", choices=("serve",))
    parser.add_argument("--from", dest="source", metavar="MODULE:NAME", help="a ToolBox (default: the built-in tools)")
    add_grants(parser)
    found = parser.parse_intermixed_args(argv)
    try:
        return _serve(found)
    except UsageError as error:
        return fail(COMMAND, error, BAD_CALL)
    except ConfigError as error:
        return fail(COMMAND, error, NOT_CONFIGURED)


def _serve(found: Namespace) -> int:
    from xun.mcp import serve_mcp
    from xun_cli._version import __version__
    from xun_cli.subcommands.tools import named_toolbox

    settings, toolbox = configured(found, COMMAND)
    if found.source:
        toolbox = named_toolbox(found.source, found.folder)
    agent = gated_agent(found, settings, toolbox)

    def end() -> None:
        agent.finalize()
        agent.workspace.close()

    _end_by_signal(end)
    try:
        serve_mcp(toolbox, agent, version=__version__)
    finally:
        end()
    return OK


def _end_by_signal(end: Callable[[], None]) -> None:
    """Have a signal end the process, after *end*; a second one does not wait for that."""
    asked: list[int] = []

    def leave(number: int) -> None:
        try:
            end()
        finally:
            # Not by an exception: a thread waits for the client's next line, and nothing but that line wakes it.
            os._exit(128 + number)

    def handle(number: int, frame: object) -> None:
        if asked:
            os._exit(128 + number)
        asked.append(number)
        threading.Thread(target=leave, args=(number,), daemon=True).start()

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), handle)
