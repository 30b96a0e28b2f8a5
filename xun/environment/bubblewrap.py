"""BubblewrapEnvironment: this machine read-only, the workspace writable, no network; Linux with bwrap."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from xun.environment.base import CallTool, EnvironmentUnusable, Write
from xun.environment.files import WorkspaceFiles
from xun.environment.local import argument_vector
from xun.environment.processes import LocalProcess, ProcessTable
from xun.environment.shield import Shield, find_program, secret_paths, within
from xun_policies.shell.environment import child_environment
from xun_policies.workspace import Workspace

_NAMESPACES = ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session")
_TEST_SECONDS = 10.0
_RESOLVER = "/run/systemd/resolve"


class BubblewrapEnvironment(WorkspaceFiles):
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

    def __init__(self, workspace: Workspace, *, network: bool = False, program: str | None = None) -> None:
        super().__init__(workspace)
        self._network = network
        self._program = program
        self._tested = False
        self._table = ProcessTable()
        self._shield = Shield()
        self._lock = threading.Lock()
        self._starter: ThreadPoolExecutor | None = None

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
        given = dict(child_environment(os.environ) if env is None else env)
        with self._lock:
            if self._starter is None:
                # The kernel ends a sandbox with the thread that started it, so that thread has to stay.
                self._starter = ThreadPoolExecutor(1, "xun-bubblewrap")
            starter = self._starter
            program = self._program = self._program or self._found()
        writable = self._writable
        if "TMPDIR" in given and not any(within(given["TMPDIR"], root) for root in ("/tmp", *writable)):
            del given["TMPDIR"]
        wrapped = [program, *self._arguments(writable, readable)]
        self._test([*wrapped, "--", "/bin/true"], given)
        argv = [*wrapped, "--chdir", cwd or self.workspace, "--", *argument_vector(command)]
        return starter.submit(self._table.start, argv, cwd="/", env=given, stdin=stdin).result()

    def _found(self) -> str:
        found = find_program("bwrap", self._workspace.roots)
        if found is None:
            raise EnvironmentUnusable(
                "The bubblewrap environment needs the program bwrap, and PATH has none outside of the workspace; "
                "install the package bubblewrap, or set environment to local."
            )
        return found

    def _test(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        if self._tested:
            return
        problem = _problem(argv, env)
        if problem:
            raise EnvironmentUnusable(
                f"bwrap does not work on this machine ({problem}); allow user namespaces, or set environment to local."
            )
        self._tested = True

    def _arguments(self, writable: Sequence[str], readable: Sequence[str]) -> list[str]:
        """Return how the inside looks: the later mount wins."""
        args = [*_NAMESPACES, "--cap-drop", "ALL"]
        if self._network:
            args.append("--share-net")
        args += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        for folder in ("/tmp", "/var/tmp"):
            args += ["--perms", "1777", "--tmpfs", folder]
        if os.path.isdir("/run"):
            # Sockets of services can be used through a read-only mount.
            args += ["--tmpfs", "/run"]
            if self._network and os.path.isdir(_RESOLVER):
                args += ["--ro-bind", _RESOLVER, _RESOLVER]
        for folder in readable:
            args += ["--ro-bind", folder, folder]
        secrets = secret_paths(os.environ)
        around = [path for path in secrets if any(within(root, path) for root in writable)]
        for path in around:
            args += _hidden(path)
        for root in writable:
            args += ["--bind", root, root]
        for pin in self._shield.pins(self._folders):
            args += ["--bind" if pin.writable else "--ro-bind", pin.path, pin.path]
        for path in secrets:
            # Below /tmp and /run nothing of this machine is there any more, so there is nothing to hide.
            if path not in around and not (_masked(path) and not any(within(path, root) for root in writable)):
                args += _hidden(path)
        return args

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
        """Run Python code with this interpreter, inside the sandbox."""
        from xun.environment.code_host import run_in_process

        # The interpreter may be installed in a folder that is empty inside, such as /tmp.
        prefixes = [prefix for prefix in dict.fromkeys((sys.base_prefix, sys.prefix)) if _masked(prefix)]

        def start(argv: Sequence[str]) -> LocalProcess:
            return self._start(argv, None, env, True, prefixes)

        run_in_process(start, sys.executable, code, tools, call_tool, write, timeout=timeout, cancelled=cancelled)

    def close(self) -> None:
        """End every process, and remove what the sandbox needed in the workspace."""
        self._table.end_all()
        with self._lock:
            starter, self._starter = self._starter, None
        if starter is not None:
            starter.shutdown()
        self._shield.close()


def _problem(argv: Sequence[str], env: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            argv,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TEST_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        return str(exc)[-300:]
    if done.returncode == 0:
        return ""
    return " ".join(done.stderr.split())[-300:] or f"exit code {done.returncode}"


def _masked(path: str) -> bool:
    return any(within(path, folder) for folder in ("/tmp", "/var/tmp", "/run"))


def _hidden(path: str) -> list[str]:
    return ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
