"""The tools `glob` and `grep`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from xun.errors import SearchError
from xun.tools.context import ToolCallContext

if TYPE_CHECKING:
    from xun_builtin_tools.search.engine import Engine, SearchOptions
    from xun_builtin_tools.search.memory import Memory
    from xun_builtin_tools.search.request import Scope

_MAX_SKIPPED = 50


class SearchTools:
    """The two tools, with how they search; see `SearchOptions`."""

    def __init__(self, options: SearchOptions | None = None) -> None:
        self._options = options
        self._memory: Memory | None = None

    def glob(
        self,
        pattern: str,
        ctx: ToolCallContext[Any],
        path: str = ".",
        hidden: bool = True,
        gitignore: bool = True,
        case_sensitive: bool = True,
        sort: Literal["path", "mtime"] = "path",
        limit: int = 1000,
    ) -> dict[str, Any]:
        """Find files by a pattern for their paths.

        * and ? stay within a name, ** spans folders, {a,b} gives alternatives, [a-z] and [!a-z] are sets, \\ quotes.
        '*.py' finds files directly in path, '**/*.py' at every depth. hidden=false leaves out names that begin with a
        dot; gitignore=false also finds what git ignores; .git is never searched, links are not followed. sort mtime
        puts the newest first. Returns paths relative to path, at most limit, and the total."""
        from xun_builtin_tools.search.request import GlobRequest, path_pattern

        _positive(limit, "limit")
        scope = _scope(ctx, path, hidden, gitignore)
        if scope.file is not None:
            raise SearchError(f"{path} is a file; glob searches a folder.", kind="missing")
        request = GlobRequest(scope, path_pattern(pattern, scope, case_sensitive))
        found, skipped, outcome = self._engine(ctx).glob(request)
        value = {
            "paths": _shown_paths(scope, found, sort, limit),
            "total": len(found),
            "truncated": len(found) > limit or bool(outcome.stopped),
        }
        return _with_notes(value, skipped, outcome.stopped, outcome.hint or _folder_hint(scope, pattern, found))

    def grep(  # noqa: PLR0913 - the parameters are the tool
        self,
        pattern: str,
        ctx: ToolCallContext[Any],
        path: str = ".",
        glob: str | None = None,
        hidden: bool = True,
        gitignore: bool = True,
        literal: bool = False,
        ignore_case: bool = False,
        word: bool = False,
        multiline: bool = False,
        dotall: bool = False,
        before: int = 0,
        after: int = 0,
        context: int = 0,
        output: Literal["matches", "files", "counts"] = "matches",
        encoding: str | None = None,
        limit: int = 500,
    ) -> dict[str, Any]:
        """Search the content of files for a regular expression, line by line.

        pattern is in the syntax of ripgrep, without look-around and back-references; literal takes it as plain text.
        multiline lets a match run over lines, and dotall the dot match line breaks. path is a folder or a file. glob
        selects files, such as '*.{ts,tsx}', 'src/**' or '!*.min.js'; without a slash at every depth. hidden=false
        leaves out names that begin with a dot; gitignore=false also searches what git ignores; .git and binary files
        never are. encoding is only for files that are not UTF-8 and have no byte order mark. Returns matches (long
        lines cut around them), or with output the files or the counts, at most limit of them; paths are relative to
        path."""
        from xun_builtin_tools.search.request import GrepRequest, Wording, encoding_of, file_filter

        _positive(limit, "limit")
        for name, number in (("before", before), ("after", after), ("context", context)):
            _positive(number + 1, name)
        scope = _scope(ctx, path, hidden, gitignore)
        parsed, matcher = Wording(pattern, literal, ignore_case, word, multiline, dotall).read()
        request = GrepRequest(
            scope=scope,
            parsed=parsed,
            matcher=matcher,
            filter=file_filter(glob) if glob is not None else None,
            ignore_case=ignore_case,
            literal=literal,
            word=word,
            dotall=dotall,
            before=before or context,
            after=after or context,
            output=output,
            codec=encoding_of(encoding),
        )
        hits, outcome = self._engine(ctx).grep(request)
        value = _grep_value(hits, output, limit, request.after)
        value["truncated"] = value["truncated"] or bool(outcome.stopped)
        return _with_notes(value, hits.skipped, outcome.stopped, outcome.hint, always=True)

    def _engine(self, ctx: ToolCallContext[Any]) -> Engine:
        from xun_builtin_tools.search.engine import Engine, SearchOptions
        from xun_builtin_tools.search.memory import Memory

        if self._memory is None:
            self._memory = Memory()
        return Engine(self._options or SearchOptions(), ctx.check_cancel, self._memory)


def _positive(number: int, name: str) -> None:
    if number < 1:
        least = 1 if name == "limit" else 0
        raise SearchError(f"{name} must be at least {least}.", kind="bad_pattern")


def _scope(ctx: ToolCallContext[Any], path: str, hidden: bool, gitignore: bool) -> Scope:
    from xun_builtin_tools.search.request import Scope
    from xun_policies.paths.private import private_paths

    workspace = ctx.agent.workspace
    place = workspace.resolve(path).path
    if place.is_dir():
        folder, file = place, None
    elif place.is_file():
        folder, file = place.parent, place.name
    elif place.exists():
        raise SearchError(f"{path} is neither a file nor a folder.", kind="missing")
    else:
        raise SearchError(f"{path} does not exist.", kind="missing")
    around = [type(place)(root) for root in workspace.roots if place.is_relative_to(root)]
    base = str(folder).rstrip("/") + "/"
    # What was itself asked for by name is searched whole.
    ignoring = file is None and bool(workspace.ignore) and not workspace.ignores(str(folder), is_folder=True)

    def ignores(path: str, is_folder: bool) -> bool:
        return ignoring and workspace.ignores(base + path, is_folder=is_folder)

    return Scope(
        folder=folder,
        file=file,
        hidden=hidden,
        gitignore=gitignore,
        boundary=max(around, key=lambda root: len(root.parts), default=folder),
        inside=lambda real: workspace.resolve(real, raise_on_invalid=False).valid,
        private=private_paths(os.environ),
        ignore=(*workspace.roots, *workspace.ignore.texts) if ignoring else (),
        ignores=ignores,
    )


def _shown_paths(scope: Scope, found: list[str], sort: str, limit: int) -> list[str]:
    from xun_builtin_tools.search.hits import in_order
    from xun_policies.paths.names import shown_name

    found = in_order(found, limit if sort == "path" else None)
    if sort == "mtime":
        base = str(scope.folder)
        found.sort(key=lambda path: -_mtime(os.path.join(base, path)))
    return [shown_name(path) for path in found[:limit]]


def _mtime(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


def _grep_value(hits: Any, output: str, limit: int, after: int) -> dict[str, Any]:
    from xun_builtin_tools.search.hits import in_order, match_rows
    from xun_policies.paths.names import shown_name

    if output == "matches":
        rows, cut = match_rows(hits, limit, after)
        return {"matches": rows, "total": hits.total, "truncated": cut}
    paths = in_order(list(hits.counts))
    kept = paths[:limit]
    value: dict[str, Any] = (
        {"files": [shown_name(path) for path in kept], "total": len(paths)}
        if output == "files"
        else {"counts": {shown_name(path): hits.counts[path] for path in kept}, "total": hits.total}
    )
    return {**value, "truncated": len(paths) > limit}


def _with_notes(
    value: dict[str, Any], skipped: list[str], stopped: str, hint: str, *, always: bool = False
) -> dict[str, Any]:
    """Add what was skipped and what else the caller should know."""
    names = sorted(set(skipped))
    if names or always:
        more = [f"and {len(names) - _MAX_SKIPPED} more"] if len(names) > _MAX_SKIPPED else []
        value["skipped"] = names[:_MAX_SKIPPED] + more
    note = " ".join(part for part in (stopped, hint) if part)
    if note:
        value["note"] = note
    return value


def _folder_hint(scope: Scope, pattern: str, found: list[str]) -> str:
    """Say how to list a folder when the pattern is just its name."""
    try:
        if not found and "\0" not in pattern and (scope.folder / pattern).is_dir():
            return f"{pattern} is a folder; {pattern.rstrip('/')}/** finds what is in it."
    except OSError:
        return ""
    return ""
