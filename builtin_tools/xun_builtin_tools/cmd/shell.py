"""The shell tool: a bash that keeps its folder, variables, functions and jobs from call to call."""

from __future__ import annotations

import os
import re
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xun.environment.confinement import in_view
from xun.errors import CommandError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun_builtin_tools import gate
from xun_builtin_tools.cmd.bash import MAX_TIMEOUT, so_far
from xun_builtin_tools.cmd.capture import Capture, call_capture
from xun_builtin_tools.cmd.inert import what_changes
from xun_builtin_tools.cmd.session import ShellOutcome, ShellSession
from xun_builtin_tools.cmd.walled import note
from xun_builtin_tools.per_agent import PerAgent
from xun_policies.commands import evaluate
from xun_policies.shell.environment import child_environment

if TYPE_CHECKING:
    from xun.agent.agent import Agent

_LOST = "The earlier shell had ended between the calls, with what was set in it; this was the first call of a new one."
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|\Z)"  # titles, links
    r"|\x1b[ -/]*[0-~]",
    re.DOTALL,
)


@tool_attr(
    sequential=True,
    deferred=True,
    expose="direct",
    search_hint="stateful persistent shell session terminal keep cd export variables functions jobs source activate",
)
def shell(ctx: ToolCallContext[Any], command: str, timeout: float = 120, restart: bool = False) -> dict[str, Any]:
    """Run a command in a bash that stays: its folder, exports, functions and jobs last to the next call.

    Use it when one command needs what an earlier one set up, and bash otherwise. It begins in the project folder. There
    is no terminal and no input. Once a command may have changed what later commands mean, such as export, source or a
    function, the person is asked about every further one; restart=True begins with a new shell that is free of it.
    timeout is the limit in seconds, up to 3600; after it the command is interrupted, and the shell stays when that
    helps, else it is ended and the next call begins a new one.

    Returns stdout (with stderr in it, without control sequences), returncode, cwd, duration in seconds, and
    truncated. A long output keeps its head and tail; output_file then names the file with the whole."""
    if not command.strip():
        raise CommandError("The command is empty; give the text that the shell should run.", kind="spawn")
    if "\0" in command:
        raise CommandError("The command holds a NUL character, which bash can't take; leave it out.", kind="spawn")
    if not 0 < timeout <= MAX_TIMEOUT:
        raise CommandError(f"timeout must be above 0 and at most {MAX_TIMEOUT} s, got {timeout:g}.", kind="spawn")
    return _Shell.of(ctx.agent).call(ctx, command, timeout, restart)


class _Shell(PerAgent):
    """The shell of one agent; it is there from the first command on."""

    key = "__shell_session"

    def __init__(self, agent: Agent[Any]) -> None:
        super().__init__(agent)
        self._session: ShellSession | None = None
        self._lock = threading.Lock()

    def call(self, ctx: ToolCallContext[Any], command: str, timeout: float, restart: bool) -> dict[str, Any]:
        """Run one command, when it may run."""
        with self._lock:
            session = self._session
            lost = session is not None and not session.alive
            if session is not None and (restart or lost) and not ctx.dry_run:
                self._close()
                session = None
            cwd = str(ctx.agent.workspace.resolve(".").path) if session is None else session.cwd
            variables = child_environment(os.environ, {}, ctx.agent.config.command_env)
            approved = gate.command(ctx, command, cwd, state=_state(session, variables), stays=True)
            if session is None:
                place = in_view(ctx.agent.environment, "closed")
                session = self._session = ShellSession(place, cwd, approved.environment)
            # Before it runs: after an interruption nobody knows how far it came.
            session.changed_by = session.changed_by or _changes(ctx.agent, approved)
            capture = call_capture(ctx, "shell")
            outcome = session.run(
                approved.text, timeout, lambda: ctx.cancelled, capture, lambda text: ctx.emit(text, "stdout")
            )
            if outcome.ended:
                self._close()
        if outcome.cancelled:
            ctx.check_cancel()
        if outcome.timed_out:
            raise _timeout(outcome, capture, timeout)
        value = _value(approved, outcome, capture, session)
        if lost and not restart:
            value["note"] = " ".join([_LOST, value["note"]] if "note" in value else [_LOST])
        return value

    def _close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def end(self) -> None:
        """End the shell with all its jobs."""
        # Without the lock: a command may hold it for as long as it runs, and ends with its shell.
        self._close()


def _state(session: ShellSession | None, variables: dict[str, str]) -> str:
    """Return why the allowlist says nothing about commands in this shell; "" when it does."""
    if session is None:
        return ""
    if session.changed_by:
        return f"runs in a shell that an earlier command may have changed: {session.changed_by}"
    if session.variables != variables:
        return "runs in a shell that began with other variables than a new one would get now"
    return ""


def _changes(agent: Agent[Any], approved: gate.ApprovedCommand) -> str:
    scope = replace(gate.command_scope(agent, approved.cwd, approved.environment), git_probe=False)
    return what_changes(evaluate(approved.text, agent.policy, scope))


def _timeout(outcome: ShellOutcome, capture: Capture, timeout: float) -> CommandError:
    how = (
        "could not be interrupted, so the shell was ended with all its jobs; the next call begins a new one"
        if outcome.ended
        else "was interrupted; the shell stays as it is"
    )
    text = f"The command passed its limit of {timeout:g} s and {how}. {so_far(_plain(capture.text)[-4000:])}"
    return CommandError(text, kind="timeout")


def _value(
    approved: gate.ApprovedCommand, outcome: ShellOutcome, capture: Capture, session: ShellSession
) -> dict[str, Any]:
    value: dict[str, Any] = {
        "stdout": _plain(capture.text),
        "returncode": outcome.returncode,
        "cwd": session.cwd,
        "duration": round(outcome.seconds, 3),
        "truncated": capture.truncated,
    }
    if capture.file is not None:
        value["output_file"] = str(capture.file)
    notes = []
    if approved.edited:
        value["command_run"] = approved.text
        notes.append("The user changed the command before allowing it; command_run is what ran.")
    if outcome.ended:
        notes.append("The shell has ended, with all its jobs; the next call begins a new one in the project folder.")
    walled = note(approved.confinement, outcome.returncode, value["stdout"])
    if walled:
        notes.append(f"{walled} Only bash has that parameter.")
    if notes:
        value["note"] = " ".join(notes)
    return value


def _plain(text: str) -> str:
    """Return *text* without control sequences for a terminal."""
    return _CONTROL.sub("", text)
