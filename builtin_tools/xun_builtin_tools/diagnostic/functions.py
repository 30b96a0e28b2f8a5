"""check_syntax and check_lint."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal

from xun.errors import ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun_builtin_tools.diagnostic.syntax import CHECKS, Fault, Source, find_fault, language_of
from xun_builtin_tools.edit.changes import read_state
from xun_builtin_tools.edit.messages import edit_error
from xun_builtin_tools.edit.writing import missing
from xun_builtin_tools.programs import find_checker, run
from xun_policies.shell.environment import child_environment

if TYPE_CHECKING:
    from xun_policies.workspace import ResolvedPath

SIZE_LIMIT = 10_000_000
"""Bytes of a file that is checked."""

MAX_FINDINGS = 200
"""Findings that one call gives back."""

RULES = "E4,E7,E9,F"
"""The rules that are checked whatever the version of ruff: mistakes, no matters of style."""


@tool_attr(
    read_only=True, deferred=True, search_hint="parse compile valid well-formed error python json yaml toml bash"
)
def check_syntax(
    ctx: ToolCallContext[Any], path: str, language: Literal["python", "json", "yaml", "toml", "bash"] | None = None
) -> dict[str, Any]:
    """Check whether a file is well-formed, without running or changing it.

    language is needed only where the name of the file does not say it.

    Returns valid, language and error_msg (empty when valid), with line and column where they are known."""
    resolved, source = _source(ctx, path)
    found = language or language_of(resolved.path.name, source.data)
    if found is None:
        raise ToolError(f"The name of {resolved.display} says no language; give one of {', '.join(CHECKS)}.")
    fault = find_fault(source, found)
    if fault is None:
        return {"valid": True, "language": found, "error_msg": ""}
    value = {"valid": False, "language": found, "error_msg": fault.message}
    return {**value, **_place(fault)}


def _place(fault: Fault) -> dict[str, int]:
    return {key: at for key, at in (("line", fault.line), ("column", fault.column)) if at is not None}


@tool_attr(read_only=True, deferred=True, search_hint="ruff linter style unused import warnings quality python")
def check_lint(ctx: ToolCallContext[Any], path: str, language: Literal["python"] = "python") -> dict[str, Any]:
    """Check a Python file with ruff for mistakes (not for style), without changing it.

    Returns valid, error_msg (a summary, empty when valid) and findings with line, column, code and message."""
    resolved, source = _source(ctx, path)
    ruff = source.find("ruff")
    if ruff is None:
        raise ToolError(
            "There is no ruff on PATH outside the workspace; a person can install it with pip install ruff."
        )
    arguments = [ruff, "check", "--isolated", "--no-cache", "--quiet", f"--select={RULES}", "--output-format", "json"]
    # The text comes from standard input: the name only says what kind of file it is.
    name = resolved.path.name if resolved.path.suffix in (".py", ".pyi") else "file.py"
    ended = run([*arguments, "--stdin-filename", name, "-"], source.data, source.environment, ctx.check_cancel)
    try:
        rows = json.loads(ended.output or "[]")
    except ValueError:
        rows = None
    if ended.status not in (0, 1) or not isinstance(rows, list):
        raise ToolError(f"ruff could not check {resolved.display}: {ended.errors.strip()[:500] or ended.status}.")
    findings = [_finding(row) for row in rows]
    if not findings:
        return {"valid": True, "error_msg": "", "findings": []}
    first = findings[0]
    summary = f"{len(findings)} findings; the first: line {first['line']}: {first['message']}"
    return {"valid": False, "error_msg": summary, "findings": findings[:MAX_FINDINGS]}


def _finding(row: dict[str, Any]) -> dict[str, Any]:
    place = row.get("location") or {}
    return {
        "line": place.get("row"),
        "column": place.get("column"),
        "code": row.get("code") or "syntax",
        "message": str(row.get("message", ""))[:500],
    }


def _source(ctx: ToolCallContext[Any], path: str) -> tuple[ResolvedPath, Source]:
    """Return the file and its text.

    Raises:
        EditError: kinds ``missing``, ``is_dir``, ``not_regular``, ``io``.
        PathOutsideWorkspace: It leads out of the workspace.
    """
    workspace = ctx.agent.workspace
    resolved = workspace.resolve(path)
    found = workspace.stat(resolved)
    if found is not None and found.st_size > SIZE_LIMIT:
        raise edit_error("io", f"{resolved.display} has {found.st_size:,} bytes; {SIZE_LIMIT:,} is the limit.")
    state = read_state(workspace, resolved, keep=SIZE_LIMIT)
    if state.kind == "absent":
        raise missing(workspace, resolved, path)
    if state.kind != "file" or state.data is None:
        raise edit_error("is_dir" if state.kind == "dir" else "io", f"{resolved.display} is no file that can be read.")
    environment = child_environment(os.environ, {}, ctx.agent.config.command_env)

    return resolved, Source(
        resolved.path.name, state.data, environment, lambda name: find_checker(name, workspace.roots), ctx.check_cancel
    )
