"""The bash tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from xun.environment.base import EnvironmentUnusable
from xun.environment.confinement import in_view
from xun.errors import CommandError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun_builtin_tools import gate
from xun_builtin_tools.cmd.capture import Capture, call_capture
from xun_builtin_tools.cmd.process import Outcome, Watch
from xun_builtin_tools.cmd.tasks import Task, Tasks, new_log
from xun_builtin_tools.cmd.walled import ended, note

if TYPE_CHECKING:
    from xun.environment.base import Process

MAX_TIMEOUT = 3600
"""The longest limit of one command, in seconds."""


@tool_attr(sequential=True, expose="direct")
def bash(
    ctx: ToolCallContext[Any],
    command: str,
    timeout: float = 120,
    cwd: str | None = None,
    env: dict[str, str] | None = None,
    on_timeout: Literal["kill", "background"] = "kill",
    sandbox: Literal["on", "network", "off"] = "on",
) -> dict[str, Any]:
    """Run a command in bash.

    It has no terminal and no input: use flags that answer questions, no pager or editor. Each call starts anew in the
    project folder; cd and exports do not last. Commands outside the allowlist are assessed and may be shown to the
    person; a denied one comes back with the reason. timeout is in seconds, up to 3600; after it all that the command
    started is ended, or with on_timeout="background" goes on under an id for bash_output, bash_wait and bash_kill. cwd
    is a folder of the workspace. env adds variables. sandbox="network" or "off" asks the person for it.

    Returns stdout, stderr, returncode, duration and truncated: a long output keeps its head and tail, and output_file
    names the whole."""
    if not 0 < timeout <= MAX_TIMEOUT:
        raise CommandError(f"timeout must be above 0 and at most {MAX_TIMEOUT} s, got {timeout:g}.", kind="spawn")
    if on_timeout == "background":
        Tasks.of(ctx.agent).check_room()
    approved = approve(ctx, command, cwd, env, sandbox)
    captures = (call_capture(ctx, "stdout"), call_capture(ctx, "stderr"))
    if on_timeout == "background":
        outcome = _run_or_keep(ctx, approved, captures, timeout)
        if isinstance(outcome, Task):
            return _kept(approved, outcome, *captures)
    else:
        outcome = Watch(spawn(ctx, approved), captures, ctx.emit).run(timeout, lambda: ctx.cancelled)
    if outcome.cancelled:
        ctx.check_cancel()
    stdout, stderr = captures
    if outcome.timed_out:
        raise CommandError(
            f"The command passed its limit of {timeout:g} s and was ended with all that it started. "
            f"{so_far(stdout.text[-3000:] + stderr.text[-1000:])}",
            kind="timeout",
        )
    return _value(approved, outcome, stdout, stderr)


def approve(
    ctx: ToolCallContext[Any], command: str, cwd: str | None, env: dict[str, str] | None, sandbox: gate.Wanted
) -> gate.ApprovedCommand:
    """Return the command as it may run.

    Raises:
        CommandError: It is empty, or *cwd* is not a folder.
        PathOutsideWorkspace: *cwd* is not in the workspace.
        Denied: It may not run.
    """
    if not command.strip():
        raise CommandError("The command is empty; give the text that bash should run.", kind="spawn")
    folder = ctx.agent.workspace.resolve(cwd or ".").path
    if not folder.is_dir():
        raise CommandError(f"cwd {folder} is not a folder.", kind="spawn")
    return gate.command(ctx, command, str(folder), env, sandbox=sandbox)


def spawn(ctx: ToolCallContext[Any], approved: gate.ApprovedCommand) -> Process:
    """Start an approved command where the agent's commands run.

    Raises:
        CommandError: It can't be started.
    """
    try:
        place = in_view(ctx.agent.environment, approved.confinement.view)
        return place.spawn(approved.text, cwd=approved.cwd, env=approved.environment)
    except (OSError, ValueError, EnvironmentUnusable) as exc:
        raise CommandError(f"bash could not be started: {exc}", kind="spawn") from exc


def _run_or_keep(
    ctx: ToolCallContext[Any], approved: gate.ApprovedCommand, captures: tuple[Capture, Capture], timeout: float
) -> Outcome | Task:
    """Run the command to its end, or give it to the background once it passes its limit."""
    process = spawn(ctx, approved)
    log = new_log(ctx.agent)
    sinks = (log.sink("stdout", captures[0]), log.sink("stderr", captures[1]))
    watch = Watch(process, sinks, ctx.emit)
    outcome = watch.try_run(timeout, lambda: ctx.cancelled)
    if outcome is None:
        task = Tasks.of(ctx.agent).take(approved.text, process, watch, log, sinks)
        task.confinement = approved.confinement
        return task
    log.remove()
    return outcome


def _kept(approved: gate.ApprovedCommand, task: Task, stdout: Capture, stderr: Capture) -> dict[str, Any]:
    value: dict[str, Any] = {
        "id": task.id,
        "status": "running",
        "stdout": stdout.text,
        "stderr": stderr.text,
        "returncode": None,
        "truncated": stdout.truncated or stderr.truncated,
        "stdout_log": str(task.log.stdout),
        "stderr_log": str(task.log.stderr),
        "note": "The command passed its limit and goes on in the background; see bash_output, bash_wait, bash_kill.",
    }
    if approved.edited:
        value["command_run"] = approved.text
        value["note"] += " The user changed the command before allowing it; command_run is what runs."
    return value


def _value(approved: gate.ApprovedCommand, outcome: Outcome, stdout: Capture, stderr: Capture) -> dict[str, Any]:
    value: dict[str, Any] = {
        "stdout": stdout.text,
        "stderr": stderr.text,
        "returncode": outcome.returncode,
        "duration": round(outcome.seconds, 3),
        "truncated": stdout.truncated or stderr.truncated,
    }
    spilled = stdout.file or stderr.file
    if spilled is not None:
        value["output_file"] = str(spilled)
    if approved.edited:
        value["command_run"] = approved.text
        value["note"] = "The user changed the command before allowing it; command_run is what ran."
    elif outcome.left_running:
        named = f": {'; '.join(outcome.left[:5])}" if outcome.left else ""
        value["note"] = f"Processes that the command started still run, and end with the session{named}."
    held = approved.confinement
    walled = note(held, outcome.returncode, stdout.text, stderr.text) or ended(held, approved.text)
    if walled:
        value["note"] = f"{value['note']} {walled}" if "note" in value else walled
    return value


def so_far(output: str) -> str:
    """Return what a command that was ended had printed, as a sentence goes on."""
    return f"Output so far:\n{output}" if output.strip() else "It had printed nothing."
