"""The command gate: one text in, one verdict out. Nothing is run.

The types are loaded when they are first asked for, so that importing this module costs next to nothing.
"""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from collections.abc import Callable

    from xun_policies.grants import CommandAllowlist, CommandEntry, CommandGrant, join_words
    from xun_policies.store import PolicyState
    from xun_policies.verdicts import CommandScope, CommandVerdict, Segment

__all__ = [
    "CommandAllowlist",
    "CommandEntry",
    "CommandGrant",
    "CommandScope",
    "CommandVerdict",
    "Segment",
    "evaluate",
    "join_words",
]

_IN_GRANTS = ("CommandAllowlist", "CommandEntry", "CommandGrant", "join_words")
_IN_VERDICTS = ("CommandScope", "CommandVerdict", "Segment")


def evaluate(text: str, policy: PolicyState, scope: CommandScope) -> CommandVerdict:
    """Return whether *text* may run unasked in *scope* under *policy*, and why.

    It never raises for any text, and what it does not fully understand asks. The text given to bash
    must be the identical string.
    """
    return _verdict()(text, policy, scope)


@cache
def _verdict() -> Callable[[str, PolicyState, CommandScope], CommandVerdict]:
    # Loaded at the first evaluation: see above.
    from xun_policies.evaluation import verdict

    return verdict


def __getattr__(name: str) -> object:
    if name in _IN_VERDICTS:
        from xun_policies import verdicts

        return getattr(verdicts, name)
    if name in _IN_GRANTS:
        from xun_policies import grants

        return getattr(grants, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
