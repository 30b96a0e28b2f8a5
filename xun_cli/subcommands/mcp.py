"""``xun mcp serve``: the tools as an MCP server on the standard streams, through the same gate as in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xun.errors import ConfigError
from xun_cli.exit_codes import BAD_CALL, NOT_CONFIGURED, OK
from xun_cli.subcommands.common import Parser, add_folder, fail
from xun_cli.subcommands.tool import add_grants, configured, gated_agent
from xun_cli.usage import UsageError

if TYPE_CHECKING:
    from argparse import Namespace

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
    try:
        serve_mcp(toolbox, agent, version=__version__)
    finally:
        agent.finalize()
        agent.workspace.close()
    return OK
