"""/theme and /transcript: how things look, and the whole session to read."""

from __future__ import annotations

from xun_cli.commands.arguments import BadArguments, no_arguments
from xun_cli.commands.output import CommandResult, said, table
from xun_cli.commands.registry import CommandContext, SlashCommand

_WORDS = {
    "default": "the terminal's own colours",
    "light-safe": "no yellow, cyan or green, which vanish on a light background",
    "high-contrast": "nothing faint; weight instead of hue",
    "mono": "no colour, only weight and reverse",
}


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "theme",
            "/theme [name]",
            "show the themes, or take another for now",
            _theme,
            while_running=True,
            complete=lambda ctx, typed: [name for name in _WORDS if name.startswith(typed)],
            topic="Settings",
            details="`xun config set ui.theme NAME` keeps it.",
        ),
        SlashCommand(
            "transcript",
            "/transcript",
            "read the whole session: search, jump between turns",
            _transcript,
            while_running=True,
            topic="Session",
            details="PgUp opens it too. Without a full-screen terminal the last turns are printed again.",
        ),
    ]


async def _theme(ctx: CommandContext, rest: str) -> CommandResult:
    wanted = rest.strip()
    ui = ctx.settings.ui
    if not wanted:
        rows = [("▸" if name == ui.theme else " ", name, words) for name, words in _WORDS.items()]
        return CommandResult((table((), rows, "Themes; /theme NAME takes one:"),))
    if wanted not in _WORDS:
        raise BadArguments(f"There is no theme {wanted!r}: there are {', '.join(_WORDS)}.")
    ui.theme = wanted
    return said(f"The theme is {wanted} for now. `xun config set ui.theme {wanted}` keeps it.")


async def _transcript(ctx: CommandContext, rest: str) -> CommandResult:
    no_arguments(rest, "/transcript")
    return CommandResult(action="redraw")
