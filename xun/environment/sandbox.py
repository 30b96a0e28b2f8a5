"""SandboxEnvironment: this machine behind the best wall that it has: bubblewrap, else Landlock, else none."""

from __future__ import annotations

import copy
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from xun.environment.base import Environment, EnvironmentUnusable
from xun.environment.bwrap import Bubblewrap
from xun.environment.coding import RunsCode
from xun.environment.confinement import View
from xun.environment.files import WorkspaceFiles
from xun.environment.landlock import Landlock
from xun.environment.local import BASH, LocalEnvironment, argument_vector
from xun.environment.mounts import interpreter_folders
from xun.environment.processes import LocalProcess
from xun_policies.shell.environment import child_environment
from xun_policies.workspace import Workspace

_CACHES = (
    ("npm_config_cache", ".npm"),
    ("PIP_CACHE_DIR", ".cache/pip"),
    ("GOCACHE", ".cache/go-build"),
    ("UV_CACHE_DIR", ".cache/uv"),
)
"""Variables that name the cache of a program that fails or complains where it can't write there, and where that is
below home."""


class SandboxEnvironment(WorkspaceFiles, RunsCode):
    """Runs everything behind a wall, which one command at the start has shown to hold.

    Behind both walls all of this machine can be read but keys, credentials and xun's own state; written can be the
    workspace, a temporary folder that lasts as long as this, and *writable*. There is no network unless a command's
    view has it. Under bubblewrap, git's hooks and settings and ``.xun`` can't be changed either, and processes end
    with the command that started them.

    The wall is chosen once and never becomes weaker: when it stops working, commands fail.

    Args:
        workspace: The folders of the agent.
        mode: required refuses to run anything where there is no wall; auto runs it without one.
        network: Every view has the network.
        writable: More folders that can be written; ``~`` is the home folder, and missing ones are made.
        shell: The absolute path of the bash that runs commands.
    """

    name = "sandbox"

    def __init__(
        self,
        workspace: Workspace,
        *,
        mode: Literal["auto", "required"] = "auto",
        network: bool = False,
        writable: Sequence[str] = (),
        shell: str = BASH,
    ) -> None:
        super().__init__(workspace)
        self.shell = shell
        self.mode, self.network = mode, network
        self._view: View = "closed"
        self._walls = _Walls(
            workspace,
            lambda: self._folders,
            lambda: [*self._writable, *_made(writable)],
            lambda: _made(writable),
        )

    @property
    def wall(self) -> str:
        """bubblewrap, landlock or none; the first time this takes as long as a command or two.

        Raises:
            EnvironmentUnusable: A folder of *writable* can't be used, or no temporary one made.
        """
        return self._walls.chosen()[0]

    @property
    def known(self) -> bool:
        """Whether the wall was found out already."""
        return self._walls.choice is not None

    @property
    def reason(self) -> str:
        """Why it is this wall, in one sentence."""
        return self._walls.chosen()[1]

    def seen_as(self, view: View) -> Environment:
        """Return this environment with another view; it is closed with this one."""
        other = copy.copy(self)
        other._view = view
        return other

    def spawn(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bool = False,
    ) -> LocalProcess:
        """Start a process behind the wall.

        Raises:
            EnvironmentUnusable: There is no wall although one is required, or it stopped working.
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
        walls, folder = self._walls, cwd or self.workspace
        command = argument_vector(command, self.shell)
        given = dict(child_environment(os.environ) if env is None else env)
        if self._view == "outside":
            return walls.local.spawn(command, cwd=folder, env=given, stdin=stdin)
        wall, reason = walls.chosen()
        if wall == "none":
            if self.mode == "required":
                raise EnvironmentUnusable(f"A sandbox is required, and this machine has none: {reason}")
            return walls.local.spawn(command, cwd=folder, env=given, stdin=stdin)
        view: View = "network" if self.network and self._view == "closed" else self._view
        if wall == "landlock":
            walls.add_caches(given, walls.landlock.temporary)
            return walls.landlock.start(command, folder, given, stdin=stdin, view=view)
        walls.add_caches(given, "/tmp")
        return walls.bwrap.start(command, folder, given, stdin=stdin, view=view, readable=readable)

    def _start_interpreter(self, argv: Sequence[str], env: Mapping[str, str] | None) -> LocalProcess:
        return self._start(argv, None, env, True, interpreter_folders())

    def close(self) -> None:
        """End every process, and remove what the wall needed."""
        self._walls.close()


class _Walls:
    """The walls of one workspace, shared by all views, and the choice among them."""

    def __init__(
        self,
        workspace: Workspace,
        folders: Callable[[], Sequence[str]],
        writable: Callable[[], Sequence[str]],
        check: Callable[[], object],
    ) -> None:
        self.local = LocalEnvironment(workspace)
        self.bwrap = Bubblewrap(folders, writable, lasting=True)
        self.landlock = Landlock(writable)
        self._writable, self._check = writable, check
        self.choice: tuple[str, str] | None = None
        self._lock = threading.Lock()

    def chosen(self) -> tuple[str, str]:
        """Return the name of the wall, and the reason.

        Raises:
            EnvironmentUnusable: It can't be found out.
        """
        with self._lock:
            if self.choice is None:
                try:
                    self.choice = self._choose()
                except OSError as exc:
                    # Nothing is known then, so nothing is chosen: the next command tries again.
                    raise EnvironmentUnusable(f"The sandbox can't be tried: {exc}; free some space there.") from exc
            return self.choice

    def _choose(self) -> tuple[str, str]:
        if sys.platform != "linux":
            return "none", f"xun knows no wall for {sys.platform}."
        env = child_environment(os.environ)
        self._check()  # what is wrong with the folders that were named is not for a weaker wall to overlook
        try:
            self.bwrap.test(env)
            return "bubblewrap", f"{self.bwrap.program} works here."
        except EnvironmentUnusable as exc:
            first = str(exc)
        try:
            self.landlock.test(env)
            return "landlock", f"Landlock (ABI {self.landlock.version}) works here. {first}"
        except EnvironmentUnusable as exc:
            return "none", f"{first} {exc}"

    def add_caches(self, env: dict[str, str], temporary: str) -> None:
        """Give the programs that can't do without a cache one in the folder *temporary*."""
        home = os.path.realpath(env.get("HOME", "/"))
        for name, usual in _CACHES:
            place = os.path.join(home, usual)
            if name not in env and not any(place == root or place.startswith(f"{root}/") for root in self._writable()):
                env[name] = f"{temporary}/.cache-{name.lower()}"

    def close(self) -> None:
        """End all that runs, behind whichever wall."""
        self.local.close()
        self.bwrap.close()
        self.landlock.close()


def _made(named: Sequence[str]) -> list[str]:
    folders = []
    for name in named:
        path = os.path.realpath(os.path.expanduser(name))
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as exc:
            raise EnvironmentUnusable(
                f"The folder {name} of sandbox.writable can't be used: {exc.strerror}; name another, or leave it out."
            ) from exc
        folders.append(path)
    return folders
