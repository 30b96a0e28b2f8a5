"""The encoding that a project states for its files, from ``.editorconfig`` (spec.editorconfig.org)."""

from __future__ import annotations

import os
import re

from xun_policies.errors import PolicyError
from xun_policies.workspace import ResolvedPath, Workspace

_NAME = ".editorconfig"
_LIMIT = 100_000
_CODECS = {
    "latin1": "latin-1",
    "utf-8": "utf-8",
    "utf-8-bom": "utf-8",
    "utf-16be": "utf-16-be",
    "utf-16le": "utf-16-le",
}
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def stated_charset(workspace: Workspace, path: ResolvedPath) -> str | None:
    """Return the codec that the nearest ``.editorconfig`` states for *path*, or None."""
    folder = path.path.parent
    while True:
        charset, top = _read(workspace, os.path.join(folder, _NAME), os.path.relpath(path.path, folder))
        if charset is not None:
            # Other names, such as "unset", state nothing.
            return _CODECS.get(charset)
        if top or str(folder) in workspace.roots or folder == folder.parent:
            return None
        folder = folder.parent


def _read(workspace: Workspace, name: str, path: str) -> tuple[str | None, bool]:
    """Return the charset for *path* that one file states, and whether it is the topmost file."""
    try:
        text = workspace.read_bytes(name, limit=_LIMIT).decode("utf-8", "replace")
    except (OSError, PolicyError):
        return None, False
    charset = None
    top = False
    applies = None
    for line in text.split("\n"):
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            applies = _matches(line[1:-1], path)
            continue
        key, sign, value = line.partition("=")
        if not sign or line[0] in "#;":
            continue
        key, value = key.strip().lower(), value.strip().lower()
        if applies is None and key == "root":
            top = value == "true"
        if applies and key == "charset":
            charset = value
    return charset, top


def _matches(pattern: str, path: str) -> bool:
    braces = _BRACES.search(pattern)
    if braces is not None:
        head, tail = pattern[: braces.start()], pattern[braces.end() :]
        return any(_matches(head + choice + tail, path) for choice in braces[1].split(","))
    if "/" not in pattern:
        path = path.rpartition("/")[2]
    regex = re.escape(pattern.removeprefix("/")).replace(r"\*\*", ".*").replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    return re.fullmatch(regex, path) is not None
