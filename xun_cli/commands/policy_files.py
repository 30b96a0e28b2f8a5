"""Policy files: the entries of a session written out, and taken in after they were shown."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from xun_cli.commands.arguments import BadArguments
from xun_cli.commands.output import text
from xun_cli.commands.policy_change import Change, now
from xun_cli.commands.policy_view import describe

if TYPE_CHECKING:
    from xun_policies.grants import CommandEntry
    from xun_policies.hosts import HostEntry
    from xun_policies.policy_file import PolicyFile
    from xun_policies.store import PolicyState
    from xun_policies.writes import WriteEntry

Kind = Literal["toml", "json"]

_LIMIT = 1_000_000
"""Bytes that a policy file may have."""


def export_arguments(given: Sequence[str], usage: str) -> tuple[str, Kind]:
    """Read ``[file] [--format toml|json]``; the format may also be told by the file's ending.

    Raises:
        BadArguments: They are something else.
    """
    names = list(given)
    kind = ""
    if "--format" in names:
        at = names.index("--format")
        kind = names[at + 1] if at + 1 < len(names) else "missing"
        del names[at : at + 2]
    if len(names) > 1 or kind not in ("", "toml", "json"):
        raise BadArguments(f"One file at most, and toml or json as its format. Usage: {usage}")
    ending = Path(names[0]).suffix.lower() if names else ""
    form: Kind = "json" if kind == "json" or (not kind and ending == ".json") else "toml"
    return (names[0] if names else f"xun-policy.{form}"), form


def export(policy: PolicyState, kind: Kind, workdir: Path) -> str:
    """Return the user-made entries and exclusions as TOML or JSON; paths of the workspace are relative to it."""
    home = os.path.realpath(os.path.expanduser("~"))
    written = policy.to_toml(base=str(workdir), home=home)
    if kind == "toml":
        return written
    import tomllib

    return json.dumps(tomllib.loads(written), ensure_ascii=False, indent=2) + "\n"


def write(path: Path, content: str) -> None:
    """Write a policy file that only its owner can read.

    Raises:
        BadArguments: There is no such folder.
        OSError: It can't be written.
    """
    from xun_cli.places import write_private

    if not path.parent.is_dir():
        raise BadArguments(f"There is no folder {path.parent}.")
    write_private(path, content.encode("utf-8", "surrogatepass"))


def read(path: Path, workdir: Path) -> PolicyFile:
    """Read a policy file, TOML or (by its ending) JSON; nothing of it counts unless all of it is right.

    Raises:
        BadArguments: It can't be read, or an entry is wrong; the text names the file and the line.
    """
    from xun_policies.errors import PolicyError
    from xun_policies.policy_file import parse_toml

    if not path.is_file():
        raise BadArguments(f"There is no file {path}.")
    try:
        with path.open("rb") as file:
            data = file.read(_LIMIT + 1)
        if len(data) > _LIMIT:
            raise BadArguments(f"{path} is larger than {_LIMIT:,} bytes, so it is no policy file.")
        written = data.decode("utf-8")
        if path.suffix.lower() == ".json":
            written = _json_as_toml(written)
        return parse_toml(written, str(workdir))
    except UnicodeDecodeError as exc:
        raise BadArguments(f"{path} is no UTF-8 text (byte {exc.start}).") from None
    except (ValueError, PolicyError) as exc:
        raise BadArguments(f"{path}: {exc}") from None


def _json_as_toml(written: str) -> str:
    """The same data as TOML, each entry on the lines that an export would give it."""
    data = json.loads(written)
    if not isinstance(data, dict):
        raise ValueError("a policy in JSON is an object with version, excluded, command and write.")
    lines = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in data.items() if not isinstance(value, list)]
    for key, value in data.items():
        if isinstance(value, list) and key == "excluded":
            lines.insert(0, f"excluded = {json.dumps(value)}")
        elif isinstance(value, list):
            for entry in value:
                pairs = entry.items() if isinstance(entry, dict) else [("entry", entry)]
                lines += [
                    f"[[{json.dumps(key)}]]",
                    *(f"{json.dumps(name)} = {json.dumps(part)}" for name, part in pairs),
                ]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import would make of the lists.

    Attributes:
        lines: The differences, ``+`` and ``-``.
        commands: All command entries afterwards.
        writes: All write entries afterwards.
        excluded: All excluded built-in prefixes afterwards.
        hosts: All host entries afterwards.
    """

    lines: tuple[str, ...]
    commands: tuple[CommandEntry, ...]
    writes: tuple[WriteEntry, ...]
    excluded: tuple[str, ...]
    hosts: tuple[HostEntry, ...]


def plan_import(policy: PolicyState, source: PolicyFile, *, replacing: bool = False) -> ImportPlan:
    """Return what taking *source* would change; with *replacing*, what it lacks goes."""
    stamp = now()
    commands = {} if replacing else {(entry.tokens, entry.exact): entry for entry in policy.command_allowlist}
    writes = {} if replacing else {entry.path: entry for entry in policy.write_allowlist}
    old_commands = {(entry.tokens, entry.exact): entry for entry in policy.command_allowlist}
    old_writes = {entry.path: entry for entry in policy.write_allowlist}
    for entry in source.commands:
        key = (entry.tokens, entry.exact)
        commands[key] = old_commands.get(key) or replace(entry, when=stamp)
    for path in source.writes:
        known = old_writes.get(path.path)
        keeps = known is not None and (known.directory == path.directory or (known.directory and not replacing))
        writes[path.path] = known if known is not None and keeps else replace(path, when=stamp)
    old_hosts = {entry.host: entry for entry in policy.host_allowlist}
    hosts = {} if replacing else dict(old_hosts)
    for place in source.hosts:
        hosts[place.host] = old_hosts.get(place.host) or replace(place, when=stamp)
    excluded = set(source.excluded) if replacing else policy.excluded | set(source.excluded)
    before = set(describe(old_commands.values(), old_writes.values(), policy.excluded, old_hosts.values()))
    after = set(describe(commands.values(), writes.values(), excluded, hosts.values()))
    lines = [f"- {line}" for line in sorted(before - after)] + [f"+ {line}" for line in sorted(after - before)]
    return ImportPlan(
        tuple(lines),
        tuple(commands.values()),
        tuple(writes.values()),
        tuple(sorted(excluded)),
        tuple(hosts.values()),
    )


def apply_import(policy: PolicyState, plan: ImportPlan) -> Change:
    """Take the entries of *plan*; ``/policy undo`` takes them back."""
    policy.replace_lists(plan.commands, plan.writes, plan.excluded, plan.hosts)
    return Change((text("Taken:", *plan.lines),), "import", "all", "; ".join(plan.lines))
