"""What was typed before: one step back or forth, or by a search."""

from __future__ import annotations

from xun_cli.frontend.history import InputHistory


class Recall:
    """Walks through the history; the draft that was being written is kept.

    Args:
        history: What was typed before.
    """

    def __init__(self, history: InputHistory) -> None:
        self._history = history
        self._texts: list[str] | None = None
        self._at = -1
        self._draft = ""
        self.searching = False
        self.query = ""
        self.failed = False
        """Nothing that was typed holds the query."""

    def reset(self) -> None:
        """Begin at the draft again; what was just sent is in the history."""
        self._texts, self._at, self._draft = None, -1, ""
        self.searching, self.query = False, ""

    def earlier(self, shown: str) -> str | None:
        """Return the input before the one that is *shown*, None when there is none."""
        texts = self._load()
        if self._at + 1 >= len(texts):
            return None
        if self._at == -1:
            self._draft = shown
        self._at += 1
        return texts[self._at]

    def later(self) -> str | None:
        """Return the input after the one that is shown, the draft at last, None when that is shown already."""
        if self._at < 0:
            return None
        self._at -= 1
        return self._draft if self._at < 0 else self._load()[self._at]

    # -- search -------------------------------------------------------------------------------

    def begin_search(self, shown: str) -> None:
        """Begin to search; *shown* comes back when it is given up."""
        self._draft = shown if self._at == -1 else self._draft
        self.searching, self.query, self.failed = True, "", False

    def search(self, query: str, *, older: bool = False) -> str | None:
        """Return the newest input that holds *query*, or with *older* the next one behind the one that is shown."""
        texts = self._load()
        self.query = query
        start = self._at + 1 if older else max(self._at, 0)
        for begin in (start, 0) if not older else (start,):
            for at in range(begin, len(texts)):
                if query.lower() in texts[at].lower():
                    self._at, self.failed = at, False
                    return texts[at]
        self.failed = True
        return None

    def end_search(self, *, keep: bool) -> str | None:
        """End the search; returns the draft when what was found is not kept."""
        self.searching = False
        if keep:
            return None
        self._at = -1
        return self._draft

    def _load(self) -> list[str]:
        if self._texts is None:
            self._texts = self._history.load()
        return self._texts
