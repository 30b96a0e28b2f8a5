"""Paths for ``@`` completion: an index that is read when it is needed and kept for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xun_cli.mentions import FileIndex

FRESH = 10.0
"""Seconds that an index counts as fresh."""


class PathOffers:
    """Offers paths for the mention that is being typed.

    Args:
        root: The project folder.
        ignore: Patterns as in a .gitignore for paths that are not offered.
    """

    def __init__(self, root: Path, ignore: Sequence[str] = ()) -> None:
        self._root, self._ignore = root, ignore
        self._index: FileIndex | None = None
        self._read_at = float("-inf")
        self._reading = threading.Lock()

    def offers(self, before: str) -> tuple[int, list[str]] | None:
        """Return where the open mention begins and what may stand there. Blocks: called from a thread."""
        from xun_cli.mentions import FileIndex, open_mention, write_mention

        mention = open_mention(before)
        if mention is None:
            return None
        with self._reading:
            if self._index is None:
                self._index = FileIndex(self._root, self._ignore)
            if time.monotonic() - self._read_at > FRESH:
                self._index.refresh()
                self._read_at = time.monotonic()
        return mention.start, [write_mention(path) for path in self._index.match(mention.query)]
