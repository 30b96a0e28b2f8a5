"""Completions while typing: slash commands at the start of the input, ``@`` paths anywhere."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, ThreadedCompleter
from prompt_toolkit.document import Document

from xun_cli.render.safe import safe

SHOWN = 50
"""Completions that are offered at once."""

Slash = Callable[[str], list[tuple[str, str]]]
"""Gives ``(whole line, what it does)`` for a line that begins with a slash."""

Paths = Callable[[str], tuple[int, list[str]] | None]
"""Gives, for the text before the cursor, where its open mention begins and what may stand there."""


class InputCompleter(Completer):
    """Asks the slash commands and the path index; both may be missing while xun starts."""

    def __init__(self, slash: Slash, paths: Paths) -> None:
        self._slash = slash
        self._paths = paths

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Yield what fits at the cursor; paths are looked up in a thread, a large project has many."""
        if "@" in document.text_before_cursor and not document.text_before_cursor.startswith("/"):
            async for item in ThreadedCompleter(self).get_completions_async(document, complete_event):
                yield item
            return
        for item in self.get_completions(document, complete_event):
            yield item

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield what fits at the cursor."""
        before = document.text_before_cursor
        if before.startswith("/") and "\n" not in before:
            for value, meta in self._slash(before)[:SHOWN]:
                yield Completion(
                    value,
                    start_position=-len(before),
                    display=safe(value, multiline=False),
                    display_meta=safe(meta, multiline=False),
                )
            return
        found = self._paths(before) if "@" in before else None
        if found is None:
            return
        start, values = found
        for value in values[:SHOWN]:
            yield Completion(value, start_position=start - len(before), display=safe(value, multiline=False))
