"""The tools for commands in the background."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

from xun.errors import CommandError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun.tools.dry import DryRun
from xun_builtin_tools.cmd.bash import MAX_TIMEOUT, approve, spawn
from xun_builtin_tools.cmd.process import Watch
from xun_builtin_tools.cmd.tasks import Tasks, new_log
from xun_builtin_tools.cmd.walled import note

if TYPE_CHECKING:
    from xun_builtin_tools.cmd.tasks import Task

_POLL = 0.1
_HINT = "background command server daemon process job watch long-running task"


@tool_attr(sequential=True, deferred=True, expose="direct", search_hint=f"{_HINT} start run serve")
def bash_spawn(
    ctx: ToolCallContext[Any],
    command: str,
    cwd: str | None = None,
    env: dict[str, str] | None = None,
    sandbox: Literal["on", "network", "off"] = "on",
) -> dict[str, Any]:
    """Start a command in the background, such as a server or a long build, and go on at once.

    It runs as with bash, with the same checks and without any input. Read its output with bash_output, wait for it with
    bash_wait, end it with bash_kill; what still runs at the end of the session is ended then.
    cwd is the folder to run in, inside the workspace; the project folder if left out.
    env adds environment variables. sandbox is as with bash.

    Returns its id, and the files that its output goes to."""
    tasks = Tasks.of(ctx.agent)
    tasks.check_room()
    approved = approve(ctx, command, cwd, env, sandbox)
    log = new_log(ctx.agent)
    sinks = (log.sink("stdout"), log.sink("stderr"))
    try:
        process = spawn(ctx, approved)
    except CommandError:
        log.remove()
        raise
    task = tasks.take(approved.text, process, Watch(process, sinks, ctx.emit), log, sinks)
    task.confinement = approved.confinement
    value: dict[str, Any] = {"id": task.id, "stdout_log": str(log.stdout), "stderr_log": str(log.stderr)}
    if approved.edited:
        value["command_run"] = approved.text
        value["note"] = "The user changed the command before allowing it; command_run is what runs."
    return value


@tool_attr(read_only=True, deferred=True, expose="direct", search_hint=f"{_HINT} read log")
def bash_output(ctx: ToolCallContext[Any], id: str, offset: int = 0, limit: int | None = None) -> dict[str, Any]:
    """Read the output of a background command so far, stdout and stderr in the order in which they came.

    id is that of bash_spawn or of a bash call that went on in the background.
    offset is where to start, in bytes: 0, or the next_offset of the last call; a negative one counts from the end, so
    that -2000 gives the last 2000 bytes.
    limit is the most bytes to return.

    Returns status (running, done, killed), exit_code (null while it runs), next_offset and output."""
    if limit is not None and limit < 1:
        raise CommandError(
            f"limit must be at least 1 byte, got {limit}; leave it out for the usual page.", kind="spawn"
        )
    most = ctx.agent.config.command_output
    return _report(Tasks.of(ctx.agent).find(id), offset, most if limit is None else min(limit, most))


@tool_attr(read_only=True, deferred=True, expose="direct", search_hint=f"{_HINT} finish end")
def bash_wait(ctx: ToolCallContext[Any], id: str, timeout: float = 600) -> dict[str, Any]:
    """Wait until a background command has ended, and return how, with the end of its output.

    timeout is how long to wait at most, in seconds, from 0 to 3600; the command goes on after it, and you may wait
    again.

    Returns status (running, done, killed), exit_code (null while it runs), next_offset for bash_output, and output."""
    if not 0 <= timeout <= MAX_TIMEOUT:
        raise CommandError(f"timeout must be from 0 to {MAX_TIMEOUT} s, got {timeout:g}.", kind="spawn")
    task = Tasks.of(ctx.agent).find(id)
    deadline = time.monotonic() + timeout
    while not task.over.wait(min(_POLL, max(0.0, deadline - time.monotonic()))):
        ctx.check_cancel()
        if time.monotonic() >= deadline:
            break
    most = ctx.agent.config.command_output
    return _report(task, -most, most)


@tool_attr(read_only=True, deferred=True, expose="direct", search_hint=f"{_HINT} list status")
def bash_running(ctx: ToolCallContext[Any]) -> list[dict[str, Any]]:
    """List the background commands that run or have ended: id, status, exit_code, command, seconds."""
    return [
        {
            "id": task.id,
            "status": task.status,
            "exit_code": task.exit_code,
            "command": task.command,
            "seconds": round(task.seconds, 1),
        }
        for task in Tasks.among(ctx.agent)
    ]


@tool_attr(sequential=True, deferred=True, expose="direct", search_hint=f"{_HINT} stop end terminate")
def bash_kill(ctx: ToolCallContext[Any], id: str) -> dict[str, Any]:
    """End a background command with everything that it started: it is asked first, and killed after two seconds.

    id is that of bash_spawn. One that has ended already stays as it was.

    Returns id, status and exit_code."""
    task = Tasks.of(ctx.agent).find(id)
    if ctx.dry_run:
        raise DryRun({"would_end": task.id, "command": task.command})
    task.stop()
    return {"id": task.id, "status": task.status, "exit_code": task.exit_code}


def _report(task: Task, offset: int, limit: int) -> dict[str, Any]:
    # The state first: output that comes after it is not lost, the next call gives it.
    value: dict[str, Any] = {"status": task.status, "exit_code": task.exit_code}
    piece = task.log.read(offset, limit)
    value |= {"next_offset": piece.next_offset, "output": piece.text}
    if piece.skipped:
        value["note"] = f"{piece.skipped} bytes before this were more than the log keeps, and are gone."
    elif piece.next_offset < task.log.size:
        value["note"] = f"There is more: go on at offset {piece.next_offset} of {task.log.size}."
    elif walled := note(task.confinement, task.exit_code, piece.text):
        value["note"] = walled
    return value
