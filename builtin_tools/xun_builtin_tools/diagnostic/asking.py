"""The tool diagnostics: what a language server says of the files that were edited."""

from __future__ import annotations

from typing import Any

from xun.errors import ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun_builtin_tools.diagnostic.server import Finding, worst_first
from xun_builtin_tools.diagnostic.session import LanguageSession, texts_of
from xun_policies.paths.names import shown_name

MAX_FINDINGS = 50
"""Findings that one call gives back."""

MAX_SECONDS = 120.0
_MESSAGE = 300


@tool_attr(
    sequential=True,
    deferred=True,
    search_hint="language server lsp pyright pylsp type errors check problems after edit undefined import",
)
def diagnostics(ctx: ToolCallContext[Any], paths: list[str] | None = None, timeout: float = 20) -> dict[str, Any]:
    """Return the errors and warnings that a Python language server finds in files.

    paths are the files; without it those that were written since the last call. It needs basedpyright, pyright or
    pylsp installed outside the workspace; its start is asked for as that of a command, once for a session. timeout is
    in seconds.

    Returns server, files (with the number of findings of each, null when the server did not finish) and findings, the
    errors first, with new=true where a file did not have them at the call before."""
    if not 0 < timeout <= MAX_SECONDS:
        raise ToolError(f"timeout must be above 0 and at most {MAX_SECONDS:g} seconds, got {timeout:g}.")
    session = LanguageSession.of(ctx.agent)
    with session.lock:
        wanted = session.edited() if paths is None else list(dict.fromkeys(paths))
        texts, skipped = texts_of(ctx, wanted)
        if not texts:
            why = f" {'; '.join(skipped)}." if skipped else ""
            raise ToolError(f"There is no Python file to look at.{why} Name files in paths.")
        server = session.server(ctx)
        session.tell_of_disk(ctx, server)
        said = server.findings(texts, timeout, ctx.check_cancel)
        value = _value(server.name, said, session.before, skipped)
        session.before.update({path: frozenset(map(_gist, rows)) for path, rows in said.items() if rows is not None})
        session.seen = session.latest()
    return value


def _gist(finding: Finding) -> tuple[str, str, str]:
    # Without the place: what stood in the file before may stand elsewhere now.
    return finding.severity, finding.code, finding.message


def _value(
    name: str,
    said: dict[str, tuple[Finding, ...] | None],
    before: dict[str, frozenset[tuple[str, str, str]]],
    skipped: list[str],
) -> dict[str, Any]:
    rows = [
        (item, path) for path, found in said.items() for item in found or () if item.severity in ("error", "warning")
    ]
    order = {id(item): at for at, item in enumerate(worst_first([item for item, _ in rows]))}
    rows.sort(key=lambda row: order[id(row[0])])
    value: dict[str, Any] = {
        "server": name,
        "files": {shown_name(path): None if found is None else len(found) for path, found in said.items()},
        "findings": [_shown(item, path, before.get(path)) for item, path in rows[:MAX_FINDINGS]],
    }
    notes = list(skipped)
    if len(rows) > MAX_FINDINGS:
        notes.append(f"{len(rows) - MAX_FINDINGS} more findings are left out")
    if any(found is None for found in said.values()):
        notes.append("the server did not finish in time: call again, with a longer timeout")
    if notes:
        value["note"] = f"{'; '.join(notes)}."
    return value


def _shown(item: Finding, path: str, before: frozenset[tuple[str, str, str]] | None) -> dict[str, Any]:
    message = item.message if len(item.message) <= _MESSAGE else f"{item.message[:_MESSAGE]}..."
    row: dict[str, Any] = {
        "path": shown_name(path),
        "line": item.line,
        "column": item.column,
        "severity": item.severity,
        "message": message,
    }
    if item.code:
        row["code"] = item.code[:80]
    if before is not None and _gist(item) not in before:
        row["new"] = True
    return row
