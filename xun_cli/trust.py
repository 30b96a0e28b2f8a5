"""Settings that come with a project: what they may do, and whether the user trusts them.

A project's settings are foreign text. Some keys it may never set (`NEVER`), some it may set only
towards more safety (`TIGHTENING`), and all others count only after the user has seen them and
said yes. The answer is kept outside the project, under its real path, with a hash of the content
that was shown: a changed content is asked about again.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from xun.errors import ConfigError
from xun_cli.config import PROJECT_FILES, check_value, table_keys, unknown_key
from xun_cli.places import NOFOLLOW, Places, private_dir, write_private
from xun_cli.project_files import read_extensions
from xun_cli.settings import Settings, all_keys
from xun_cli.toml_file import PROJECT_LIMIT, TomlFile, read_toml, short

NEVER = (
    "auto_confirm",
    "bash.env_keep",
    "bash.shell",
    "keys",
    "policy.commands.allow",
    "policy.writes.allow",
    "profiles",
    "provider",
    "sandbox.writable",
    "search",
    "session.snapshot",
    "session.snapshot_max_mb",
    "tools.allowed_hosts",
    "ui.status_command",
    "workspace",
)
"""Keys, and what is below them, that no project sets, trusted or not."""

_STRICTNESS = {"auto-edit": 0, "ask": 1, "plan": 2}
_WALLS = {"off": 0, "auto": 1, "required": 2}
_STORE_LIMIT = 4_000_000
_WARNINGS = 20  # of one file; a file with more that is wrong is not read to its end


def _less(value: Any, now: Any) -> bool:
    return bool(value > 0 and (now == 0 or value <= now))


def _fewer_groups(value: list[str], now: list[str]) -> bool:
    from xun.tools.groups import USUAL

    return bool(value) and set(value) <= set(now or USUAL)


TIGHTENING: dict[str, Callable[[Any, Any], bool]] = {
    "mode": lambda value, now: _STRICTNESS[value] >= _STRICTNESS[now],
    # Never on where the person switched it off: what it allows runs without a question.
    "risk.enabled": lambda value, now: bool(value and now),
    "risk.on_error": lambda value, now: value == "reject" or value == now,
    "sandbox.mode": lambda value, now: _WALLS[value] >= _WALLS[now],
    "sandbox.network": lambda value, now: not value,
    "policy.commands.exclude": lambda value, now: True,
    "policy.writes.exclude": lambda value, now: True,
    "tools.disable": lambda value, now: True,
    "tools.groups": _fewer_groups,
    "limits.steps": _less,
    "limits.cost_usd": _less,
    "limits.equal_steps": _less,
    "limits.failed_steps": _less,
}
"""Keys that a project may set without trust, each with the test that the value is no looser than before."""


@dataclass(slots=True)
class ProjectSettings:
    """What the settings files of one folder hold.

    Attributes:
        root: The folder's real path.
        files: The files that could be read, lowest first.
        asked: Value by dotted key of what counts only when it is trusted.
        problems: One sentence for each file that could not be read.
        extensions: The content of the commands and skills that come with it, by their path below ``.xun``.
    """

    root: str
    files: list[TomlFile] = field(default_factory=list)
    asked: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    extensions: dict[str, bytes] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The hash of all that counts only when it is trusted."""
        return hashlib.sha256(_canonical(self.asked).encode("utf-8", "surrogatepass")).hexdigest()


def read_project(cwd: Path) -> ProjectSettings:
    """Read the settings that come with *cwd*; only those of this very folder, never of one above or below."""
    found = ProjectSettings(os.path.realpath(cwd))
    for name in PROJECT_FILES:
        path = Path(found.root) / ".xun" / name
        try:
            file = read_toml(path, leaves=table_keys(), limit=PROJECT_LIMIT, follow=False)
        except ConfigError as error:
            found.problems.append(f"{error} (project settings of this file are ignored)")
            continue
        if file is None:
            continue
        found.files.append(file)
        for key, value in file.values.items():
            if key not in TIGHTENING and not never(key):
                found.asked.update(_singly(key, value))
    try:
        found.extensions = read_extensions(Path(found.root) / ".xun")
    except ConfigError as error:
        found.problems.append(f"{error}; the project's commands and skills are ignored")
    for name, content in found.extensions.items():
        found.asked[name] = f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()[:24]}"
    return found


