"""/status, /cost, /context, /add-dir: what this session is and uses."""

from __future__ import annotations

import asyncio

from xun_cli.commands.arguments import file_argument, no_arguments
from xun_cli.commands.output import CommandResult, said, table, text
from xun_cli.commands.registry import CommandContext, SlashCommand
from xun_cli.sandboxing import sandbox_line

_BYTES_PER_TOKEN = 4
"""A rule of thumb for source code and English; good enough to see what fills the window."""


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand("status", "/status", "model, folder, mode, permissions, use", _status, while_running=True),
        SlashCommand("cost", "/cost", "tokens and money, by turn", _cost, aliases=("stats",), while_running=True),
        SlashCommand("context", "/context", "what fills the model's window", _context, while_running=True),
        SlashCommand("add-dir", "/add-dir PATH", "let the tools into one more folder", _add_dir, topic="Permissions"),
    ]


async def _status(ctx: CommandContext, rest: str) -> CommandResult:
    from xun_cli import vcs

    no_arguments(rest, "/status")
    session = ctx.session
    policy = session.policy
    git = await asyncio.to_thread(vcs.status, session.cwd)
    tools = session.agent.toolbox.list_tools()
    auto = f", the next {policy.auto_remaining} questions answered" if policy.auto_remaining else ""
    rows = [
        ("session", f"{session.id}  {session.name}".rstrip()),
        ("stored in", str(session.store.path) if session.store is not None else "nowhere (not stored)"),
        ("model", session.model_name),
        ("folder", str(session.cwd)),
        *(("also open", str(folder)) for folder in session.agent.workspace.add_dirs),
        ("git", _git_line(git)),
        ("mode", policy.mode + auto),
        ("sandbox", await asyncio.to_thread(sandbox_line, session.agent)),
        ("granted", f"{len(policy.command_allowlist)} commands, {len(policy.write_allowlist)} paths"),
        ("tools", f"{len(tools)} on"),
        ("context", _percent(session.context_pct)),
        ("used", _usage_line(ctx)),
        ("turn", f"{session.turn}, {'running' if session.running else 'idle'}, {len(session.queue)} queued"),
    ]
    return CommandResult((table((), rows),))


def _git_line(git: object) -> str:
    from xun_cli.vcs import GitStatus

    assert isinstance(git, GitStatus)
    if git.problem:
        return f"{git.branch}: unknown, {git.problem}" if git.branch else git.problem
    if not git.dirty:
        return f"{git.branch}, clean"
    return f"{git.branch}, {len(git.changed)} changed, {len(git.untracked)} untracked"


def _percent(value: float | None) -> str:
    return "not measured yet" if value is None else f"{value:.0f} % of the window"


def _usage_line(ctx: CommandContext) -> str:
    usage = ctx.session.usage
    return f"{usage.input:,} tokens in ({usage.cached:,} cached), {usage.output:,} out, {_money(usage.cost_usd)}"


def _money(dollars: float) -> str:
    return f"${dollars:.4f}" if dollars else "price not known"


async def _cost(ctx: CommandContext, rest: str) -> CommandResult:
    from xun.events import UsageUpdated

    no_arguments(rest, "/cost")
    turns: dict[int, list[float]] = {}
    for envelope in ctx.session.history():
        event = envelope.event
        if isinstance(event, UsageUpdated):
            sums = turns.setdefault(envelope.turn or 0, [0, 0, 0, 0, 0])
            for at, value in enumerate((1, event.input, event.cached, event.output, event.cost_usd)):
                sums[at] += value
    rows = [(str(turn or "-"), *_figures(sums)) for turn, sums in list(turns.items())[-10:]]
    usage = ctx.session.usage
    whole = [usage.requests, usage.input, usage.cached, usage.output, usage.cost_usd]
    rows.append(("all", *_figures(whole)))
    header = ("turn", "requests", "in", "cached", "out", "cost")
    caption = f"the last 10 of {len(turns)} turns" if len(turns) > 10 else ""
    return CommandResult((table(header, rows, caption),))


def _figures(sums: list[float]) -> tuple[str, ...]:
    return (*(f"{int(value):,}" for value in sums[:4]), f"${sums[4]:.4f}" if sums[4] else "?")


async def _context(ctx: CommandContext, rest: str) -> CommandResult:
    import json

    from xun.agent.compaction import largest

    no_arguments(rest, "/context")
    agent = ctx.session.agent
    sizes = {"system message": len(agent.system_text().encode("utf-8", "replace"))}
    tools = agent.toolbox.list_tools_json()
    sizes[f"{len(tools)} tools"] = len(json.dumps(tools))
    names = {"user": "your messages", "assistant": "the model's messages and calls", "tool": "tool results"}
    for message in agent.history:
        name = names.get(message.role, message.role)
        size = len(message.text.encode("utf-8", "replace")) + sum(len(call.arguments) for call in message.tool_calls)
        sizes[name] = sizes.get(name, 0) + size
    total = sum(sizes.values())
    window = agent.model.context_window if agent.model is not None else None
    rows = [_share(name, size, total, window) for name, size in sizes.items()]
    rows.append(_share("all", total, total, window))
    measured = f"Measured by the model: {_percent(ctx.session.context_pct)}."
    size_line = f"The window holds {window:,} tokens. " if window else ""
    first = f"The largest message is {largest(agent.history)}. " if agent.history else ""
    outputs = (table(("part", "tokens, about", "share"), rows), text(f"{first}{size_line}{measured}"))
    return CommandResult(outputs)


def _share(name: str, size: int, total: int, window: int | None) -> tuple[str, str, str]:
    tokens = size // _BYTES_PER_TOKEN
    share = f"{100 * tokens / window:.1f} % of the window" if window else f"{100 * size / max(total, 1):.0f} %"
    return name, f"{tokens:,}", share


async def _add_dir(ctx: CommandContext, rest: str) -> CommandResult:
    import os
    from pathlib import Path

    from xun.events import Notice

    wanted = rest.strip()
    workspace = ctx.session.agent.workspace
    if not wanted:
        open_now = [str(ctx.session.cwd), *(str(folder) for folder in workspace.add_dirs)]
        return said("The tools reach:", *open_now, "/add-dir PATH adds a folder for this session.")
    path = file_argument(ctx.session.cwd, wanted)
    real = Path(os.path.realpath(path))
    wide = real == Path(real.anchor) or real == Path(os.path.realpath(Path.home())) or real in ctx.session.cwd.parents
    if wide and not await ctx.confirm(
        f"Let the tools into all of {real}?", "They could read every file in it, keys and other projects included."
    ):
        return said("Nothing added.")
    folder = workspace.add_dir(path)
    ctx.session.emit(Notice(text=f"The tools may now use {folder}."))
    return said(f"The tools may now read {folder} and ask to change files in it, for this session.")
