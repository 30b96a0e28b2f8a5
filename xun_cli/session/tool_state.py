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


def stored_policy(events: Iterable[Event]) -> tuple[PolicyState | None, list[str]]:
    """Return the permissions after *events*, with what ``/policy undo`` can take back, and what could not be read.

    Where the last record can't be read, the permissions are those of a new session. None: no record holds any.
    """
    found: PolicyState | None = None
    problems: list[str] = []
    for event in events:
        if not isinstance(event, PolicyChanged) or event.state is None:
            continue
        try:
            later = PolicyState.from_json(event.state)
        except PolicyError as exc:
            # Fail closed: of lists that can't be read nothing is allowed.
            found, problems = PolicyState(), [f"its permissions can't be read and begin anew ({exc})"]
            continue
        if found is None:
            found = later if event.op == "undo" else PolicyState()
        found, problems = _followed(found, later, undone=event.op == "undo"), []
    return found, problems


def _followed(before: PolicyState, later: PolicyState, *, undone: bool) -> PolicyState:
    """Return *before* as it is after a change that made it *later*."""
    if undone:
        before.undo()
    if before.to_json() != later.to_json():
        lists = (later.command_allowlist, later.write_allowlist, later.excluded, later.host_allowlist)
        before.replace_lists(*lists)
    before.mode, before.auto_remaining, before.log = later.mode, later.auto_remaining, later.log
    return before


def _load(agent: Agent[Any], event: ToolCompleted) -> None:
    names = [event.tool]
    if event.tool == SEARCH and isinstance(event.result, dict):
        found = event.result.get("tools")
        names += [str(item.get("name")) for item in found or () if isinstance(item, dict)]
    for name in names:
        tool = agent.toolbox.get(name)
        if tool is not None and agent.toolbox.is_deferred(tool):
            agent.toolbox.load(name)
