"""What a sub-agent is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.tools.context import ToolCallContext


@dataclass(frozen=True, slots=True)
class AgentGetterParam:
    """What an ``agent_getter`` gets to make a sub-agent from.

    Attributes:
        tool_context: The context of the call that asks for it; ``tool_context.agent`` is the parent.
        name: The name that the model gave, or None.
    """

    tool_context: ToolCallContext[Any]
    name: str | None = None


def depth_of(agent: Agent[Any]) -> int:
    """Return how many generations of parents *agent* has."""
    depth = 0
    while agent.parent is not None:
        agent, depth = agent.parent, depth + 1
    return depth
