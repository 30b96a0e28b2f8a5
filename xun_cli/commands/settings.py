"""/config: what is set, and where it comes from."""

from __future__ import annotations

from typing import Any

from xun_cli.commands.arguments import BadArguments
from xun_cli.commands.output import CommandResult, failed, table, text
from xun_cli.commands.registry import CommandContext, SlashCommand

_HIDDEN = frozenset({"provider.headers"})
"""Keys whose values may hold secrets: only their names are shown."""


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "config",
            "/config [key]",
            "settings, their values and origins",
            _config,
            complete=_complete,
            topic="Help",
        )
    ]


async def _config(ctx: CommandContext, rest: str) -> CommandResult:
    from xun_cli.settings import all_keys

    wanted = rest.strip()
    keys = all_keys()
    if " " in wanted:
        key = wanted.split()[0]
        raise BadArguments(f"/config only shows. To change {key}: `xun config set {key} VALUE`, then start xun again.")
    shown = [key for key in keys if not wanted or key == wanted or key.startswith(f"{wanted}.")]
    if not shown:
        from xun_cli.config import unknown_key

        message = unknown_key(wanted)
        return failed(message[:1].upper() + message[1:] + ".")
    rows = [(key, _value(ctx, key), ctx.settings.origins.get(key, "built in")) for key in shown]
    where = text(f"Settings file: {ctx.places.config_file}", *ctx.settings.warnings)
    return CommandResult((table(("key", "value", "from"), rows), where))


def _value(ctx: CommandContext, key: str) -> str:
    value: Any = ctx.settings.get(key)
    if key in _HIDDEN and value:
        return ", ".join(f"{name}: (hidden)" for name in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, str) else str(value)


def _complete(ctx: CommandContext, typed: str) -> list[str]:
    from xun_cli.settings import all_keys

    return [key for key in all_keys() if key.startswith(typed)]
