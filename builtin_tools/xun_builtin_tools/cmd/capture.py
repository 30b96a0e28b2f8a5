"""Output of a command as it comes: decoded, bounded in memory, kept whole in a file when it is long."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xun_builtin_tools.cmd.kept import KeptFile, new_file

if TYPE_CHECKING:
    from xun.tools.context import ToolCallContext

MAX_FILE_BYTES = 100 * 1024 * 1024
"""A spilled output is cut here: a command that floods must not fill the disk."""


class Capture:
    """One output stream of a command: its head, its tail, and where the whole is.

    Args:
        limit: Characters that `text` holds at most.
        spill: Called once the limit is passed; returns the new file that keeps the whole output, where there is room.

    Attributes:
        total: Characters so far.
        file: The file that was made, or None.
    """

    def __init__(self, limit: int, spill: Callable[[], KeptFile]) -> None:
        self._limit = limit
        self._spill = spill
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._head: list[str] = []
        self._head_size = 0
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._kept: KeptFile | None = None
        self._begun = self._lost = False
        self.total = 0
        self.file: Path | None = None

    def feed(self, data: bytes, final: bool = False) -> str:
        """Take *data* and return it as text, for live display."""
        text = self._decode(data, final)
        if text:
            self._add(text)
        if final and self._kept is not None:
            self._kept.close()
        return text

    def _add(self, text: str) -> None:
        if self.total + len(text) > self._limit and not self._begun:
            self._begin()
        self.total += len(text)
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

    def _begin(self) -> None:
        """Begin to keep the whole in a file; where that fails, the command and what is shown of it go on."""
        self._begun = True
        try:
            self._kept = self._spill()
        except OSError:
            self._lost = True
            return
        self.file = self._kept.path
        self._keep("".join(self._head) + "".join(self._tail))

    def _keep(self, text: str) -> None:
        if self._kept is not None and self._kept.add(text.encode("utf-8", "replace")):
            self._lost = True

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
        return f"{''.join(self._head)}\n[... {cut} characters cut; {self._where()} ...]\n{tail}"

    def _where(self) -> str:
        if self._kept is None:
            return "there was no room to keep them"
        if self._lost:
            return f"the first {self._kept.kept} bytes of the output are in {self.file}, there was no room for more"
        return f"the whole output is in {self.file}"


def call_capture(ctx: ToolCallContext[Any], name: str) -> Capture:
    """Return the capture of one stream of a call; what is too long for the model is kept in the temporary folder."""

    def spill() -> KeptFile:
        return new_file(Path(ctx.agent.workspace.tempdir.path), name, MAX_FILE_BYTES)

    return Capture(ctx.agent.config.command_output, spill)
