"""A copy of a stored session, with what /undo needs, under an id of its own."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from xun.events import SessionStarted
from xun_cli._version import __version__
from xun_cli.places import NOFOLLOW, Places
from xun_cli.session.envelope import Envelope
from xun_cli.session.listing import SessionInfo, Summary, list_sessions
from xun_cli.session.lock import SessionError
from xun_cli.session.store import SessionStore, read_session

_NAME_LIMIT = 80


def fork_session(path: Path, places: Places, cwd: Path | str, name: str = "") -> SessionInfo:
    """Copy the whole records of *path* to a new session of *cwd*, which may be in use; the old one is unchanged.

    Args:
        path: The session file.
        places: Where sessions are.
        cwd: The folder that the copy works in.
        name: What the copy is called; "" makes a name from that of the old one, where it has one.

    Raises:
        SessionError: The old one can't be read, the name is taken, or the new one can't be written.
    """
    from xun_builtin_tools.edit.index import copy_journal

    old = Summary.of(path) if path.is_file() else Summary()
    called = name or _free_name(old.name, places, cwd)
    if name and any(info.name == name for info in list_sessions(places, cwd)):
        raise SessionError(f"A session of this folder is called {name!r} already; take another name")
    store = SessionStore.create(places, cwd)
    undo, copied_undo = path.with_suffix(".undo"), store.path.with_suffix(".undo")
    try:
        data = path.read_bytes()
        fd = os.open(store.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data[: data.rfind(b"\n") + 1])
        if undo.is_dir() and not undo.is_symlink():
            copy_journal(undo, copied_undo)
    except OSError as error:
        store.path.unlink(missing_ok=True)
        shutil.rmtree(copied_undo, ignore_errors=True)
        raise SessionError(f"Can't copy the session {path}: {error.strerror or error}") from None
    _named(store.path, called, old)
    info = next((info for info in list_sessions(places, cwd) if info.path == store.path), None)
    if info is None:
        raise SessionError(f"The copy {store.path} can't be read back; the old session is unchanged")
    return info


def _free_name(name: str, places: Places, cwd: Path | str) -> str:
    if not name:
        return ""
    taken = {info.name for info in list_sessions(places, cwd)}
    head = name[: _NAME_LIMIT - 12]
    names = (f"{head} (copy{f' {number}' if number > 1 else ''})" for number in range(1, len(taken) + 2))
    return next(item for item in names if item not in taken)


def _named(path: Path, name: str, old: Summary) -> None:
    if not name:
        return
    last = max((item.seq for item in read_session(path).envelopes), default=0)
    store = SessionStore.open(path)
    try:
        event = SessionStarted(cwd=old.cwd, model=old.model, version=__version__, resumed=True, name=name)
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        store.append(Envelope(last + 1, stamp, store.id, None, event))
    finally:
        store.close()
