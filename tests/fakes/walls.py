"""A room behind a wall: a sandbox of its workspace, and commands that it holds or lets through."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.fakes.room import Room
from xun import Workspace
from xun.environment import SandboxEnvironment
from xun.environment.confinement import in_view
from xun_policies.shell.environment import child_environment

PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable


@contextmanager
def sandbox(room: Room, wall: str = "", *, path: str = "", **options) -> Iterator[SandboxEnvironment]:
    """A sandbox of the room's workspace; it finds its wall with *path* as PATH, without bwrap for Landlock."""
    usual = os.environ["PATH"]
    workspace = Workspace(room.w)
    environment = SandboxEnvironment(workspace, **options)
    try:
        os.environ["PATH"] = path or ("/nowhere" if wall == "landlock" else usual)
        assert not wall or environment.wall == wall, environment.reason
        os.environ["PATH"] = usual
        yield environment
    finally:
        os.environ["PATH"] = usual
        environment.close()
        workspace.close()


def run(environment, command: str, view: str = "closed", **variables: str) -> tuple[int, str]:
    """Run *command* to its end, and return its exit code and all that it printed."""
    process = in_view(environment, view).spawn(
        f"exec 2>&1; {command}", env={**child_environment(os.environ), **variables}
    )
    text = process.stdout.read().decode(errors="replace")
    code = process.wait(30)
    process.close()
    return code, text


def works(environment, command: str, view: str = "closed", **variables: str) -> None:
    code, text = run(environment, command, view, **variables)
    assert code == 0, (command, text)


def held(environment, command: str) -> None:
    """Run what must change nothing outside, which the room verifies: beside a workspace in /tmp all is private."""
    code, text = run(environment, command)
    assert code != 0 or environment.wall == "bubblewrap", (command, text)


def fails(environment, command: str, view: str = "closed", **variables: str) -> None:
    code, text = run(environment, command, view, **variables)
    assert code != 0, (command, text)
