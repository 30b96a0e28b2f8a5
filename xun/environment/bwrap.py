"""The wall of bubblewrap: finding it, proving that it holds, starting commands behind it."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from xun.environment.asking import ask, shortened
from xun.environment.base import EnvironmentUnusable
from xun.environment.boxes import BoxedProcess
from xun.environment.confinement import READ_ONLY, View
from xun.environment.landlock import leave_abstract_sockets
from xun.environment.local import argument_vector
from xun.environment.mounts import Inside, arguments, readable_folders
from xun.environment.processes import ProcessTable
from xun.environment.proof import forbidden_file
from xun.environment.shield import Shield, secret_paths, service_sockets
from xun.environment.tags import TAG
from xun_policies.paths.programs import find_program
from xun_policies.paths.real import within
from xun_policies.paths.tempdir import TempDir

_TEST_SECONDS = 10.0
_OLD = ("disable-userns",)
"""What bwrap says about the option that versions before 0.8, and one with the setuid bit, do not have."""


class Bubblewrap:
    """bwrap for one workspace.

    Args:
        folders: Gives the folders of the workspace.
        writable: Gives all folders that can be written, those among them.
        program: The bwrap to use, absolute; None for the first on PATH that is not in the workspace.
        lasting: ``/tmp`` lasts from command to command, and repositories that the workspace belongs to can be written.
    """

    def __init__(
        self,
        folders: Callable[[], Sequence[str]],
        writable: Callable[[], Sequence[str]],
        *,
        program: str | None = None,
        lasting: bool = False,
    ) -> None:
        self._folders, self._writable, self._program = folders, writable, program
        self._temporary = TempDir() if lasting else None
        self._nested = False
        self._tested = False
        self._table = ProcessTable()
        self._shield = Shield()
        self._lock = threading.Lock()
        self._starter: ThreadPoolExecutor | None = None

    def start(
        self,
        command: str | Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        *,
        stdin: bool,
        view: View,
        readable: Sequence[str] = (),
    ) -> BoxedProcess:
        """Start *command* in a sandbox of its own.

        Raises:
            EnvironmentUnusable: There is no bwrap, or it does not work here.
        """
        if view in READ_ONLY:
            return self._start(command, cwd, dict(env), stdin, view, readable, None)
        self._shield.enter()
        try:
            return self._start(command, cwd, dict(env), stdin, view, readable, self._shield.leave)
        except BaseException:
            self._shield.leave()
            raise

    def _start(
        self,
        command: str | Sequence[str],
        cwd: str,
        given: dict[str, str],
        stdin: bool,
        view: View,
        readable: Sequence[str],
        after: Callable[[], None] | None,
    ) -> BoxedProcess:
        inside = self._inside(view, given, readable)
        self._test(inside, given)
        writable = inside.writable
        if "TMPDIR" in given and not any(within(given["TMPDIR"], root) for root in ("/tmp", *writable)):
            del given["TMPDIR"]
        inside = replace(inside, nested=self._nested)
        argv = [self.program, *arguments(inside), "--chdir", cwd, "--", *argument_vector(command)]
        tag = self._table.new_tag()
        popen = self._thread().submit(self._table.popen, argv, "/", {**given, TAG: tag}, stdin).result()
        return BoxedProcess(self._table, popen, tag, after)

    def _thread(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._starter is None:
                # The kernel ends a sandbox with the thread that started it, so that thread has to stay.
                self._starter = ThreadPoolExecutor(1, "xun-bubblewrap", initializer=self._begin)
            return self._starter

    def _begin(self) -> None:
        # What it takes would keep a bwrap with the setuid bit from its rights.
        with contextlib.suppress(OSError):
            if not os.stat(self.program).st_mode & stat.S_ISUID:
                leave_abstract_sockets()

    def _inside(self, view: View, env: Mapping[str, str], readable: Sequence[str], *, trial: bool = False) -> Inside:
        # What is special about the workspace is told when a command is to run in it, and nothing is made for a trial.
        folders = self._folders()
        pinned = () if trial or view in READ_ONLY else folders
        lasting = None if trial else self._temporary
        return Inside(
            view,
            tuple(sorted(folders if trial else self._writable(), key=len)),
            readable=readable_folders(env, readable),
            pins=tuple(self._shield.pins(pinned, outside=lasting is not None)),
            secrets=tuple(secret_paths(os.environ)),
            sockets=tuple(service_sockets()),
            temporary="" if lasting is None else self._private(lasting),
            own_user=os.geteuid() == 0,
        )

    def _private(self, folder: TempDir) -> str:
        path = str(folder.path)
        for name in ("tmp", "var"):
            with contextlib.suppress(FileExistsError):
                os.mkdir(f"{path}/{name}")
                os.chmod(f"{path}/{name}", 0o1777)
        return path

    @property
    def program(self) -> str:
        """The bwrap that is used.

        Raises:
            EnvironmentUnusable: There is none.
        """
        with self._lock:
            if self._program is None:
                self._program = find_program("bwrap", self._folders())
            if self._program is None:
                raise EnvironmentUnusable(
                    "bubblewrap needs the program bwrap, and PATH has none outside of the workspace; "
                    "install the package bubblewrap."
                )
            return self._program

    def test(self, env: Mapping[str, str]) -> None:
        """Return when the wall holds, which one command shows; it is tried no more once it was shown.

        Raises:
            EnvironmentUnusable: It does not; the text says why.
        """
        if not self._tested:
            self._test(self._inside("closed", env, (), trial=True), env)

    def _test(self, inside: Inside, env: Mapping[str, str]) -> None:
        if self._tested:
            return
        inside = replace(inside, view="closed")
        problem = self._tried(inside, env)
        if any(word in problem for word in _OLD):
            self._nested = True
            problem = self._tried(replace(inside, nested=True), env)
        if problem:
            raise EnvironmentUnusable(
                f"bwrap does not work on this machine ({problem}); user namespaces have to be allowed."
            )
        self._tested = True

    def _tried(self, inside: Inside, env: Mapping[str, str]) -> str:
        """Return why the wall does not hold, "" when it does: other namespaces, and a file that stays unwritten."""
        with forbidden_file(inside.writable) as file:
            script = f"( : > '{file}' ) 2> /dev/null; readlink /proc/self/ns/net /proc/self/ns/pid"
            argv = [self.program, *arguments(inside), "--", "/bin/sh", "-c", script]
            done = self._thread().submit(ask, argv, _TEST_SECONDS, env).result()
            if isinstance(done, str):
                return done
            if done.returncode:
                return shortened(done.stderr) or f"exit code {done.returncode}"
            try:
                names = {os.readlink(f"/proc/self/ns/{kind}") for kind in ("net", "pid")}
            except OSError:
                return "without /proc nothing shows that it holds"
            if os.path.exists(file) or len(names.union(done.stdout.split())) < 4:
                return "it does not hold in what it starts"
        return ""

    def close(self) -> None:
        """End every process, and remove what the sandbox needed."""
        self._table.end_all()
        with self._lock:
            starter, self._starter = self._starter, None
        if starter is not None:
            starter.shutdown()
        self._shield.close()
        if self._temporary is not None:
            self._temporary.cleanup()
