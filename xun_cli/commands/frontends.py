"""/tui: another front end in the same process."""

from __future__ import annotations

from xun_cli.commands.arguments import BadArguments
from xun_cli.commands.output import CommandResult
from xun_cli.commands.registry import CommandContext, SlashCommand

_NAMES = ("inline", "full", "plain")


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "tui",
            "/tui [inline|full|plain]",
            "go on in another front end",
            _tui,
            while_running=True,
            complete=lambda ctx, typed: [name for name in _NAMES if name.startswith(typed)],
            topic="Settings",
            details="Everything goes over: the conversation, grants, mode, model, draft, queue, the running turn.",
        )
    ]


async def _tui(ctx: CommandContext, rest: str) -> CommandResult:
    wanted = rest.strip().lower()
    if wanted and wanted not in _NAMES:
        raise BadArguments(f"There is no front end {wanted!r}: /tui inline, /tui full or /tui plain.")
    return CommandResult(action="switch", data=wanted)
