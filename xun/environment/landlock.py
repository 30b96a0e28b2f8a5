"""The wall of Landlock (Linux 5.13 and newer), by its own system calls.

A ruleset is put on a thread that starts one command and ends, so nothing else of this process is restricted. What the
kernel knows of the rights is found out at run time, by its ABI number; see landlock(7) for the numbers.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from xun.environment import seccomp
from xun.environment.asking import shortened
from xun.environment.base import EnvironmentUnusable
from xun.environment.boxes import WalledProcess
from xun.environment.confinement import OFFLINE, READ_ONLY, View
from xun.environment.local import argument_vector
from xun.environment.processes import ProcessTable
from xun.environment.proof import forbidden_file
from xun.environment.shield import secret_paths
from xun.environment.tags import TAG
from xun_policies.paths.real import within
from xun_policies.paths.tempdir import TempDir

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVS = 38

_WRITE_FILE, _READ_FILE, _REFER, _TRUNCATE, _IOCTL_DEV = 1 << 1, 1 << 2, 1 << 13, 1 << 14, 1 << 15
_OF_FILES = _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_CHANGE_FOLDERS = sum(1 << bit for bit in range(4, 13))
"""Removing and making files, folders, links, sockets, pipes and devices."""
_CONNECT_TCP = 1 << 1
_ABSTRACT_SOCKETS, _SIGNALS = 1 << 0, 1 << 1

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")
"""Below ``/dev``: what every program may write to."""


def abi() -> int:
    """Return the number of the kernel's Landlock, 0 where there is none."""
    if sys.platform != "linux":
        return 0
    found = _libc().syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    return max(0, int(found))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def leave_abstract_sockets() -> None:
    """Keep the calling thread, and all that it starts from now on, from the abstract sockets of others.

    A namespace of the network does that too; this is for those that share it. Where the kernel can't, nothing happens.
    """
    libc, version = _libc(), abi()
    if version < 6:
        return
    fd = int(
        libc.syscall(_CREATE, ctypes.c_char_p(struct.pack("=QQQ", 0, 0, _ABSTRACT_SOCKETS)), ctypes.c_size_t(24), 0)
    )
    if fd >= 0:
        if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
            libc.syscall(_RESTRICT, fd, ctypes.c_uint32(0))
        os.close(fd)


@dataclass(frozen=True, slots=True)
class Rights:
    """What a ruleset of one ABI restricts.

    Attributes:
        files: What can be done with files and folders.
        net: What can be done with TCP.
        scoped: What stops at the border of those that share the ruleset.
    """

    files: int
    net: int
    scoped: int


def rights(version: int, view: View, *, hides: bool) -> Rights:
    """Return all that the kernel of *version* can restrict, of what *view* wants; *hides* also restricts reading."""
    files = _WRITE_FILE | _CHANGE_FOLDERS | (_READ_FILE if hides else 0)
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        files |= right if version >= since else 0
    net = _CONNECT_TCP if view in OFFLINE and version >= 4 else 0
    scoped = 0
    if version >= 6:
        scoped = _SIGNALS | (_ABSTRACT_SOCKETS if view != "machine" else 0)
    return Rights(files, net, scoped)


