"""Running a sub-agent: its events go to the parent, its questions to the person, and it can wait with its parent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xun.agent.subagent import depth_of
from xun.errors import CancelledError, ToolError
from xun.events import SubagentCompleted, SubagentStarted
from xun.result import ErrorInfo, Result
from xun.tools.suspend import CALL, CallJournal, Suspend

if TYPE_CHECKING:
    from xun.agent.agent import Agent

_COUNT = "__subagents"


def check_depth(parent: Agent[Any], max_depth: int) -> None:
    """Return when *parent* may have sub-agents.

    Raises:
        ToolError: It is *max_depth* generations deep.
    """
    if depth_of(parent) >= max_depth:
        raise ToolError(f"Sub-agents may not go deeper than {max_depth} generations; do this task yourself.")


def adopt(parent: Agent[Any], child: Agent[Any], name: str | None, *, dry_run: bool = False) -> None:
    """Make *child*, which is new, a sub-agent of *parent*, under a name that no other has; initialise it."""
    child.parent = child.parent or parent
    child.chooser = child.chooser or parent.chooser
    number = parent.state[_COUNT] = int(parent.state.get(_COUNT, 0)) + 1
    child.name = f"{name or 'agent'}#{number}"
    if dry_run and not child.toolbox.dry_run:
        child.toolbox = child.toolbox.clone()
        child.toolbox.dry_run = True
    child.initialize()
    # A sub-agent's permissions are its own, but what was forbidden above it is forbidden to it as well. Plan mode is
    # looked up there each time (`in_plan_mode`), so that leaving it holds for those that run already.
    child.policy.excluded |= parent.policy.excluded


async def run_child(parent: Agent[Any], child: Agent[Any], task: str, context: Any) -> Result[Any, ErrorInfo]:
    """Run *child*, which was adopted, to its end, and finalise it; within a call of a run it can wait for a person.

    Args:
        parent: Whose stream gets the events.
        child: The sub-agent.
        task: What it is asked.
        context: What its tools see as ``ctx.value``.

    Raises:
        Suspend: It waits for a person, and so does the call; made again, the call goes on with it.
        CancelledError: It was cancelled.
    """
    journal = CALL.get()
    key = "" if journal is None else journal.next_child()
    kept = None if journal is None else journal.children.get(key)
    if kept is not None and "ok" in kept:
        child.finalize()
        return _result_of(kept)
    try:
        answered = journal is not None and kept is not None and _restored(child, kept["state"], journal)
        if kept is not None and not answered:
            _wait_again(child)
        if kept is None:
            parent.record(SubagentStarted(agent=parent.name, name=child.name, task=task))
            child.instruct(task)
        result = await follow(parent, child, context)
        if result.status == "pending" and journal is not None:
            journal.children[key] = {"state": child.save()}
            _wait_again(child)
    finally:
        child.finalize()
    parent.record(SubagentCompleted(agent=parent.name, name=child.name, task=task, ok=result.is_ok()))
    if result.status == "cancelled":
        raise CancelledError(result.unwrap_err().error)
    if journal is not None:
        journal.children[key] = _kept(result)
    return result


async def follow(parent: Agent[Any], child: Agent[Any], context: Any) -> Result[Any, ErrorInfo]:
    """Run *child*, or go on with the run of it that waits and has an answer; *parent* records its events."""
    async for event in child.events_on(context):
        parent.record(event)
    return child.last_result


def _restored(child: Agent[Any], state: dict[str, Any], journal: CallJournal) -> bool:
    """Bring back a child that waited; tell whether one of its questions has been answered now."""
    child.load_state(state)
    return answer_from(child, journal)


def answer_from(child: Agent[Any], journal: CallJournal) -> bool:
    """Give the waiting calls of *child* the answers that the call of its parent got; tell whether there was one."""
    answered = False
    for call in child.open_calls():
        if call.question is not None and (found := journal.hand_over(call.question)) is not None:
            call.answer({**call.question, "outcome": found["outcome"]})
            answered = True
    return answered


def _wait_again(child: Agent[Any]) -> None:
    raise Suspend(first_question(child))


def first_question(child: Agent[Any]) -> dict[str, Any] | None:
    """Return the first question that *child* waits with."""
    return next((call.question for call in child.open_calls()), None)


def _kept(result: Result[Any, ErrorInfo]) -> dict[str, Any]:
    if result.is_ok():
        return {"ok": True, "value": result.to_json()["value"]}
    error = result.unwrap_err()
    return {"ok": False, "status": result.status, "error": [error.error, error.details, error.kind]}


def _result_of(kept: dict[str, Any]) -> Result[Any, ErrorInfo]:
    if kept["ok"]:
        return Result.Ok(kept["value"])
    return Result.Err(ErrorInfo(*kept["error"]), kept["status"])
