"""A program on a pseudo terminal, with a screen that can be read and the raw bytes that it wrote."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pexpect
import pyte


class Screen(pyte.HistoryScreen):
    """pyte's screen with the alternate one, which pyte leaves out."""

    def __init__(self, columns: int, rows: int) -> None:
        self.alternate = False
        super().__init__(columns, rows, history=10_000, ratio=0.5)

    def set_mode(self, *modes: int, **how: bool) -> None:
        if how.get("private") and 1049 in modes and not self.alternate:
            self._normal = ({y: dict(row) for y, row in self.buffer.items()}, self.cursor.x, self.cursor.y)
            self._scrolled = list(self.history.top)
            self.alternate = True
            self.erase_in_display(2)
        super().set_mode(*modes, **how)

    def reset_mode(self, *modes: int, **how: bool) -> None:
        if how.get("private") and 1049 in modes and self.alternate:
            rows, self.cursor.x, self.cursor.y = self._normal
            self.alternate = False
            self.buffer.clear()
            self.history.top.clear()
            self.history.top.extend(self._scrolled)
            for y, row in rows.items():
                self.buffer[y].update(row)
            self.dirty.update(range(self.lines))
        super().reset_mode(*modes, **how)


class Terminal:
    """Runs *command*; use it as a context manager."""

    def __init__(
        self, command: Sequence[str], *, env: dict[str, str], cwd: Path, columns: int = 80, rows: int = 24
    ) -> None:
        self.raw = b""
        self.drawn = True
        """Whether the screen follows; without it only the raw bytes do."""
        self.screen = Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self._child = pexpect.spawn(
            command[0], list(command[1:]), env=env, cwd=str(cwd), dimensions=(rows, columns), timeout=20
        )
        self._child.delaybeforesend = None

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child.isalive():
            self._child.kill(signal.SIGKILL)
        self._child.close(force=True)

    @property
    def pid(self) -> int:
        return int(self._child.pid)

    def read(self, seconds: float = 0.05) -> None:
        """Take in what comes within *seconds*."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                data = self._child.read_nonblocking(65_536, timeout=left)
            except pexpect.TIMEOUT:
                return
            except pexpect.EOF:
                return
            self.raw += data
            if self.drawn:
                self._stream.feed(data)

    def send(self, text: str) -> None:
        self._child.send(text)

    def text(self) -> str:
        """Return what is on the screen."""
        return "\n".join(row.rstrip() for row in self.screen.display)

    def lines(self) -> list[str]:
        """Return the scrollback and the screen, oldest first."""
        top = ["".join(row[x].data for x in range(self.screen.columns)).rstrip() for row in self.screen.history.top]
        return top + [row.rstrip() for row in self.screen.display]

    def wait(self, wanted: str | Callable[[str], bool], timeout: float = 40.0) -> str:
        """Wait until the screen holds *wanted*, and return the screen."""
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            self.read(0.05)
            shown = self.text()
            if wanted(shown) if callable(wanted) else wanted in shown:
                return shown
            if not self._child.isalive():
                self.read(0.2)
                break
        shown = self.text()
        there = wanted(shown) if callable(wanted) else wanted in shown
        assert there, f"not on the screen: {wanted!r}\n{shown}\n{len(self.raw)} bytes, the last {self.raw[-200:]!r}"
        return shown

    def resize(self, columns: int, rows: int) -> None:
        self._child.setwinsize(rows, columns)
        self.screen.resize(rows, columns)

    def end(self, timeout: float = 30.0) -> int:
        """Wait for the end and return the exit code."""
        until = time.monotonic() + timeout
        while self._child.isalive() and time.monotonic() < until:
            self.read(0.05)
        self.read(0.2)
        assert not self._child.isalive(), f"it still runs\n{self.text()}"
        self._child.close()
        return self._child.exitstatus if self._child.exitstatus is not None else -int(self._child.signalstatus or 0)

    def cpu_seconds(self) -> float:
        """Return the processor time that the program has used (Linux)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Return its resident memory in megabytes (Linux)."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        match = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(match.group(1)) / 1024 if match else 0.0

    def modes_left_on(self) -> set[str]:
        """Return the private modes that were switched on and not off again."""
        on: set[str] = set()
        for match in re.finditer(rb"\x1b\[\?([\d;]+)([hl])", self.raw):
            for mode in match.group(1).decode().split(";"):
                (on.add if match.group(2) == b"h" else on.discard)(mode)
        return on - {"7", "25", "12"}  # autowrap and a visible cursor are the normal state
