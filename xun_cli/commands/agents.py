"""/agents: the sub-agents of this session, and what one of them did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xun_cli.commands.output import CommandResult, Output, failed, said, table, text
from xun_cli.commands.registry import CommandContext, SlashCommand

if TYPE_CHECKING:
    from xun.events import Event

_SHOWN = 30
_LAST_LINES = 400


@dataclass(slots=True)
class SubagentView:
    """One sub-agent as people see it.

    Attributes:
        name: Its name, unique in the session.
        parent: The agent that gave it the task.
        task: What it was asked.
        state: running, done or failed.
        last: The last line of what it said or did.
    """

    name: str
    parent: str
    task: str
    state: str = "running"
    last: str = ""


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "agents",
            "/agents [name]",
            "sub-agents of this session; what one of them did",
            _agents,
            while_running=True,
            complete=lambda ctx, typed: [item.name for item in subagents(ctx) if item.name.startswith(typed)],
        )
    ]


def subagents(ctx: CommandContext) -> list[SubagentView]:
    """Return the sub-agents of the session in the order in which they began."""
    from xun.events import MessageCompleted, SubagentCompleted, SubagentStarted, ToolStarted

    found: dict[str, SubagentView] = {}
    for envelope in ctx.session.history():
        event = envelope.event
        if isinstance(event, SubagentStarted):
            found[event.name] = SubagentView(event.name, event.agent, event.task)
        elif isinstance(event, SubagentCompleted) and event.name in found:
            found[event.name].state = "done" if event.ok else "failed"
        elif event.agent in found and isinstance(event, MessageCompleted) and event.text.strip():
            found[event.agent].last = event.text.strip().rpartition("\n")[2]
        elif event.agent in found and isinstance(event, ToolStarted):
            found[event.agent].last = f"calls {event.tool}"
    return list(found.values())


async def _agents(ctx: CommandContext, rest: str) -> CommandResult:
    found = subagents(ctx)
    wanted = rest.strip()
    if wanted:
        item = next((item for item in found if wanted in (item.name, item.name.rpartition("#")[2])), None)
        if item is None:
            return failed(f"There was no sub-agent {wanted!r} in this session. /agents lists them.")
        return CommandResult(tuple(_transcript(ctx, item)))
    if not found:
        return said("No sub-agent has worked in this session.")
    rows = [(item.name, item.state, _line(item.task, 50), _line(item.last, 50)) for item in found[-_SHOWN:]]
    caption = f"the last {_SHOWN} of {len(found)}" if len(found) > _SHOWN else ""
    return CommandResult(
        (table(("name", "state", "task", "last"), rows, caption), text("/agents NAME shows one whole."))
    )


def _transcript(ctx: CommandContext, item: SubagentView) -> list[Output]:
    outputs = [text(f"{item.name} ({item.state}), for {item.parent}", f"Task: {item.task}")]
    lines: list[str] = []
    for envelope in ctx.session.history():
        event = envelope.event
        if event.agent != item.name:
            continue
        said_now = _answer(event)
        if said_now:
            outputs += [text(*lines)] if lines else []
            lines = []
            outputs.append(Output("markdown", said_now))
        elif line := _act(event):
            lines.append(line)
    outputs += [text(*lines[-_LAST_LINES:])] if lines else []
    return outputs


def _answer(event: Event) -> str:
    from xun.events import MessageCompleted

    return event.text.strip() if isinstance(event, MessageCompleted) else ""


def _act(event: Event) -> str:
    import json

    from xun.events import ApprovalResolved, Error, Notice, ToolCompleted, ToolStarted

    if isinstance(event, ToolStarted):
        return f"● {event.tool} {_line(json.dumps(event.args, ensure_ascii=False), 100)}"
    if isinstance(event, ToolCompleted):
        return f"  {event.status}, {event.duration_ms / 1000:.1f} s: {_line(event.content, 100)}"
    if isinstance(event, ApprovalResolved):
        return f"  {event.kind} {event.choice} ({event.source})"
    if isinstance(event, Error):
        return f"  error: {event.message}"
    return f"  {event.text}" if isinstance(event, Notice) else ""


def _line(long: str, limit: int) -> str:
    line = " ".join(long.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
