"""The exit codes of ``xun``, of a session without a person and of every command after it.

Nothing is imported here: a help text should be there at once.
"""

from __future__ import annotations

OK = 0

FAILED = 1
"""Any failure that has no code of its own."""

BAD_CALL = 2
"""The command line is wrong."""

NOT_CONFIGURED = 3
"""A key, a model, a package or a sound configuration is missing."""

DENIED = 4
"""Something was denied because nobody could be asked."""

LIMIT = 5
"""A limit of steps, cost or time was reached."""

SCHEMA = 6
"""The answer does not meet its schema."""

RETRY = 75
"""Trouble of the provider that a later try may not have."""

SIGNALLED = 128
"""What the number of a signal is added to when it ended xun."""

INTERRUPTED = SIGNALLED + 2

BROKEN_PIPE = SIGNALLED + 13
"""What a shell reports when the reader of a pipe went away."""


def of_error(error: Exception) -> int:
    """Return the code when *error* is what xun could not start for."""
    from xun.errors import ConfigError, PolicyError

    return NOT_CONFIGURED if isinstance(error, ConfigError | PolicyError) else FAILED