def _singly(key: str, value: Any) -> dict[str, Any]:
    """Return the tables of MCP servers key by key, so that each is a line of the question."""
    if key.startswith("mcp") and isinstance(value, dict) and value:
        return {name: item for inner in value for name, item in _singly(f"{key}.{inner}", value[inner]).items()}
    return {key: value}


def trusted_project(places: Places, cwd: Path) -> ProjectSettings | None:
    """Return what comes with *cwd*, when the user trusts it as it is at this moment; else None."""
    project = read_project(cwd)
    return project if TrustStore.load(places.trust_file).verdict(project) == "trusted" else None


def never(key: str) -> bool:
    """Tell whether no project may set *key*."""
    return any(key == name or key.startswith(name + ".") for name in NEVER)


def apply_project(settings: Settings, places: Places, cwd: Path) -> None:
    """Set what the project of *cwd* may set, and warn of what it may not."""
    project = read_project(cwd)
    settings.warnings.extend(project.problems)
    if not project.files and not project.asked:
        return
    store = TrustStore.load(places.trust_file)
    settings.warnings.extend(store.warnings)
    trusted = not project.asked or store.verdict(project) == "trusted"
    for file in project.files:
        _apply_file(settings, file, trusted)
    if not trusted:
        names = ", ".join(list(project.asked)[:4]) + (", ..." if len(project.asked) > 4 else "")
        settings.warnings.append(
            f"Project settings in {short(Path(project.root) / '.xun')} are ignored, this folder is not trusted "
            f"({names}); start once with --trust to use them"
        )


def _apply_file(settings: Settings, file: TomlFile, trusted: bool) -> None:
    before = len(settings.warnings)
    keys = list(file.values)
    for done, key in enumerate(keys):
        if len(settings.warnings) - before >= _WARNINGS:
            # To look for the nearest key of thousands takes seconds, and nobody reads that.
            settings.warnings.append(f"{short(file.path)}: {len(keys) - done} more settings are ignored")
            return
        _apply_one(settings, file, key, file.values[key], trusted)


def _apply_one(settings: Settings, file: TomlFile, key: str, value: Any, trusted: bool) -> None:
    where = file.where(key)
    if never(key):
        settings.warnings.append(f"{where}: a project may not set {key}; it is ignored")
        return
    if key not in TIGHTENING and not trusted:
        return
    if key not in all_keys():
        settings.warnings.append(f"{where}: {unknown_key(key)}")
        return
    try:
        checked = check_value(key, value)
    except ConfigError as error:
        settings.warnings.append(f"{where}: {error}; it is ignored")
        return
    now = settings.get(key)
    if key in TIGHTENING and not TIGHTENING[key](checked, now):
        settings.warnings.append(f"{where}: a project may only tighten {key}; it is ignored")
        return
    if isinstance(now, list) and key != "tools.groups" and (key in TIGHTENING or key.startswith("hooks.")):
        # What the user's own file asks for stays: a project adds to it, as long as both together are no too long list.
        checked = [*now, *(item for item in checked if item not in now)]
        try:
            check_value(key, checked)
        except ConfigError as error:
            settings.warnings.append(f"{where}: with your own, {error}; it is ignored")
            return
    elif key == "mcp.servers":
        checked = {**_without_variables(settings, where, checked), **now}
    settings.put(key, checked, where)


def _without_variables(settings: Settings, where: str, servers: dict[str, Any]) -> dict[str, Any]:
    """Leave out the servers of a project that would be told variables of the user, such as keys."""
    from xun_cli.mcp_servers import names_variables

    found = [name for name, entry in servers.items() if names_variables(entry)]
    for name in found:
        settings.warnings.append(
            f"{where}: the MCP server {name} names variables of your environment, which a project may not; it is "
            "ignored. Copy its table to your own settings to use it"
        )
    return {name: entry for name, entry in servers.items() if name not in found}


