"""The sub-agent tools: a task for another agent, several side by side, or in the background."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Any

from xun.agent.agent import Agent
from xun.agent.children import adopt, check_depth, run_child
from xun.agent.subagent import AgentGetterParam
from xun.errors import ToolError
from xun.result import ErrorInfo, Result
from xun.tools.context import ToolCallContext
from xun.tools.function import except_safe
from xun.tools.suspend import Suspend
from xun_builtin_tools.background_agents import MAX_RUNNING, Background

AgentGetter = Callable[[AgentGetterParam], Agent[Any]]


def tools(agent_getter: AgentGetter | None, max_depth: int) -> list[Callable[..., Any]]:
    """Return the tools, bound to *agent_getter*."""
    make = functools.partial(_child, agent_getter or inherit, max_depth)

    async def agent_run(ctx: ToolCallContext[Any], task: str, name: str | None = None) -> str:
        """Give a task to a sub-agent and return its final answer.

        It does not know your conversation: task must hold everything it needs, and say what to answer with. It asks the
        person for permissions of its own, under name."""
        result = await run_child(ctx.agent, make(ctx, name), task, ctx.value)
        if result.is_err():
            raise ToolError(f"The sub-agent failed: {result.unwrap_err().error}")
        return str(result.unwrap())

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

        async def one(index: int) -> Result[Any, ErrorInfo]:
            child = make(ctx, wanted[index])
            return await run_child(ctx.agent, child, tasks[index], ctx.value)

        return [result.to_json() for result in await _side_by_side(one, len(tasks))]

    background = Background(make)
    return [agent_run, agent_run_parallel, *background.tools()]


async def _side_by_side(one: Callable[[int], Awaitable[Result[Any, ErrorInfo]]], count: int) -> list[Result[Any, Any]]:
    # First come, first served: a call that goes on later finds each sub-agent at its place again.
    room = asyncio.Semaphore(MAX_RUNNING)

    async def when_free(index: int) -> Result[Any, ErrorInfo]:
        async with room:
            return await one(index)

    results = await asyncio.gather(*(_put_off(except_safe(when_free), index) for index in range(count)))
    for result in results:
        # All of them were let through to their ends first, so that none works twice.
        if isinstance(result, Suspend):
            raise result
    return [result for result in results if isinstance(result, Result)]


async def _put_off(one: Callable[[int], Any], index: int) -> Result[Any, Any] | Suspend:
    try:
        result: Result[Any, Any] = await one(index)
    except Suspend as exc:
        return exc
    return result


def inherit(param: AgentGetterParam) -> Agent[Any]:
    """Make a sub-agent with the model, tools, workspace and limits of its parent, and permissions of its own.

    The tools of the parent's run are among them.
    """
    child = Agent.inherit(param.tool_context.agent, param.name)
    run = param.tool_context.run
    child.toolbox = getattr(run, "toolbox", None) or child.toolbox
    return child


def _child(getter: AgentGetter, max_depth: int, ctx: ToolCallContext[Any], name: str | None) -> Agent[Any]:
    check_depth(ctx.agent, max_depth)
    child = getter(AgentGetterParam(ctx, name))
    if not isinstance(child, Agent):
        raise ToolError("The agent_getter returned no Agent.")
    adopt(ctx.agent, child, name, dry_run=ctx.dry_run)
    return child


__all__ = ["inherit", "tools"]
