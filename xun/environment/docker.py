"""DockerEnvironment: a container, driven by the docker command line."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import threading
from collections.abc import Mapping, Sequence

from xun.environment.asking import ask, shortened
from xun.environment.base import EnvironmentUnusable
from xun.environment.coding import RunsCode
from xun.environment.container import ASK_SECONDS, Container
from xun.environment.files import WorkspaceFiles
from xun.environment.local import argument_vector
from xun.environment.processes import LocalProcess, ProcessTable
from xun.environment.shield import Shield
from xun.environment.tags import TAG
from xun_policies.paths.programs import find_program
from xun_policies.shell.environment import child_environment
from xun_policies.workspace import Workspace

DEFAULT_IMAGE = "python:3.12-slim"
"""The image when none is named; any with bash will do for commands, one with python3 for code."""
_OF_THIS_MACHINE = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR")
_OF_THE_CLIENT = re.compile(r"PATH|HOME|DOCKER_.*|LD_.*|DYLD_.*|XDG_.*|SSH_.*|GO.*|.*_PROXY|.*_proxy", re.S)

_FIND = r"""
find_tagged() {
  found=()
  for process in /proc/[0-9]*; do
    while IFS= read -r -d '' variable; do
      if [ "$variable" = "$1" ]; then found+=("${process#/proc/}"); fi
    done 2>/dev/null < "$process/environ"
  done
}
"""
_COUNT = f'{_FIND}find_tagged "$0"; echo "${{#found[@]}}"'
_END = (
    _FIND
    + r"""
