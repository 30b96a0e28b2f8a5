"""What a change of the permissions is to the commands that make one: what was typed, and what is recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xun_cli.commands.arguments import BadArguments
from xun_cli.commands.output import Output

if TYPE_CHECKING:
    from xun_cli.session.session import Session
    from xun_policies.store import PolicyState

HERE = "in this session"
"""Where a change of a session's permissions holds."""


@dataclass(frozen=True, slots=True)
class Change:
    """What an operation did.

    Attributes:
        outputs: What to show.
        op: add, remove, exclude, include, reset, undo or import; "" when nothing changed.
        list: commands, writes, hosts or all.
        entry: The entries concerned, as text.
    """

    outputs: tuple[Output, ...]
    op: str = ""
    list: str = ""
    entry: str = ""


def emit_change(session: Session, policy: PolicyState, op: str, which: str, entry: str) -> None:
    """Record a change of the policy, with the whole policy, so that a resumed session has it."""
    from xun.events import PolicyChanged

    session.emit(PolicyChanged(op=op, list=which, entry=entry, source="user", state=policy.to_json()))


def now() -> str:
    """Return the present time, as entries keep it."""
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="seconds")


def numbered(typed: str, letter: str, count: int) -> int | None:
    """Return the index that *typed*, such as ``c2``, means; None when it is no number of that list.

    Raises:
        BadArguments: There is no such entry.
    """
    if not (typed[:1] == letter and typed[1:].isdecimal()):
        return None
    at = int(typed[1:])
    if not 1 <= at <= count:
        raise BadArguments(f"There is no entry {typed}: /policy show numbers them, {count} in this list.")
    return at - 1


def require_some(names: list[str], typed: str, every: bool, what: str, where: str) -> None:
    """Return when *names* is what *typed* can mean.

    Raises:
        BadArguments: Nothing matches, or several do and *every* is false.
    """
    if not typed:
        raise BadArguments(f"There is no {what} to remove: give its text, its number or a pattern.")
    if not names:
        raise BadArguments(f"No {what} of the list matches {typed!r}; {where} lists them.")
    if len(names) > 1 and not every:
        raise BadArguments(f"{typed!r} matches {len(names)}: {', '.join(names[:8])}. Add --all to remove them all.")
