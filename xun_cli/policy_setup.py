"""The permissions that a session begins with, from settings and flags; also for commands that have no session."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from xun_cli.places import Places

if TYPE_CHECKING:
    from xun_cli.settings import Settings
    from xun_policies.audit import AuditTrail
    from xun_policies.store import PolicyState
    from xun_policies.workspace import ResolvedPath, Workspace


def audit_trail(places: Places, settings: Settings, session: str = "") -> AuditTrail:
    """Return the audit trail of this user, whose lines name *session*; keys never get into it."""
    from xun_policies.audit import AuditTrail

    credentials = settings.credentials
    return AuditTrail(places.audit_file, session, (lambda: ()) if credentials is None else credentials.known_values)


def command_policy(folder: str) -> PolicyState:
    """Return the permissions of a new session in *folder*, which need not exist, as far as commands go.

    Settings files are read only where there are some.
    """
    from xun_policies.store import PolicyState

    places = Places.from_environment()
    path = Path(os.path.expanduser(folder))
    state = PolicyState()
    if places.config_file.exists() or (path / ".xun").is_dir():
        from xun_cli.config import load_settings
        from xun_cli.options import StartOptions

        fill_commands(state, load_settings(places, StartOptions(cwd=path), environ={}))
    return state


def fill_commands(state: PolicyState, settings: Settings, flags: Iterable[str] = ()) -> None:
    """Add to *state* what the settings allow and exclude, and what ``--allow-command`` flags allow.

    Raises:
        ConfigError: An entry is no command.
    """
    for entry in settings.policy.commands.allow:
        state.command_allowlist.add(_words(entry, "policy.commands.allow"), source="config")
    for entry in flags:
        state.command_allowlist.add(_words(entry, "--allow-command"), source="flag")
    for entry in settings.policy.commands.exclude:
        state.excluded.add(" ".join(_words(entry, "policy.commands.exclude")))


def fill_writes(state: PolicyState, settings: Settings, workspace: Workspace, flags: Iterable[str] = ()) -> None:
    """Add to *state* the paths that the settings and ``--allow-write`` flags allow; a folder covers all below it.

    Raises:
        PathOutsideWorkspace: One leads out of the workspace.
    """
    lists = (("config", "policy.writes.allow", settings.policy.writes.allow), ("flag", "--allow-write", flags))
    for source, key, paths in lists:
        for path in paths:
            resolved = _within(workspace, path, key)
            state.write_allowlist.add(str(resolved.path), resolved.path.is_dir(), source=source)


def _within(workspace: Workspace, path: str, key: str) -> ResolvedPath:
    from xun.errors import PathOutsideWorkspace

    try:
        return workspace.resolve(path)
    except PathOutsideWorkspace as error:
        raise PathOutsideWorkspace(f"{key}: {error}; --add-dir DIR opens a folder to the tools") from None


def _words(entry: str, key: str) -> tuple[str, ...]:
    from xun.errors import ConfigError
    from xun_cli.commands.arguments import BadArguments
    from xun_cli.commands.policy_ops import parse_command
    from xun_policies.store import PolicyState

    if not entry.strip():
        raise ConfigError(f"{key}: an entry is empty")
    try:
        return parse_command(entry, PolicyState())
    except BadArguments as error:
        raise ConfigError(f"{key}: {error}") from None
