"""Dry runs: what a call would have done, in place of doing it."""

from __future__ import annotations

from typing import Any


class DryRun(Exception):
    """Ends a call of a dry run before it changes anything; its value is the result of the call.

    Attributes:
        value: What would have happened, as JSON values.
    """

    def __init__(self, value: dict[str, Any]) -> None:
        super().__init__("dry run")
        self.value = {"dry_run": True, **value}
