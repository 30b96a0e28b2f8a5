"""``xun tool NAME``: one built-in tool in the current folder, through the same gate as in a session."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xun.errors import ConfigError, ToolCallFormatError, XunError
from xun_cli.exit_codes import BAD_CALL, DENIED, FAILED, NOT_CONFIGURED, OK
from xun_cli.subcommands.common import Parser, add_folder, fail, print_json
from xun_cli.usage import UsageError

if TYPE_CHECKING:
    from argparse import Namespace

    from xun.agent.agent import Agent
    from xun.result import Result
    from xun.tools.toolbox import ToolBox
    from xun_cli.settings import Settings

COMMAND = "xun tool"


def main(argv: list[str]) -> int:
    """Run ``xun tool`` with the arguments *argv*."""
    parser = Parser(prog=COMMAND, description="Run one built-in tool and print its result as JSON.")
    add_folder(parser)
    parser.add_argument("name", nargs="?", metavar="NAME", help="the tool (default: list the names)")
    parser.add_argument("pairs", nargs="*", metavar="KEY=VALUE", help="its arguments; JSON where it takes no text")
    parser.add_argument("--args", metavar="JSON", help="its arguments as one JSON object (default: none)")
    add_grants(parser)
    found = parser.parse_intermixed_args(argv)
    try:
        return _run(found)
    except UsageError as error:
        return fail(COMMAND, error, BAD_CALL)
    except ConfigError as error:
        return fail(COMMAND, error, NOT_CONFIGURED)
    except XunError as error:
        return fail(COMMAND, error, FAILED)


def add_grants(parser: Parser) -> None:
    """Add ``--allow-write``, ``--allow-command`` and ``--sandbox``: what runs although nobody can be asked."""
    parser.add_argument("--allow-write", action="append", default=[], metavar="PATH", help="(default: none)")
    parser.add_argument("--allow-command", action="append", default=[], metavar="CMD", help="(default: none)")
    parser.add_argument("--sandbox", choices=("auto", "required", "off"), help="(default: the settings)")


def _run(found: Namespace) -> int:
    settings, toolbox = configured(found, COMMAND)
    # Asked for by name, what is not installed says how to install it.
    toolbox.enable("browser_*").disable(*settings.tools.disable)
    if not found.name:
        for tool in toolbox.list_tools():
            sys.stdout.write(f"{tool.name:<18} {tool.description.strip().splitlines()[0]}\n")
        return OK
    agent = gated_agent(found, settings, toolbox)
    try:
        return _call(agent, found)
    finally:
        agent.finalize()
        agent.workspace.close()


def configured(found: Namespace, command: str) -> tuple[Settings, ToolBox]:
    """Return the settings of the folder and the built-in tools as they say; credentials leave the environment."""
    from xun_cli.compose import build_toolbox
    from xun_cli.config import load_settings
    from xun_cli.keys import take_credentials
    from xun_cli.options import StartOptions
    from xun_cli.places import Places
    from xun_cli.session_hooks import SessionHooks

    places = Places.from_environment()
    credentials = take_credentials(places)
    settings = load_settings(places, StartOptions(cwd=found.folder, headless=True, sandbox=found.sandbox))
    for warning in settings.warnings:
        fail(command, f"warning: {warning}")
    if settings.provider.api_key_env:
        credentials.take([settings.provider.api_key_env])
    settings.credentials = credentials
    hooks = SessionHooks(settings.hooks, found.folder, settings.bash.shell)
    return settings, build_toolbox(settings, hooks.make_child if hooks.any else None)


def gated_agent(found: Namespace, settings: Settings, toolbox: ToolBox) -> Agent[Any]:
    """Return an agent for calls without a model: the permissions of the settings and flags, and nobody to ask."""
    from xun.agent.agent import Agent
    from xun.agent.config import AgentConfig
    from xun_cli.compose import undo_bytes
    from xun_cli.places import Places
    from xun_cli.policy_setup import audit_trail, fill_commands, fill_writes
    from xun_cli.sandboxing import put_in_sandbox
    from xun_cli.search_engine import search_config
    from xun_cli.session_hooks import SessionHooks
    from xun_policies.workspace import Workspace

    config = AgentConfig(
        risk_enabled=False,
        command_output=settings.bash.output_limit,
        command_env=tuple(settings.bash.env_keep),
        check_writes=settings.tools.check_writes,
        undo_bytes=undo_bytes(settings),
        **search_config(settings),
    )
    folders = [Path(os.path.expanduser(folder)) for folder in settings.workspace.add_dirs]
    workspace = Workspace(
        found.folder, add_dirs=folders, protect=settings.policy.writes.exclude, ignore=settings.workspace.ignore
    )
    agent: Agent[Any] = Agent(toolbox=toolbox, workspace=workspace, config=config)
    agent.initialize()
    put_in_sandbox(agent, settings)
    config.audit = audit_trail(Places.from_environment(), settings)
    fill_commands(agent.policy, settings, found.allow_command)
    fill_writes(agent.policy, settings, agent.workspace, found.allow_write)
    if settings.mode == "plan":
        agent.policy.mode = "plan"
    SessionHooks(settings.hooks, found.folder, settings.bash.shell).guard(agent)
    return agent


def _call(agent: Agent[Any], found: Namespace) -> int:
    try:
        arguments = _arguments(found, agent.toolbox.get(found.name))
        result = _result(agent, found.name, arguments)
    except ToolCallFormatError as error:
        print_json({"is_ok": False, "error": str(error), "details": repr(error), "kind": error.kind})
        return BAD_CALL
    if result.is_ok():
        print_json({"is_ok": True, "value": result.to_json()["value"]})
        return OK
    info = result.unwrap_err()
    print_json({"is_ok": False, **info.to_json(), "kind": info.kind})
    if result.status == "format_error":
        return BAD_CALL
    return DENIED if result.status == "denied" or info.kind == "denied" else FAILED


def _result(agent: Agent[Any], name: str, arguments: dict[str, Any] | str) -> Result[Any, Any]:
    hooks = agent.hooks
    if not (len(hooks.before_tool_call) or len(hooks.after_tool_call)):
        # On this thread, where Ctrl-C reaches the tool.
        return agent.toolbox.call_tool(agent, name, arguments)
    from xun.agent.hooked import call_through_hooks

    outcome = asyncio.run(call_through_hooks(agent, agent.toolbox, name, arguments))
    for note in outcome.notes:
        fail(COMMAND, note)
    return outcome.result


def _arguments(found: Namespace, tool: Any) -> dict[str, Any] | str:
    if found.args is not None:
        if found.pairs:
            raise UsageError("give either KEY=VALUE or --args, not both")
        return str(found.args)
    properties = tool.to_json()["function"]["parameters"].get("properties", {}) if tool is not None else {}
    arguments: dict[str, Any] = {}
    for pair in found.pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f'"{pair}" is no KEY=VALUE')
        arguments[key] = _value(value, properties.get(key, {}))
    return arguments


def _value(text: str, schema: dict[str, Any]) -> Any:
    """A parameter that takes a text gets it as typed; any other one is read as JSON where it is some."""
    kinds = [schema.get("type"), *(item.get("type") for item in schema.get("anyOf", ()))]
    if "string" in kinds:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
