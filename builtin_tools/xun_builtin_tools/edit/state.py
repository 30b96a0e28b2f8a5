"""What the edit tools remember for one agent: what was read, and how to undo."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xun_builtin_tools.edit.changes import State
from xun_builtin_tools.edit.journal import EditJournal
from xun_builtin_tools.edit.messages import stale

if TYPE_CHECKING:
    from xun.agent.agent import Agent

KEY = "__builtin_edit"
"""The slot of ``agent.state``."""

_MAX_READS = 2000
_MAX_KEPT_BYTES = 16_000_000
_MAX_KEPT_FILE = 1_000_000


@dataclass(frozen=True, slots=True)
class _Read:
    digest: str
    data: bytes | None


class EditState:
    """Content hashes of what the agent read or wrote last, and its undo journal.

    A file counts as known once any part of it was read; when its content is different later, an
    edit is refused, whatever its time stamps say.

    Attributes:
        journal: The undo journal.
    """

    def __init__(self, journal: EditJournal) -> None:
        self.journal = journal
        self._reads: OrderedDict[str, _Read] = OrderedDict()
        self._kept = 0
        self._lock = threading.Lock()

    @classmethod
    def of(cls, agent: Agent[Any]) -> EditState:
        """Return the state of *agent*, made on first use.

        What an agent has read is its own; the journal is that of the agent that the person talks to, so
        that undo covers the writes of sub-agents in the same workspace too.
        """
        found = agent.state.get(KEY)
        if isinstance(found, EditState):
            return found
        parent = agent.parent
        if parent is not None and parent.workspace.roots == agent.workspace.roots:
            journal = cls.of(parent).journal
        else:
            journal = EditJournal(agent.workspace, max_bytes=agent.config.undo_bytes)
        made: EditState = agent.state.setdefault(KEY, cls(journal))
        return made

    def note(self, path: str, state: State) -> None:
        """Remember what the agent has read at the absolute *path*, or left there."""
        if state.kind != "file":
            with self._lock:
                self._forget(path)
            return
        kept = state.data if state.data is not None and len(state.data) <= _MAX_KEPT_FILE else None
        self._note(path, _Read(state.digest, kept))

    def check(self, path: str, display: str, present: State) -> None:
        """Return when *present*, the state of *path*, is what was read last, or nothing was.

        Raises:
            EditError: kind ``stale``.
        """
        known = self._reads.get(path)
        if known is not None and known.digest != present.digest:
            raise stale(display, known.data, present.data or b"")

    def _note(self, path: str, read: _Read) -> None:
        with self._lock:
            self._forget(path)
            self._reads[path] = read
            self._kept += len(read.data or b"")
            # Old contents only serve to say which lines changed: they go first, the hashes stay longer.
            for other, item in list(self._reads.items()):
                if self._kept <= _MAX_KEPT_BYTES:
                    break
                self._kept -= len(item.data or b"")
                self._reads[other] = _Read(item.digest, None)
            while len(self._reads) > _MAX_READS:
                self._forget(next(iter(self._reads)))

    def _forget(self, path: str) -> None:
        gone = self._reads.pop(path, None)
        if gone is not None:
            self._kept -= len(gone.data or b"")
