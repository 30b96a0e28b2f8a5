"""Where xun keeps its files: ``XUN_HOME``, else the XDG folders.

All folders are 0700 and all files 0600: they hold source code, commands and answers.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
"""Flags for opening a file of ours: never through a link, never for a child."""

_NAME_LIMIT = 200  # bytes of a folder's name in a slug: a file name holds 255


@dataclass(frozen=True, slots=True)
class Places:
    """The folders and files of one user.

    Attributes:
        config: Folder of config.toml, profiles, credentials and the user's AGENTS.md.
        data: Sessions and their snapshots.
        state: History, log, crash reports and the trust store.
        cache: What can be made again.
    """

    config: Path
    data: Path
    state: Path
    cache: Path

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Places:
        """Find the places by ``XUN_HOME`` or the XDG variables; a relative XDG value is ignored, as XDG says."""
        env = os.environ if environ is None else environ
        if root := env.get("XUN_HOME", ""):
            base = Path(os.path.expanduser(root)).absolute()
            return cls(base, base / "data", base / "state", base / "cache")
        home = Path(env.get("HOME") or Path.home())

        def xdg(name: str, default: str) -> Path:
            value = env.get(name, "")
            return (Path(value) if os.path.isabs(value) else home / default) / "xun"

        return cls(
            xdg("XDG_CONFIG_HOME", ".config"),
            xdg("XDG_DATA_HOME", ".local/share"),
            xdg("XDG_STATE_HOME", ".local/state"),
            xdg("XDG_CACHE_HOME", ".cache"),
        )

    @property
    def config_file(self) -> Path:
        """The user's settings."""
        return self.config / "config.toml"

    @property
    def credentials_file(self) -> Path:
        """Keys by base URL; no tool may read it."""
        return self.config / "credentials"

    @property
    def history_file(self) -> Path:
        """What was typed."""
        return self.state / "history"

    @property
    def trust_file(self) -> Path:
        """Which folders' settings the user trusts."""
        return self.state / "trust.json"

    @property
    def audit_file(self) -> Path:
        """Every decision about commands, writes, fetches and code, of all sessions."""
        return self.state / "audit.jsonl"

    @property
    def crash_dir(self) -> Path:
        """Reports of uncaught errors."""
        return self.state / "crash"

    @property
    def log_file(self) -> Path:
        """The event log of ``--debug``."""
        return self.state / "xun.log"

    @property
    def sessions_root(self) -> Path:
        """The folder that holds one folder of sessions per project."""
        return self.data / "sessions"

    def profile_file(self, name: str) -> Path:
        """The settings of the profile *name*."""
        return self.config / "profiles" / f"{name}.toml"

    def sessions_dir(self, project: Path | str) -> Path:
        """The sessions of *project*, by its real path: its last part, ``-``, 12 hex digits of its SHA-256."""
        import hashlib

        real = os.path.realpath(project)
        raw = os.fsencode(real)
        name = os.fsencode(os.path.basename(real))[:_NAME_LIMIT].decode("utf-8", "replace")
        return self.sessions_root / f"{name}-{hashlib.sha256(raw).hexdigest()[:12]}"


def make_dir(path: Path) -> Path:
    """Make *path* and what is missing above it, all 0700; folders that exist are left as they are.

    Raises:
        OSError: It can't be made, or is not a folder.
    """
    missing: list[Path] = []
    at = path
    while not at.exists():
        missing.append(at)
        at = at.parent
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    return path


def private_dir(path: Path, root: Path) -> Path:
    """Make *path* and tighten it and all from *root* down to it to 0700; *root* itself is included.

    Raises:
        OSError: It can't be made or changed, or is not a folder.
    """
    make_dir(path)
    for folder in (path, *path.parents):
        if folder != root and root not in folder.parents:
            break
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
    return path


def open_plain(path: Path | str) -> BinaryIO:
    """Open a file for reading; what has its name and is none, as a pipe that nobody writes, is not waited for.

    Raises:
        OSError: It is missing, not readable, or no regular file.
    """
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(fd, "rb")
    os.close(fd)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "Not a regular file", str(path))


def write_private(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write *data* to *path*, 0600, whole or not at all; *durable*: also after a power cut.

    Raises:
        OSError: It can't be written; the old file is then unchanged.
    """
    make_dir(path.parent)
    temp = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temp.replace(path)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
