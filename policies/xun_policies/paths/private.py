"""xun's own settings, keys, sessions and trust: no tool reads them, wherever the workspace is."""

from __future__ import annotations

import os
from collections.abc import Mapping

_XDG = (
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
)
_HOME_ENTRIES = ("config.toml", "credentials", "data", "state", "cache")


def private_paths(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the canonical paths that hold xun's own state under this environment."""
    home = environ.get("XUN_HOME")
    if home:
        return tuple(os.path.realpath(os.path.join(home, entry)) for entry in _HOME_ENTRIES)
    user = environ.get("HOME") or os.path.expanduser("~")
    folders = (environ.get(name) or os.path.join(user, default) for name, default in _XDG)
    return tuple(os.path.realpath(os.path.join(folder, "xun")) for folder in folders)
