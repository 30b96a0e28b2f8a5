"""/mode, /auto and /plan: how much is asked."""

from __future__ import annotations

from xun_cli.commands.arguments import BadArguments, number
from xun_cli.commands.output import CommandResult, Output, said, text
from xun_cli.commands.policy_change import emit_change
from xun_cli.commands.registry import CommandContext, SlashCommand

MODES: dict[str, str] = {
    "ask": "changes to existing files and commands that no list allows ask",
    "plan": "nothing is changed; commands that no list allows ask",
    "auto-edit": "changes inside the project do not ask; commands that no list allows ask",
}
"""The modes and what they mean."""

_MOST_AUTO = 1_000


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "mode",
            "/mode [ask|plan|auto-edit]",
            "what is asked before it happens",
            _mode,
            while_running=True,
            complete=lambda ctx, typed: [name for name in MODES if name.startswith(typed)],
            topic="Permissions",
        ),
        SlashCommand(
            "auto",
            "/auto [N|off]",
            "answer the next N ordinary questions with yes",
            _auto,
            while_running=True,
            complete=lambda ctx, typed: [word for word in ("off",) if word.startswith(typed)],
            topic="Permissions",
            details="Protected paths, commands assessed as reject, and questions of the model itself still ask.",
        ),
        SlashCommand(
            "plan",
            "/plan [on|off|view]",
            "plan mode: look and think, change nothing; the plan",
            _plan,
            complete=lambda ctx, typed: [word for word in ("on", "off", "view") if word.startswith(typed)],
            while_running=True,
            topic="Permissions",
        ),
    ]


async def _mode(ctx: CommandContext, rest: str) -> CommandResult:
    name = rest.strip()
    policy = ctx.session.policy
    if not name:
        lines = [f"{'▸' if policy.mode == mode else ' '} {mode:<9}  {what}" for mode, what in MODES.items()]
        return said(*lines)
    if name not in MODES:
        raise BadArguments(f"No mode {name!r}: there are {', '.join(MODES)}.")
    return _set_mode(ctx, name)


async def _plan(ctx: CommandContext, rest: str) -> CommandResult:
    word = rest.strip() or ("off" if ctx.session.policy.mode == "plan" else "on")
    if word == "view":
        return _view(ctx)
    if word not in ("on", "off"):
        raise BadArguments(f"/plan takes on, off or view, not {rest!r}.")
    if word == "off" and ctx.session.policy.mode != "plan":
        return said(f"Plan mode was not on. Mode: {ctx.session.policy.mode}.")
    return _set_mode(ctx, "plan" if word == "on" else "ask")


def _view(ctx: CommandContext) -> CommandResult:
    """Show the last answer that was given in plan mode, and the list of steps."""
    from xun.events import MessageCompleted, PolicyChanged, SessionStarted
    from xun_cli.session.rewinding import live

    planning, plan = False, ""
    for event in (item.event for item in live(ctx.session.history())):
        if isinstance(event, SessionStarted) and event.mode:
            planning = event.mode == "plan"
        elif isinstance(event, PolicyChanged) and event.op == "mode":
            planning = event.entry == "plan"
        elif planning and isinstance(event, MessageCompleted) and event.agent == "main" and event.text.strip():
            plan = event.text
    if not plan:
        return said("No plan yet: in plan mode the model's answer is the plan. /plan begins it.")
    steps = [f"{item.get('status', '')}: {item.get('description', '')}" for item in ctx.session.todos]
    return CommandResult((Output("markdown", plan), *((text(*steps),) if steps else ())))


def _set_mode(ctx: CommandContext, name: str) -> CommandResult:
    policy = ctx.session.policy
    if policy.mode != name:
        policy.mode = name
        emit_change(ctx.session, policy, "mode", "mode", name)
    return said(f"Mode {name}: {MODES[name]}.")


async def _auto(ctx: CommandContext, rest: str) -> CommandResult:
    policy = ctx.session.policy
    word = rest.strip()
    if not word:
        left = policy.auto_remaining
        return said(
            f"The next {left} questions are answered with yes."
            if left
            else "Every question asks. /auto 5 answers the next five with yes."
        )
    count = 0 if word in ("off", "0") else number(word, "The number of questions", most=_MOST_AUTO)
    policy.auto_remaining = count
    emit_change(ctx.session, policy, "auto", "auto", str(count))
    if not count:
        return said("Every question asks again.")
    return said(f"The next {count} ordinary questions are answered with yes, then xun asks again. /auto off stops it.")
