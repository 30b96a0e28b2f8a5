"""The journal's index on disk: JSON lines that are only ever appended."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from dataclasses import dataclass, field
from typing import Any

from xun_builtin_tools.edit.entries import Entry

_COMPACT_LINES = 2000


@dataclass(slots=True)
class Loaded:
    """What an index said.

    Attributes:
        done: The calls that can be undone, oldest first.
        undone: The calls that can be redone, in groups, the last undone last.
        pending: Calls whose end was not written: the process died in them.
        run: The number of the last run.
    """

    done: list[Entry] = field(default_factory=list)
    undone: list[list[Entry]] = field(default_factory=list)
    pending: list[Entry] = field(default_factory=list)
    run: int = 0


class Index:
    """The file ``index.jsonl`` of a journal's folder."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "index.jsonl")

    def append(self, op: str, **values: Any) -> None:
        """Add a record, down to the disk.

        Raises:
            OSError: It could not be written.
        """
        line = json.dumps({"op": op, **values}, ensure_ascii=True) + "\n"
        fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            view = memoryview(line.encode())
            while view:
                view = view[os.write(fd, view) :]
            os.fsync(fd)
        finally:
            os.close(fd)

    def load(self) -> Loaded:
        """Return what is there; a torn or foreign line is passed over."""
        try:
            with open(self._path, "rb") as file:
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            return Loaded()
        if lines and lines[-1]:
            # A torn last line: closed, so that the next record does not grow onto it.
            with open(self._path, "ab") as file:
                file.write(b"\n")
        loaded = Loaded()
        for line in lines:
            if line:
                _replay(loaded, line)
        if len(lines) > _COMPACT_LINES:
            self.rewrite(loaded)
        return loaded

    def rewrite(self, loaded: Loaded) -> None:
        """Put a short index that says the same in the place of a long one."""
        entries = sorted((*loaded.done, *(e for group in loaded.undone for e in group)), key=lambda e: e.number)
        records: list[dict[str, Any]] = [{"op": "run", "run": loaded.run}]
        for entry in entries:
            records.append({"op": "begin", "entry": entry.to_json()})
            records.append({"op": "end", "number": entry.number, "folders": list(entry.folders), "keep": True})
        records += [{"op": "begin", "entry": entry.to_json()} for entry in loaded.pending]
        records += [{"op": "undo", "numbers": [entry.number for entry in group]} for group in loaded.undone]
        fresh = f"{self._path}.new"
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="ascii") as file:
            for record in records:
                file.write(json.dumps(record, ensure_ascii=True) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self._path)


def copy_journal(folder: str | os.PathLike[str], to: str | os.PathLike[str]) -> None:
    """Copy the journal in *folder* to the new folder *to*, without the calls whose end was not written.

    Those may be under way in the process that the journal belongs to: a copy that took them back would undo them there.

    Raises:
        OSError: It can't be read, or *to* not be made.
    """
    import shutil

    lines: list[bytes] = []
    with contextlib.suppress(FileNotFoundError), open(os.path.join(folder, "index.jsonl"), "rb") as file:
        lines = file.read().split(b"\n")
    loaded = Loaded()
    for line in lines:
        _replay(loaded, line)
    loaded.pending = []
    os.makedirs(os.path.join(to, "blobs"), mode=0o700)
    wanted = {digest for entry in (*loaded.done, *itertools.chain(*loaded.undone)) for digest in entry.digests()}
    for digest in wanted:
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(os.path.join(folder, "blobs", digest), os.path.join(to, "blobs", digest))
    Index(os.fspath(to)).rewrite(loaded)


def _replay(loaded: Loaded, line: bytes) -> None:
    try:
        record = json.loads(line)
        _REPLAY[record["op"]](loaded, record)
    except (ValueError, KeyError, TypeError):
        return


def _begin(loaded: Loaded, record: dict[str, Any]) -> None:
    loaded.pending.append(Entry.from_json(record["entry"]))


def _end(loaded: Loaded, record: dict[str, Any]) -> None:
    for entry in loaded.pending:
        if entry.number == record["number"]:
            loaded.pending.remove(entry)
            loaded.done.append(entry.with_folders(tuple(record.get("folders", ()))))
            # "keep" is said by a rewritten index, where what can be redone follows.
            if not record.get("keep"):
                loaded.undone.clear()
            return


def _abandon(loaded: Loaded, record: dict[str, Any]) -> None:
    loaded.pending = [entry for entry in loaded.pending if entry.number != record["number"]]


def _drop(loaded: Loaded, record: dict[str, Any]) -> None:
    numbers = set(record["numbers"])
    loaded.done = [entry for entry in loaded.done if entry.number not in numbers]


def _undo(loaded: Loaded, record: dict[str, Any]) -> None:
    numbers = list(record["numbers"])
    group = [entry for number in numbers for entry in loaded.done if entry.number == number]
    loaded.done = [entry for entry in loaded.done if entry.number not in numbers]
    if group and record.get("join") and loaded.undone:
        # Undone together with the call before.
        loaded.undone[-1] += group
    elif group:
        loaded.undone.append(group)
    _ended(loaded, record)


def _redo(loaded: Loaded, record: dict[str, Any]) -> None:
    if loaded.undone:
        group = loaded.undone.pop()
        numbers = record.get("numbers")
        again = [entry for entry in reversed(group) if numbers is None or entry.number in numbers]
        loaded.done += again
        left = [entry for entry in group if entry not in again]
        if left:
            loaded.undone.append(left)
    _ended(loaded, record)


def _ended(loaded: Loaded, record: dict[str, Any]) -> None:
    """An undo or redo is a commit of its own, which ends with its record."""
    loaded.pending = [entry for entry in loaded.pending if entry.number != record.get("ends")]


def _run(loaded: Loaded, record: dict[str, Any]) -> None:
    loaded.run = max(loaded.run, int(record["run"]))


_REPLAY = {"begin": _begin, "end": _end, "abandon": _abandon, "drop": _drop, "undo": _undo, "redo": _redo, "run": _run}
