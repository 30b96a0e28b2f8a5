"""A first AGENTS.md, from what a folder shows of itself."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

_LIMIT = 200_000  # bytes of a file that is read


def write_new(path: Path, content: str) -> None:
    """Write *content* to *path*, where nothing is yet, not even a link.

    Raises:
        FileExistsError: There is something.
        OSError: It can't be written.
    """
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as file:
        file.write(content)


def starter(folder: Path) -> str:
    """Return the text of a first AGENTS.md for *folder*; reads a few well-known files and runs nothing."""
    commands = [*_python(folder), *_node(folder), *_others(folder)]
    # A name of other bytes than UTF-8, or of two lines, is no title.
    name = folder.name if folder.name.isprintable() else ""
    lines = [f"# {name or 'Project'}", "", "What this project is, in two sentences.", "", "## Commands", ""]
    lines += [f"- {what}: `{command}`" for what, command in commands] or ["- Test: (the command)"]
    lines += ["", "## Where things are", ""]
    lines += [f"- `{name}/`: " for name in _folders(folder)] or ["- (the main folders, one line each)"]
    lines += ["", "## Rules", "", "- Keep changes small; run the tests before you say that something works.", ""]
    return "\n".join(lines)


def _read(path: Path) -> str:
    try:
        if path.is_file() and path.stat().st_size <= _LIMIT:
            return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        pass
    return ""


def _python(folder: Path) -> list[tuple[str, str]]:
    text = _read(folder / "pyproject.toml")
    found: list[tuple[str, str]] = []
    try:
        tool: Any = tomllib.loads(text).get("tool", {})
    except (ValueError, RecursionError):
        tool = {}
    if "pytest" in text or ((folder / "tests").is_dir() and text):
        found.append(("Test", "python -m pytest"))
    if isinstance(tool, dict) and "ruff" in tool:
        found.append(("Lint", "ruff check"))
    if isinstance(tool, dict) and "mypy" in tool:
        found.append(("Types", "mypy"))
    return found


def _node(folder: Path) -> list[tuple[str, str]]:
    try:
        scripts = json.loads(_read(folder / "package.json") or "{}").get("scripts", {})
        names = [name for name in ("test", "lint", "build") if name in scripts]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return []
    return [(name.capitalize(), f"npm run {name}") for name in names]


def _others(folder: Path) -> list[tuple[str, str]]:
    found = []
    makefile = _read(folder / "Makefile")
    for name in ("test", "check", "build"):
        if f"\n{name}:" in "\n" + makefile:
            found.append((name.capitalize(), f"make {name}"))
    if (folder / "Cargo.toml").is_file():
        found.append(("Test", "cargo test"))
    if (folder / "go.mod").is_file():
        found.append(("Test", "go test ./..."))
    return found


def _folders(folder: Path) -> list[str]:
    skipped = {"node_modules", "__pycache__", "target", "dist", "build", "venv"}
    try:
        names = sorted(item.name for item in os.scandir(folder) if item.is_dir(follow_symlinks=False))
    except OSError:
        return []
    return [name for name in names if not name.startswith(".") and name not in skipped and name.isprintable()][:12]
