"""API keys: read once, then out of the environment, so that no child and no /proc file shows them.

A key comes from a variable, else from the user's ``credentials`` file (0600), where it belongs to
one base URL and is never sent anywhere else. No key is ever shown or logged.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, MutableMapping
from pathlib import Path

from xun.errors import ConfigError
from xun_cli.places import NOFOLLOW, Places, write_private

KEY_VARIABLES = ("XUN_API_KEY", "OPENAI_API_KEY")
"""Where a key is looked for, in this order, after ``provider.api_key_env``."""

_LIMIT = 100_000


class Credentials:
    """The keys of this process; its repr holds names only."""

    __slots__ = ("_by_name", "_file")

    def __init__(self, by_name: dict[str, str] | None = None, file: Path | None = None) -> None:
        self._by_name = dict(by_name or {})
        self._file = file

    def __repr__(self) -> str:
        return f"Credentials({', '.join(self._by_name)})"

    def take(self, names: Iterable[str], environ: MutableMapping[str, str] | None = None) -> None:
        """Move the variables *names* out of the environment into here."""
        env = os.environ if environ is None else environ
        for name in names:
            value = env.get(name)
            if value is None:
                continue
            if environ is None:
                _wipe(name)
            del env[name]
            if value.strip():
                self._by_name[name] = value.strip()

    def find(self, base_url: str, variable: str = "") -> tuple[str, str]:
        """Return the key for *base_url* and where it comes from; two empty texts when there is none.

        Args:
            base_url: Where it will be sent; "" for OpenAI's own.
            variable: The variable that the user named for it, or "".

        Raises:
            ConfigError: The credentials file is open to others or damaged.
        """
        for name in (variable,) if variable else KEY_VARIABLES:
            if self._by_name.get(name):
                return self._by_name[name], name
        if self._file is not None:
            stored = read_credentials(self._file).get(_normal(base_url))
            if stored:
                return stored, str(self._file)
        return "", ""

    def stored(self, base_url: str) -> str:
        """Return the key that the credentials file has for *base_url*, and no other; "" when there is none.

        Raises:
            ConfigError: The credentials file is open to others or damaged.
        """
        return read_credentials(self._file).get(_normal(base_url), "") if self._file is not None else ""

    def all_values(self) -> list[str]:
        """Return every key held in memory, for redaction."""
        return list(self._by_name.values())

    def known_values(self) -> list[str]:
        """Return those, and the keys of the credentials file as far as it can be read."""
        try:
            stored = read_credentials(self._file) if self._file is not None else {}
        except (ConfigError, OSError):
            stored = {}
        return [*self.all_values(), *stored.values()]


def take_credentials(places: Places) -> Credentials:
    """Return the keys of this process and take them out of its environment."""
    found = Credentials(file=places.credentials_file)
    found.take(KEY_VARIABLES)
    return found


def read_credentials(path: Path) -> dict[str, str]:
    """Return key by base URL; an empty dict when there is no file.

    Raises:
        ConfigError: Others can read the file, it is a link, or it is damaged.
    """
    try:
        fd = os.open(path, os.O_RDONLY | NOFOLLOW | getattr(os, "O_NONBLOCK", 0))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}; it must be a file of your own") from None
    with os.fdopen(fd, "rb") as file:
        mode = os.fstat(fd).st_mode
        raw = file.read(_LIMIT)
    if not stat.S_ISREG(mode) or (os.name == "posix" and mode & 0o077):
        raise ConfigError(f"{path} is open to other users and is not used; run: chmod 600 {path}")
    import tomllib

    try:
        keys = tomllib.loads(raw.decode("utf-8"))["keys"]
        return {_normal(url): str(key).strip() for url, key in keys.items()}
    except (ValueError, KeyError, AttributeError, RecursionError):
        raise ConfigError(f"{path} is damaged; remove it and run `xun setup` again") from None


def store_key(places: Places, base_url: str, key: str) -> None:
    """Keep *key* for *base_url* in the credentials file, 0600.

    Raises:
        ConfigError: The file there is damaged or open to others.
        OSError: It can't be written.
    """
    keys = read_credentials(places.credentials_file)
    keys[_normal(base_url)] = key
    import json

    # A JSON string without surrogates is a TOML basic string.
    lines = ["# Keys of xun, each for one base URL. Keep this file to yourself.", "[keys]"]
    lines += [f"{json.dumps(url)} = {json.dumps(value)}" for url, value in sorted(keys.items())]
    write_private(places.credentials_file, ("\n".join(lines) + "\n").encode())


def _normal(base_url: str) -> str:
    return base_url.strip().rstrip("/") or "https://api.openai.com/v1"


def _wipe(name: str) -> None:
    """Overwrite the value where the kernel shows it: /proc/PID/environ keeps what a process was started with."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    libc.getenv.argtypes = [ctypes.c_char_p]
    address = libc.getenv(os.fsencode(name))
    if address:
        ctypes.memset(address, 0x2A, len(ctypes.string_at(address)))
