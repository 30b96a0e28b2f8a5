"""Which sessions there are, without reading them whole."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from xun.events import SessionStarted, TurnStarted
from xun_cli.places import Places, open_plain, write_private
from xun_cli.session import lines
from xun_cli.session.envelope import Envelope
from xun_cli.session.lock import FileLock, SessionBusy, SessionError

_WINDOW = 1 << 16  # bytes read at each end of a file that has no summary
_FIRST_LINE = 1 << 20  # a first input may be a long paste
_INPUT_SHOWN = 200
_CLOCKS_DIFFER = 120.0  # seconds that a file server's clock may be ahead


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One session as a list shows it.

    Attributes:
        id: Its id.
        name: The name that the user gave, or "".
        path: Its file.
        cwd: The folder that it works in.
        started: UTC time of its first record.
        updated: UTC time of its last record.
        turns: Inputs so far.
        first_input: The start of the first input.
        model: The model used last.
    """

    id: str
    name: str
    path: Path
    cwd: str
    started: str
    updated: str
    turns: int
    first_input: str
    model: str


@dataclass(slots=True)
class Summary:
    """What `SessionInfo` needs, kept up as records come."""

    name: str = ""
    cwd: str = ""
    started: str = ""
    updated: str = ""
    turns: int = 0
    first_input: str = ""
    model: str = ""

    def add(self, envelope: Envelope) -> None:
        """Take one more record into account."""
        event = envelope.event
        self.started = self.started or envelope.ts
        self.updated = envelope.ts or self.updated
        self.turns = max(self.turns, envelope.turn or 0)
        if isinstance(event, SessionStarted):
            self.name = event.name or self.name
            self.cwd = self.cwd or event.cwd
            self.model = event.model or self.model
        elif isinstance(event, TurnStarted) and not self.first_input:
            self.first_input = " ".join((event.shown or event.input).split())[:_INPUT_SHOWN]

    @classmethod
    def of(cls, path: Path) -> Summary:
        """Summarise *path*: by the summary beside it when that fits, else by both ends of the file.

        Raises:
            OSError: The file can't be read.
        """
        size = path.stat().st_size
        kept, kept_size = _read_info(path)
        if kept is not None and kept_size == size:
            return kept
        summary = cls()
        for envelope in _ends(path, size):
            summary.add(envelope)
        if kept is not None and kept_size < size:
            summary.name = summary.name or kept.name
            summary.turns = max(summary.turns, kept.turns)
        return summary

    def write(self, path: Path, size: int) -> None:
        """Keep the summary of the first *size* bytes of *path*; a failure costs only time later."""
        data = {"size": size, **asdict(self)}
        try:
            write_private(_info_path(path), lines.to_line(data).encode(), durable=False)
        except OSError:
            return


def _info_path(path: Path) -> Path:
    return path.with_suffix(".info")


def _read_plain(path: Path) -> bytes:
    with open_plain(path) as file:
        return file.read()


def _read_info(path: Path) -> tuple[Summary | None, int]:
    try:
        data = json.loads(_read_plain(_info_path(path)))
        size = data.pop("size")
        summary = Summary(**data)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None, 0
    texts = (summary.name, summary.cwd, summary.started, summary.updated, summary.first_input, summary.model)
    sound = isinstance(size, int) and isinstance(summary.turns, int) and all(isinstance(item, str) for item in texts)
    return (summary, size) if sound else (None, 0)


def _ends(path: Path, size: int) -> Iterator[Envelope]:
    with open_plain(path) as file:
        head = file.read(_WINDOW)
        if size > _WINDOW:
            head += file.readline(_FIRST_LINE)
            tail_start = max(len(head), size - _WINDOW)
            file.seek(tail_start)
            tail = file.read(_WINDOW)
            if tail_start > len(head):
                tail = tail[tail.find(b"\n") + 1 :]
            head += tail
    for line in head.splitlines():
        try:
            envelope = lines.from_bytes(line.strip(b"\0"))
        except ValueError:
            continue
        if envelope is not None:
            yield envelope


def _info(path: Path) -> SessionInfo:
    summary = Summary.of(path)
    return SessionInfo(
        id=path.stem,
        name=summary.name,
        path=path,
        cwd=summary.cwd,
        started=summary.started,
        updated=summary.updated,
        turns=summary.turns,
        first_input=summary.first_input,
        model=summary.model,
    )


