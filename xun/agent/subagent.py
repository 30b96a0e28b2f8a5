"""What a sub-agent is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from xun.errors import ToolError

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.tools.context import ToolCallContext
    from xun.tools.function import Function


@dataclass(frozen=True, slots=True)
class AgentGetterParam:
    """What an ``agent_getter`` gets to make a sub-agent from.

    Attributes:
        tool_context: The context of the call that asks for it; ``tool_context.agent`` is the parent.
        name: The name that the model gave, or None.
    """

    tool_context: ToolCallContext[Any]
    name: str | None = None


class Nesting:
    """The part of an agent that works for others; mixed into `Agent`."""

    def as_tool(self, name: str, description: str, *, max_depth: int = 4) -> Function:
        """Return a tool that gives a task to this agent: to register with the toolbox of another one.

        Each call begins a conversation of its own, with this agent's model (None: the caller's), system text, tools,
        workspace, limits and hooks, and asks through the caller's chooser where it has none.

        Args:
            name: The tool's name, and the sub-agent's.
            description: What the model reads about it.
            max_depth: How many generations of sub-agents there may be.
        """
        return _tool_of(cast("Agent[Any]", self), name, description, max_depth)

    @staticmethod
    def inherit(
        parent: Agent[Any],
        name: str | None = None,
        *,
        model: bool = True,
        toolbox: bool = True,
        workspace: bool = True,
        config: bool = True,
        chooser: bool = True,
        system: bool = True,
    ) -> Agent[Agent.T.New]:
        """Return a new agent, not initialised, that is like *parent*; what an ``agent_getter`` may begin with.

        Its conversation, state, hooks and permissions are its own, and it ends when *parent* is cancelled.

        Args:
            parent: Whose parts it gets; it shares them, so give it a ``toolbox.clone()`` before you change the tools.
            name: What its events and questions are shown with.
            model: Whether it gets the parent's model; else the configured one.
            toolbox: Whether it gets the parent's tools; else none.
            workspace: Whether it gets the parent's workspace; else the current folder.
            config: Whether it gets the parent's limits and habits; else the defaults.
            chooser: Whether its questions go to the parent's chooser; as a sub-agent they do in any case.
            system: Whether it gets the parent's system message.
        """
        from xun.agent.agent import Agent

        child: Agent[Agent.T.New] = Agent(
            name,
            parent.model if model else None,
            parent.toolbox if toolbox else None,
            parent.workspace if workspace else None,
            parent.config if config else None,
            parent.chooser if chooser else None,
            parent=parent,
        )
        text = parent.system_text()
        return child.system(text) if system and text else child


def _tool_of(agent: Agent[Any], name: str, description: str, max_depth: int) -> Function:
    from xun.agent.agent import Agent
    from xun.agent.children import adopt, check_depth, run_child
    from xun.tools.context import ToolCallContext
    from xun.tools.function import Function

    async def give(ctx: ToolCallContext[Any], task: str) -> str:
        parent = ctx.agent
        check_depth(parent, max_depth)
        model = agent.model or parent.model
        child: Agent[Any] = Agent(
            None, model, agent.toolbox, agent.workspace, agent.config, agent.chooser, agent.hooks, parent=parent
        )
        child.system(agent.system_text())
        adopt(parent, child, name, dry_run=ctx.dry_run)
        result = await run_child(parent, child, task, ctx.value)
        if result.is_err():
            raise ToolError(f"{name} failed: {result.unwrap_err().error}")
        return str(result.unwrap())

    give.__doc__ = description
    # Annotations are looked up where the function was written, which does not know this one by its name.
    give.__annotations__["ctx"] = ToolCallContext
    return Function.from_function(give, name=name)


def depth_of(agent: Agent[Any]) -> int:
    """Return how many generations of parents *agent* has."""
    depth = 0
    while agent.parent is not None:
        agent, depth = agent.parent, depth + 1
    return depth


def in_plan_mode(agent: Agent[Any]) -> bool:
    """Tell whether *agent* or one above it is in plan mode now: a switch holds for sub-agents that run already."""
    current: Agent[Any] | None = agent
    while current is not None:
        if current.policy.mode == "plan":
            return True
        current = current.parent
    return False
