"""One container, by the docker command line."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Sequence

from xun.environment.asking import ask, shortened

ASK_SECONDS = 15.0
"""Seconds that docker gets for an answer."""
START_SECONDS = 600.0
"""Seconds that a container gets to start; its image may have to be fetched."""
_POLL = 0.1


class Container:
    """A container that ends with this object, and with this process however it ends.

    Its own program only waits for the end of its input, which is a pipe that we hold.

    Args:
        program: The docker command.
        name: The name that the container gets.
        options: Those of ``docker run``.
        image: What to start.
    """

    def __init__(self, program: str, name: str, options: Sequence[str], image: str) -> None:
        self.program, self.name = program, name
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by remove()
        argv = [program, "run", "--interactive", "--rm", "--init", "--name", name, *options]
        self._keeper = subprocess.Popen(
            [*argv, "--entrypoint", "cat", image],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            start_new_session=True,
        )

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self._keeper.poll() is None

    def problem(self) -> str:
        """Wait until it runs; return why it does not, or ""."""
        deadline = time.monotonic() + START_SECONDS
        while self.running:
            done = ask([self.program, "container", "inspect", "--format", "{{.State.Running}}", self.name], ASK_SECONDS)
            if not isinstance(done, str) and done.stdout.strip() == "true":
                return ""
            if time.monotonic() > deadline:
                return f"it did not run after {START_SECONDS:g} s"
            time.sleep(_POLL)
        self._said.seek(0)
        return shortened(self._said.read().decode(errors="replace")) or f"exit code {self._keeper.returncode}"

    def inside(self, argv: Sequence[str], seconds: float = ASK_SECONDS) -> subprocess.CompletedProcess[str] | None:
        """Run *argv* in it to its end; None when that can't be done."""
        done = ask([self.program, "exec", self.name, *argv], seconds)
        return None if isinstance(done, str) else done

    def remove(self) -> None:
        """End it with all that runs in it."""
        if self.running:
            ask([self.program, "rm", "--force", "--volumes", self.name], 4 * ASK_SECONDS)
        if self._keeper.stdin is not None:
            with contextlib.suppress(OSError):
                self._keeper.stdin.close()
        try:
            self._keeper.wait(ASK_SECONDS)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
        self._said.close()
