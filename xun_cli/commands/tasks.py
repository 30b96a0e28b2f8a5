"""/tasks: the commands that run in the background."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from xun_cli.commands.arguments import BadArguments
from xun_cli.commands.output import CommandResult, failed, said, table
from xun_cli.commands.registry import CommandContext, SlashCommand

if TYPE_CHECKING:
    from xun_builtin_tools.cmd.tasks import Task

_STOP = "stop "


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "tasks",
            "/tasks [stop ID]",
            "commands in the background; end one",
            _tasks,
            while_running=True,
            complete=_complete,
            topic="Session",
            details="stop ends the command with everything that it started. All of them end with the session.",
        )
    ]


async def _tasks(ctx: CommandContext, rest: str) -> CommandResult:
    found = _found(ctx)
    verb, _, name = rest.strip().partition(" ")
    if not verb:
        if not found:
            return said("Nothing runs in the background.")
        rows = [(task.id, _state(task), f"{task.seconds:.0f} s", _line(task.command)) for task in found.values()]
        return CommandResult((table(("id", "state", "time", "command"), rows),))
    if verb != "stop" or not name.strip():
        raise BadArguments(f"/tasks takes nothing or stop ID, such as /tasks stop task-1, not {rest.strip()!r}.")
    task = found.get(name.strip())
    if task is None:
        return failed(f"There is no background command {name.strip()!r}. /tasks lists them.")
    if task.status != "running":
        return said(f"{task.id} has ended already ({_state(task)}).")
    await asyncio.to_thread(task.stop)
    return said(f"Ended {task.id}: {_line(task.command)}")


def _found(ctx: CommandContext) -> dict[str, Task]:
    """Return the tasks of the session's agent, and of the sub-agents that work beside it, by id."""
    from xun_builtin_tools.cmd.tasks import Tasks

    agent: Any = ctx.session.agent
    agents = [agent, *getattr(agent, "background", ())]
    return {task.id: task for one in agents for task in Tasks.among(one)}


def _state(task: Task) -> str:
    return f"exit {task.exit_code}" if task.status == "done" else task.status


def _line(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def _complete(ctx: CommandContext, typed: str) -> list[str]:
    if not typed.startswith(_STOP):
        return [_STOP] if _STOP.startswith(typed) else []
    running = [task.id for task in _found(ctx).values() if task.status == "running"]
    return [f"{_STOP}{name}" for name in running if name.startswith(typed[len(_STOP) :])]
