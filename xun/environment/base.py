"""The seam between tools and where their work happens: spawn processes, read and write files, run code.

Tools talk to an `Environment` and name no provider. What a person approved is what is spawned: an
environment changes neither the text nor the folder of a command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import IO, Any, Protocol

from xun.errors import XunError
from xun.result import ErrorInfo, Result


class EnvironmentUnusable(XunError):
    """The environment can't be used here; the text says what is missing and the way out."""

    kind = "environment"


class CodeFailed(XunError):
    """The code of `Environment.run_code` raised, or its process ended before it was through.

    Attributes:
        traceback: The traceback of the code itself, without frames of xun; may be empty.
    """

    kind = "code"

    def __init__(self, message: str = "", *, traceback: str = "") -> None:
        super().__init__(message)
        self.traceback = traceback


class CodeTimeout(CodeFailed):
    """The code passed its time limit and was ended with all that it started."""

    kind = "timeout"


class CodeStopped(CodeFailed):
    """The code was ended because whoever started it was cancelled."""

    kind = "cancelled"


CallTool = Callable[[str, dict[str, Any]], "Future[Result[Any, ErrorInfo]]"]
"""What code in an environment calls tools by: name and arguments in, a future of the result out.

The value of a success must be JSON. It is called on the thread of `Environment.run_code`.
"""

Write = Callable[[bytes, str], None]
"""Gets output as it arrives; the second argument is "stdout" or "stderr"."""


class Process(Protocol):
    """A started process, with everything that it started.

    Attributes:
        stdout: Its output, as a file object with a descriptor that can be waited for.
        stderr: Its error output, likewise.
        pid: The number of a process of this machine that ends with it; None where there is none.
    """

    @property
    def stdout(self) -> IO[bytes]: ...
    @property
    def stderr(self) -> IO[bytes]: ...
    @property
    def pid(self) -> int | None: ...

    def write_stdin(self, data: bytes) -> None:
        """Write to its input, which has to be asked for with ``spawn(stdin=True)``.

        Raises:
            BrokenPipeError: It reads no more.
        """
        ...

    def close_stdin(self) -> None:
        """Close its input, if it has one."""
        ...

    def poll(self) -> int | None:
        """Return its exit code, negative for a signal, or None while it runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit code once it is over.

        Raises:
            subprocess.TimeoutExpired: It still ran after *timeout* seconds.
        """
        ...

    def left_running(self) -> bool:
        """Tell, once it is over, whether something that it started still runs."""
        ...

    def kill(self, grace: float = 0.0) -> None:
        """End it and everything that it started; with *grace* it is asked first and gets so many seconds."""
        ...

    def close(self) -> None:
        """Close the streams; what still runs stays known to the environment."""
        ...


class Environment(Protocol):
    """Where the commands and the code of an agent run.

    Attributes:
        name: The name of its kind.
        workspace: The working folder, as a path inside the environment.
    """

    name: str

    @property
    def workspace(self) -> str: ...

    def spawn(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bool = False,
    ) -> Process:
        """Start a process.

        Args:
            command: A text runs in bash without its start-up files, a sequence as it stands.
            cwd: The folder, absolute; None for the workspace.
            env: The whole environment of the process; None for a few harmless variables of this one.
            stdin: Keep its input open for `Process.write_stdin`; else it reads the end of its input at once.

        Raises:
            OSError: It can't be started.
            EnvironmentUnusable: Nothing can be started here.
        """
        ...

    def read_text(self, path: str) -> str:
        """Return a file as UTF-8 text.

        Raises:
            PathOutsideWorkspace: It is not in the workspace.
            OSError: It can't be read.
            UnicodeDecodeError: It is no text.
        """
        ...

    def write_text(self, path: str, content: str) -> None:
        """Put *content* in the place of a file, as UTF-8; missing folders are made. It asks nobody.

        Raises:
            PathOutsideWorkspace: It is not in the workspace.
            OSError: It can't be written.
        """
        ...

    def resolve_path(self, path: str) -> str:
        """Return *path* as an absolute path without links; a relative one starts at the workspace.

        Raises:
            PathOutsideWorkspace: It leads out of the workspace.
        """
        ...

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
        """Run Python code in a process of its own, in the workspace, and return when it is through.

        In the code ``await tools.NAME(**arguments)`` calls a tool through *call_tool*. Afterwards nothing of the
        process runs any more.

        Args:
            code: The text; it may await at its top level.
            tools: The names that ``tools.NAME`` has.
            call_tool: Makes one call; several may be under way.
            write: Gets the output.
            env: As for `spawn`.
            timeout: Seconds that it may take; None for no limit.
            cancelled: Asked several times a second; True ends the code.

        Raises:
            CodeFailed: The code raised; `CodeTimeout` and `CodeStopped` when it was ended.
            OSError: No process could be started.
            EnvironmentUnusable: Nothing can be started here.
        """
        ...

    def close(self) -> None:
        """End everything that was started; a later `spawn` begins anew."""
        ...
