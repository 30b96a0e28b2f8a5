"""BubblewrapEnvironment: this machine read-only, the workspace writable, no network; Linux with bwrap."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from xun.environment.bwrap import Bubblewrap
from xun.environment.coding import RunsCode
from xun.environment.confinement import View
from xun.environment.files import WorkspaceFiles
from xun.environment.mounts import interpreter_folders
from xun.environment.processes import LocalProcess
from xun_policies.shell.environment import child_environment
from xun_policies.workspace import Workspace


class BubblewrapEnvironment(WorkspaceFiles, RunsCode):
    """Runs everything under bwrap.

    Inside, all of this machine can be read but keys, credentials and xun's own state; written can be the workspace
    and the agent's temporary folder only, and there neither git's hooks and settings nor ``.xun``. ``/tmp`` is empty
    and private. Processes end with the command that started them.

    Args:
        workspace: The folders of the agent.
        network: Let the inside use the network.
        program: The bwrap to use, absolute; None for the first on PATH that is not in the workspace.
    """

    name = "bubblewrap"
    wall = "bubblewrap"

    def __init__(self, workspace: Workspace, *, network: bool = False, program: str | None = None) -> None:
        super().__init__(workspace)
        self.network = network
        self._bwrap = Bubblewrap(lambda: self._folders, lambda: self._writable, program=program)

    def spawn(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bool = False,
    ) -> LocalProcess:
        """Start a process in a sandbox of its own.

        Raises:
            EnvironmentUnusable: There is no bwrap, or it does not work here.
        """
        return self._start(command, cwd, env, stdin)

    def _start(
        self,
        command: str | Sequence[str],
        cwd: str | None,
        env: Mapping[str, str] | None,
        stdin: bool,
        readable: Sequence[str] = (),
    ) -> LocalProcess:
        given = child_environment(os.environ) if env is None else env
        view: View = "network" if self.network else "closed"
        return self._bwrap.start(command, cwd or self.workspace, given, stdin=stdin, view=view, readable=readable)

    def _start_interpreter(self, argv: Sequence[str], env: Mapping[str, str] | None) -> LocalProcess:
        # The interpreter may be installed in a folder that is empty inside, such as /tmp.
        return self._start(argv, None, env, True, interpreter_folders())

    def close(self) -> None:
        """End every process, and remove what the sandbox needed in the workspace."""
        self._bwrap.close()
