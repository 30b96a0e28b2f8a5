"""What a resumed session knows of its tools and permissions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from xun.agent.approval import GRANTS
from xun.agent.offers import SEARCH
from xun.errors import PolicyError
from xun.events import Event, PolicyChanged, ToolCompleted
from xun_policies.store import PolicyState

if TYPE_CHECKING:
    from xun.agent.agent import Agent


def restore_tools(agent: Agent[Any], events: Iterable[Event]) -> None:
    """Load the deferred tools that were found or called, and grant the tools that were granted."""
    granted: set[str] = set()
    for event in events:
        if event.agent != agent.name:
            continue
        if isinstance(event, ToolCompleted):
            _load(agent, event)
        elif isinstance(event, PolicyChanged) and event.list == "tools" and event.op == "allow":
            granted.add(event.entry)
    if granted:
        agent.state[GRANTS] = sorted(granted)


def stored_policy(state: dict[str, Any]) -> tuple[PolicyState, list[str]]:
    """Return the permissions that a record holds; where they can't be read, those of a new session, and why."""
    try:
        return PolicyState.from_json(state), []
    except PolicyError as exc:
        # Fail closed: of lists that can't be read nothing is allowed.
        return PolicyState(), [f"its permissions can't be read and begin anew ({exc})"]


def _load(agent: Agent[Any], event: ToolCompleted) -> None:
    names = [event.tool]
    if event.tool == SEARCH and isinstance(event.result, dict):
        found = event.result.get("tools")
        names += [str(item.get("name")) for item in found or () if isinstance(item, dict)]
    for name in names:
        tool = agent.toolbox.get(name)
        if tool is not None and agent.toolbox.is_deferred(tool):
            agent.toolbox.load(name)
