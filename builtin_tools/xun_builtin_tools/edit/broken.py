"""What a write broke: files that no longer parse, and what a language server that runs already says is new."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xun.errors import ToolError
from xun_builtin_tools.edit.changes import Change, Operation, read_state
from xun_policies.shell.environment import child_environment

if TYPE_CHECKING:
    from xun.tools.context import ToolCallContext
    from xun_builtin_tools.diagnostic.syntax import Fault, Source
    from xun_policies.workspace import ResolvedPath, Workspace

LIMITS = {"python": 1_000_000, "json": 2_000_000, "toml": 200_000, "yaml": 30_000}
"""The languages that are checked after a write, and the bytes up to which; the last two have slow parsers."""

SECONDS = 1.5
"""The time that the parsers may take for one write, all together; what is not checked by then is not."""

SERVER_SECONDS = 2.0
"""The time that a language server gets to say what is new."""

BROKEN = ("syntax_error", "new_errors")
"""The names in the result under which a write says what it broke: by a parser, by a language server."""

MAX_FILES = 20
"""Files of one write that are checked."""

MAX_SAID = 3
"""Faults of one kind that a result names; more are counted."""

_MESSAGE = 160
_PROJECT_FILE = 100_000
# Files named .json whose programs take comments and trailing commas.
_WITH_COMMENTS = re.compile(
    r"(?:^|/)(?:\.vscode/[^/]+|\.devcontainer/[^/]+|(?:ts|js)config[^/]*|\.?devcontainer|\.(?:eslint|jshint|jscs|babel)rc"
    r"|deno|turbo|wrangler|api-extractor[^/]*)\.json$",
    re.I,
)
# Nothing is tried twice: a text of nothing but commas and comments is read in one go.
_STRING = r'("(?:[^"\\\n]|\\.)*+"?+)'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?+", re.S)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*+[]}}])", re.S)


@dataclass(frozen=True, slots=True)
class Written:
    """One file that was written.

    Attributes:
        path: Where it is.
        old: Its bytes before; None when it is new.
        new: Its bytes now.
    """

    path: ResolvedPath
    old: bytes | None
    new: bytes


def written(operations: Iterable[Operation]) -> list[Written]:
    """Return the files that *operations* give a content that is at hand, together with the one that they had."""
    found = []
    for op in operations:
        if isinstance(op, Change) and op.after.kind == "file" and op.after.data is not None:
            if op.before.kind == "absent":
                found.append(Written(op.path, None, op.after.data))
            elif op.before.kind == "file" and op.before.data is not None:
                found.append(Written(op.path, op.before.data, op.after.data))
    return found


def what_broke(ctx: ToolCallContext[Any], files: Sequence[Written]) -> dict[str, str]:
    """Return what the result of a write says: ``syntax_error`` for files that do not parse any more or are new, and
    ``new_errors`` by a language server that runs already. Empty when nothing is known to be broken.

    It never fails, and ends with its time limits or when the run is cancelled.
    """
    if not ctx.agent.config.check_writes or not files:
        return {}
    check = _Check(ctx)
    faults: list[str] = []
    sound: list[Written] = []
    errors: list[str] = []
    # Nothing more is said once the time is over, the run is cancelled or a parser or the server can't be had.
    with contextlib.suppress(ToolError):
        for file in files[:MAX_FILES]:
            fault = check.fault(file)
            if fault is None:
                sound.append(file)
            else:
                faults.append(fault)
        errors = _by_server(ctx, sound, time.monotonic() + SERVER_SECONDS)
    return {key: _line(rows) for key, rows in zip(BROKEN, (faults, errors), strict=True) if rows}


def _line(rows: Sequence[str]) -> str:
    more = len(rows) - MAX_SAID
    return "; ".join(rows[:MAX_SAID]) + (f"; and {more} more" if more > 0 else "")


class _Check:
    def __init__(self, ctx: ToolCallContext[Any]) -> None:
        self._ctx = ctx
        self.until = time.monotonic() + SECONDS

    def fault(self, file: Written) -> str | None:
        """Return what is wrong with *file* and was not before, None when nothing is or it can't be known.

        Raises:
            ToolError: The time is over.
        """
        from xun_builtin_tools.diagnostic.syntax import language_of

        name = file.path.path.name
        language = language_of(name, file.new)
        if language not in LIMITS or len(file.new) > LIMITS[language] or not file.new.strip() or b"\0" in file.new:
            return None
        found = self._find(file.path, file.new, language)
        if found is None or (file.old is not None and self._find(file.path, file.old, language) is not None):
            return None
        by = ""
        if language == "python":
            if _wants_newer_python(self._ctx.agent.workspace):
                return None
            by = f" (Python {sys.version_info.major}.{sys.version_info.minor})"
        place = file.path.shown if found.line is None else f"{file.path.shown}:{found.line}"
        return f"{place}: {_short(found.message)}{by}"

    def _find(self, path: ResolvedPath, data: bytes, language: str) -> Fault | None:
        from xun_builtin_tools.diagnostic.syntax import Source, find_fault

        def check() -> None:
            if time.monotonic() > self.until or self._ctx.cancelled:
                raise ToolError("There is no time left to check what was written.")

        check()
        environment = child_environment(os.environ, {}, self._ctx.agent.config.command_env)
        source = Source(path.path.name, data, environment, lambda name: None, check)
        found = find_fault(source, language)
        if found is not None and language == "json" and _WITH_COMMENTS.search(path.path.as_posix()):
            found = find_fault(_without_comments(source), language)
        # That a parser gave up says nothing of the text.
        return None if found is None or "nested too deeply" in found.message else found


def _without_comments(source: Source) -> Source:
    import dataclasses

    def piece(found: re.Match[str]) -> str:
        # The lines stay, so that places stay right.
        return found[1] if found[1] is not None else "\n" * found[0].count("\n")

    text = _COMMENT.sub(piece, source.data.decode("utf-8", "replace"))
    return dataclasses.replace(source, data=_TRAILING_COMMA.sub(piece, text).encode())


def _short(message: str) -> str:
    message = " ".join(message.split())
    return message if len(message) <= _MESSAGE else f"{message[:_MESSAGE]}..."


def _wants_newer_python(workspace: Workspace) -> bool:
    """Tell whether the project says that it needs a newer Python than this one, whose parser would be wrong then."""
    for name, pattern in (
        (".python-version", rb"^\s*(?:cpython-)?3\.(\d+)"),
        ("pyproject.toml", rb"(?m)^\s*requires-python\s*=\s*[\"'][^\"'\n]*?(?:>=?|==|~=)\s*3\.(\d+)"),
    ):
        try:
            state = read_state(workspace, workspace.resolve(workspace.workdir / name), keep=_PROJECT_FILE)
        except (ToolError, ValueError):
            continue
        found = re.search(pattern, state.data or b"") if state.kind == "file" else None
        if found is not None and int(found[1][:4]) > sys.version_info.minor:
            return True
    return False


def _by_server(ctx: ToolCallContext[Any], files: Sequence[Written], until: float) -> list[str]:
    texts = {
        str(file.path.path): (None if file.old is None else _text(file.old), _text(file.new))
        for file in files
        if file.path.path.name.endswith((".py", ".pyi"))
    }
    if not texts:
        return []
    from xun_builtin_tools.diagnostic.after_write import new_errors

    shown = {str(file.path.path): file.path.shown for file in files}
    found = new_errors(ctx, texts, until)
    return [f"{shown[path]}:{item.line}: {_short(item.message)}" for path, item in found]


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")
