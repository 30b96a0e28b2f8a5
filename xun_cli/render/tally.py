"""What a turn took: time without that of the person, calls, tokens, money."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xun.events import UsageUpdated

SHOWN_FROM = 10.0
"""Seconds of work from which a turn says what it took; of a quick one it would be noise."""


@dataclass(slots=True)
class Tally:
    """The running count of one turn, its sub-agents included.

    Attributes:
        calls: Tool calls of the agent itself.
        tokens: Of all requests, in and out.
        cost_usd: US dollars; 0 when no price is known.
        waited: Seconds in which a question was open.
        asking: How many are open now: those of sub-agents may be at the same time.
        asked_at: When the first of these came.
    """

    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    waited: float = 0.0
    asking: int = 0
    asked_at: float = 0.0

    def ask(self, now: float) -> None:
        """Note that a question is open."""
        if not self.asking:
            self.asked_at = now
        self.asking += 1

    def answer(self, now: float) -> None:
        """Note that one is answered; the time in which several were open counts once."""
        self.asking -= 1
        if not self.asking:
            self.waited += max(0.0, now - self.asked_at)

    def use(self, event: UsageUpdated) -> None:
        """Count one model request."""
        self.tokens += event.input + event.output
        self.cost_usd += event.cost_usd

    def words(self, seconds: float) -> str:
        """Return what a turn of *seconds* took in one line; "" for one that is over quickly."""
        worked = max(0.0, seconds - self.waited)
        if worked < SHOWN_FROM:
            return ""
        parts = [f"worked {time_words(worked)}"]
        if self.calls:
            parts.append(f"{self.calls} call{'s' * (self.calls > 1)}")
        if self.tokens:
            parts.append(f"{token_words(self.tokens)} tokens")
        if self.cost_usd >= 0.005:
            parts.append(f"${self.cost_usd:.2f}")
        return " · ".join(parts)


def time_words(seconds: float) -> str:
    """Return a time as a person says it: ``42s``, ``3m 05s``, ``1h 02m``."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m {rest:02d}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02d}m"


def token_words(tokens: int) -> str:
    """Return a number of tokens, shortened from a thousand on."""
    if tokens < 1_000:
        return str(tokens)
    return f"{tokens / 1_000:.1f}k" if tokens < 999_950 else f"{tokens / 1_000_000:.1f}M"
