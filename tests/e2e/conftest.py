"""xun as a process: on a tmux pane, or without a terminal, against a local model server."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

XUN = [sys.executable, "-m", "xun_cli"]


@pytest.fixture
def project(tmp_path) -> Path:
    """A small project with a failing test."""
    root = tmp_path / "sample"
    root.mkdir()
    (root / "calc.py").write_text('"""Sums."""\n\n\ndef add(a, b):\n    return a - b\n')
    (root / "test_calc.py").write_text("from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n")
    (root / "notes.txt").write_text("alpha beta\nbeta gamma\n")
    return root


@pytest.fixture
def environment(isolated_environment, tmp_path) -> dict[str, str]:
    """The environment of a newcomer: a home folder, a terminal, and this Python first on PATH."""
    env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TMUX", "TMUX_PANE")}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    env["XUN_HOME"] = str(tmp_path / "xun-home")
    env["TERM"] = "xterm-256color"
    env["LANG"] = env["LC_ALL"] = "C.UTF-8"
    return env


def pytest_collection_modifyitems(items):
    """Try a test on a real terminal again once: the machine it shares may be too slow for a person's pace."""
    for item in items:
        if "/e2e/" in str(item.path):
            item.add_marker(pytest.mark.flaky(reruns=1))


class Pane:
    """A real tmux pane with a server of its own."""

    def __init__(self, command: list[str], cwd: Path, env: dict[str, str], size: tuple[int, int] = (100, 30)) -> None:
        self._socket = f"xun-test-{uuid.uuid4().hex[:8]}"
        self._env = env
        width, height = size
        sets = [part for name, value in env.items() if name != "TERM" for part in ("-e", f"{name}={value}")]
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(cwd),
                   *sets, "sh")  # fmt: skip
        self._tmux("set-option", "-g", "history-limit", "20000")
        self._tmux("set-option", "-g", "remain-on-exit", "on")
        line = " ".join("'" + part.replace("'", "'\\''") + "'" for part in command)
        # tmux may miss the end of a child, so the shell around it notes the exit code.
        self._status = Path(env["XUN_HOME"]).parent / f"{self._socket}.status"
        self._tmux("respawn-pane", "-k", "-c", str(cwd), f"{line}; echo $? > '{self._status}'")

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, *arguments], env=self._env, capture_output=True, text=True, timeout=20
        )
        if done.returncode:
            raise AssertionError(f"tmux {arguments}: {done.stderr}")
        return done.stdout

    def text(self, history: bool = True) -> str:
        """Return the screen, with the scrollback above it."""
        return self._tmux("capture-pane", "-p", *(("-S", "-") if history else ()))

    def type(self, text: str) -> None:
        """Type characters."""
        self._tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        """Press named keys."""
        self._tmux("send-keys", *keys)

    def wait(self, what: str, seconds: float = 40.0, *, gone: bool = False) -> str:
        """Return the screen once it holds (or, with *gone*, no longer holds) *what*."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            screen = self.text()
            if (what in screen) is not gone:
                return screen
            time.sleep(0.05)
        raise AssertionError(f"{what!r} {'stayed on' if gone else 'never came to'} the screen:\n{self.text()}")

    def wait_until(self, condition, seconds: float = 40.0) -> None:
        """Wait until *condition* holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"it did not come:\n{self.text()}")
            time.sleep(0.05)

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def alternate(self) -> bool:
        """Tell whether the alternate screen is on."""
        return self._tmux("display-message", "-p", "#{alternate_on}").strip() == "1"

    def dead(self) -> bool:
        """Tell whether the process has ended."""
        return self._status.exists()

    def exit_code(self, seconds: float = 30.0) -> int:
        """Wait for the end of the process and return its exit code."""
        deadline = time.monotonic() + seconds
        while not (self._status.exists() and (text := self._status.read_text().strip())):
            if time.monotonic() > deadline:
                raise AssertionError(f"it did not end:\n{self.text()}")
            time.sleep(0.05)
        return int(text)

    def close(self) -> None:
        """End the pane and its tmux server."""
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], capture_output=True, timeout=20)


@pytest.fixture
def pane(project, environment):
    """Start xun in a pane: ``pane("--demo")``; ended at the end of the test."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    open_panes: list[Pane] = []

    def start(*arguments: str, size: tuple[int, int] = (100, 30), **more: str) -> Pane:
        made = Pane([*XUN, *arguments], project, {**environment, **more}, size)
        open_panes.append(made)
        return made

    yield start
    for item in open_panes:
        item.close()


@pytest.fixture
def headless(project, environment):
    """Run xun to its end: ``headless("-p", "...")`` returns the finished process."""

    def run(*arguments: str, stdin: str | None = None, timeout: float = 60, **more: str):
        given = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run(
            [*XUN, *arguments],
            cwd=project,
            env={**environment, **more},
            capture_output=True,
            text=True,
            timeout=timeout,
            **given,
        )

    return run
