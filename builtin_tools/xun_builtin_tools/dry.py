"""What a dry run tells of a write, a command or code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xun_builtin_tools.diffs import file_diff

if TYPE_CHECKING:
    from xun_builtin_tools.gate import PlannedWrite
    from xun_policies.commands import CommandVerdict


def of_writes(plan: Sequence[PlannedWrite], *, asks: bool) -> dict[str, Any]:
    """Return the changes of *plan* with their diffs."""
    return {"files": [_file(item) for item in plan], "would_ask": asks}


def _file(item: PlannedWrite) -> dict[str, Any]:
    diff = file_diff(item)
    told: dict[str, Any] = {
        "path": diff.path,
        "action": diff.action,
        "diff": diff.diff,
        "added": diff.added,
        "removed": diff.removed,
    }
    more = {"target": diff.target, "note": diff.note}
    return {**told, **{key: value for key, value in more.items() if value}}


def of_command(verdict: CommandVerdict, cwd: str, *, asks: bool) -> dict[str, Any]:
    """Return what the policy says of a command or of code."""
    return {"command": verdict.text, "cwd": cwd, "would_ask": asks, "verdict": verdict.to_json()}
