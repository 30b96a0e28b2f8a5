"""Ledger: what the calls of one run have used up, and what the pure ones of them gave."""

from __future__ import annotations

import json
import threading
from typing import Any

from xun.result import Result
from xun.tools.attr import ToolAttr


class Ledger:
    """The calls, seconds, cached values and bad calls of one run, by tool; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[str, int] = {}
        self._seconds: dict[str, float] = {}
        self._bad: dict[str, int] = {}
        self._values: dict[tuple[str, str], Result[Any, Any]] = {}

    def begin(self, tool: str, attr: ToolAttr) -> str:
        """Count a call of *tool*; return "" when it may be made, else why it may not."""
        with self._lock:
            made, spent = self._calls.get(tool, 0), self._seconds.get(tool, 0.0)
            if attr.max_calls is not None and made >= attr.max_calls:
                return (
                    f"{tool} was called {made} times in this run; its limit is {attr.max_calls}. "
                    "Go on with what you have, or use another tool."
                )
            if attr.max_seconds is not None and spent >= attr.max_seconds:
                return (
                    f"The calls of {tool} took {spent:.1f} s in this run; their limit is {attr.max_seconds:g} s. "
                    "Go on with what you have, or use another tool."
                )
            self._calls[tool] = made + 1
        return ""

    def take_back(self, tool: str) -> None:
        """Take the count of a call back that was put off and will be made again."""
        with self._lock:
            self._calls[tool] = max(0, self._calls.get(tool, 0) - 1)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON values; the remembered values are not among them."""
        with self._lock:
            return {"calls": dict(self._calls), "seconds": dict(self._seconds), "bad": dict(self._bad)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Ledger:
        """Build a ledger from `to_json`'s dict."""
        ledger = cls()
        ledger._calls, ledger._seconds, ledger._bad = dict(data["calls"]), dict(data["seconds"]), dict(data["bad"])
        return ledger

    def take(self, tool: str, seconds: float) -> None:
        """Add the time of a call that ended."""
        with self._lock:
            self._seconds[tool] = self._seconds.get(tool, 0.0) + seconds

    def seconds_left(self, tool: str, limit: float) -> float:
        """Return what is left of *limit* for *tool*; never less than a millisecond."""
        with self._lock:
            return max(0.001, limit - self._seconds.get(tool, 0.0))

    def cached(self, tool: str, arguments: dict[str, Any]) -> Result[Any, Any] | None:
        """Return what an equal call gave."""
        with self._lock:
            return self._values.get((tool, canonical(arguments)))

    def keep(self, tool: str, arguments: dict[str, Any], result: Result[Any, Any]) -> None:
        """Remember a success."""
        with self._lock:
            self._values[tool, canonical(arguments)] = result

    def note_bad(self, tool: str, bad: bool) -> int:
        """Count the bad calls of *tool* in a row and return how many there are now."""
        with self._lock:
            self._bad[tool] = self._bad.get(tool, 0) + 1 if bad else 0
            return self._bad[tool]


def canonical(arguments: dict[str, Any]) -> str:
    """Return *arguments* as one text, the same for equal calls."""
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)
