"""The audit trail: every decision as one line of a file that outlives the session.

The format is JSON lines; a reader has to ignore fields that it does not know. ``docs/adr`` says what was decided.
"""

from __future__ import annotations

import base64
import errno
import json
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from xun_policies.store import DecisionRecord

VERSION = 1
MAX_BYTES = 4_000_000
"""Beyond this the file is set aside and a new one begins."""
KEPT = 4
"""Files that were set aside and are kept: ``.1`` is the newest of them."""
MAX_SUBJECT = 100_000
"""Bytes of a command that are stored in full; the longest that can be allowed unasked has 10,000 characters."""
_HIDDEN = b"[key]"
_LOCK_TRIES = 50
"""Tries to lock the file, 10 ms apart."""
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _SAFE


class AuditTrail:
    """Appends decisions to one file, which several processes may share.

    Attributes:
        path: The file; it and its folder are made at the first decision, readable by their owner alone.
        session: The id that each line carries; "" outside of a session.
    """

    def __init__(
        self, path: Path, session: str = "", hidden: Callable[[], Iterable[str]] = tuple, limit: int = MAX_BYTES
    ) -> None:
        """*hidden* returns the texts that must never be written, such as keys; *limit* is in bytes."""
        self.path = path
        self.session = session
        self._hidden = hidden
        self._limit = limit
        self._failed = False

    def append(self, record: DecisionRecord) -> str:
        """Write *record* as one line; return one sentence when it can't be, once per trouble, else "".

        It never raises: a decision counts whether it can be written or not.
        """
        try:
            self._write(self._line(record))
        except OSError as exc:
            told, self._failed = self._failed, True
            reason = exc.strerror or type(exc).__name__
            return (
                ""
                if told
                else (
                    f"Decisions can't be written to the audit trail {self.path}: {reason}. Work goes on without it; "
                    "each later decision is tried again."
                )
            )
        self._failed = False
        return ""

    def _line(self, record: DecisionRecord) -> bytes:
        row: dict[str, Any] = {"v": VERSION, **record.to_json(), "session": self.session}
        raw = os.fsencode(record.subject) if _encodable(record.subject) else record.subject.encode("utf-8", "replace")
        for secret in self._secrets():
            raw = raw.replace(secret, _HIDDEN)
        if len(raw) > MAX_SUBJECT:
            row["bytes"] = len(raw)
            raw = raw[:MAX_SUBJECT]
        row["subject"] = raw.decode("utf-8", "replace")
        if row["subject"].encode("utf-8") != raw:
            row["subject_base64"] = base64.b64encode(raw).decode("ascii")
        line = json.dumps(row, ensure_ascii=True, separators=(",", ":")).encode("ascii")
        for secret in self._secrets():
            line = line.replace(json.dumps(secret.decode("utf-8", "replace")).encode("ascii")[1:-1], _HIDDEN)
        return line + b"\n"

    def _secrets(self) -> list[bytes]:
        return [text.encode("utf-8", "surrogateescape") for text in self._hidden() if len(text) >= 8]

    def _write(self, line: bytes) -> None:
        if not self.path.parent.is_dir():
            os.makedirs(self.path.parent, mode=0o700, exist_ok=True)
        file = self._locked()
        try:
            size = os.fstat(file).st_size
            if os.write(file, line) != len(line):
                os.ftruncate(file, size)
                raise OSError(errno.ENOSPC, "no space left on the device")
        finally:
            os.close(file)

    def _locked(self) -> int:
        """Return the open file, locked; one that is full, or that another process set aside meanwhile, is left.

        A lock that somebody keeps for too long is not waited for: the line is then appended as it is.
        """
        while True:
            file = os.open(self.path, _FLAGS, 0o600)
            try:
                here = os.fstat(file)
                if not stat.S_ISREG(here.st_mode):
                    raise OSError(errno.EINVAL, "it is no regular file")
                if here.st_mode & 0o077 and here.st_uid == os.geteuid():
                    os.fchmod(file, 0o600)
                if not _lock(file):
                    return file
                if _same(here, self.path):
                    if os.fstat(file).st_size < self._limit:
                        return file
                    self._rotate()
            except BaseException:
                os.close(file)
                raise
            os.close(file)

    def _rotate(self) -> None:
        for number in range(KEPT, 0, -1):
            older = _numbered(self.path, number - 1)
            if older.exists():
                os.replace(older, _numbered(self.path, number))


def _lock(file: int) -> bool:
    """Lock *file* against other processes; False when that can't be had soon, or not at all."""
    if fcntl is None:
        return True
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.01)
        except OSError:
            return False
        else:
            return True
    return False


def _encodable(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def _same(here: os.stat_result, path: Path) -> bool:
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _numbered(path: Path, number: int) -> Path:
    return path if number == 0 else path.with_name(f"{path.name}.{number}")


def read_audit(path: Path, count: int, session: str = "") -> tuple[list[dict[str, Any]], int]:
    """Return the last *count* lines, newest last, and how many lines could not be read.

    Args:
        path: The file of an `AuditTrail`; what was set aside is read before it.
        count: Most lines.
        session: Only lines of this session; the beginning of an id is enough. "" for all.

    Raises:
        OSError: A file is there but can't be read.
    """
    found: deque[dict[str, Any]] = deque(maxlen=count)
    bad = 0
    for line in _lines(path):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or not isinstance(row.get("subject"), str):
            bad += 1
        elif str(row.get("session", "")).startswith(session):
            found.append(row)
    return list(found), bad


def _lines(path: Path) -> Iterator[bytes]:
    for number in range(KEPT, -1, -1):
        try:
            with open(_numbered(path, number), "rb") as file:
                yield from file
        except FileNotFoundError:
            continue
