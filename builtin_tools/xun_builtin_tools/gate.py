"""The only place that asks: what a tool wants, the policy's decision, a person's answer, a grant.

It returns what may run, and that very object is what runs: the command text that was parsed, shown
and approved; the paths that were resolved.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from xun.agent.questions import NobodyToAsk, new_request_id
from xun.agent.subagent import in_plan_mode
from xun.choice import DENY, GRANT, ONCE, ChoiceOutcome, ChoiceRequest, Option, Risk, WriteGrant, subject_of
from xun.errors import Denied
from xun.events import ApprovalResolved, PolicyChanged, RiskAssessed
from xun.tools.dry import DryRun
from xun_builtin_tools import dry
from xun_builtin_tools.diffs import file_diff
from xun_builtin_tools.risk_agent import assess
from xun_policies.commands import CommandGrant, CommandScope, CommandVerdict, Segment, evaluate
from xun_policies.decision import Decision
from xun_policies.shell.environment import child_environment, is_inert
from xun_policies.store import DecisionRecord

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.tools.context import ToolCallContext
    from xun_policies.workspace import ResolvedPath


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

    action: Literal["add", "update", "delete", "move", "copy", "mkdir"]
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


@dataclass(frozen=True, slots=True)
class ApprovedCommand:
    """A command that may run, once, as it stands here.

    Attributes:
        text: The identical string for bash.
        cwd: The folder to run it in.
        environment: The whole environment of the child.
        edited: The person changed it; the model has to be told.
    """

    text: str
    cwd: str
    environment: dict[str, str]
    edited: bool = False


# -- writes -----------------------------------------------------------------------------------------


def write(ctx: ToolCallContext[Any], plan: Sequence[PlannedWrite]) -> None:
    """Return when *plan* may be carried out; asks at most once.

    Raises:
        Denied: It may not; the text says who refused and how to allow it.
    """
    agent = ctx.agent
    lasting = [item for item in plan if not item.temporary]
    if lasting and in_plan_mode(agent):
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
        return
    request = _write_request(ctx, plan, asking)
    outcome = _settle(ctx, request, ordinary=not any(item.protected for item in asking))
    names = ", ".join(str(item.touched[-1].path) for item in asking[:3])
    if outcome.choice == DENY:
        _refuse(ctx, "write", names, outcome)
    if outcome.choice == GRANT and outcome.source == "user" and request.write_scopes:
        _grant_writes(ctx, outcome.grants or request.write_scopes[0])
    _log(ctx, names, "allow", outcome.decided_by, "write")


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
    ctx: ToolCallContext[Any], plan: Sequence[PlannedWrite], asking: Sequence[PlannedWrite]
) -> ChoiceRequest:
    protected = [path for item in asking for path in item.touched if path.protected]
    scopes: tuple[tuple[WriteGrant, ...], ...] = () if protected else _scopes(ctx.agent, asking)
    note = f"{protected[0].display} may run programs later and is never granted" if protected else ""
    first = asking[0].touched[-1].display
    more = f" and {len(asking) - 1} more" if len(asking) > 1 else ""
    return ChoiceRequest(
        id=new_request_id(),
        kind="write",
        prompt=f"{_VERBS[asking[0].action]} {first}{more}?",
        options=_three(bool(scopes), note),
        default=ONCE,
        agent=ctx.agent.name,
        tool=ctx.tool_name,
        call_id=ctx.call_id,
        cwd=str(ctx.agent.workspace.workdir),
        files=tuple(file_diff(item) for item in plan),
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
        _changed(ctx, "writes", grant.path + ("/" if grant.directory else ""))


# -- commands ---------------------------------------------------------------------------------------


def command(
    ctx: ToolCallContext[Any],
    text: str,
    cwd: str,
    environment: Mapping[str, str] | None = None,
    *,
    state: str = "",
) -> ApprovedCommand:
    """Return the command that may run: this one, or the one that the person made of it.

    *environment* is what is set for it. *state* tells what is special about the bash that it will run in: no list
    knows what a command means there, so a person is asked; "" for a new bash.

    Raises:
        Denied: It may not run; the text says who refused and how to allow it.
    """
    child = child_environment(os.environ, environment or {}, ctx.agent.config.command_env)
    verdict = _verdict(ctx.agent, text, cwd, child)
    unusual = sorted(name for name, value in (environment or {}).items() if not is_inert(name, value))
    note = state or (f"sets {', '.join(unusual)} in its environment" if unusual else "")
    if ctx.dry_run:
        raise DryRun(dry.of_command(verdict, cwd, asks=not verdict.allowed or bool(note)))
    if verdict.allowed and not note:
        _count_commands(ctx.agent, verdict)
        _log(ctx, text, "allow", "allowlist", verdict.segments[0].rule if verdict.segments else "")
        ctx.agent.record(_resolved(ctx, "", text, "allow", "allowlist"))
        return ApprovedCommand(text, cwd, child)
    risk = _assess(ctx, verdict, cwd, child)
    if risk is not None and risk.verdict == "allow" and not in_plan_mode(ctx.agent) and not note:
        _log(ctx, text, "allow", "risk", risk.verdict)
        ctx.agent.record(_resolved(ctx, "", text, "allow", "risk", risk.reason))
        return ApprovedCommand(text, cwd, child)
    request = _command_request(ctx, verdict, cwd, risk, note)
    outcome = _settle(ctx, request, ordinary=request.default == ONCE)
    if outcome.choice == DENY:
        _refuse(ctx, "command", text, outcome, risk)
    if outcome.edited is not None and outcome.edited != text:
        return _edited(ctx, outcome, cwd, child)
    if outcome.choice == GRANT and outcome.source == "user":
        _grant_commands(ctx, outcome.grants if outcome.grants is not None else verdict.grants)
    _log(ctx, text, "allow", outcome.decided_by, "command", "" if risk is None else risk.verdict)
    return ApprovedCommand(text, cwd, child)


def code(ctx: ToolCallContext[Any], text: str, cwd: str) -> ApprovedCommand:
    """Return the Python code that may run: this, or what the person made of it. It is asked about like an unlisted
    command each time; no grant covers it.

    Raises:
        Denied: It may not run; the text says who refused.
    """
    if ctx.dry_run:
        raise DryRun(dry.of_command(_code_verdict(text), cwd, asks=True))
    child = child_environment(os.environ, {}, ctx.agent.config.command_env)
    risk = _assess(ctx, _code_verdict(text), cwd, child)
    if risk is not None and risk.verdict == "allow" and not in_plan_mode(ctx.agent):
        _log(ctx, text, "allow", "risk", "code", risk.verdict)
        ctx.agent.record(_resolved(ctx, "", text, "allow", "risk", risk.reason))
        return ApprovedCommand(text, cwd, child)
    outcome = _ask_code(ctx, text, cwd, risk, "")
    edited = outcome.edited is not None and outcome.edited != text
    if edited:
        text = outcome.edited or ""
        risk = _assess(ctx, _code_verdict(text), cwd, child)
        if risk is not None and risk.verdict == "reject":
            outcome = _ask_code(ctx, text, cwd, risk, "you edited this code")
    _log(ctx, text, "allow", outcome.decided_by, "edited" if edited else "code", "" if risk is None else risk.verdict)
    return ApprovedCommand(text, cwd, child, edited=edited)


def _ask_code(ctx: ToolCallContext[Any], text: str, cwd: str, risk: Risk | None, note: str) -> ChoiceOutcome[Any]:
    request = replace(
        _command_request(ctx, _code_verdict(text), cwd, risk, note),
        prompt="Run Python code?",
        options=_three(False, "code is never granted: each program is another one"),
    )
    outcome = _settle(ctx, request, ordinary=request.default == ONCE and not note)
    if outcome.choice == DENY:
        _refuse(ctx, "code", text, outcome, risk)
    return outcome


def _code_verdict(text: str) -> CommandVerdict:
    """Return code as a command that no list allows."""
    reason = "Python code can do whatever a command can"
    segment = Segment(text, "ask", "code", reason, "command", ("python3", "-I", "-c", text))
    return CommandVerdict(text, Decision.ASK, (segment,), f"{reason}.", True, (), "code can't be granted")


def _edited(ctx: ToolCallContext[Any], outcome: ChoiceOutcome[Any], cwd: str, child: dict[str, str]) -> ApprovedCommand:
    """Check what the person made of the command: it is parsed and assessed again, and asked about again."""
    text = outcome.edited or ""
    verdict = _verdict(ctx.agent, text, cwd, child)
    risk = None
    if not verdict.allowed:
        risk = _assess(ctx, verdict, cwd, child)
        if risk is not None and risk.verdict == "reject":
            request = _command_request(ctx, verdict, cwd, risk, "you edited this command")
            request = replace(request, options=_three(False, "an edited command can only be allowed this time"))
            again = _settle(ctx, request, ordinary=False)
            if again.choice == DENY:
                _refuse(ctx, "command", text, again, risk)
    _log(ctx, text, "allow", outcome.decided_by, "edited", "" if risk is None else risk.verdict)
    return ApprovedCommand(text, cwd, child, edited=True)


def _count_commands(agent: Agent[Any], verdict: CommandVerdict) -> None:
    """Count the grants that let segments of *verdict* run."""
    allowed = agent.policy.command_allowlist
    for segment in verdict.segments:
        entry = allowed.covers(segment.argv) if segment.rule == "granted" else None
        if entry is not None:
            allowed.note_use(entry)


def _verdict(agent: Agent[Any], text: str, cwd: str, child: Mapping[str, str]) -> CommandVerdict:
    return evaluate(text, agent.policy, command_scope(agent, cwd, child))


def command_scope(agent: Agent[Any], cwd: str, child: Mapping[str, str]) -> CommandScope:
    """Return where a command of *agent* would run."""
    home = os.path.expanduser("~")
    return CommandScope(cwd=cwd, roots=tuple(agent.workspace.roots), home=home, path=child.get("PATH", ""))


def _assess(ctx: ToolCallContext[Any], verdict: CommandVerdict, cwd: str, child: Mapping[str, str]) -> Risk | None:
    agent = ctx.agent
    model = agent.config.risk_model or agent.model
    if not agent.config.risk_enabled or model is None or not getattr(model, "assesses_risk", True):
        return None
    found = agent.wait_for(assess(agent, model, verdict, command_scope(agent, cwd, child)))
    agent.record(
        RiskAssessed(
            agent=agent.name,
            call_id=ctx.call_id,
            command=verdict.text,
            verdict=found.verdict,
            reason=found.reason,
            failed=found.failed,
            duration_ms=round(found.seconds * 1000),
        )
    )
    return found


def _command_request(
    ctx: ToolCallContext[Any], verdict: CommandVerdict, cwd: str, risk: Risk | None, note: str
) -> ChoiceRequest:
    offered = bool(verdict.grants) and not note
    refused = note or verdict.grant_refused
    rejected = risk is not None and risk.verdict == "reject"
    return ChoiceRequest(
        id=new_request_id(),
        kind="command",
        prompt="Run command?",
        options=_three(offered, refused),
        default=DENY if rejected or _has_hidden(verdict.text) else ONCE,
        agent=ctx.agent.name,
        tool=ctx.tool_name,
        call_id=ctx.call_id,
        message=note,
        command=verdict,
        cwd=cwd,
        risk=risk,
    )


def _has_hidden(text: str) -> bool:
    return any(unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp") and c not in "\n\t" for c in text)


def _grant_commands(ctx: ToolCallContext[Any], grants: Sequence[CommandGrant]) -> None:
    policy = ctx.agent.policy
    policy.snapshot()
    for grant in grants:
        policy.command_allowlist.add(grant.tokens, exact=grant.exact, source="dialog")
        _changed(ctx, "commands", grant.text)


# -- asking, refusing, noting -----------------------------------------------------------------------


def _three(grantable: bool, why_not: str) -> tuple[Option, ...]:
    return (
        Option(GRANT, "Allow and grant", "g", available=grantable, note="" if grantable else why_not),
        Option(ONCE, "Allow this time only", "o"),
        Option(DENY, "Deny", "d"),
    )


def _settle(ctx: ToolCallContext[Any], request: ChoiceRequest, *, ordinary: bool) -> ChoiceOutcome[Any]:
    """Answer by rule where one may, else ask the person."""
    agent = ctx.agent
    policy = agent.policy
    if ordinary and policy.auto_remaining > 0 and not agent.config.auto_confirm:
        policy.auto_remaining -= 1
        outcome: ChoiceOutcome[Any] = ChoiceOutcome(ONCE, "auto", decided_by="auto")
    else:
        try:
            outcome = agent.ask(request)
        except NobodyToAsk:
            outcome = ChoiceOutcome(DENY, "auto", decided_by="none")
    if outcome.source == "auto":
        subject = subject_of(request)
        agent.record(
            _resolved(ctx, request.id, subject, outcome.choice, outcome.decided_by, outcome.reason, request.kind)
        )
    return outcome


def _resolved(
    ctx: ToolCallContext[Any],
    request_id: str,
    subject: str,
    choice: str,
    source: str,
    reason: str = "",
    kind: str = "command",
) -> ApprovalResolved:
    return ApprovalResolved(
        agent=ctx.agent.name,
        request_id=request_id,
        call_id=ctx.call_id,
        kind=kind,
        choice=choice,
        subject=subject,
        source=source,
        reason=reason,
    )


_ALLOWED_BY = {
    "command": "/policy allow command ..., --allow-command PREFIX",
    "write": "/policy allow write ..., --allow-write PATH",
    "code": "auto_confirm only: no grant covers code",
}


def _refuse(
    ctx: ToolCallContext[Any], what: str, subject: str, outcome: ChoiceOutcome[Any], risk: Risk | None = None
) -> None:
    by = outcome.decided_by
    _log(ctx, subject, "deny", by, what, "" if risk is None else risk.verdict)
    allow = _ALLOWED_BY[what]
    if by == "user":
        reason = f": {outcome.reason}" if outcome.reason else " (no reason given)"
        text = f"Denied by the user{reason}. Do not try the same {what} again; do something else or ask."
    elif by == "auto_confirm" and risk is not None and risk.verdict == "reject":
        text = f"Denied: the risk assessment rejected the {what} ({risk.reason})."
    elif by == "auto_confirm":
        text = f"Denied: the {what} holds characters that can't be seen, so only a person may approve it."
    elif by == "headless":
        text = f"Denied: no human present to approve the {what}. It can be allowed beforehand with {allow}."
    else:
        text = f"Denied: nobody can be asked to approve the {what}. It can be allowed beforehand with {allow}."
    raise Denied(text, source="risk" if by == "auto_confirm" else by, reason=outcome.reason)


def _log(ctx: ToolCallContext[Any], subject: str, decision: str, source: str, rule: str, risk: str = "") -> None:
    when = datetime.now(UTC).isoformat(timespec="seconds")
    ctx.agent.policy.record(DecisionRecord(when, ctx.tool_name, subject, decision, source, rule, risk))


def _changed(ctx: ToolCallContext[Any], which: str, entry: str) -> None:
    agent = ctx.agent
    agent.record(
        PolicyChanged(
            agent=agent.name, op="allow", list=which, entry=entry, source="dialog", state=agent.policy.to_json()
        )
    )
