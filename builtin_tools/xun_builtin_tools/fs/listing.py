"""list_dir and file_info."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from xun.tools.context import ToolCallContext
from xun_builtin_tools.edit.changes import raise_os_error
from xun_builtin_tools.edit.messages import edit_error
from xun_builtin_tools.edit.writing import missing
from xun_policies.paths.names import shown_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from xun_policies.workspace import ResolvedPath, Workspace

MAX_ENTRIES = 2_000
"""Names that list_dir gives back."""

_COUNT_LIMIT = 100_000_000


def list_dir(
    ctx: ToolCallContext[Any],
    path: str = ".",
    details: bool = False,
    ignore: list[str] | None = None,
    show_hidden: bool = True,
) -> dict[str, Any]:
    """List what is in a folder.

    details adds size in bytes, time of the last change and targets of links. ignore leaves out names by patterns such
    as "*.pyc", show_hidden=false those that begin with a dot. Returns directories and files, sorted by name, at most
    2,000; a link counts as a file."""
    workspace = ctx.agent.workspace
    resolved = workspace.resolve(path)
    _require_folder(ctx, resolved, path)
    directories: list[Any] = []
    files: list[Any] = []
    left = 0
    ignores = _ignoring(workspace, resolved)
    try:
        with workspace.hold(resolved) as held:
            for item in sorted(held.scan(), key=lambda item: item.name):
                if _unwanted(item.name, ignore or [], show_hidden) or ignores(item):
                    continue
                if len(directories) + len(files) >= MAX_ENTRIES:
                    left += 1
                    continue
                group = directories if item.is_dir(follow_symlinks=False) else files
                group.append(_details(held.fd, item) if details else shown_name(item.name))
    except OSError as exc:
        raise_os_error(exc, resolved.display, "listed")
    value: dict[str, Any] = {"directories": directories, "files": files}
    if left:
        value["left_out"] = left
    return value


def _require_folder(ctx: ToolCallContext[Any], resolved: ResolvedPath, path: str) -> None:
    found = ctx.agent.workspace.stat(resolved)
    if found is None:
        raise missing(ctx.agent.workspace, resolved, path)
    if not stat.S_ISDIR(found.st_mode):
        raise edit_error("not_dir", f"{resolved.display} is not a folder.")


def _unwanted(name: str, ignore: list[str], show_hidden: bool) -> bool:
    if not show_hidden and name.startswith("."):
        return True
    return any(fnmatchcase(name, pattern.rstrip("/")) for pattern in ignore)


def _ignoring(workspace: Workspace, folder: ResolvedPath) -> Callable[[os.DirEntry[str]], bool]:
    """Return what tells which entries of *folder* the workspace ignores: none where it was itself asked for by name."""
    base = str(folder.path)
    if not workspace.ignore or workspace.ignores(base, is_folder=True):
        return lambda item: False
    return lambda item: workspace.ignores(os.path.join(base, item.name), is_folder=item.is_dir(follow_symlinks=False))


def _details(folder: int, item: os.DirEntry[str]) -> dict[str, Any]:
    try:
        found = os.stat(item.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return {"name": shown_name(item.name)}
    value: dict[str, Any] = {"name": shown_name(item.name), "size": found.st_size, "last_modified": _time(found)}
    if stat.S_ISLNK(found.st_mode):
        value["link_to"] = shown_name(os.readlink(item.name, dir_fd=folder))
    return value


def _time(found: os.stat_result) -> str:
    return datetime.fromtimestamp(found.st_mtime, UTC).isoformat(timespec="seconds")


def file_info(ctx: ToolCallContext[Any], path: str) -> dict[str, Any]:
    """Tell what a file is, without reading it into the conversation.

    path is the file. Comes back with its absolute path, size in bytes, number of lines (null for a binary file or one
    of more than 100 MB), whether it is text, and the time of its last change in UTC.
    """
    workspace = ctx.agent.workspace
    resolved = workspace.resolve(path)
    found = workspace.stat(resolved)
    if found is None:
        raise missing(workspace, resolved, path)
    if stat.S_ISDIR(found.st_mode):
        raise edit_error("is_dir", f"{resolved.display} is a folder; list it with list_dir.")
    if not stat.S_ISREG(found.st_mode):
        raise edit_error("not_regular", f"{resolved.display} is not a regular file.")
    try:
        is_text, lines = _examine(workspace.open_read(resolved), found.st_size)
    except OSError as exc:
        raise_os_error(exc, resolved.display, "read")
    return {
        "path": resolved.shown,
        "size": found.st_size,
        "line_count": lines,
        "is_text": is_text,
        "last_modified": _time(found),
    }


def _examine(fd: int, size: int) -> tuple[bool, int | None]:
    """Return whether a file is text, and its lines; closes the descriptor."""
    with open(fd, "rb") as file:
        head = file.read(8192)
        wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
        if b"\0" in head and not wide:
            return False, None
        if wide or size > _COUNT_LIMIT:
            return True, None
        lines = head.count(b"\n")
        last = head
        while piece := file.read(1 << 20):
            if b"\0" in piece:
                return False, None
            lines += piece.count(b"\n")
            last = piece
        return True, lines + (1 if last and not last.endswith(b"\n") else 0)
