"""The output of a command in the background: kept in files, bounded, and read by offset."""

from __future__ import annotations

import codecs
import itertools
import threading
from dataclasses import dataclass
from pathlib import Path

from xun_builtin_tools.cmd.capture import Capture
from xun_builtin_tools.cmd.kept import KeptFile

LOG_BYTES = 64 * 1024 * 1024
"""Each file of a task ends here: a command that floods must not fill the disk."""
TAIL_BYTES = 64 * 1024
"""Of what comes after the end of the file so much is kept, the newest."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the output of a task.

    Attributes:
        text: The part.
        next_offset: Where the next part starts, in bytes.
        skipped: Bytes before it that are no longer kept.
    """

    text: str
    next_offset: int
    skipped: int = 0


class TaskLog:
    """The output of one task: each stream as it came in a file, and both in order, as UTF-8, to read by offset.

    Args:
        folder: Where the files are made.
        room: Bytes that each file holds at most.

    Attributes:
        id: The name of the task, the first that is free in the folder.
    """

    def __init__(self, folder: Path, room: int = LOG_BYTES) -> None:
        self.id, files = _new_files(folder, room)
        self._both = files.pop("output")
        self._raw = files
        self._past = bytearray()
        self._total = 0
        self._lock = threading.Lock()

    @property
    def stdout(self) -> Path:
        """The file of the output."""
        return self._raw["stdout"].path

    @property
    def stderr(self) -> Path:
        """The file of the error output."""
        return self._raw["stderr"].path

    @property
    def size(self) -> int:
        """Bytes of both streams so far, as UTF-8."""
        return self._total

    def sink(self, name: str, capture: Capture | None = None) -> LogSink:
        """Return what takes the stream *name*; *capture* gets it too."""
        return LogSink(self, name, capture)

    def add(self, name: str, data: bytes, text: str) -> None:
        """Take the bytes of a stream, and the text that they complete."""
        with self._lock:
            self._raw[name].add(data)
            encoded = text.encode("utf-8", "replace")
            self._past += self._both.add(encoded)
            self._total += len(encoded)
            if len(self._past) > TAIL_BYTES:
                del self._past[:-TAIL_BYTES]

    def read(self, offset: int, limit: int) -> Piece:
        """Return at most *limit* bytes from *offset* on, whole characters; a negative offset counts from the end."""
        with self._lock:
            start = min(max(0, self._total + offset if offset < 0 else offset), self._total)
            file_end, past_start = self._both.kept, self._total - len(self._past)
            # A file that a command put something else in the place of holds nothing any more.
            if start < file_end and (data := self._both.read(start, min(limit, file_end - start))):
                return _piece(data, start, 0)
            begin = max(start, past_start)
            data = bytes(self._past[begin - past_start :][:limit])
            return _piece(data, begin, begin - start)

    def close(self) -> None:
        """Close the files; what they hold can still be read."""
        with self._lock:
            for file in (self._both, *self._raw.values()):
                file.close()

    def remove(self) -> None:
        """Close and delete the files."""
        with self._lock:
            for file in (self._both, *self._raw.values()):
                file.remove()


def _new_files(folder: Path, room: int) -> tuple[str, dict[str, KeptFile]]:
    """Return the first name that is free for all files of a task in *folder*, and its files.

    Raises:
        OSError: They can't be made.
    """
    for number in itertools.count(1):
        files: dict[str, KeptFile] = {}
        try:
            for name in ("output", "stdout", "stderr"):
                files[name] = KeptFile(folder / f"task-{number}-{name}.log", room)
        except OSError as exc:
            for file in files.values():
                file.remove()
            if not isinstance(exc, FileExistsError):
                raise
        else:
            return f"task-{number}", files
    raise AssertionError("numbers do not end")


def _piece(data: bytes, start: int, skipped: int) -> Piece:
    """Return *data* as text without the part of a character at either end."""
    lead = 0
    while lead < min(3, len(data)) and data[lead] & 0xC0 == 0x80:
        lead += 1
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data[lead:])
    left = len(decoder.getstate()[0])
    if left and not text:
        # The limit is smaller than the one character that stands here.
        return Piece("\ufffd", start + len(data), skipped)
    return Piece(text, start + len(data) - left, skipped)


class LogSink:
    """Takes one stream of a command for its log, and for the answer of a call as long as one waits."""

    def __init__(self, log: TaskLog, name: str, capture: Capture | None) -> None:
        self._log, self._name, self._capture = log, name, capture
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def feed(self, data: bytes, final: bool = False) -> str:
        """Take *data* and return it as text."""
        text = self._decode(data, final)
        self._log.add(self._name, data, text)
        if self._capture is not None:
            self._capture.feed(data, final)
        return text

    def detach(self) -> None:
        """Write to the log only from now on."""
        if self._capture is not None:
            self._capture.feed(b"", final=True)
            self._capture = None
