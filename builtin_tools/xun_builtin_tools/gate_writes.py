"""The part of the gate that decides about writes; tools ask through `xun_builtin_tools.gate`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from xun.agent.questions import new_request_id
from xun.agent.subagent import in_plan_mode
from xun.choice import DENY, GRANT, ONCE, ChoiceOutcome, ChoiceRequest, WriteGrant
from xun.errors import Denied
from xun.tools.dry import DryRun
from xun_builtin_tools import dry
from xun_builtin_tools.diffs import MAX_DIFF_BYTES, file_diff
from xun_builtin_tools.gate_asking import answers, log, record_grant, refuse, settle

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.tools.context import ToolCallContext
    from xun_policies.workspace import ResolvedPath

WriteAction = Literal["add", "update", "delete", "move", "copy", "mkdir"]
"""What happens to a file."""


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """One file that a tool is about to change.

    Attributes:
        action: What happens to it.
        path: Where.
        old: The bytes before; None when absent or not a regular file.
        new: The bytes after; None when it goes away, or for a folder.
        target: Where a move or copy ends.
        note: What a diff can't show.
        asks: False for a kind of write that asks no question by itself (a new file, a new folder);
            a protected path asks all the same.
    """

    action: WriteAction
    path: ResolvedPath
    old: bytes | None = None
    new: bytes | None = None
    target: ResolvedPath | None = None
    note: str = ""
    asks: bool = True

    @property
    def touched(self) -> tuple[ResolvedPath, ...]:
        """The paths that change: a copy leaves its source as it is."""
        if self.target is None:
            return (self.path,)
        return (self.target,) if self.action == "copy" else (self.path, self.target)

    @property
    def protected(self) -> bool:
        """Whether one of them is a path that no grant covers."""
        return any(path.protected for path in self.touched)

    @property
    def temporary(self) -> bool:
        """Whether all of them are in the agent's temporary folder."""
        return all(path.in_tempdir for path in self.touched)


def write(ctx: ToolCallContext[Any], plan: Sequence[PlannedWrite], *, editable: bool = False) -> bytes | None:
    """Return when *plan* may be carried out; asks once, and again for what the person made of it.

    With *editable* a person may change the content of the one file of the plan. What they made of it is shown
    as a diff again and can only be allowed this time. It is returned, and is what has to be written instead;
    None: the plan as it is.

    Raises:
        Denied: It may not; the text says who refused and how to allow it.
    """
    agent = ctx.agent
    lasting = [item for item in plan if not item.temporary]
    if lasting and in_plan_mode(agent):
        _log_all(ctx, lasting, "deny", "mode", "plan")
        raise Denied(
            "Denied by plan mode: files are not changed now. Describe the change instead; "
            "the person leaves plan mode with /mode ask.",
            source="mode",
        )
    asking = [item for item in lasting if item.protected or _asks(agent, item)]
    if ctx.dry_run:
        raise DryRun(dry.of_writes(plan, asks=bool(asking)))
    if not asking:
        _count_writes(agent, lasting)
        for item in plan:
            _log_all(ctx, [item], "allow", *_freed_by(agent, item))
        return None
    request = _write_request(ctx, plan, asking, proposed(plan[0]) if editable and len(plan) == 1 else None)
    outcome = settle(ctx, request, ordinary=not any(item.protected for item in asking))
    edited: bytes | None = None
    while (content := _edited_content(request, outcome)) is not None:
        edited = content
        request = _edited_request(ctx, plan[0], content)
        outcome = settle(ctx, request, ordinary=False)
    if outcome.choice == DENY:
        _log_all(ctx, plan, "deny", outcome.decided_by, _rule(asking))
        refuse(_what(asking), outcome)
    if outcome.choice == GRANT and outcome.source == "user" and request.write_scopes:
        _grant_writes(ctx, request.write_scopes[0] if outcome.grants is None else outcome.grants)
    done = plan if edited is None else [replace(plan[0], new=edited)]
    _log_all(ctx, done, "allow", outcome.decided_by, "edited" if edited is not None else _rule(asking))
    return edited


def _what(asking: Sequence[PlannedWrite]) -> str:
    kept = [path for item in asking for path in item.touched if path.protected]
    if not kept:
        return "write"
    return "write to an excluded path" if all(path.excluded for path in kept) else "write to a protected path"


def _rule(asking: Sequence[PlannedWrite]) -> str:
    return "protected" if any(item.protected for item in asking) else "write"


def _freed_by(agent: Agent[Any], item: PlannedWrite) -> tuple[str, str]:
    """Return who let *item* be written without a question, and by which rule."""
    if item.temporary:
        return "rule", "temporary"
    if not item.asks:
        return "rule", "new"
    return ("mode", "auto-edit") if agent.policy.mode == "auto-edit" else ("allowlist", "granted")


