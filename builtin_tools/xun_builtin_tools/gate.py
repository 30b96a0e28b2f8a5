"""The only place that asks: what a tool wants, the policy's decision, a person's answer, a grant.

It returns what may run, and that very object is what runs: the command text that was parsed, shown
and approved; the paths that were resolved.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from xun.agent.questions import new_request_id
from xun.agent.subagent import in_plan_mode
from xun.choice import DENY, GRANT, ONCE, ChoiceOutcome, ChoiceRequest, Risk
from xun.environment.confinement import Confinement
from xun.events import RiskAssessed
from xun.tools.dry import DryRun
from xun_builtin_tools import dry
from xun_builtin_tools.gate_asking import answers, log, record_grant, refuse, resolved, settle
from xun_builtin_tools.gate_confining import Wanted, called, confine, leaving
from xun_builtin_tools.gate_writes import PlannedWrite, WriteAction, write
from xun_builtin_tools.risk_agent import assess, without_comments
from xun_policies.commands import CommandGrant, CommandScope, CommandVerdict, Segment, evaluate
from xun_policies.decision import Decision
from xun_policies.shell.environment import child_environment, is_inert

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.tools.context import ToolCallContext

__all__ = ["ApprovedCommand", "PlannedWrite", "Wanted", "WriteAction", "code", "command", "command_scope", "write"]


@dataclass(frozen=True, slots=True)
class ApprovedCommand:
    """A command that may run, once, as it stands here.

    Attributes:
        text: The identical string for bash.
        cwd: The folder to run it in.
        environment: The whole environment of the child.
        edited: The person changed it; the model has to be told.
        confinement: The wall that holds it in, and what it sees.
    """

    text: str
    cwd: str
    environment: dict[str, str]
    edited: bool = False
    confinement: Confinement = field(default_factory=Confinement)


def command(
    ctx: ToolCallContext[Any],
    text: str,
    cwd: str,
    environment: Mapping[str, str] | None = None,
    *,
    state: str = "",
    sandbox: Wanted = "on",
    stays: bool = False,
) -> ApprovedCommand:
    """Return the command that may run: this one, or the one that the person made of it.

    *environment* is what is set for it. *state* tells what is special about the bash that it will run in: no list
    knows what a command means there, so a person is asked; "" for a new bash. *sandbox* is what it asks for: less than
    the sandbox is asked about each time. *stays* is for a shell that stays, and is held in as it was at its start.

    Raises:
        Denied: It may not run; the text says who refused and how to allow it.
    """
    child = child_environment(os.environ, environment or {}, ctx.agent.config.command_env)
    verdict = _verdict(ctx.agent, text, cwd, child)
    note = state or _unusual(environment or {})
    leaves = leaving(ctx.agent, sandbox)
    runs = verdict.allowed and not (note or leaves)
    if ctx.dry_run:
        raise DryRun(dry.of_command(verdict, cwd, asks=not runs))
    unasked = "on" if leaves else sandbox
    approved = ApprovedCommand(text, cwd, child, confinement=confine(ctx.agent, verdict, "list", unasked, stays=stays))
    if runs:
        _count_commands(ctx.agent, verdict)
        return _unasked(ctx, approved, "allowlist", _rule(verdict))
    risk = None if verdict.allowed and not note else _assess(ctx, verdict, cwd, child)
    if risk is not None and risk.verdict == "allow" and not in_plan_mode(ctx.agent) and not (note or leaves):
        approved = replace(approved, confinement=confine(ctx.agent, verdict, "risk", unasked, stays=stays))
        return _unasked(ctx, approved, "risk", _rule(verdict), risk)
    request = _command_request(ctx, verdict, cwd, risk, note, sandbox, stays=stays)
    request = _leaving_request(request, sandbox, leaves)
    outcome = settle(ctx, request, ordinary=request.default == ONCE and not leaves)
    if outcome.choice == DENY:
        log(ctx, text, "deny", outcome.decided_by, _rule(verdict, note, leaves), risk, cwd=cwd)
        refuse(called(sandbox) if leaves else "command", outcome, risk)
    approved = replace(approved, confinement=confine(ctx.agent, verdict, outcome.source, sandbox, stays=stays))
    if outcome.edited is not None and outcome.edited != text:
        return _edited(ctx, outcome, approved, stays=stays)
    if outcome.choice == GRANT and outcome.source == "user" and not leaves:
        _grant_commands(ctx, outcome.grants if outcome.grants is not None else verdict.grants)
    _log(ctx, approved, outcome.decided_by, _rule(verdict, note, leaves), risk)
    return approved


def _unusual(environment: Mapping[str, str]) -> str:
    names = sorted(name for name, value in environment.items() if not is_inert(name, value))
    return f"sets {', '.join(names)} in its environment" if names else ""


def _rule(verdict: CommandVerdict, note: str = "", leaves: str = "") -> str:
    """Return the id of the rule because of which it was asked about, else of the one that allows it."""
    if verdict.allowed and (note or leaves):
        return "sandbox" if leaves else "environment"
    asking = [segment.rule for segment in verdict.segments if segment.status == "ask"]
    allowing = [segment.rule for segment in verdict.segments if segment.kind == "command"]
    return next(iter(asking or allowing), "")


def _unasked(
    ctx: ToolCallContext[Any], approved: ApprovedCommand, source: str, rule: str, risk: Risk | None = None
) -> ApprovedCommand:
    """Note that *approved* runs although nobody was asked, and return it."""
    _log(ctx, approved, source, rule, risk)
    ctx.agent.record(resolved(ctx, "", approved.text, "allow", source, "" if risk is None else risk.reason))
    return approved


def _log(
    ctx: ToolCallContext[Any], approved: ApprovedCommand, source: str, rule: str, risk: Risk | None = None
) -> None:
    log(ctx, approved.text, "allow", source, rule, risk, cwd=approved.cwd, held=approved.confinement.text)


def _leaving_request(request: ChoiceRequest, sandbox: Wanted, leaves: str) -> ChoiceRequest:
    """Say in *request* what else than running the command is asked for; no grant covers it."""
    if not leaves:
        return request
    return replace(
        request,
        options=answers(False, f"the {called(sandbox)} is asked about each time"),
        default=DENY if sandbox == "off" else request.default,
        message="\n".join(part for part in (leaves, request.message) if part),
    )


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
        approved = ApprovedCommand(text, cwd, child, confinement=confine(ctx.agent, None, "risk"))
        return _unasked(ctx, approved, "risk", "code", risk)
    outcome = _ask_code(ctx, text, cwd, risk, "")
    edited = False
    while outcome.edited is not None and outcome.edited != text:
        text, edited = outcome.edited, True
        risk = _assess(ctx, _code_verdict(text), cwd, child)
        if risk is None or risk.verdict != "reject":
            break
        outcome = _ask_code(ctx, text, cwd, risk, "you edited this code")
    approved = ApprovedCommand(text, cwd, child, edited, confine(ctx.agent, None, outcome.source))
    _log(ctx, approved, outcome.decided_by, "edited" if edited else "code", risk)
    return approved


def _ask_code(ctx: ToolCallContext[Any], text: str, cwd: str, risk: Risk | None, note: str) -> ChoiceOutcome[Any]:
    request = replace(
        _command_request(ctx, _code_verdict(text), cwd, risk, note),
        prompt="Run Python code?",
        options=answers(False, "code is never granted: each program is another one"),
    )
    outcome = settle(ctx, request, ordinary=request.default == ONCE and not note)
    if outcome.choice == DENY:
        log(ctx, text, "deny", outcome.decided_by, "code", risk, cwd=cwd)
        refuse("code", outcome, risk)
    return outcome


def _code_verdict(text: str) -> CommandVerdict:
    """Return code as a command that no list allows."""
    reason = "Python code can do whatever a command can"
    segment = Segment(text, "ask", "code", reason, "command", ("python3", "-I", "-c", text))
    bare = "" if _has_hidden(text) else without_comments(text)
    return CommandVerdict(text, Decision.ASK, (segment,), f"{reason}.", True, (), "code can't be granted", bare)


def _edited(
    ctx: ToolCallContext[Any], outcome: ChoiceOutcome[Any], approved: ApprovedCommand, *, stays: bool
) -> ApprovedCommand:
    """Check what the person made of the command: it is parsed and assessed again, and asked about again."""
    text, cwd, child = approved.text, approved.cwd, approved.environment
    risk = None
    while outcome.edited is not None and outcome.edited != text:
        text = outcome.edited
        verdict = _verdict(ctx.agent, text, cwd, child)
        risk = None if verdict.allowed else _assess(ctx, verdict, cwd, child)
        if risk is None or risk.verdict != "reject":
            break
        wanted: Wanted = "off" if approved.confinement.view == "outside" else "on"
        request = _command_request(ctx, verdict, cwd, risk, "you edited this command", wanted, stays=stays)
        request = replace(request, options=answers(False, "an edited command can only be allowed this time"))
        outcome = settle(ctx, request, ordinary=False)
        if outcome.choice == DENY:
            log(ctx, text, "deny", outcome.decided_by, "edited", risk, cwd=cwd)
            refuse("command", outcome, risk)
    held = approved.confinement
    if held.view != "outside":
        held = confine(ctx.agent, verdict, outcome.source, stays=stays)
    approved = replace(approved, text=text, edited=True, confinement=held)
    _log(ctx, approved, outcome.decided_by, "edited", risk)
    return approved


def _count_commands(agent: Agent[Any], verdict: CommandVerdict) -> None:
    """Count the grants that let segments of *verdict* run."""
    allowed = agent.policy.command_allowlist
    for segment in verdict.segments:
        entry = allowed.covers(segment.argv) if segment.rule == "granted" else None
        if entry is not None:
            allowed.note_use(entry)


def _verdict(agent: Agent[Any], text: str, cwd: str, child: Mapping[str, str]) -> CommandVerdict:
    above = agent.parent
    while above is not None:
        # What was taken off the list while a sub-agent runs holds for it as well.
        agent.policy.excluded |= above.policy.excluded
        above = above.parent
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
    ctx: ToolCallContext[Any],
    verdict: CommandVerdict,
    cwd: str,
    risk: Risk | None,
    note: str,
    sandbox: Wanted = "on",
    *,
    stays: bool = False,
) -> ChoiceRequest:
    offered = bool(verdict.grants) and not note
    refused = note or verdict.grant_refused
    rejected = risk is not None and risk.verdict == "reject"
    return ChoiceRequest(
        id=new_request_id(),
        kind="command",
        prompt="Run command?",
        options=answers(offered, refused),
        default=DENY if rejected or _has_hidden(verdict.text) else ONCE,
        agent=ctx.agent.name,
        tool=ctx.tool_name,
        call_id=ctx.call_id,
        message=note,
        command=verdict,
        cwd=cwd,
        held=confine(ctx.agent, verdict, "user", sandbox, stays=stays).text,
        risk=risk,
    )


def _has_hidden(text: str) -> bool:
    return any(unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp") and c not in "\n\t" for c in text)


def _grant_commands(ctx: ToolCallContext[Any], grants: Sequence[CommandGrant]) -> None:
    policy = ctx.agent.policy
    policy.snapshot()
    for grant in grants:
        policy.command_allowlist.add(grant.tokens, exact=grant.exact, source="dialog")
        record_grant(ctx, "commands", grant.text)
