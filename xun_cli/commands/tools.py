"""/tools and /tool: which tools the model has, and calling one by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from xun_cli.commands.arguments import BadArguments, words
from xun_cli.commands.output import CommandResult, Output, failed, said, table, text
from xun_cli.commands.registry import CommandContext, SlashCommand

_TOOL_USAGE = "/tool NAME key=value ..."
_LINE = 100
"""Characters of the sentence that is shown of a tool."""


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "tools",
            "/tools [on|off GLOB]",
            "the model's tools; switch some off or on",
            _tools,
            complete=_complete_tools,
            topic="Model",
        ),
        SlashCommand(
            "tool",
            _TOOL_USAGE,
            "call a tool yourself, through the same checks",
            _tool,
            complete=_complete_tool,
            topic="Model",
            details="Values are read as JSON where the parameter is no text: "
            '/tool read_file path=a.py limit=20, /tool glob pattern="**/*.py". The model does not see the call.',
        ),
    ]


async def _tools(ctx: CommandContext, rest: str) -> CommandResult:
    box = ctx.session.agent.toolbox
    verb, _, pattern = rest.strip().partition(" ")
    if not verb:
        rows = [(name, "off" if box.is_disabled(name) else "on", _first_line(ctx, name)) for name in _names(ctx)]
        return CommandResult((table(("tool", "", "what it does"), rows),))
    if verb not in ("on", "off") or not pattern.strip():
        raise BadArguments(f"/tools takes on GLOB or off GLOB, such as /tools off web_*, not {rest!r}.")
    before = {name: box.is_disabled(name) for name in _names(ctx)}
    (box.disable if verb == "off" else box.enable)(*pattern.split())
    changed = [name for name, was in before.items() if box.is_disabled(name) != was]
    if not changed:
        return failed(
            f"No tool that is {'on' if verb == 'off' else 'off'} matches {pattern.strip()!r}. /tools lists them."
        )
    return said(f"Switched {verb}: {', '.join(changed)}. It holds from the next message on.")


def _names(ctx: CommandContext) -> list[str]:
    return [tool.name for tool in ctx.session.agent.toolbox.list_tools(include_disabled=True)]


def _first_line(ctx: CommandContext, name: str) -> str:
    tool = ctx.session.agent.toolbox.get(name)
    text = " ".join((tool.description if tool is not None else "").strip().partition("\n\n")[0].split())
    sentence = text.partition(". ")[0]
    return sentence if len(sentence) <= _LINE else f"{sentence[: _LINE - 1].rpartition(' ')[0]} …"


async def _tool(ctx: CommandContext, rest: str) -> CommandResult:
    given = words(rest, _TOOL_USAGE)
    if not given:
        raise BadArguments(f"/tool needs the name of a tool. Usage: {_TOOL_USAGE}")
    from xun.agent.hooked import call_through_hooks

    agent = ctx.session.agent
    schema = _schema(ctx, given[0])
    outcome = await call_through_hooks(agent, agent.toolbox, given[0], read_arguments(given[1:], schema))
    notes = tuple(text(note) for note in outcome.notes)
    if outcome.result.is_err():
        return CommandResult((*failed(outcome.result.value.error).outputs, *notes))
    value = outcome.result.to_json()["value"]
    if isinstance(value, str):
        return CommandResult((*said(value).outputs, *notes))
    return CommandResult((Output("markdown", _fenced(json.dumps(value, ensure_ascii=False, indent=2))), *notes))


def _fenced(shown: str) -> str:
    fence = "```"
    while fence in shown:
        fence += "`"
    return f"{fence}json\n{shown}\n{fence}"


def _schema(ctx: CommandContext, name: str) -> dict[str, Any]:
    tool = ctx.session.agent.toolbox.get(name)
    return dict(tool.tool_schema.get("properties", {})) if tool is not None else {}


def read_arguments(pairs: Sequence[str], properties: dict[str, Any]) -> dict[str, Any]:
    """Read ``key=value`` words by the schema of a tool: text stays text, all else is read as JSON.

    Raises:
        BadArguments: A word has no ``=``, or a key comes twice.
    """
    arguments: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise BadArguments(f"{pair!r} is no key=value. Usage: {_TOOL_USAGE}")
        if key in arguments:
            raise BadArguments(f"{key} is given twice.")
        arguments[key] = value if _is_text(properties.get(key, {})) else _json_or_text(value)
    return arguments


def _is_text(schema: dict[str, Any]) -> bool:
    kinds = [schema.get("type"), *(option.get("type") for option in schema.get("anyOf", ()))]
    return "string" in kinds


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _complete_tools(ctx: CommandContext, typed: str) -> list[str]:
    verb, blank, pattern = typed.partition(" ")
    if not blank:
        return [word for word in ("on ", "off ") if word.startswith(verb)]
    box = ctx.session.agent.toolbox
    wanted = [name for name in _names(ctx) if box.is_disabled(name) is (verb == "on")]
    return [f"{verb} {name}" for name in wanted if name.startswith(pattern)]


def _complete_tool(ctx: CommandContext, typed: str) -> list[str]:
    name, blank, rest = typed.partition(" ")
    if not blank:
        return [known for known in _names(ctx) if known.startswith(name)]
    done, _, last = rest.rpartition(" ")
    if "=" in last:
        return []
    given = {pair.partition("=")[0] for pair in done.split()}
    head = f"{name} {done} " if done else f"{name} "
    return [f"{head}{key}=" for key in _schema(ctx, name) if key.startswith(last) and key not in given]
