"""The composer: the draft, folded pastes, and what is sent in the end."""

from __future__ import annotations

import time
from collections.abc import Callable

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput

from xun_cli.frontend.draft import Draft
from xun_cli.frontend.folds import Folds
from xun_cli.render.safe import hides_something
from xun_cli.render.text import WARN

PASTE_GUARD = 0.3
"""Seconds after a paste in which Enter runs no command: faster than a person who has read it."""


class Composer:
    """The draft of one person.

    Args:
        history: What was typed before.
        completer: Offers completions while typing.
        folds: The folded pastes; None begins with none.
        clock: Gives seconds.
    """

    def __init__(
        self,
        history: History,
        completer: Completer,
        *,
        folds: Folds | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock, self._pasted_at = clock, float("-inf")
        self.folds = folds or Folds()
        self.buffer = Buffer(
            history=history,
            completer=completer,
            complete_while_typing=True,
            multiline=True,
            name="composer",
            tempfile_suffix=".md",
        )

    @property
    def text(self) -> str:
        """The draft as it is shown."""
        return self.buffer.text

    @property
    def runs_unseen(self) -> bool:
        """Whether Enter would run a command that came in a moment ago by a paste.

        A pasted text can hold the mark that ends a paste, and an Enter behind it: nobody has seen that command.
        """
        return self._clock() - self._pasted_at < PASTE_GUARD and self.text.startswith(("!", "/"))

    def paste(self, raw: str) -> None:
        """Insert pasted text at the cursor: line ends become newlines, much text is shown folded."""
        self._pasted_at = self._clock()
        text = self.folds.fold(raw)
        self.buffer.insert_text(text, fire_event=False)  # no completion for what was pasted

    def take(self) -> Draft:
        """Return the draft, remember it in the history and empty the composer."""
        shown = self.buffer.text
        draft = self.peek()
        if draft.text.strip():
            self.buffer.history.append_string(draft.text)
        self.buffer.reset()
        # A folded paste can come back by undo or from the queue, so its text is kept for the session.
        return draft if draft.text != shown else Draft(shown)

    def peek(self) -> Draft:
        """Return the draft and leave it where it is."""
        shown = self.buffer.text
        text = self.expand(shown)
        return Draft(text, shown if text != shown else "")

    def expand(self, shown: str) -> str:
        """Return *shown* with every folded paste in full, as text that can be encoded."""
        return self.folds.expand(shown)

    def put(self, text: str) -> None:
        """Replace the draft."""
        self.buffer.document = Document(text, len(text))

    def backspace(self, count: int = 1) -> None:
        """Delete before the cursor; a folded paste goes as a whole."""
        mark = self.folds.ending(self.buffer.document.text_before_cursor)
        self.buffer.delete_before_cursor(len(mark) or count)

    def newline(self) -> None:
        """Insert a newline; a backslash right before the cursor that asked for it goes."""
        if self.buffer.document.text_before_cursor.endswith("\\"):
            self.buffer.delete_before_cursor(1)
        self.buffer.insert_text("\n", fire_event=False)


class VisibleCharacters(Processor):
    """Draws a mark in the place of each character that could not be seen or would move the cursor."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """Replace one character by one character, so that the cursor stays right."""
        line: StyleAndTextTuples = []
        for style, text, *_ in transformation_input.fragments:
            if text.isascii() or not hides_something(text):
                line.append((style, text))
                continue
            for char in text:
                hidden = not char.isascii() and hides_something(char)
                line.append((f"{style} {WARN} reverse", "?") if hidden else (style, char))
        return Transformation(line)
