"""The three answers of a policy, ordered: the strictest of several wins."""

from __future__ import annotations

from enum import IntEnum


class Decision(IntEnum):
    """allow < ask < deny, so ``max()`` of several decisions is the strictest."""

    ALLOW = 0
    ASK = 1
    DENY = 2

    @property
    def word(self) -> str:
        """The decision in lower case, as JSON and users see it."""
        return self.name.lower()