def list_sessions(places: Places, cwd: Path | str | None) -> list[SessionInfo]:
    """Return the sessions of the folder *cwd* (None: of all folders), the last used first.

    A file that can't be read is listed with what its name tells.
    """
    pattern = "*/*.jsonl" if cwd is None else "*.jsonl"
    folder = places.sessions_root if cwd is None else places.sessions_dir(cwd)
    found: list[tuple[float, SessionInfo]] = []
    for path in folder.glob(pattern):
        try:
            found.append((path.stat().st_mtime, _info(path)))
        except FileNotFoundError:
            continue
        except OSError as error:
            found.append((0.0, SessionInfo(path.stem, "", path, "", "", "", 0, f"(unreadable: {error.strerror})", "")))
    # A clock that was set back leaves times that are yet to come: they say nothing of what was used last.
    now = time.time() + _CLOCKS_DIFFER
    found.sort(key=lambda item: (item[0] <= now, item[0], item[1].id), reverse=True)
    return [info for _, info in found]


def latest(places: Places, cwd: Path | str) -> SessionInfo | None:
    """Return the session of *cwd* that was used last; None when there is none."""
    sessions = list_sessions(places, cwd)
    return sessions[0] if sessions else None


def find(places: Places, cwd: Path | str, id_or_name: str) -> SessionInfo:
    """Return the session of *cwd* with this id, name, or beginning of either.

    Raises:
        SessionError: None fits, or several do; the text lists what is near.
    """
    sessions = list_sessions(places, cwd)
    for wanted in (
        [item for item in sessions if item.id == id_or_name],
        [item for item in sessions if item.name and item.name == id_or_name],
    ):
        if wanted:
            return wanted[0]
    starts = [item for item in sessions if id_or_name and (item.id + "\n" + item.name).startswith(id_or_name)]
    starts = starts or [item for item in sessions if id_or_name and item.name.startswith(id_or_name)]
    if len(starts) == 1:
        return starts[0]
    if starts:
        names = ", ".join(item.id for item in starts[:5])
        raise SessionError(f'"{id_or_name}" fits {len(starts)} sessions: {names}; write more of the id')
    for path in places.sessions_root.glob(f"*/{_glob_safe(id_or_name)}.jsonl"):
        other = _info(path)
        raise SessionError(
            f"Session {other.id} belongs to {other.cwd}; run xun there, or `xun -C {other.cwd} -r {other.id}`"
        )
    raise SessionError(f'No session "{id_or_name}" in this folder; `xun sessions list` shows what there is')


def _glob_safe(text: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in text.replace("/", "?"))


def delete_session(info: SessionInfo) -> None:
    """Delete a session with all that is kept beside it.

    Raises:
        SessionBusy: A process writes it.
        SessionError: It can't be deleted.
    """
    import shutil

    try:
        lock = FileLock.acquire(info.path.with_suffix(".lock"), info.id)
    except OSError as error:
        raise SessionError(f"Can't delete {info.path}: {error.strerror or error}") from None
    try:
        info.path.unlink(missing_ok=True)
        _info_path(info.path).unlink(missing_ok=True)
        info.path.with_name(info.path.name + ".torn").unlink(missing_ok=True)
        undo = info.path.with_suffix(".undo")
        if undo.is_dir() and not undo.is_symlink():
            shutil.rmtree(undo)
    except OSError as error:
        raise SessionError(f"Can't delete {info.path}: {error.strerror or error}") from None
    finally:
        lock.release()


def prune(places: Places, cwd: Path | str, days: int) -> int:
    """Delete the sessions of *cwd* that no one used for *days* days and return how many; 0 days keeps all."""
    if days <= 0:
        return 0
    oldest = time.time() - days * 86_400
    count = 0
    for path in places.sessions_dir(cwd).glob("*.jsonl"):
        try:
            if os.stat(path).st_mtime < oldest:
                delete_session(SessionInfo(path.stem, "", path, "", "", "", 0, "", ""))
                count += 1
        except (OSError, SessionBusy, SessionError):
            continue
    return count
