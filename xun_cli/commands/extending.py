"""/mcp, /skills and /hooks: what this session has beyond xun itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from xun_cli.commands.arguments import BadArguments, no_arguments
from xun_cli.commands.output import CommandResult, failed, said, table, text
from xun_cli.commands.registry import CommandContext, SlashCommand

if TYPE_CHECKING:
    from xun_cli.extensions import Extensions
    from xun_cli.mcp_servers import ServerState

_MCP = ("list", "reload", "enable", "disable")


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "mcp",
            "/mcp [reload|enable NAME|disable NAME]",
            "MCP servers and their tools",
            _mcp,
            complete=_complete_mcp,
            topic="Extending",
            details="Servers are tables [mcp.servers.NAME] of the settings, with command and args, or url. enable and "
            "disable hold for this session; reload asks the servers for their tools again.",
        ),
        SlashCommand(
            "skills",
            "/skills [reload]",
            "skills that the model can load",
            _skills,
            complete=lambda ctx, typed: [word for word in ("reload",) if word.startswith(typed)],
            topic="Extending",
            details="A skill is a folder with a SKILL.md, in the folder skills of your settings, or in .xun/skills of "
            "a project that you trust.",
        ),
        SlashCommand(
            "hooks",
            "/hooks",
            "commands of yours that run at points of a session",
            _hooks,
            while_running=True,
            topic="Extending",
        ),
    ]


def _extensions(ctx: CommandContext) -> Extensions | None:
    return getattr(ctx.session, "extensions", None)


async def _mcp(ctx: CommandContext, rest: str) -> CommandResult:
    verb, _, name = rest.strip().partition(" ")
    verb, name = verb or "list", name.strip()
    if verb not in _MCP or bool(name) != (verb in ("enable", "disable")):
        raise BadArguments(f"/mcp takes list, reload, enable NAME or disable NAME, not {rest.strip()!r}.")
    found = _extensions(ctx)
    if found is None or not found.servers.states:
        return said("No MCP server. A table [mcp.servers.NAME] of the settings, with command or url, adds one.")
    servers = found.servers
    if name and name not in servers.states:
        return failed(f"There is no MCP server {name!r}; there are: {', '.join(servers.states)}.")
    if verb == "disable":
        await asyncio.to_thread(servers.disconnect, name)
    elif verb == "enable":
        servers.states[name].enabled = True
        await asyncio.to_thread(servers.connect, name)
    elif verb == "reload":
        await asyncio.to_thread(servers.connect)
    rows = [(state.name, _state(state), state.where) for state in servers.states.values()]
    states = servers.states.values()
    problems = [line for state in states for line in (state.problem, *state.left_out) if line and state.enabled]
    return CommandResult((table(("server", "state", "what"), rows), *((text(*problems),) if problems else ())))


def _state(state: ServerState) -> str:
    if not state.enabled:
        return "off"
    if state.problem:
        return "failed"
    return "1 tool" if len(state.tools) == 1 else f"{len(state.tools)} tools"


def _complete_mcp(ctx: CommandContext, typed: str) -> list[str]:
    verb, blank, name = typed.partition(" ")
    if not blank:
        return [word for word in _MCP if word.startswith(typed)]
    found = _extensions(ctx)
    names = list(found.servers.states) if found is not None and verb in ("enable", "disable") else []
    return [f"{verb} {item}" for item in names if item.startswith(name)]


async def _skills(ctx: CommandContext, rest: str) -> CommandResult:
    if rest.strip() not in ("", "reload"):
        raise BadArguments(f"/skills takes nothing or the word reload, not {rest!r}.")
    found = _extensions(ctx)
    problems: list[str] = []
    if found is not None and rest.strip() and not ctx.settings.safe:
        box = ctx.session.agent.toolbox
        problems = await asyncio.to_thread(found.load_skills, ctx.places, box, ctx.session.cwd)
    notes = (text(*problems),) if problems else ()
    if found is None or not found.skills:
        return CommandResult(
            (text(f"No skills. A folder with a SKILL.md in {ctx.places.config / 'skills'} is one."), *notes)
        )
    rows = [
        (skill.name, " ".join(skill.description.split())[:80], str(skill.folder)) for skill in found.skills.values()
    ]
    return CommandResult((table(("skill", "when", "folder"), rows), *notes))


async def _hooks(ctx: CommandContext, rest: str) -> CommandResult:
    from xun_cli.session_hooks import POINTS

    no_arguments(rest, "/hooks")
    found = _extensions(ctx)
    rows = [(point, line) for point in POINTS for line in found.hooks.lines(point)] if found is not None else []
    if not rows:
        return said(f"No hooks. The settings [hooks] take lists of commands for {', '.join(POINTS)}.")
    return CommandResult((table(("when", "command"), rows),))
