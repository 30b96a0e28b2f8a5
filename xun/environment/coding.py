"""Running code by an interpreter that an environment starts as it starts any other process."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from xun.environment.base import CallTool, Process, Write

if TYPE_CHECKING:
    from xun.environment.processes import LocalProcess


class RunsCode(ABC):
    """`Environment.run_code` for an environment whose processes are those of this machine, or are reached by one."""

    @property
    def _interpreter(self) -> str:
        """The Python, as a path inside the environment."""
        return sys.executable

    @abstractmethod
    def _start_interpreter(self, argv: Sequence[str], env: Mapping[str, str] | None) -> LocalProcess:
        """Start *argv* in the workspace, with an input that is kept open."""

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
        """Run Python code with the interpreter of the environment; see `Environment.run_code`."""
        from xun.environment.code_host import run_in_process

        def start(argv: Sequence[str]) -> Process:
            return self._start_interpreter(argv, env)

        run_in_process(start, self._interpreter, code, tools, call_tool, write, timeout=timeout, cancelled=cancelled)