class Landlock:
    """Landlock for one workspace.

    It does not hold changes of modes, owners and times outside, and sockets that have a path; git's settings and
    ``.xun`` in the workspace are as writable as the rest of it. See SECURITY.md.

    Args:
        writable: Gives the folders that can be written.
        version: The ABI to use; None for that of the kernel.
    """

    def __init__(self, writable: Callable[[], Sequence[str]], *, version: int | None = None) -> None:
        self._writable = writable
        self.version = abi() if version is None else version
        self._temporary = TempDir()
        self._table = ProcessTable()
        self._tested = False

    def start(
        self, command: str | Sequence[str], cwd: str, env: Mapping[str, str], *, stdin: bool, view: View
    ) -> WalledProcess:
        """Start *command* behind the wall; its ``TMPDIR`` is a folder of its own that lasts to the end.

        Raises:
            EnvironmentUnusable: The kernel has no Landlock, or does not let it be used.
        """
        self.test(env)
        return self._start(argument_vector(command), cwd, env, stdin, view)

    def _start(self, argv: Sequence[str], cwd: str, env: Mapping[str, str], stdin: bool, view: View) -> WalledProcess:
        tag = self._table.new_tag()
        given = {**env, TAG: tag}
        writable = [] if view in READ_ONLY else self._writable()
        if not any(within(given.get("TMPDIR", "/"), root) for root in writable):
            given["TMPDIR"] = self.temporary
        ruleset = _Ruleset(self.version, view, (*writable, self.temporary), secret_paths(os.environ))

        def begin() -> subprocess.Popen[bytes]:
            ruleset.apply()
            return self._table.popen(argv, cwd, given, stdin)

        try:
            # On a thread that ends with it: the ruleset stays on what it was put on.
            with ThreadPoolExecutor(1, "xun-landlock") as starter:
                popen = starter.submit(begin).result()
        finally:
            ruleset.close()
        return WalledProcess(self._table, popen, tag)

    @property
    def temporary(self) -> str:
        """The temporary folder of the commands."""
        return str(self._temporary.path)

    def test(self, env: Mapping[str, str]) -> None:
        """Return when the wall holds, which one command shows; it is tried no more once it was shown.

        Raises:
            EnvironmentUnusable: It does not; the text says why.
        """
        if self._tested:
            return
        problem = self._problem(env)
        if problem:
            raise EnvironmentUnusable(f"Landlock does not work on this machine ({problem}).")
        self._tested = True

    def _problem(self, env: Mapping[str, str]) -> str:
        if self.version < 1:
            return "the kernel does not have it, or has it switched off"
        if self.version < 4 and not seccomp.supported():
            return f"its ABI {self.version} can't close the network"
        try:
            with forbidden_file(self._writable()) as file:
                inside = f"{self.temporary}/canary"
                script = f"( : > '{file}' ) 2> /dev/null; : > '{inside}'"
                process = self._start(["/bin/sh", "-c", script], "/", env, False, "closed")
                said = process.stderr.read().decode(errors="replace")
                code = process.wait()
                process.close()
                if code:
                    return shortened(said) or f"exit code {code}"
                if os.path.exists(file) or not os.path.exists(inside):
                    return "it does not hold in what it starts"
        except (OSError, EnvironmentUnusable) as exc:
            return str(exc)
        return ""

    def close(self) -> None:
        """End every process, and remove the temporary folder."""
        self._table.end_all()
        self._temporary.cleanup()


class _Ruleset:
    """One ruleset; made where it is not in force, put on the thread that calls `apply`."""

    def __init__(self, version: int, view: View, writable: Sequence[str], secrets: Sequence[str]) -> None:
        self._libc = _libc()
        self._view, self._version = view, version
        hidden = [path for path in secrets if not any(within(path, root) for root in writable)]
        self._rights = rights(version, view, hides=bool(hidden))
        fields = struct.pack("=QQQ", self._rights.files, self._rights.net, self._rights.scoped)
        # An older kernel takes a shorter structure.
        size = 8 if version < 4 else 16 if version < 6 else 24
        self._fd = int(self._libc.syscall(_CREATE, ctypes.c_char_p(fields), ctypes.c_size_t(size), ctypes.c_uint32(0)))
        if self._fd < 0:
            raise EnvironmentUnusable(f"Landlock takes no ruleset: {os.strerror(ctypes.get_errno())}.")
        for root in writable:
            self._allow(root, self._rights.files)
        for name in _DEVICES:
            self._allow(f"/dev/{name}", self._rights.files)
        if hidden:
            for path in _beside(hidden):
                self._allow(path, _READ_FILE)

    def _allow(self, path: str, wanted: int) -> None:
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                if wanted & ~_OF_FILES and not os.path.isdir(path):
                    wanted &= _OF_FILES
                rule = struct.pack("=Qi", wanted & self._rights.files, fd)
                self._libc.syscall(
                    _ADD_RULE, self._fd, ctypes.c_int(_PATH_BENEATH), ctypes.c_char_p(rule), ctypes.c_uint32(0)
                )
            finally:
                os.close(fd)

    def apply(self) -> None:
        """Put it on the calling thread, for ever."""
        if self._libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise EnvironmentUnusable("The kernel does not take no_new_privs, which Landlock needs.")
        if self._libc.syscall(_RESTRICT, self._fd, ctypes.c_uint32(0)) != 0:
            raise EnvironmentUnusable(f"Landlock is refused: {os.strerror(ctypes.get_errno())}.")
        if self._view in OFFLINE and seccomp.supported():
            seccomp.apply(seccomp.program(tcp=self._version >= 4), self._libc)

    def close(self) -> None:
        """Forget it; what runs keeps it."""
        os.close(self._fd)


def _beside(hidden: Sequence[str]) -> Iterator[str]:
    """Return paths that together hold everything but what is at or below *hidden*: rules only ever add."""
    above = {"/"}
    for path in hidden:
        at = os.path.dirname(path)
        while at != "/":
            above.add(at)
            at = os.path.dirname(at)
    for folder in above:
        try:
            with os.scandir(folder) as entries:
                names = [entry.path for entry in entries if not entry.is_symlink()]
        except OSError:
            continue
        for path in names:
            if path not in above and path not in hidden:
                yield path