@dataclass(slots=True)
class TrustStore:
    """The user's answers about projects, in ``trust.json``.

    Attributes:
        path: The file.
        folders: By real path: ``{"hash", "trusted", "settings", "when"}``.
        warnings: Why the file was not believed.
    """

    path: Path
    folders: dict[str, dict[str, Any]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path) -> TrustStore:
        """Read the store; one that others could have written is not believed, and all is untrusted."""
        store = cls(path)
        try:
            # A FIFO of that name must not be waited for.
            fd = os.open(store.path, os.O_RDONLY | NOFOLLOW | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            return store
        except OSError as error:
            store._doubt(f"can't be read ({error.strerror})")
            return store
        try:
            info = os.fstat(fd)
            raw = _read_whole(fd) if stat.S_ISREG(info.st_mode) else b""
        finally:
            os.close(fd)
        if not stat.S_ISREG(info.st_mode):
            store._doubt("it is not a regular file; remove it")
        elif info.st_mode & 0o022:
            store._doubt("others may write it; run chmod 600 on it")
        elif hasattr(os, "geteuid") and info.st_uid != os.geteuid():
            store._doubt("it belongs to another user")
        else:
            store._parse(raw)
        return store

    def _doubt(self, why: str) -> None:
        self.warnings.append(f"{short(self.path)} is ignored and every folder untrusted: {why}")

    def _parse(self, raw: bytes) -> None:
        try:
            data = json.loads(raw)
            folders = data["folders"]
            self.folders = {str(path): dict(entry) for path, entry in folders.items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._doubt("it is damaged; the next answer writes it anew")

    def verdict(self, project: ProjectSettings) -> str:
        """Return trusted, refused, changed (since it was answered) or unknown."""
        entry = self.folders.get(project.root)
        if entry is None:
            return "unknown"
        if entry.get("hash") != project.digest:
            return "changed"
        return "trusted" if entry.get("trusted") is True else "refused"

    def record(self, project: ProjectSettings, trusted: bool) -> None:
        """Keep the answer about *project* as it is now.

        Raises:
            OSError: The store can't be written.
        """
        private_dir(self.path.parent, self.path.parent)
        fresh = TrustStore(self.path)  # another xun may have answered meanwhile
        if not self.warnings:
            fresh = TrustStore.load(self.path)
        when = datetime.now(UTC).isoformat(timespec="seconds")
        entry = {
            "hash": project.digest,
            "trusted": trusted,
            "settings": json.loads(_canonical(project.asked)),
            "when": when,
        }
        fresh.folders[project.root] = entry
        self.folders = fresh.folders
        text = json.dumps({"v": 1, "folders": self.folders}, indent=1)
        if self.path.is_symlink():
            self.path.unlink()
        write_private(self.path, text.encode())


def _read_whole(fd: int) -> bytes:
    with os.fdopen(fd, "rb", closefd=False) as file:
        return file.read(_STORE_LIMIT)


def difference(store: TrustStore, project: ProjectSettings) -> list[str]:
    """Return the lines that a trust question shows: what would be switched on, and what it was when last answered."""
    entry = store.folders.get(project.root) or {}
    kept = entry.get("settings")
    old: dict[str, Any] = kept if isinstance(kept, dict) else {}
    lines = []
    for key in sorted({*project.asked, *old}):
        new_text = _canonical(project.asked[key]) if key in project.asked else None
        old_text = _canonical(old[key]) if key in old else None
        if old and new_text != old_text:
            if old_text is not None:
                lines.append(f"- {key} = {old_text}")
            if new_text is not None:
                lines.append(f"+ {key} = {new_text}")
        elif new_text is not None:
            lines.append(f"  {key} = {new_text}")
    return lines


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
