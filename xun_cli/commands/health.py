"""/doctor: what works here, looked at from inside a session."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from xun_cli.commands.arguments import BadArguments
from xun_cli.commands.output import CommandResult, Output, table, text
from xun_cli.commands.registry import CommandContext, SlashCommand

if TYPE_CHECKING:
    from xun_cli.diagnosis import Check

_MARKS = {"ok": "ok", "warn": "warn", "bad": "BAD"}


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "doctor",
            "/doctor [online]",
            "check programs, settings, storage, model",
            _doctor,
            while_running=True,
            complete=lambda ctx, typed: [word for word in ("online",) if word.startswith(typed)],
            topic="Settings",
            details="online also asks the model's server for its list. `xun doctor` looks at the terminal too.",
        )
    ]


async def _doctor(ctx: CommandContext, rest: str) -> CommandResult:
    if rest not in ("", "online"):
        raise BadArguments(f"/doctor takes nothing or the word online, not {rest!r}.")
    checks = await asyncio.to_thread(_checks, ctx, rest == "online")
    rows = [("session", "ok", f"{ctx.session.id}, {ctx.session.model_name}")]
    rows += [(check.name, _MARKS[check.status], " ".join(check.text.split())) for check in checks]
    outputs: tuple[Output, ...] = (table((), rows),)
    bad = [check.name for check in checks if check.status == "bad"]
    if bad:
        outputs += (text(f"Will not work like this: {', '.join(bad)}."),)
    return CommandResult(outputs)


def _checks(ctx: CommandContext, online: bool) -> list[Check]:
    from xun_cli.diagnosis import diagnose
    from xun_cli.options import StartOptions

    # The terminal is left out: asking it for its answers would break into the prompt.
    return diagnose(ctx.places, ctx.settings, StartOptions(cwd=ctx.session.cwd), online=online, terminal=False)
