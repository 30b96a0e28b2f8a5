"""What a tool keeps from call to call for one agent, such as its shell: made at the first use, ended with the agent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from xun.agent.agent import Agent


class PerAgent(ABC):
    """Base of what is kept so, in ``agent.state``.

    Args:
        agent: Whose it is.

    Attributes:
        key: The slot of ``agent.state``.
        agent: Whose it is.
    """

    key: ClassVar[str]

    def __init__(self, agent: Agent[Any]) -> None:
        self.agent = agent

    @classmethod
    def of(cls, agent: Agent[Any]) -> Self:
        """Return that of *agent*, made when there is none."""
        found = agent.state.get(cls.key)
        # Agents may share a state, and what is in it of another one ends with that one.
        if isinstance(found, cls) and found.agent is agent:
            return found
        made = agent.state[cls.key] = cls(agent)
        agent.hooks.before_finalize.add(made._agent_ends)
        return made

    def _agent_ends(self, agent: Agent[Any]) -> None:
        # Sub-agents may have the hooks of another agent.
        if agent is not self.agent:
            return
        self.end()
        if agent.state.get(self.key) is self:
            del agent.state[self.key]
        agent.hooks.before_finalize.remove(self._agent_ends)

    @abstractmethod
    def end(self) -> None:
        """End what it holds; the agent is being finalized."""
