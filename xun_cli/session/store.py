"""The session file: append-only JSON lines, one write per record, one writer at a time.

What the file promises: a record whose append returned is whole in the file; a record that was cut
by a crash or a full disk is taken out before the next one is written, and kept beside it as
``.torn``; a turn whose `flush` returned survives a power cut. The records are the truth, the
``.info`` file beside them is a summary that can be made again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from xun.events import STORED, SessionEnded, SessionStarted
from xun_cli.places import NOFOLLOW, Places, open_plain, private_dir
from xun_cli.session import lines
from xun_cli.session.envelope import Envelope
from xun_cli.session.listing import SessionInfo, Summary, delete_session, find, latest, list_sessions, prune
from xun_cli.session.lock import FileLock, SessionBusy, SessionError

__all__ = [
    "Hole",
    "LoadedSession",
    "SessionBusy",
    "SessionError",
    "SessionInfo",
    "SessionStore",
    "delete_session",
    "find",
    "latest",
    "list_sessions",
    "new_session_id",
    "prune",
    "read_session",
]


@dataclass(frozen=True, slots=True)
class Hole:
    """A line that a power cut filled with NULs.

    Attributes:
        offset: Where it begins in the file.
        line: Its bytes.
        kept: The whole records found in it, each with its newline.
    """

    offset: int
    line: bytes
    kept: bytes


@dataclass(slots=True)
class LoadedSession:
    """What could be read of a session file.

    Attributes:
        envelopes: Every record that is whole and known, by `seq`.
        dropped: One sentence for each thing that was left out.
        torn: The end of the file had been cut in the middle of a record.
        holes: Lines with runs of NULs in them; empty in a sound file.
    """

    envelopes: list[Envelope] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    torn: bool = False
    holes: list[Hole] = field(default_factory=list)


def new_session_id() -> str:
    """Return a new id: the UTC time and six random hex digits, so that ids sort by age."""
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S-") + os.urandom(3).hex()


class SessionStore:
    """One session file, open for appending.

    A new session gets its file with the first record that a person would miss: a start and an end
    with nothing between them leave no file.
    """

    def __init__(self, path: Path, session_id: str) -> None:
        self.path = path
        self.id = session_id
        self.torn: str = ""
        """What `open` had to cut off the end, as a sentence; "" when nothing."""
        self.hidden: tuple[str, ...] = ()
        """Texts that no record may hold: the person's own keys, which a file that a tool read may hold too."""
        self._fd = -1
        self._size = 0
        self._lock: FileLock | None = None
        self._early: list[Envelope] = []
        self._dirty = False
        self._summary = Summary()

    @classmethod
    def create(cls, places: Places, cwd: Path | str) -> SessionStore:
        """Return the store of a new session of the folder *cwd*.

        Raises:
            SessionError: The folder for sessions can't be made or written.
        """
        folder = places.sessions_dir(cwd)
        try:
            private_dir(folder, places.data)
        except OSError as error:
            raise SessionError(
                f"Can't keep sessions in {folder}: {error.strerror or error}; free it, or start with --no-session"
            ) from None
        session_id = new_session_id()
        return cls(folder / f"{session_id}.jsonl", session_id)

    @classmethod
    def open(cls, path: Path) -> SessionStore:
        """Open an existing session for more records, and cut a torn end off.

        Raises:
            SessionBusy: Another process writes it.
            SessionError: It is missing, unreadable or in a newer format; it is then unchanged.
        """
        store = cls(path, path.stem)
        store._acquire()
        try:
            store._fd = os.open(path, os.O_RDWR | os.O_APPEND | NOFOLLOW)
            if path.parent.stat().st_mode & 0o077:  # made by an older version, or by hand
                path.parent.chmod(0o700)
            store._refuse_newer()
            os.fchmod(store._fd, 0o600)
            store._size = os.fstat(store._fd).st_size
            store._mend_end()
            store._summary = Summary.of(path)
        except OSError as error:
            store._drop()
            raise SessionError(f"Can't open the session {path}: {error.strerror or error}") from None
        except BaseException:
            store._drop()
            raise
        return store

    @property
    def saved(self) -> bool:
        """Whether there is a file that can be resumed."""
        return self._fd >= 0

    def append(self, envelope: Envelope) -> None:
        """Write one record; types that are not stored are passed over.

        Raises:
            SessionError: It could not be written whole; the file is as it was before.
        """
        event = envelope.event
        if event.type not in STORED:
            return
        if not self.saved:
            self._early.append(envelope)
            if isinstance(event, SessionStarted | SessionEnded) or event.type == "notice":
                return
            self._begin()
            waiting, self._early = self._early, []
            for item in waiting:
                self._write(item)
            return
        self._write(envelope)

    def flush(self) -> None:
        """Return when all records so far are on the disk.

        Raises:
            SessionError: The disk reports a failure.
        """
        if not self.saved or not self._dirty:
            return
        try:
            getattr(os, "fdatasync", os.fsync)(self._fd)
        except OSError as error:
            raise SessionError(f"Can't save the session {self.path}: {error.strerror}") from None
        self._dirty = False
        self._summary.write(self.path, self._size)

    def load(self) -> LoadedSession:
        """Read all records; bytes that belong to none (holes of NULs) are moved to ``.torn``.

        Raises:
            SessionError: The file can't be read or is in a newer format.
        """
        if not self.saved:
            return LoadedSession()
        loaded = read_session(self.path)
        if loaded.holes:
            try:
                self._remove(loaded.holes)
            except OSError as error:
                # What is whole was read, and the file is as it was: it can be mended another time.
                loaded.dropped.append(f"the damage stays in the file, which can't be mended ({error.strerror})")
        if self.torn:
            loaded.torn = True
            loaded.dropped.append(self.torn)
        return loaded

    def close(self) -> None:
        """Save and give the file free; may be called twice.

        Raises:
            SessionError: The last records could not be saved.
        """
        try:
            self.flush()
        finally:
            self._drop()

    def _drop(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _acquire(self) -> None:
        try:
            if not self.path.is_file():
                raise SessionError(f"No session file {self.path}; `xun sessions list` shows what there is")
            self._lock = FileLock.acquire(self.path.with_suffix(".lock"), self.id)
        except OSError as error:
            raise SessionError(
                f"Can't go on with the session {self.path}: its lock can't be made ({error.strerror or error}); begin "
                "a new one without -c or -r, or copy it to a folder that can be written, named by XUN_HOME"
            ) from None

    def _begin(self) -> None:
        try:
            self._lock = FileLock.acquire(self.path.with_suffix(".lock"), self.id)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | NOFOLLOW
            self._fd = os.open(self.path, flags, 0o600)
        except OSError as error:
            self._drop()
            raise SessionError(
                f"Can't write the session {self.path}: {error.strerror or error}; what follows is not kept"
            ) from None

    def _write(self, envelope: Envelope) -> None:
        record = lines.to_bytes(envelope, self.hidden)
        try:
            written = os.write(self._fd, record)
            if written != len(record):
                raise OSError(28, "the disk is full")
        except OSError as error:
            os.ftruncate(self._fd, self._size)
            raise SessionError(
                f"Can't write the session {self.path}: {error.strerror}; this step is not kept, free some space"
            ) from None
        self._size += len(record)
        self._dirty = True
        self._summary.add((self.hidden and lines.from_bytes(record)) or envelope)

    def _refuse_newer(self) -> None:
        with os.fdopen(os.dup(self._fd), "rb") as file:
            file.seek(0)
            first = file.readline(1_000_000)
        try:
            lines.from_bytes(first)
        except lines.NewerFormat as error:
            raise _newer(self.path, error) from None
        except ValueError:
            pass

    def _mend_end(self) -> None:
        if self._size == 0 or os.pread(self._fd, 1, self._size - 1) == b"\n":
            return
        start = _last_line_start(self._fd, self._size)
        tail = os.pread(self._fd, self._size - start, start)
        try:
            lines.from_bytes(tail)
        except ValueError:
            self._keep_torn(tail)
            os.ftruncate(self._fd, start)
            self._size = start
            self.torn = f"the last {len(tail)} bytes were an unfinished record (kept in {self._torn_path().name})"
            return
        os.write(self._fd, b"\n")
        self._size += 1

    def _torn_path(self) -> Path:
        return self.path.with_name(self.path.name + ".torn")

    def _keep_torn(self, data: bytes) -> None:
        fd = os.open(self._torn_path(), os.O_WRONLY | os.O_CREAT | os.O_APPEND | NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data + b"\n")

    def _remove(self, holes: list[Hole]) -> None:
        self._keep_torn(b"\n".join(hole.line for hole in holes))
        temp = self.path.with_name(f".{self.path.name}.{os.urandom(4).hex()}.tmp")
        fd = os.open(temp, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | NOFOLLOW, 0o600)
        try:
            size = 0
            for piece in _between(self.path, holes):
                view = memoryview(piece)
                while view:  # a disk that fills up takes a part, and says so at the next try
                    written = os.write(fd, view)
                    view = view[written:]
                    size += written
            os.fsync(fd)
            temp.replace(self.path)
        except BaseException:
            os.close(fd)
            temp.unlink(missing_ok=True)
            raise
        os.close(self._fd)
        self._fd, self._size = fd, size


def _between(path: Path, holes: list[Hole]) -> Iterator[bytes]:
    with open_plain(path) as file:
        at = 0
        for hole in [*holes, Hole(path.stat().st_size, b"", b"")]:
            file.seek(at)
            left = hole.offset - at
            while left > 0 and (piece := file.read(min(left, 1 << 20))):
                left -= len(piece)
                yield piece
            if hole.kept:
                yield hole.kept
            at = hole.offset + len(hole.line)


def _last_line_start(fd: int, size: int) -> int:
    end = size
    while end > 0:
        start = max(0, end - (1 << 16))
        found = os.pread(fd, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def read_session(path: Path) -> LoadedSession:
    """Read the records of *path* without changing it; a damaged one is passed over and counted aloud.

    Raises:
        SessionError: It can't be read or is in a newer format.
    """
    loaded = LoadedSession()
    offset = 0
    try:
        with open_plain(path) as file:
            for number, line in enumerate(file, 1):
                _read_line(loaded, path, number, line, offset)
                offset += len(line)
    except OSError as error:
        raise SessionError(f"Can't read the session {path}: {error.strerror or error}") from None
    seqs = [item.seq for item in loaded.envelopes]
    if any(later < earlier for earlier, later in pairwise(seqs)):
        loaded.envelopes.sort(key=lambda item: item.seq)
    if not loaded.envelopes and offset:
        loaded.dropped.append(f"no record of {path.name} could be read ({offset} bytes)")
    return loaded


def _read_line(loaded: LoadedSession, path: Path, number: int, line: bytes, offset: int) -> None:
    if b"\0" in line:
        _read_hole(loaded, path, number, line, offset)
        return
    if not line.strip():
        return
    try:
        envelope = _record(path, line)
    except ValueError:
        if line.endswith(b"\n"):
            loaded.dropped.append(f"line {number}: not a whole record ({len(line)} bytes)")
        else:
            loaded.torn = True
            loaded.dropped.append(f"line {number}: an unfinished record at the end ({len(line)} bytes)")
        return
    if envelope is not None:
        loaded.envelopes.append(envelope)


def _read_hole(loaded: LoadedSession, path: Path, number: int, line: bytes, offset: int) -> None:
    kept = bytearray()
    for piece in re.split(b"\0+", line.rstrip(b"\n")):
        try:
            envelope = _record(path, piece)
        except ValueError:
            continue
        kept += piece + b"\n"
        if envelope is not None:
            loaded.envelopes.append(envelope)
    loaded.holes.append(Hole(offset, line, bytes(kept)))
    lost = len(line) - len(kept)
    loaded.dropped.append(f"line {number}: {lost} bytes with NULs in them, as a power cut leaves them")


def _record(path: Path, line: bytes) -> Envelope | None:
    try:
        return lines.from_bytes(line)
    except lines.NewerFormat as error:
        raise _newer(path, error) from None


def _newer(path: Path, error: lines.NewerFormat) -> SessionError:
    return SessionError(
        f"The session {path} was written by a newer xun ({error}); update xun to go on with it. It is unchanged."
    )
