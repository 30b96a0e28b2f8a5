"""read_many_files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from xun.errors import ToolError
from xun.tools.context import ToolCallContext
from xun_builtin_tools.fs.reading import cut_line, read_document
from xun_policies.errors import PolicyError
from xun_policies.paths.held import HeldFolder
from xun_policies.paths.names import shown_name
from xun_policies.paths.real import check_text
from xun_policies.workspace import Workspace

MAX_FILES = 100
"""Files that one call reads."""

MAX_CHARS = 400_000
"""Characters that one call gives back."""

_MAX_WALKED = 200_000
_SKIPPED = {".git", "node_modules", "__pycache__"}
_MAGIC = re.compile(r"[*?\[]")


def read_many_files(
    ctx: ToolCallContext[Any], include: list[str], exclude: list[str] | None = None, recursive: bool = True
) -> list[dict[str, Any]]:
    """Read several text files in one call.

    include is a list of paths and patterns, relative to the working folder; in a pattern * and ? stand for characters
    of one name, ** for folders, and a folder stands for the files in it. exclude is a list of patterns that are left
    out. recursive=false keeps folders and patterns to one level. Comes back with a list of objects with path and
    content, or path and error for a file that can't be read. At most 100 files and 400,000 characters are read; what
    was left out is named at the end.
    """
    workspace = ctx.agent.workspace
    results: list[dict[str, Any]] = []
    used = 0
    left = 0
    for path in dict.fromkeys(_chosen(workspace, include, exclude or [], recursive)):
        ctx.check_cancel()
        if len(results) >= MAX_FILES or used >= MAX_CHARS:
            left += 1
            continue
        try:
            resolved, doc = read_document(ctx, path)
        except (ToolError, PolicyError) as exc:
            results.append({"path": shown_name(path), "error": str(exc)})
            continue
        content = "\n".join(map(cut_line, doc.source.split("\n")))
        if used + len(content) > MAX_CHARS:
            content = content[: MAX_CHARS - used] + "\n... (file cut: read it with read_file)"
        used += len(content)
        results.append({"path": resolved.shown, "content": content})
    if left:
        results.append({"path": "", "error": f"{left} more files were left out; name fewer, or read them apart."})
    return results


def _chosen(workspace: Workspace, include: Sequence[str], exclude: Sequence[str], recursive: bool) -> Iterator[str]:
    root = str(workspace.workdir)
    unwanted = [_pattern(item) for item in exclude]
    for item in include:
        if "\0" in item:
            check_text(item)
        if _MAGIC.search(item):
            wanted = _pattern(os.path.relpath(item, root) if os.path.isabs(item) else item)
            walked = _walk(workspace, root, recursive or "**" in item or "/" in item)
            found = [path for path in walked if wanted(path)]
        else:
            found = list(_plain(workspace, item, recursive))
        yield from (path for path in found if not any(skip(path) for skip in unwanted))


def _plain(workspace: Workspace, item: str, recursive: bool) -> Iterator[str]:
    resolved = workspace.resolve(item, raise_on_invalid=False)
    found = workspace.stat(resolved) if resolved.valid else None
    if found is None or found.st_mode & 0o170000 != 0o040000:
        # Missing and outside ones are reported where they are read.
        yield item
        return
    prefix = os.path.relpath(resolved.path, workspace.workdir)
    for path in _walk(workspace, str(resolved.path), recursive):
        yield (
            os.path.join(str(resolved.path), path) if prefix.startswith("..") else os.path.normpath(f"{prefix}/{path}")
        )


def _walk(workspace: Workspace, root: str, recursive: bool) -> Iterator[str]:
    """Yield the regular files below *root*, sorted, relative to it; links are not followed."""
    walked = 0
    folders = [""]
    while folders and walked < _MAX_WALKED:
        folder = folders.pop()
        try:
            with workspace.hold(workspace.resolve(os.path.join(root, folder))) as held:
                names = _entries(held)
        except (OSError, PolicyError):
            continue
        below = []
        for name, is_dir in names:
            walked += 1
            path = f"{folder}/{name}" if folder else name
            if not is_dir:
                yield path
            elif recursive and name not in _SKIPPED:
                below.append(path)
        folders += reversed(below)


def _entries(held: HeldFolder) -> list[tuple[str, bool]]:
    found = []
    for item in held.scan():
        if item.is_dir(follow_symlinks=False):
            found.append((item.name, True))
        elif item.is_file(follow_symlinks=False):
            found.append((item.name, False))
    return sorted(found)


def _pattern(pattern: str) -> Any:
    """Return a test of a relative path; a pattern without a slash is tested against the last name."""
    pattern = pattern.removeprefix("./")
    pieces: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            pieces.append("(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            pieces.append(".*")
            at += 2
        elif pattern[at] == "*":
            pieces.append("[^/]*")
            at += 1
        elif pattern[at] == "?":
            pieces.append("[^/]")
            at += 1
        elif pattern[at] == "[" and "]" in pattern[at + 2 :]:
            end = pattern.index("]", at + 2)
            body = pattern[at + 1 : end].replace("\\", "\\\\")
            pieces.append(f"[{'^' + body[1:] if body[0] in '!^' else body}]")
            at = end + 1
        else:
            pieces.append(re.escape(pattern[at]))
            at += 1
    regex = re.compile("".join(pieces) + r"\Z", re.DOTALL)
    if "/" in pattern:
        return lambda path: regex.match(path) is not None
    return lambda path: regex.match(path.rpartition("/")[2]) is not None
