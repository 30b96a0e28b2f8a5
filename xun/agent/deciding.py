"""Where a decision is noted: in the log of the agent's policy, and in the audit trail."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from xun.events import Notice

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun_policies.audit import AuditTrail
    from xun_policies.store import DecisionRecord


def note_decision(agent: Agent[Any], record: DecisionRecord) -> None:
    """Note *record*, with the time, the agent and its folder where it names none.

    What can't be written to the audit trail is said once in the stream, and the decision counts all the same.
    """
    when = record.when or datetime.now(UTC).isoformat(timespec="seconds")
    record = replace(record, when=when, agent=agent.name, cwd=record.cwd or str(agent.workspace.workdir))
    agent.policy.record(record)
    trail = trail_of(agent)
    trouble = "" if trail is None else trail.append(record)
    if trouble:
        agent.record(Notice(agent=agent.name, level="warning", text=trouble))


def trail_of(agent: Agent[Any]) -> AuditTrail | None:
    """Return the audit trail of *agent*, else that of the nearest agent above it that has one."""
    current: Agent[Any] | None = agent
    while current is not None:
        if current.config.audit is not None:
            return current.config.audit
        current = current.parent
    return None
