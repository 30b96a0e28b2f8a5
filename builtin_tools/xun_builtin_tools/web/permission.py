"""May this host be fetched from? The person is asked once for each, as for a command that is not listed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from xun.agent.deciding import note_decision
from xun.agent.questions import NobodyToAsk, new_request_id
from xun.choice import DENY, GRANT, ONCE, ChoiceOutcome, ChoiceRequest, Option
from xun.errors import Denied
from xun.events import ApprovalResolved, PolicyChanged
from xun.tools.dry import DryRun
from xun_policies.store import DecisionRecord

if TYPE_CHECKING:
    from xun.tools.context import ToolCallContext
    from xun_builtin_tools.web.target import Target

_SHOWN = 400


def allowed_hosts(ctx: ToolCallContext[Any]) -> list[str]:
    """Return the hosts that may be fetched from without a question."""
    granted = (entry.host for entry in ctx.agent.policy.host_allowlist)
    return [*ctx.agent.config.allowed_hosts, *granted]


def require(ctx: ToolCallContext[Any], target: Target, note: str = "") -> None:
    """Return when *target* may be fetched; asks when its host is new, or when *note* says what else is unusual.

    Raises:
        Denied: It may not be; the text says who refused and how to allow it.
    """
    known = target.place in allowed_hosts(ctx)
    if ctx.dry_run:
        raise DryRun({"url": target.url, "would_ask": not known or bool(note)})
    if known and not note:
        entry = ctx.agent.policy.host_allowlist.covers(target.place)
        if entry is not None:
            ctx.agent.policy.host_allowlist.note_use(entry)
        _log(ctx, target, "allow", "allowlist")
        return
    outcome = _ask(ctx, _request(ctx, target, note))
    if outcome.choice not in (GRANT, ONCE):
        _log(ctx, target, "deny", outcome.decided_by)
        raise Denied(_refusal(target, outcome), source=outcome.decided_by, reason=outcome.reason)
    if outcome.choice == GRANT and outcome.source == "user" and not note:
        _grant(ctx, target.place)
    _log(ctx, target, "allow", outcome.decided_by)


def _request(ctx: ToolCallContext[Any], target: Target, note: str) -> ChoiceRequest:
    url = target.url if len(target.url) <= _SHOWN else f"{target.url[:_SHOWN]}... ({len(target.url):,} characters)"
    options = (
        Option(GRANT, f"Allow and grant {target.place} for this session", "g", available=not note, note=note),
        Option(ONCE, "Allow this time only", "o"),
        Option(DENY, "Deny", "d"),
    )
    return ChoiceRequest(
        id=new_request_id(),
        kind="choice",
        prompt=f"Fetch {url}?",
        options=options,
        default=ONCE,
        agent=ctx.agent.name,
        tool=ctx.tool_name,
        call_id=ctx.call_id,
        message=note,
    )


def _ask(ctx: ToolCallContext[Any], request: ChoiceRequest) -> ChoiceOutcome[Any]:
    agent = ctx.agent
    if agent.policy.auto_remaining > 0 and not agent.config.auto_confirm and not request.message:
        agent.policy.auto_remaining -= 1
        outcome: ChoiceOutcome[Any] = ChoiceOutcome(ONCE, "auto", decided_by="auto")
    else:
        try:
            outcome = agent.ask(request)
        except NobodyToAsk:
            outcome = ChoiceOutcome(DENY, "auto", decided_by="none")
        except Denied as exc:
            # A front end without a person told of it already.
            return ChoiceOutcome(DENY, "auto", decided_by=exc.source or "none")
    if outcome.source == "auto":
        agent.record(
            ApprovalResolved(
                agent=agent.name,
                request_id=request.id,
                call_id=ctx.call_id,
                kind=request.kind,
                choice=outcome.choice,
                subject=request.prompt,
                source=outcome.decided_by,
                reason=outcome.reason,
            )
        )
    return outcome


def _refusal(target: Target, outcome: ChoiceOutcome[Any]) -> str:
    if outcome.decided_by == "user":
        reason = f": {outcome.reason}" if outcome.reason else " (no reason given)"
        return f"Denied by the user{reason}. Do not fetch from {target.place} again; do something else or ask."
    return (
        f"Denied: nobody can be asked to approve fetching from {target.place}. It can be allowed beforehand: "
        f'/policy allow host {target.place}, tools.allowed_hosts = ["{target.place}"] in the configuration, or '
        "AgentConfig(allowed_hosts=...)."
    )


def _grant(ctx: ToolCallContext[Any], place: str) -> None:
    agent = ctx.agent
    agent.policy.snapshot()
    agent.policy.host_allowlist.add(place, source="dialog", when=datetime.now(UTC).isoformat(timespec="seconds"))
    agent.record(
        PolicyChanged(
            agent=agent.name, op="allow", list="hosts", entry=place, source="dialog", state=agent.policy.to_json()
        )
    )


def _log(ctx: ToolCallContext[Any], target: Target, decision: str, source: str) -> None:
    note_decision(ctx.agent, DecisionRecord("", ctx.tool_name, target.url, decision, source, "fetch"))
