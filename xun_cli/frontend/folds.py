"""Folded pastes: a mark stands in the draft, the whole text is sent."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")
_FOLD = re.compile(r"\[pasted #(\d+): [\d,]+ (?:lines|characters)\]")


class Folds:
    """The folded pastes of one person; they outlive the draft, which can come back by undo or from the queue.

    Args:
        lines: A paste of more lines is folded.
        chars: A paste of more characters is folded.
    """

    def __init__(self, lines: int = 15, chars: int = 1000) -> None:
        self._limits = (lines, chars)
        self._texts: dict[str, str] = {}

    def fold(self, raw: str) -> str:
        """Return what a pasted text puts into the draft: itself with line ends as newlines, or a mark for it."""
        text = raw.replace("\r\n", "\n").replace("\r", "\n")
        lines, chars = self._limits
        count = text.count("\n") + 1
        if count <= lines and len(text) <= chars:
            return text
        size = f"{count:,} lines" if count > lines else f"{len(text):,} characters"
        mark = f"[pasted #{len(self._texts) + 1}: {size}]"
        self._texts[mark] = text
        return mark

    def expand(self, shown: str) -> str:
        """Return *shown* with every folded paste in full, as text that can be encoded.

        A terminal that sends bytes that are no UTF-8 leaves lone surrogates behind.
        """
        text = _FOLD.sub(lambda match: self._texts.get(match.group(), match.group()), shown)
        return _SURROGATE.sub("\ufffd", text)

    def ending(self, before: str) -> str:
        """Return the mark of a folded paste at the end of *before*, "" when there is none."""
        if before.endswith("]"):
            for match in _FOLD.finditer(before):
                if match.end() == len(before) and match.group() in self._texts:
                    return match.group()
        return ""
