"""The sub-agent tools: a task for another agent, or several side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xun.agent.agent import Agent
from xun.agent.subagent import AgentGetterParam, depth_of
from xun.errors import CancelledError, ToolError
from xun.events import SubagentCompleted, SubagentStarted
from xun.result import Result
from xun.tools.context import ToolCallContext
from xun.tools.function import except_safe

if TYPE_CHECKING:
    from xun.result import ErrorInfo

AgentGetter = Callable[[AgentGetterParam], Agent[Any]]


def tools(agent_getter: AgentGetter | None, max_depth: int) -> list[Callable[..., Any]]:
    """Return ``agent_run`` and ``agent_run_parallel`` bound to *agent_getter*."""
    getter = agent_getter or inherit

    async def agent_run(ctx: ToolCallContext[Any], task: str, name: str | None = None) -> str:
        """Give a task to a sub-agent and return its final answer.

        The sub-agent starts without your conversation: task must hold everything it needs, and say what to answer
        with. It has its own permissions and asks the person under its own name. name is a short name for display."""
        return await _run(ctx, getter, task, name, max_depth)

    async def agent_run_parallel(
        ctx: ToolCallContext[Any], tasks: list[str], names: list[str] | None = None
    ) -> list[dict[str, Any]]:
        """Give several independent tasks to sub-agents that work at the same time.

        tasks are texts as for agent_run; names, if given, has one short name for each. One that fails does not stop
        the others. Returns one object per task, in order: is_ok, and value with the answer or the error."""
        if not tasks:
            raise ToolError("tasks is empty; give at least one.")
        if names is not None and len(names) != len(tasks):
            raise ToolError(f"names has {len(names)} entries for {len(tasks)} tasks; give one for each, or none.")
        wanted: list[str | None] = list(names) if names else [None] * len(tasks)
        each = except_safe(_result)
        runs = [each(ctx, getter, task, name, max_depth) for task, name in zip(tasks, wanted, strict=True)]
        return [result.to_json() for result in await asyncio.gather(*runs)]

    return [agent_run, agent_run_parallel]


def inherit(param: AgentGetterParam) -> Agent[Any]:
    """Make a sub-agent with the model, tools, workspace and limits of its parent, and permissions of its own."""
    parent = param.tool_context.agent
    child: Agent[Any] = Agent(
        param.name, parent.model, parent.toolbox, parent.workspace, parent.config, parent.chooser, parent=parent
    )
    system = parent.system_text()
    return child.system(system) if system else child


async def _run(ctx: ToolCallContext[Any], getter: AgentGetter, task: str, name: str | None, max_depth: int) -> str:
    result = await _result(ctx, getter, task, name, max_depth)
    if result.is_err():
        raise ToolError(f"The sub-agent failed: {result.unwrap_err().error}")
    return str(result.unwrap())


async def _result(
    ctx: ToolCallContext[Any], getter: AgentGetter, task: str, name: str | None, max_depth: int
) -> Result[str, ErrorInfo]:
    parent = ctx.agent
    if depth_of(parent) >= max_depth:
        raise ToolError(f"Sub-agents may not go deeper than {max_depth} generations; do this task yourself.")
    child = getter(AgentGetterParam(ctx, name))
    if not isinstance(child, Agent):
        raise ToolError("The agent_getter returned no Agent.")
    child.parent = child.parent or parent
    child.chooser = child.chooser or parent.chooser
    number = parent.state["__subagents"] = int(parent.state.get("__subagents", 0)) + 1
    child.name = f"{name or 'agent'}#{number}"
    parent.record(SubagentStarted(agent=parent.name, name=child.name, task=task))
    child.initialize()
    try:
        result = await _follow(parent, child, task, ctx)
    finally:
        child.finalize()
    parent.record(SubagentCompleted(agent=parent.name, name=child.name, task=task, ok=result.is_ok()))
    if result.status == "cancelled":
        raise CancelledError(result.unwrap_err().error)
    return result


async def _follow(
    parent: Agent[Any], child: Agent[Any], task: str, ctx: ToolCallContext[Any]
) -> Result[str, ErrorInfo]:
    child.instruct(task)
    async for event in child.events(context=ctx.value):
        parent.record(event)
    return child.last_result


__all__ = ["inherit", "tools"]
