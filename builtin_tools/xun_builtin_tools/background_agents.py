"""Sub-agents in the background: started, waited for, listed, and asked again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from xun.agent.agent import Agent
from xun.agent.children import answer_from, first_question, follow
from xun.errors import ToolError
from xun.events import SubagentCompleted, SubagentStarted
from xun.result import ErrorInfo, Result
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun.tools.suspend import CALL, Suspend

_KEY = "__background_agents"
MAX_RUNNING = 16
"""Sub-agents of one agent that work at the same time."""

MakeChild = Callable[[ToolCallContext[Any], str | None], Agent[Any]]


@dataclass(slots=True)
class _Worker:
    """One sub-agent and its present task."""

    agent: Agent[Any]
    parent: Agent[Any]
    task: str
    context: Any
    work: asyncio.Task[None] | None = None

    @property
    def status(self) -> str:
        """running, done, error, cancelled or pending."""
        if self.work is not None and not self.work.done():
            return "lost" if self.work.get_loop().is_closed() else "running"
        result = self.agent.last_result
        return "done" if result.is_ok() else result.status

    def start(self) -> None:
        """Begin, or go on, in the running event loop."""
        self.work = asyncio.get_running_loop().create_task(self._through())

    async def _through(self) -> None:
        # What it asks is a matter of its own, not of the call that started it.
        CALL.set(None)
        if not self.agent.open_calls():
            self.parent.record(SubagentStarted(agent=self.parent.name, name=self.agent.name, task=self.task))
        result: Result[Any, ErrorInfo] = await follow(self.parent, self.agent, self.context)
        if result.status != "pending":
            ok = result.is_ok()
            self.parent.record(SubagentCompleted(agent=self.parent.name, name=self.agent.name, task=self.task, ok=ok))


class Background:
    """The tools for sub-agents that work beside their parent; the workers are kept with the parent's state.

    Args:
        make: Makes a sub-agent for a call, under a name.
    """

    def __init__(self, make: MakeChild) -> None:
        self._make = make

    def tools(self) -> list[Callable[..., Any]]:
        """Return the tools."""
        return [self._spawn(), self._wait(), agent_list, agent_resume]

    def _spawn(self) -> Callable[..., Any]:
        async def agent_spawn(
            ctx: ToolCallContext[Any],
            task: str,
            name: str | None = None,
            allowed_tools: list[str] | None = None,
            model: str | None = None,
        ) -> dict[str, str]:
            """Start a sub-agent on a task and go on with your own work.

            task must hold everything it needs, since it does not know your conversation. allowed_tools are the names
            or patterns (such as read_*) of the tools that it may use, all of yours when left out. model is the name of
            another model of the same server. Get its answer with agent_wait.

            Returns its id."""
            if ctx.run is None:
                raise ToolError("A sub-agent in the background needs a run to work beside; use agent_run here.")
            workers = _workers(ctx.agent)
            if sum(worker.status == "running" for worker in workers.values()) >= MAX_RUNNING:
                raise ToolError(f"{MAX_RUNNING} sub-agents work already; wait for one with agent_wait.")
            child = self._make(ctx, name)
            try:
                _restrict(child, allowed_tools, model)
            except ToolError:
                child.finalize()
                raise
            worker = workers[child.name] = _Worker(child, ctx.agent, task, ctx.value)
            ctx.agent.background.append(child)
            child.instruct(task)
            worker.start()
            return {"id": child.name}

        return agent_spawn

    def _wait(self) -> Callable[..., Any]:
        @tool_attr(read_only=True)
        async def agent_wait(
            ctx: ToolCallContext[Any], identifier: str, timeout_seconds: float = 300
        ) -> str | dict[str, Any]:
            """Wait for a sub-agent that agent_spawn started, and return its answer.

            timeout_seconds is how long to wait at most, from 0 on; the sub-agent works on after it, and you get its
            status and id. You may wait again."""
            if timeout_seconds < 0:
                raise ToolError(f"timeout_seconds must not be negative, got {timeout_seconds:g}.")
            worker = _find(ctx.agent, identifier)
            return await _answer(worker, timeout_seconds)

        return agent_wait


@tool_attr(read_only=True)
def agent_list(ctx: ToolCallContext[Any]) -> list[dict[str, str]]:
    """List the sub-agents that agent_spawn started: id, status (running, done, error, cancelled, pending), task."""
    return [{"id": name, "status": worker.status, "task": worker.task} for name, worker in _workers(ctx.agent).items()]


async def agent_resume(ctx: ToolCallContext[Any], id: str, message: str) -> str | dict[str, Any]:
    """Give a sub-agent of agent_spawn that has finished another message, and return its answer.

    It still knows its own conversation. id is that of agent_spawn."""
    worker = _find(ctx.agent, id)
    if worker.status == "running":
        raise ToolError(f"{id} still works; wait for it with agent_wait first.")
    if not worker.agent.open_calls():
        worker.task, worker.context = message, ctx.value
        worker.agent.instruct(message)
        worker.start()
    return await _answer(worker, None)


async def _answer(worker: _Worker, timeout: float | None) -> str | dict[str, Any]:
    """Wait for a worker and return its answer; its question is answered through the call that waits for it."""
    while True:
        work, name = worker.work, worker.agent.name
        if work is not None and not work.done():
            if work.get_loop() is not asyncio.get_running_loop():
                raise ToolError(f"{name} was started in an event loop that has ended; start it again.")
            await asyncio.wait({work}, timeout=timeout)
            if not work.done():
                return {"status": "timeout", "id": name}
        if work is not None and not work.cancelled() and (fault := work.exception()) is not None:
            raise ToolError(f"The sub-agent {name} broke off: {fault!r}") from fault
        result = worker.agent.last_result
        if result.status != "pending":
            break
        journal = CALL.get()
        if journal is None:
            return {"status": "pending", "id": name}
        if not answer_from(worker.agent, journal):
            raise Suspend(first_question(worker.agent))
        worker.start()
    if result.is_err():
        raise ToolError(f"The sub-agent {name} failed: {result.unwrap_err().error}")
    return str(result.unwrap())


def _workers(parent: Agent[Any]) -> dict[str, _Worker]:
    found: dict[str, _Worker] | None = parent.state.get(_KEY)
    if found is None:
        found = parent.state[_KEY] = {}
        parent.hooks.before_finalize.add(_end_all)
    return found


def _end_all(parent: Agent[Any]) -> None:
    """Cancel what is left when the parent is finalised."""
    for worker in parent.state.pop(_KEY, {}).values():
        worker.agent.cancel("the parent agent was finalized")
        worker.agent.finalize()
    parent.background.clear()


def _find(parent: Agent[Any], name: str) -> _Worker:
    workers = _workers(parent)
    worker = workers.get(name)
    if worker is None:
        known = ", ".join(workers) or "none"
        raise ToolError(f"There is no sub-agent {name!r}; agent_spawn started: {known}.")
    return worker


def _restrict(child: Agent[Any], allowed: list[str] | None, model: str | None) -> None:
    if allowed is not None:
        names = [tool.name for tool in child.toolbox.list_tools()]
        for pattern in allowed:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise ToolError(f"allowed_tools: there is no tool {pattern!r}; there are: {', '.join(names)}.")
        refused = [name for name in names if not any(fnmatchcase(name, pattern) for pattern in allowed)]
        child.toolbox = child.toolbox.clone().disable(*refused)
    present = child.model
    if model is not None and model != getattr(present, "name", None):
        other = getattr(present, "with_name", None)
        if other is None:
            raise ToolError(f"The model {model!r} can't be had here; leave model out.")
        child.model = other(model)
