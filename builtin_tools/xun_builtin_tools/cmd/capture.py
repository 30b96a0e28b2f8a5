"""Output of a command as it comes: decoded, bounded in memory, kept whole in a file when it is long."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from xun.tools.context import ToolCallContext

MAX_FILE_BYTES = 100 * 1024 * 1024
"""A spilled output is cut here: a command that floods must not fill the disk."""


class Capture:
    """One output stream of a command: its head, its tail, and where the whole is.

    Args:
        limit: Characters that `text` holds at most.
        spill: Called once the limit is passed; returns the file that keeps the whole output.
    """

    def __init__(self, limit: int, spill: Callable[[], Path]) -> None:
        self._limit = limit
        self._spill = spill
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._head: list[str] = []
        self._head_size = 0
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._file: BinaryIO | None = None
        self._file_bytes = 0
        self.total = 0
        self.file: Path | None = None

    def feed(self, data: bytes, final: bool = False) -> str:
        """Take *data* and return it as text, for live display."""
        text = self._decode(data, final)
        if text:
            self._add(text)
        if final and self._file is not None:
            self._file.close()
            self._file = None
        return text

    def _add(self, text: str) -> None:
        if self.total + len(text) > self._limit and self.file is None:
            self.file = self._spill()
            self._file = self.file.open("wb")
            self._keep("".join(self._head) + "".join(self._tail))
        self.total += len(text)
        if self._file is not None:
            self._keep(text)
        room = self._limit // 2 - self._head_size
        if room > 0:
            self._head.append(text[:room])
            self._head_size += len(text[:room])
            text = text[room:]
        if text:
            self._tail.append(text)
            self._tail_size += len(text)
            while self._tail_size - len(self._tail[0]) >= self._limit - self._limit // 2:
                self._tail_size -= len(self._tail.popleft())

    def _keep(self, text: str) -> None:
        data = text.encode("utf-8", "replace")[: MAX_FILE_BYTES - self._file_bytes]
        if self._file is not None and data:
            self._file.write(data)
            self._file_bytes += len(data)

    @property
    def truncated(self) -> bool:
        """Whether `text` is less than the whole."""
        return self.total > self._limit

    @property
    def text(self) -> str:
        """The output; with its middle cut, and said so, when it is long."""
        if not self.truncated:
            return "".join(self._head) + "".join(self._tail)
        room = self._limit - self._limit // 2
        tail = "".join(self._tail)[-room:]
        cut = self.total - self._head_size - len(tail)
        return f"{''.join(self._head)}\n[... {cut} characters cut; the whole output is in {self.file} ...]\n{tail}"


def call_capture(ctx: ToolCallContext[Any], name: str) -> Capture:
    """Return the capture of one stream of a call; what is too long for the model is kept in the temporary folder."""

    def spill() -> Path:
        folder = Path(ctx.agent.workspace.tempdir.path)
        number = sum(1 for _ in folder.glob(f"output-*-{name}.txt")) + 1
        return folder / f"output-{number}-{name}.txt"

    return Capture(ctx.agent.config.command_output, spill)
