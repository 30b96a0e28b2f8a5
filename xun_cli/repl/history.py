"""The history of inputs, as prompt_toolkit wants it."""

from __future__ import annotations

from collections.abc import Iterable

from prompt_toolkit.history import History

from xun_cli.frontend.history import InputHistory


class PrivateHistory(History):
    """Offers what an `InputHistory` keeps."""

    def __init__(self, inputs: InputHistory) -> None:
        super().__init__()
        self._inputs = inputs

    def load_history_strings(self) -> Iterable[str]:
        """Return the kept inputs, newest first."""
        return self._inputs.load()

    def store_string(self, string: str) -> None:
        """Append one input."""
        self._inputs.add(string)
