"""LocalEnvironment: processes of this machine, held by nothing but what was approved."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from xun.environment.base import CallTool, Write
from xun.environment.files import WorkspaceFiles
from xun.environment.processes import LocalProcess, ProcessTable
from xun_policies.shell.environment import child_environment
from xun_policies.workspace import Workspace

BASH = ("/bin/bash", "--noprofile", "--norc", "-c")
"""How a text is run: by the bash of the system, without its start-up files."""


def argument_vector(command: str | Sequence[str]) -> list[str]:
    """Return the words that start *command*."""
    return [*BASH, command] if isinstance(command, str) else list(command)


class LocalEnvironment(WorkspaceFiles):
    """Runs everything on this machine, with the rights of this process.

    Args:
        workspace: The folders of the agent.
    """

    name = "local"

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._table = ProcessTable()

    @property
    def tag(self) -> str:
        """The beginning of what every process of this environment carries in ``XUN_PROCESS_TAG``."""
        return self._table.tag

    def spawn(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bool = False,
    ) -> LocalProcess:
        """Start a process in a group of its own."""
        given = child_environment(os.environ) if env is None else env
        return self._table.start(argument_vector(command), cwd=cwd or self.workspace, env=given, stdin=stdin)

    def run_code(
        self,
        code: str,
        *,
        tools: Sequence[str],
        call_tool: CallTool,
        write: Write,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Run Python code with this interpreter."""
        from xun.environment.code_host import run_in_process

        def start(argv: Sequence[str]) -> LocalProcess:
            return self.spawn(argv, env=env, stdin=True)

        run_in_process(start, sys.executable, code, tools, call_tool, write, timeout=timeout, cancelled=cancelled)

    def close(self) -> None:
        """End every process that still runs."""
        self._table.end_all()
