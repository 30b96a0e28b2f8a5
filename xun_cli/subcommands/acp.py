"""``xun acp``: a session behind an editor that speaks the Agent Client Protocol, such as Zed, JetBrains or Neovim."""

from __future__ import annotations

import asyncio
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from xun.errors import ConfigError
from xun_cli.exit_codes import BAD_CALL, NOT_CONFIGURED
from xun_cli.subcommands.common import fail
from xun_cli.usage import UsageError

if TYPE_CHECKING:
    from xun_cli.options import StartOptions
    from xun_cli.session.session import Session
    from xun_cli.settings import Settings

COMMAND = "xun acp"
INSTALL = "pip install 'agent-client-protocol>=0.12.1,<0.13'"

HELP = """\
usage: xun acp [OPTIONS]

Serve an editor over standard input and output (Agent Client Protocol). The editor starts this itself; in its settings
name the command `xun` with the argument `acp`. Questions, diffs and modes appear in the editor. OPTIONS are those of
`xun` for the model, settings and permissions, such as --model, --mode, --sandbox, --allow-command, --safe, --config.
A key is set up before, in a terminal: `xun setup`. Needs the package of the extra `acp`.
"""


def main(argv: list[str]) -> int:
    """Run ``xun acp`` with the arguments *argv*."""
    from xun_cli.arguments import parse

    try:
        options, found = parse(argv)
        if found.help:
            sys.stdout.write(HELP)
            return 0
        if options.prompt or options.headless or options.resume is not None or options.continue_:
            raise UsageError("the prompt, and the session to go on with, come from the editor")
        if find_spec("acp") is None:
            raise ConfigError(f"this needs a package that is not installed: {INSTALL}")
        return _serve(options)
    except UsageError as error:
        return fail(COMMAND, error, BAD_CALL)
    except ConfigError as error:
        return fail(COMMAND, error, NOT_CONFIGURED)


def _serve(options: StartOptions) -> int:
    from xun_cli.keys import Credentials
    from xun_cli.model_choice import choose_model
    from xun_cli.places import Places
    from xun_cli.start import builder, prepare, settings_of

    places = Places.from_environment()
    credentials = prepare(options, places).credentials or Credentials()

    def build(options: StartOptions, servers: dict[str, dict[str, Any]]) -> tuple[Settings, Session]:
        settings = settings_of(options, places, credentials)
        settings.mcp.servers = {**servers, **settings.mcp.servers}
        choose_model(options, settings, interactive=False)  # no demo by itself: an editor asks for a key instead
        return settings, builder(options, settings, places)()

    from xun_cli.acp.server import private_streams, serve

    return asyncio.run(serve(options, build, places, private_streams()))