find_tagged "$0"
if [ "$1" -gt 0 ]; then
  kill -TERM "${found[@]}" 2>/dev/null
  for (( tick = 0; tick < $1 && ${#found[@]} > 0; tick++ )); do sleep 0.1; find_tagged "$0"; done
fi
for round in 1 2 3 4 5; do
  if [ "${#found[@]}" -eq 0 ]; then break; fi
  kill -KILL "${found[@]}" 2>/dev/null
  find_tagged "$0"
done
[ "${#found[@]}" -eq 0 ]
"""
)


class DockerEnvironment(WorkspaceFiles, RunsCode):
    """Runs everything in one container, made at first use; it ends with `close`, and with this process at the latest.

    The folders of the workspace are mounted at their own paths; git's hooks and settings and ``.xun`` in them are
    read-only. What else is changed inside, such as an installed package, lasts as long as the container.

    Args:
        workspace: The folders of the agent.
        image: The image to start.
        network: Let the inside use the network.
        python: The interpreter inside, for code.
    """

    name = "docker"
    wall = "container"

    def __init__(
        self, workspace: Workspace, image: str = DEFAULT_IMAGE, *, network: bool = False, python: str = "python3"
    ) -> None:
        super().__init__(workspace)
        self._image, self._network, self._python = image or DEFAULT_IMAGE, network, python
        self._table = ProcessTable()
        self._shield = Shield()
        self._lock = threading.Lock()
        self._container: Container | None = None

    def spawn(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bool = False,
    ) -> LocalProcess:
        """Start a process in the container.

        Raises:
            EnvironmentUnusable: There is no docker command, no engine, or the container can't be started.
        """
        container = self._ready()
        given = child_environment(os.environ) if env is None else env
        tag = self._table.new_tag()
        words, client = _variables({**given, TAG: tag})
        argv = [
            container.program,
            "exec",
            *(["--interactive"] if stdin else []),
            "--workdir",
            cwd or self.workspace,
            *words,
        ]
        argv += [container.name, *argument_vector(command)]
        return _DockerProcess(self, self._table, self._table.popen(argv, "/", client, stdin), tag)

    def _ready(self) -> Container:
        with self._lock:
            if self._container is not None and not self._container.running:
                self._container.remove()
                self._container = None
            if self._container is None:
                self._container = self._start(self._client())
            return self._container

    def _client(self) -> str:
        found = find_program("docker", self._workspace.roots)
        if found is None:
            raise EnvironmentUnusable(
                "The docker environment needs the docker command, and PATH has none outside of the workspace; "
                "install Docker, or set environment to local."
            )
        done = ask([found, "version", "--format", "{{.Server.Version}}"], ASK_SECONDS)
        if isinstance(done, str) or done.returncode:
            said = shortened(done if isinstance(done, str) else done.stderr)
            raise EnvironmentUnusable(
                f"The docker environment needs a running engine, and docker reached none ({said}); "
                "start it, or set environment to local."
            )
        return found

    def _start(self, program: str) -> Container:
        options = ["--label", "xun=environment", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        options += ["--user", f"{os.getuid()}:{os.getgid()}", "--workdir", self.workspace]
        if not self._network:
            options += ["--network", "none"]
        for root in self._writable:
            options += ["--mount", _mount(root, writable=True)]
        for pin in self._shield.pins(self._folders):
            options += ["--mount", _mount(pin.path, writable=pin.writable)]
        container = Container(program, f"xun-{secrets.token_hex(8)}", options, self._image)
        problem = container.problem()
        if problem:
            container.remove()
            self._shield.close()
            raise EnvironmentUnusable(
                f"The container of image {self._image} could not be started ({problem}); "
                "name another image as docker:IMAGE, or set environment to local."
            )
        return container

    def count(self, tag: str) -> int:
        """Return how many processes in the container carry *tag*."""
        container = self._container
        done = None if container is None else container.inside([*argument_vector(_COUNT), f"{TAG}={tag}"])
        return int(done.stdout) if done is not None and done.stdout.strip().isdigit() else 0

    def end(self, tag: str, grace: float) -> None:
        """End what carries *tag* in the container; where that can't be done, the container goes."""
        container = self._container
        if container is None:
            return
        words = [*argument_vector(_END), f"{TAG}={tag}", str(round(grace * 10))]
        done = container.inside(words, ASK_SECONDS + grace)
        if done is None or done.returncode:
            self._remove()

    def _remove(self) -> None:
        with self._lock:
            container, self._container = self._container, None
        if container is not None:
            container.remove()

    @property
    def _interpreter(self) -> str:
        return self._python

    def _start_interpreter(self, argv: Sequence[str], env: Mapping[str, str] | None) -> LocalProcess:
        return self.spawn(argv, env=env, stdin=True)

    def close(self) -> None:
        """Remove the container and all that runs in it."""
        self._remove()
        self._table.end_all()
        self._shield.close()


class _DockerProcess(LocalProcess):
    """The client on this machine, and what it started in the container."""

    def __init__(
        self, environment: DockerEnvironment, table: ProcessTable, popen: subprocess.Popen[bytes], tag: str
    ) -> None:
        super().__init__(table, popen, tag)
        self._environment = environment

    def left_running(self) -> bool:
        """Tell whether something with its tag still runs in the container."""
        super().left_running()
        return self._environment.count(self.tag) > 0

    def kill(self, grace: float = 0.0) -> None:
        """End what it started in the container, then the client."""
        self._environment.end(self.tag, grace)
        super().kill()


def _variables(env: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the options that set *env* inside, and the environment of the client that they refer to.

    Values stay out of the argument list, which everyone on this machine can read, where the client does not
    look at the same name itself. Facts of this machine, such as its PATH, are not those of the image.
    """
    words: list[str] = []
    client = dict(os.environ)
    for name, value in env.items():
        if name in _OF_THIS_MACHINE and value == os.environ.get(name):
            continue
        if _OF_THE_CLIENT.fullmatch(name):
            words += ["--env", f"{name}={value}"]
        else:
            words += ["--env", name]
            client[name] = value
    return words, client


def _mount(path: str, *, writable: bool) -> str:
    """Return a bind mount at the same path, as the one line of CSV that docker reads."""
    fields = ["type=bind", f"source={path}", f"target={path}", *([] if writable else ["readonly"])]
    return ",".join('"' + field.replace('"', '""') + '"' for field in fields)
