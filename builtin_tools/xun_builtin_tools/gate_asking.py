"""The part of the gate that asks, refuses and notes; tools ask through `xun_builtin_tools.gate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from xun.agent.deciding import note_decision
from xun.agent.questions import NobodyToAsk
from xun.choice import DENY, GRANT, ONCE, ChoiceOutcome, ChoiceRequest, Option, Risk, subject_of
from xun.errors import Denied
from xun.events import ApprovalResolved, PolicyChanged
from xun_policies.store import DecisionRecord

if TYPE_CHECKING:
    from xun.tools.context import ToolCallContext


def answers(grantable: bool, why_not: str) -> tuple[Option, ...]:
    """Return the three answers to a command or write; *why_not* says why it can't be granted."""
    return (
        Option(GRANT, "Allow and grant", "g", available=grantable, note="" if grantable else why_not),
        Option(ONCE, "Allow this time only", "o"),
        Option(DENY, "Deny", "d"),
    )


def settle(ctx: ToolCallContext[Any], request: ChoiceRequest, *, ordinary: bool) -> ChoiceOutcome[Any]:
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
            resolved(ctx, request.id, subject, outcome.choice, outcome.decided_by, outcome.reason, request.kind)
        )
    return outcome


def resolved(
    ctx: ToolCallContext[Any],
    request_id: str,
    subject: str,
    choice: str,
    source: str,
    reason: str = "",
    kind: str = "command",
) -> ApprovalResolved:
    """Return the event of a decision that no front end emits: one by rule, in a person's place."""
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
    "write to a protected path": "--auto-confirm only: no grant covers files that may run programs later",
    "write to an excluded path": "--auto-confirm only: policy.writes.exclude is stronger than any grant",
    "code": "auto_confirm only: no grant covers code",
    "use of the network": "--config sandbox.network=true",
    "way out of the sandbox": '--sandbox off only; leave out sandbox="off" to run it inside',
}


def refuse(what: str, outcome: ChoiceOutcome[Any], risk: Risk | None = None) -> NoReturn:
    """Raise `Denied` with a text that says who refused and how to allow it."""
    by = outcome.decided_by
    allow = _ALLOWED_BY[what]
    if by == "user":
        reason = f": {outcome.reason}" if outcome.reason else " (no reason given)"
        text = f"Denied by the user{reason}. Do not try the same {what} again; do something else or ask."
    elif by == "auto_confirm" and risk is not None and risk.verdict == "reject":
        text = f"Denied: the risk assessment rejected the {what} ({risk.reason})."
    elif by == "auto_confirm" and what == "way out of the sandbox":
        text = f'Denied: only a person may approve the {what}; leave out sandbox="off" to run the command inside.'
    elif by == "auto_confirm":
        text = f"Denied: the {what} holds characters that can't be seen, so only a person may approve it."
    elif by == "headless":
        text = f"Denied: no human present to approve the {what}. It can be allowed beforehand with {allow}."
    else:
        text = f"Denied: nobody can be asked to approve the {what}. It can be allowed beforehand with {allow}."
    raise Denied(text, source="risk" if by == "auto_confirm" else by, reason=outcome.reason)


def log(
    ctx: ToolCallContext[Any],
    subject: str,
    decision: str,
    source: str,
    rule: str,
    risk: Risk | None = None,
    **facts: str,
) -> None:
    """Note a decision; *facts* are further fields of `DecisionRecord`."""
    verdict = "" if risk is None else risk.verdict
    note_decision(ctx.agent, DecisionRecord("", ctx.tool_name, subject, decision, source, rule, verdict, **facts))


def record_grant(ctx: ToolCallContext[Any], which: str, entry: str) -> None:
    """Tell the run's stream that the list *which* of the policy got *entry* by a dialog."""
    agent = ctx.agent
    agent.record(
        PolicyChanged(
            agent=agent.name, op="allow", list=which, entry=entry, source="dialog", state=agent.policy.to_json()
        )
    )
