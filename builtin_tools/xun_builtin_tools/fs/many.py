"""read_many_files."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xun.errors import SearchError, ToolError
from xun.tools.context import ToolCallContext
from xun_builtin_tools.fs.reading import cut_line, read_document
from xun_policies.errors import PolicyError
from xun_policies.paths.held import HeldFolder
from xun_policies.paths.names import shown_name
from xun_policies.paths.real import check_text
from xun_policies.workspace import ResolvedPath, Workspace

MAX_FILES = 100
"""Files that one call reads."""

MAX_CHARS = 400_000
"""Characters that one call gives back."""

_MAX_WALKED = 200_000
_SKIPPED = {".git", "node_modules", "__pycache__"}
_MAGIC = re.compile(r"[*?\[{]")


def read_many_files(
    ctx: ToolCallContext[Any], include: list[str], exclude: list[str] | None = None, recursive: bool = True
) -> list[dict[str, Any]]:
    """Read several text files in one call.

    include is a list of paths and of patterns as in glob, relative to the working folder; a pattern without a slash
    counts at every depth, and a folder stands for the files in it. exclude is a list of patterns that are left out.
    recursive=false keeps folders and patterns to one level. Returns a list of objects with path and content, or path
    and error. At most 100 files and 400,000 characters are read; what was left out is named at the end.
    """
    workspace = ctx.agent.workspace
    results: list[dict[str, Any]] = []
    used = 0
    left = 0
    unmet: list[str] = []
    for path in dict.fromkeys(_chosen(workspace, include, exclude or [], recursive, unmet)):
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
    results += [{"path": shown_name(item), "error": "No file matches this pattern."} for item in unmet]
    if left:
        results.append({"path": "", "error": f"{left} more files were left out; name fewer, or read them apart."})
    return results


def _chosen(
    workspace: Workspace, include: Sequence[str], exclude: Sequence[str], recursive: bool, unmet: list[str]
) -> Iterator[str]:
    """Yield the paths that are asked for; *unmet* gets the patterns that no file matches."""
    root = str(workspace.workdir)
    unwanted = [_Pattern(os.path.relpath(item, root) if os.path.isabs(item) else item) for item in exclude]
    for item in include:
        if "\0" in item:
            check_text(item)
        pattern = bool(_MAGIC.search(item)) and not _is_file(workspace, item)
        found = _matching(workspace, item, recursive) if pattern else _plain(workspace, item, recursive)
        any_found = False
        for path in found:
            any_found = True
            if not any(skip.leaves_out(path) for skip in unwanted):
                yield path
        if pattern and not any_found:
            unmet.append(item)


def _is_file(workspace: Workspace, item: str) -> bool:
    resolved = workspace.resolve(item, raise_on_invalid=False)
    found = workspace.stat(resolved) if resolved.valid else None
    return found is not None and stat.S_ISREG(found.st_mode)


def _matching(workspace: Workspace, item: str, recursive: bool) -> Iterator[str]:
    """Yield the files that match a pattern, which is looked for in the folder that its plain part names."""
    parts = item.split("/")
    plain = next(index for index, part in enumerate(parts) if _MAGIC.search(part))
    rest = _Pattern("/".join(parts[plain:]), anchored="/" in item.removeprefix("./"))
    folder = "/".join(parts[:plain]) or ("/" if item.startswith("/") else ".")
    resolved = workspace.resolve(folder, raise_on_invalid=False)
    if not resolved.valid:
        yield item  # it is reported where it is read
        return
    yield from _below(workspace, resolved, rest.takes, rest.deep or (recursive and not rest.anchored))


def _plain(workspace: Workspace, item: str, recursive: bool) -> Iterator[str]:
    resolved = workspace.resolve(item, raise_on_invalid=False)
    found = workspace.stat(resolved) if resolved.valid else None
    if found is None or not stat.S_ISDIR(found.st_mode):
        # Missing and outside ones are reported where they are read.
        yield item
        return
    yield from _below(workspace, resolved, lambda path: True, recursive)


def _below(workspace: Workspace, folder: ResolvedPath, wanted: Callable[[str], bool], recursive: bool) -> Iterator[str]:
    """Yield the wanted files below a folder, relative to the working folder where that is possible."""
    prefix = os.path.relpath(folder.path, workspace.workdir)
    for path in filter(wanted, _walk(workspace, str(folder.path), recursive)):
        yield (
            os.path.join(str(folder.path), path) if prefix.startswith("..") else os.path.normpath(f"{prefix}/{path}")
        )


def _walk(workspace: Workspace, root: str, recursive: bool) -> Iterator[str]:
    """Yield the regular files below *root*, sorted, relative to it; links are not followed."""
    walked = 0
    folders = [""]
    ignoring = bool(workspace.ignore) and not workspace.ignores(root, is_folder=True)
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
            if ignoring and workspace.ignores(os.path.join(root, path), is_folder=is_dir):
                continue
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


class _Pattern:
    """A pattern for paths; one without a slash is held against the last name, unless it is *anchored*.

    Raises:
        SearchError: It is broken.
    """

    def __init__(self, source: str, *, anchored: bool = False) -> None:
        from xun_builtin_tools.search.wildcards import PatternSyntaxError, expand_braces, glob_tokens, to_regex

        text = source.removeprefix("./")
        folder = text.endswith("/")
        text = text.rstrip("/")
        self.anchored = anchored or "/" in text
        self.deep = folder or "/" in text or "**" in text
        try:
            regexes = [to_regex(glob_tokens(part)) for part in expand_braces(text)]
            self._regex = re.compile("|".join(f"(?:{regex})" for regex in regexes), re.DOTALL)
        except (PatternSyntaxError, re.error) as exc:
            raise SearchError(f"The pattern {source!r} is broken: {exc}.", kind="bad_pattern") from None
        self._folder = folder

    def takes(self, path: str) -> bool:
        """Return whether a file matches; a pattern that ends with a slash stands for the files in what it matches."""
        if self._folder:
            return any(self._holds(path[:at]) for at, char in enumerate(path) if char == "/")
        return self._holds(path)

    def leaves_out(self, path: str) -> bool:
        """Return whether a file, or a folder that it is in, matches."""
        return self._holds(path) or any(self._holds(path[:at]) for at, char in enumerate(path) if char == "/")

    def _holds(self, path: str) -> bool:
        return self._regex.fullmatch(path if self.anchored else path.rpartition("/")[2]) is not None
