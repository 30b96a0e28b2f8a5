"""Hosts that a session may fetch from unasked: granted and taken back."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from xun_cli.commands.arguments import BadArguments
from xun_cli.commands.output import text
from xun_cli.commands.policy_change import HERE, Change, now, numbered, require_some

if TYPE_CHECKING:
    from xun_policies.store import PolicyState


def place_of(typed: str) -> str:
    """Return the host that *typed* names, a host or a URL, as an entry has it: ``example.com`` or ``example.com:8080``.

    Raises:
        BadArguments: It names none.
    """
    from xun.errors import ToolError
    from xun_builtin_tools.web.target import parse

    if not typed:
        raise BadArguments("There is no host to allow. Usage: /policy allow host HOST, such as docs.python.org")
    # Without a scheme, the usual port of either is the host itself.
    url = typed if "://" in typed else f"{'http' if typed.endswith(':80') else 'https'}://{typed}"
    try:
        target = parse(url)
    except ToolError as exc:
        raise BadArguments(f"{typed!r} names no host: {exc}") from None
    if "://" not in typed and target.path != "/":
        raise BadArguments(f"{typed!r} is more than a host; a grant covers {target.place} with all its paths.")
    if any(char in target.place for char in "*?"):
        raise BadArguments(f"{typed!r} is a pattern; each host is granted by itself.")
    return target.place


def allow_host(policy: PolicyState, typed: str, *, source: str = "user", where: str = HERE) -> Change:
    """Add a host; doing it twice changes nothing.

    Raises:
        BadArguments: It is no host.
    """
    place = place_of(typed)
    if policy.host_allowlist.covers(place) is not None:
        return Change((text(f"{place} is granted already."),))
    policy.snapshot()
    policy.host_allowlist.add(place, source, now())
    shown = f"{place} is now fetched from unasked {where}; hosts below it and other ports still ask."
    return Change((text(shown),), "add", "hosts", place)


def remove_host(policy: PolicyState, typed: str, *, every: bool = False) -> Change:
    """Remove by host, by number (``h1``) or by a glob.

    Raises:
        BadArguments: Nothing matches, or several do and *every* is false.
    """
    entries = list(policy.host_allowlist)
    at = numbered(typed, "h", len(entries))
    chosen = [entries[at]] if at is not None else [e for e in entries if fnmatch.fnmatchcase(e.host, typed.lower())]
    names = [entry.host for entry in chosen]
    require_some(names, typed, every, "host", "/policy show hosts")
    policy.snapshot()
    for entry in chosen:
        policy.host_allowlist.remove(entry.host)
    return Change((text(*(f"Removed: {name}" for name in names)),), "remove", "hosts", "; ".join(names))
