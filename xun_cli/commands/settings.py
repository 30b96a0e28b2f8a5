"""/config: what is set, and where it comes from; setting one."""

from __future__ import annotations

from typing import Any

from xun_cli.commands.arguments import BadArguments
from xun_cli.commands.output import CommandResult, failed, said, table, text
from xun_cli.commands.registry import CommandContext, SlashCommand

_HIDDEN = frozenset({"provider.headers"})
"""Keys whose values may hold secrets: only their names are shown."""


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "config",
            "/config [key] [value]",
            "settings, their values and origins; set one",
            _config,
            complete=_complete,
            topic="Settings",
        )
    ]


async def _config(ctx: CommandContext, rest: str) -> CommandResult:
    from xun_cli.settings import all_keys

    wanted = rest.strip()
    keys = all_keys()
    if " " in wanted:
        return await _set(ctx, *wanted.split(None, 1))
    shown = [key for key in keys if not wanted or key == wanted or key.startswith(f"{wanted}.")]
    if not shown:
        from xun_cli.config import unknown_key

        message = unknown_key(wanted)
        return failed(message[:1].upper() + message[1:] + ".")
    rows = [(key, _value(ctx, key), ctx.settings.origins.get(key, "built in")) for key in shown]
    where = text(f"Settings file: {ctx.places.config_file}", *ctx.settings.warnings)
    return CommandResult((table(("key", "value", "from"), rows), where))


async def _set(ctx: CommandContext, key: str, typed: str) -> CommandResult:
    import asyncio

    from xun_cli.config import parse_value, unknown_key
    from xun_cli.config_write import set_value
    from xun_cli.settings import all_keys

    if key not in all_keys():
        raise BadArguments(f"{unknown_key(key)}.")
    value = parse_value(key, typed)
    await asyncio.to_thread(set_value, ctx.places.config_file, key, value)
    return said(f"Wrote {key} = {value!r} to {ctx.places.config_file}. It counts from the next start of xun.")


def _value(ctx: CommandContext, key: str) -> str:
    from xun_cli.settings import displayed

    value: Any = displayed(key, ctx.settings.get(key))
    if key in _HIDDEN and value:
        return ", ".join(f"{name}: (hidden)" for name in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, str) else str(value)


def _complete(ctx: CommandContext, typed: str) -> list[str]:
    from xun_cli.settings import all_keys

    return [key for key in all_keys() if key.startswith(typed)]
