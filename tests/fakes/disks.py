"""Disks on which something goes wrong, for the engine under every write tool."""

from __future__ import annotations

import errno
import os
import signal
from typing import Any

from xun_builtin_tools.edit.disk import Disk


class CountedDisk(Disk):
    """Calls `step` before each of its operations."""

    def step(self) -> None:
        raise NotImplementedError

    def write(self, *args: Any) -> None:
        self.step()
        super().write(*args)

    def symlink(self, *args: Any) -> None:
        self.step()
        super().symlink(*args)

    def replace(self, *args: Any) -> None:
        self.step()
        super().replace(*args)

    def unlink(self, *args: Any) -> None:
        self.step()
        super().unlink(*args)

    def keep(self, *args: Any) -> None:
        self.step()
        super().keep(*args)

    def rename(self, *args: Any) -> None:
        self.step()
        super().rename(*args)

    def mkdir(self, *args: Any) -> None:
        self.step()
        super().mkdir(*args)


class FailingDisk(CountedDisk):
    """Fails at the nth operation, whatever it is."""

    def __init__(self, nth: int) -> None:
        self.left = nth

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class DeadlyDisk(CountedDisk):
    """Kills its process before the nth operation."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
