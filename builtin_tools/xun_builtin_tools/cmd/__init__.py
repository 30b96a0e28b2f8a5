"""The cmd group: commands in bash. Not on Windows."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any


def tools() -> list[Callable[..., Any]]:
    """Return the functions of the group; on Windows none, with one notice."""
    if os.name == "nt":
        _say_once()
        return []
    from xun_builtin_tools.cmd.background import bash_kill, bash_output, bash_running, bash_spawn, bash_wait
    from xun_builtin_tools.cmd.bash import bash
    from xun_builtin_tools.cmd.shell import shell

    return [bash, bash_spawn, bash_output, bash_wait, bash_running, bash_kill, shell]


@cache
def _say_once() -> None:
    sys.stdout.write("xun: the cmd group has no tools on Windows; it is skipped.\n")
