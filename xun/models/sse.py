"""Server-sent events, from bytes that may be cut anywhere.

The rules are those of the HTML standard's event stream format: lines end in LF, CR or CRLF,
a leading byte order mark is dropped, lines that start with a colon are comments, several data
lines of one event are joined by LF, and an empty line ends the event. Two things more are taken,
because servers send them: the field ``error`` (llama.cpp until late in 2025) is the data of an
event of that type, and a line that begins as a JSON object is data.
"""

from __future__ import annotations

from dataclasses import dataclass

from xun.errors import ModelReplyInvalid

EVENT_LIMIT = 32 * 1024 * 1024
"""The longest event that is taken, in bytes; a tool call's arguments may be megabytes."""

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event.

    Attributes:
        data: The data lines, joined.
        event: The event's type, or "".
    """

    data: str
    event: str = ""


class EventParser:
    """Turn pieces of bytes into events.

    Lines are decoded as a whole, so a character that is cut between two pieces is put together;
    bytes that are not UTF-8 become U+FFFD.
    """

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        """Take events of up to *limit* bytes."""
        self._limit = limit
        # Pieces of the unfinished line; joined once, so that a long line costs no repeated copies.
        self._pieces: list[bytes] = []
        self._lines: list[str] = []
        self._event = ""
        self._size = 0
        self._after_cr = False
        self._start = True

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Take the next bytes and return the events that they complete.

        Raises:
            ModelReplyInvalid: An event is longer than the limit.
        """
        if self._after_cr and data[:1] == b"\n":
            data = data[1:]
            self._after_cr = False
        if not data:
            return []
        self._after_cr = data.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._size += len(data)
        head, newline, rest = data.partition(b"\n")
        self._pieces.append(head)
        if not newline:
            self._check_size()
            return []
        lines = [b"".join(self._pieces), *rest.split(b"\n")]
        self._pieces = [lines.pop()]
        return self._take(lines)

    def close(self) -> list[ServerEvent]:
        """Return the event that the end of the stream left without its empty line, if any."""
        lines = [b"".join(self._pieces), b""]
        self._pieces = []
        return self._take(lines)

    def _take(self, lines: list[bytes]) -> list[ServerEvent]:
        events: list[ServerEvent] = []
        if self._start:
            lines[0] = lines[0].removeprefix(_BOM)
            self._start = False
        for line in lines:
            if line:
                self._field(line)
                continue
            if self._lines:
                events.append(ServerEvent("\n".join(self._lines), self._event))
            self._lines = []
            self._event = ""
            self._size = 0
        self._check_size()
        return events

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name in (b"data", b"error"):
            self._lines.append(value.removeprefix(b" ").decode("utf-8", "replace"))
            if name == b"error":
                self._event = "error"
        elif name.startswith(b"{"):
            # A proxy's own error, written into the stream without a field's name.
            self._lines.append(line.decode("utf-8", "replace"))
        elif name == b"event":
            self._event = value.removeprefix(b" ").decode("utf-8", "replace")

    def _check_size(self) -> None:
        if self._size > self._limit:
            raise ModelReplyInvalid(
                f"The server sent an event of more than {self._limit} bytes; no answer is that long",
                retryable=False,
            )
