"""``!cmd``: a command that the person runs in the session."""

from __future__ import annotations

import asyncio
import itertools
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xun.agent.deciding import note_decision
from xun.environment.confinement import in_view
from xun.events import ContextAdded, ToolCompleted, ToolOutput, ToolStarted
from xun.messages import Message
from xun_builtin_tools.cmd.capture import MAX_FILE_BYTES, Capture
from xun_builtin_tools.cmd.kept import KeptFile, new_file
from xun_builtin_tools.cmd.process import Outcome, Watch
from xun_policies.shell.environment import child_environment
from xun_policies.store import DecisionRecord

if TYPE_CHECKING:
    from xun_cli.session.session import Session
    from xun_policies.paths.tempdir import TempDir

_numbers = itertools.count(1)
LIMIT = 3600.0
"""Seconds until a command of the person is ended."""
SHOWN = 30_000
"""Characters of each output that are kept."""


async def run_as_user(session: Session, command: str) -> dict[str, Any]:
    """Run *command* in bash in the project folder, without a question, and put its output into the conversation."""
    call_id = f"shell_{next(_numbers)}"
    loop = asyncio.get_running_loop()
    session.emit(ToolStarted(call_id=call_id, tool="shell", args={"command": command}))
    note_decision(session.agent, DecisionRecord("", "shell", command, "allow", "user", "typed"))

    def show(text: str, stream: str) -> None:
        loop.call_soon_threadsafe(session.emit, ToolOutput(call_id=call_id, stream=stream, text=text))

    folder = session.agent.workspace.tempdir
    captures = tuple(Capture(SHOWN, partial(_spill, folder, f"{call_id}-{name}")) for name in ("out", "err"))
    stop = asyncio.Event()
    try:
        outcome = await asyncio.to_thread(_run, session, command, (captures[0], captures[1]), show, stop)
    except asyncio.CancelledError:
        stop.set()
        raise
    value = {
        "stdout": captures[0].text,
        "stderr": captures[1].text,
        "returncode": outcome.returncode,
        "duration": round(outcome.seconds, 3),
    }
    session.emit(
        ToolCompleted(
            call_id=call_id,
            tool="shell",
            ok=outcome.returncode == 0,
            status="ok" if outcome.returncode == 0 else "error",
            result=value,
            error=None if outcome.returncode == 0 else {"error": f"exit {outcome.returncode}", "kind": "exit"},
            duration_ms=round(outcome.seconds * 1000),
        )
    )
    output = f"{value['stdout']}{value['stderr']}"
    text = f"The user ran a command: {command}\nexit code {outcome.returncode}\n{output}".rstrip()
    session.agent.history.append(Message("user", text))
    session.emit(ContextAdded(text=text))
    return value


def _spill(folder: TempDir, name: str) -> KeptFile:
    return new_file(Path(folder.path), name, MAX_FILE_BYTES)


def _run(session: Session, command: str, captures: tuple[Capture, Capture], show: Any, stop: asyncio.Event) -> Outcome:
    # The person is held in by nothing; only what a model wants is.
    place = in_view(session.agent.environment, "outside")
    process = place.spawn(command, cwd=str(session.cwd), env=child_environment(os.environ))
    return Watch(process, captures, show).run(LIMIT, stop.is_set)
