"""LocalEnvironment: processes of this machine, held by nothing but what was approved."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from xun.environment.coding import RunsCode
from xun.environment.files import WorkspaceFiles
from xun.environment.processes import LocalProcess, ProcessTable
from xun_policies.shell.environment import child_environment
from xun_policies.workspace import Workspace

BASH = "/bin/bash"
"""The bash of the system."""


def argument_vector(command: str | Sequence[str], shell: str = BASH) -> list[str]:
    """Return the words that start *command*: a text is run by the bash *shell*, without its start-up files."""
    return [shell, "--noprofile", "--norc", "-c", command] if isinstance(command, str) else list(command)


class LocalEnvironment(WorkspaceFiles, RunsCode):
    """Runs everything on this machine, with the rights of this process.

    Args:
        workspace: The folders of the agent.
        shell: The absolute path of the bash that runs commands.
    """

    name = "local"

    def __init__(self, workspace: Workspace, *, shell: str = BASH) -> None:
        super().__init__(workspace)
        self.shell = shell
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
        return self._table.start(
            argument_vector(command, self.shell), cwd=cwd or self.workspace, env=given, stdin=stdin
        )

    def _start_interpreter(self, argv: Sequence[str], env: Mapping[str, str] | None) -> LocalProcess:
        return self.spawn(argv, env=env, stdin=True)

    def close(self) -> None:
        """End every process that still runs."""
        self._table.end_all()
