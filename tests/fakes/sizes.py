"""How large the tests with generated inputs are: small with `make test`, ten times that with `make soak`."""

from __future__ import annotations

import os


def examples(count: int) -> int:
    """Return *count*, times ``XUN_TEST_SIZE`` where that is set."""
    return count * int(os.environ.get("XUN_TEST_SIZE", "1"))
