"""What a language server that runs already finds in files that were just written; none is started for it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from xun.errors import ToolError
from xun_builtin_tools.diagnostic.server import Finding, LanguageServer, worst_first
from xun_builtin_tools.diagnostic.session import LanguageSession

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.tools.context import ToolCallContext

_FOR_LOCK = 0.1


def new_errors(
    ctx: ToolCallContext[Any], texts: Mapping[str, tuple[str | None, str]], until: float
) -> list[tuple[str, Finding]]:
    """Return the errors in files that they did not have before, with their paths; none when no server runs.

    Args:
        ctx: The call that wrote.
        texts: By path the text before, None for a new file, and the text now.
        until: When to stop, by ``time.monotonic``.

    Raises:
        ToolError: The server ended, or the run was cancelled.
    """
    session = _session(ctx.agent)
    if session is None or not session.lock.acquire(timeout=_FOR_LOCK):
        return []
    try:
        server = session.running
        if server is None or not server.alive:
            return []
        old = {path: before for path, (before, _) in texts.items() if before is not None}
        before = _errors(ctx, server, old, until)
        after = _errors(ctx, server, {path: now for path, (_, now) in texts.items()}, until)
    finally:
        session.lock.release()
    found = []
    for path, rows in after.items():
        if rows is None or (path in old and before.get(path) is None):
            continue
        known = Counter(map(_gist, before.get(path) or ()))
        for item in worst_first(rows):
            # Without the place, which moves with the text; counted, since the same may now be wrong twice.
            known[_gist(item)] -= 1
            if known[_gist(item)] < 0:
                found.append((path, item))
    return found


def _session(agent: Agent[Any]) -> LanguageSession | None:
    """Return the session of *agent*, else that of an agent above it in the same folders."""
    at: Agent[Any] | None = agent
    while at is not None and at.workspace.roots == agent.workspace.roots:
        found = at.state.get(LanguageSession.key)
        if isinstance(found, LanguageSession):
            return found
        at = at.parent
    return None


def _errors(
    ctx: ToolCallContext[Any], server: LanguageServer, texts: Mapping[str, str], until: float
) -> dict[str, list[Finding] | None]:
    def check() -> None:
        if ctx.cancelled:
            raise ToolError("The run was cancelled.")

    said = server.findings(texts, max(0.0, until - time.monotonic()), check) if texts else {}
    return {
        path: None if rows is None else [row for row in rows if row.severity == "error"] for path, rows in said.items()
    }


def _gist(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.message
