"""The permissions of a session as they are shown: the lists with their numbers, and entries as lines."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from xun_cli.commands.output import Output, table, text

if TYPE_CHECKING:
    from xun_policies.commands import CommandEntry
    from xun_policies.hosts import HostEntry
    from xun_policies.store import PolicyState
    from xun_policies.writes import WriteEntry


def command_text(tokens: Sequence[str]) -> str:
    """Return *tokens* as a shell would quote them."""
    return shlex.join(tokens)


def builtin_prefixes() -> list[tuple[str, ...]]:
    """Return the tokens of every built-in entry, sorted."""
    from xun_policies import defaults

    return sorted({rule.prefix for found in defaults.rules().values() for rule in found} | defaults.versions())


def show(
    policy: PolicyState,
    what: str = "all",
    *,
    builtin: bool = False,
    extra: str = "",
    hosts: Sequence[str] = (),
    kept: Sequence[str] = (),
) -> tuple[Output, ...]:
    """Return the lists: ``c1…`` for commands, ``w1…`` for writes, ``h1…`` for hosts, and the modes.

    Args:
        policy: The permissions.
        what: commands, writes, hosts or all.
        builtin: List the built-in commands too.
        extra: More facts for the line of modes.
        hosts: Hosts that the settings allow.
        kept: Patterns of paths that the settings exclude from writes.
    """
    outputs: list[Output] = []
    if what in ("all", "commands"):
        outputs += _show_commands(policy, builtin)
    if what in ("all", "writes"):
        outputs.append(_show_writes(policy))
        if kept:
            outputs.append(text("Writes there always ask (policy.writes.exclude): " + ", ".join(kept)))
    if what in ("all", "hosts"):
        outputs.append(_show_hosts(policy, hosts))
    if what == "all":
        auto = f"auto {policy.auto_remaining}" if policy.auto_remaining else "auto off"
        outputs.append(text(f"mode {policy.mode} · {auto}{' · ' + extra if extra else ''}"))
    return tuple(outputs)


def _show_commands(policy: PolicyState, builtin: bool) -> list[Output]:
    rows = [
        (f"c{at}", entry.text, "only this" if entry.exact else "and more", *_origin(entry, policy.command_allowlist))
        for at, entry in enumerate(policy.command_allowlist, 1)
    ]
    outputs = [_listed("Commands that run unasked, besides the built-in ones", rows, "none granted")]
    known = builtin_prefixes()
    left_out = sorted(policy.excluded)
    if builtin:
        title = f"Built in ({len(known) - len(left_out)}), each with the guards of its options:"
        outputs.append(text(title, *_by_program(known, policy.excluded)))
        return outputs
    outputs.append(text(f"Built in: {len(known) - len(left_out)} prefixes; /policy show --builtin lists them."))
    if left_out:
        outputs.append(text("Excluded of these: " + ", ".join(left_out)))
    return outputs


def _by_program(prefixes: Sequence[tuple[str, ...]], excluded: Collection[str]) -> list[str]:
    """One line of programs without subcommands, then one for each program with some."""
    groups: dict[str, list[str]] = {"": []}
    for tokens in prefixes:
        name = " ".join(tokens)
        mark = " (excluded)" if name in excluded else ""
        groups.setdefault(tokens[0] if len(tokens) > 1 else "", []).append(name + mark)
    return [f"  {', '.join(names)}" for names in groups.values() if names]


def _show_writes(policy: PolicyState) -> Output:
    rows = [
        (f"w{at}", entry.path, "and below" if entry.directory else "only this", *_origin(entry, policy.write_allowlist))
        for at, entry in enumerate(policy.write_allowlist, 1)
    ]
    return _listed("Paths that are written unasked", rows, "none granted")


def _show_hosts(policy: PolicyState, configured: Sequence[str]) -> Output:
    rows = [
        (f"h{at}", entry.host, *_origin(entry, policy.host_allowlist))
        for at, entry in enumerate(policy.host_allowlist, 1)
    ]
    rows += [("", host, "tools.allowed_hosts", "", "") for host in configured]
    return _listed("Hosts that are fetched from unasked", rows, "none granted")


def _origin(entry: Any, entries: Any) -> tuple[str, str, str]:
    """Return who made *entry* of the list *entries*, when, and how often it was used, as texts."""
    used = entries.used(entry)
    return entry.source, _when(entry.when), f"used {used}x" if used else "not used yet"


def _listed(title: str, rows: Sequence[tuple[str, ...]], none: str) -> Output:
    """Return *rows* under *title* and their number, or what there is without rows."""
    return table((), rows, f"{title} ({len(rows)}):") if rows else text(f"{title}: {none}.")


def _when(stamp: str) -> str:
    return stamp[:16].replace("T", " ")


def describe(
    commands: Iterable[CommandEntry],
    writes: Iterable[WriteEntry],
    excluded: Iterable[str],
    hosts: Iterable[HostEntry] = (),
) -> list[str]:
    """Return entries as lines, one each, for previews and differences."""
    from xun_policies.grants import is_wide

    lines = []
    for entry in commands:
        how = " (only this)" if entry.exact else "  (!) allows nearly anything" if is_wide(entry.tokens) else ""
        lines.append(f"command  {entry.text}{how}")
    lines += [f"excluded {name}" for name in sorted(excluded)]
    lines += [f"write    {entry.path}{' and below' if entry.directory else ''}" for entry in writes]
    return lines + [f"host     {entry.host}" for entry in hosts]