def _log_all(ctx: ToolCallContext[Any], plan: Sequence[PlannedWrite], decision: str, source: str, rule: str) -> None:
    """Note each file of *plan* by itself, with a hash of what it is to hold."""
    for item in plan:
        digest = "" if item.new is None else hashlib.sha256(item.new).hexdigest()
        source_path = f"{item.path.path} -> " if item.target is not None else ""
        subject = f"{source_path}{item.touched[-1].path}"
        log(ctx, subject, decision, source, f"{rule} {item.action}", digest=digest)


def proposed(item: PlannedWrite) -> str | None:
    """Return the text that *item* would write, where a person can edit it as text."""
    if item.action not in ("add", "update") or item.new is None or len(item.new) > MAX_DIFF_BYTES or b"\0" in item.new:
        return None
    try:
        return item.new.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _edited_content(request: ChoiceRequest, outcome: ChoiceOutcome[Any]) -> bytes | None:
    """Return what the person made of the content, when they changed it and did not refuse."""
    if outcome.choice == DENY or outcome.source != "user" or outcome.edited is None:
        return None
    before = request.files[0].proposed
    return None if before is None or outcome.edited == before else outcome.edited.encode("utf-8", "surrogateescape")


def _edited_request(ctx: ToolCallContext[Any], item: PlannedWrite, content: bytes) -> ChoiceRequest:
    """Ask about what the person made of the content; no grant covers more than they have seen."""
    changed_item = replace(item, new=content)
    request = _write_request(ctx, [changed_item], [changed_item], proposed(changed_item))
    note = "You edited this: it can only be allowed this time."
    if content == (item.old or b""):
        note = "You edited this: the file stays as it is."
    options = answers(False, "an edited write can only be allowed this time")
    return replace(request, options=options, write_scopes=(), message=note)


def _asks(agent: Agent[Any], item: PlannedWrite) -> bool:
    if not item.asks or agent.policy.mode == "auto-edit":
        return False
    return any(agent.policy.write_allowlist.covers(str(path.path)) is None for path in item.touched)


def _count_writes(agent: Agent[Any], plan: Sequence[PlannedWrite]) -> None:
    """Count the grants without which a question would have been asked."""
    if agent.policy.mode == "auto-edit":
        return
    allowed = agent.policy.write_allowlist
    used = (allowed.covers(str(path.path)) for item in plan if item.asks for path in item.touched)
    for entry in {entry.path: entry for entry in used if entry is not None}.values():
        allowed.note_use(entry)


def _write_request(
    ctx: ToolCallContext[Any], plan: Sequence[PlannedWrite], asking: Sequence[PlannedWrite], text: str | None
) -> ChoiceRequest:
    protected = [path for item in asking for path in item.touched if path.protected]
    scopes: tuple[tuple[WriteGrant, ...], ...] = () if protected else _scopes(ctx.agent, asking)
    note = f"{protected[0].display} {protected[0].why_protected} and is never granted" if protected else ""
    first = asking[0].touched[-1].display
    more = f" and {len(asking) - 1} more" if len(asking) > 1 else ""
    return ChoiceRequest(
        id=new_request_id(),
        kind="write",
        prompt=f"{_VERBS[asking[0].action]} {first}{more}?",
        options=answers(bool(scopes), note),
        default=ONCE,
        agent=ctx.agent.name,
        tool=ctx.tool_name,
        call_id=ctx.call_id,
        cwd=str(ctx.agent.workspace.workdir),
        files=tuple(replace(file_diff(item), proposed=text) for item in plan),
        write_scopes=scopes,
        message=note,
    )


_VERBS = {
    "add": "Write file",
    "update": "Write file",
    "delete": "Delete",
    "move": "Move to",
    "copy": "Copy to",
    "mkdir": "Make folder",
}


def _scopes(agent: Agent[Any], asking: Sequence[PlannedWrite]) -> tuple[tuple[WriteGrant, ...], ...]:
    """Return what can be granted, narrowest first: the paths, their folder, the workspace."""
    paths = sorted({str(path.path) for item in asking for path in item.touched})
    rows = [tuple(WriteGrant(path, os.path.isdir(path)) for path in paths)]
    parent = os.path.commonpath([os.path.dirname(path) for path in paths])
    root = str(agent.workspace.workdir)
    inside = [folder for folder in (parent, root) if Path(folder).is_relative_to(root)]
    for folder in dict.fromkeys(inside):
        rows.append((WriteGrant(folder, True),))
    return tuple(rows)


def _grant_writes(ctx: ToolCallContext[Any], grants: Sequence[WriteGrant]) -> None:
    policy = ctx.agent.policy
    policy.snapshot()
    for grant in grants:
        policy.write_allowlist.add(grant.path, grant.directory, source="dialog")
        record_grant(ctx, "writes", grant.path + ("/" if grant.directory else ""))
