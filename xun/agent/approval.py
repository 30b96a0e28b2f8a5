"""Approval of single tools: the question before a call, by the tool's own rule or because of plan mode."""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING, Any, cast

from xun.agent.deciding import note_decision
from xun.agent.questions import new_request_id
from xun.agent.subagent import in_plan_mode
from xun.choice import DENY, GRANT, ONCE, ChoiceOutcome, ChoiceRequest, Option, subject_of
from xun.errors import Denied
from xun.events import ApprovalResolved, PolicyChanged
from xun.result import Result
from xun.tools.context import ToolCallContext
from xun.tools.function import Function, failure
from xun.tools.schema import decode_object
from xun_policies.store import DecisionRecord

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.tools.toolbox import ToolBox

_log = logging.getLogger("xun.tools")

GRANTS = "__tool_grants"
"""Where ``agent.state`` keeps the names of the tools that run unasked in this session."""

_SHOWN = 200_000
"""Characters of arguments that a question holds; a front end folds them and shows them whole when it is asked to."""

_NAME = re.compile(r"[A-Za-z_][\w.-]*")


def question_of(
    agent: Agent[Any],
    box: ToolBox,
    tool: Function,
    arguments: dict[str, Any] | str,
    context: ToolCallContext[Any],
) -> ChoiceRequest | None:
    """Return what a person has to be asked before *tool* is called; None for nothing.

    Raises:
        Denied: Plan mode does not allow it.
    """
    attr, plan = tool.attr, in_plan_mode(agent)
    if plan and attr.destructive:
        raise Denied(
            f"Denied by plan mode: what {tool.name} does can't be taken back. Describe what you would do instead; "
            "the person leaves plan mode with /mode ask.",
            source="mode",
        )
    given = decode_object(tool.name, arguments) if isinstance(arguments, str) else arguments
    wanted = _wanted(tool, context, given)
    unknown = plan and not (attr.read_only or attr.pure or box.is_gated(tool.name))
    if not wanted and not unknown:
        return None
    if tool.name in agent.state.get(GRANTS, ()) and not unknown:
        note_decision(agent, DecisionRecord("", tool.name, tool.name, "allow", "allowlist", "granted"))
        return None
    return _request(agent, tool, given, context.call_id, unknown=unknown)


def _wanted(tool: Function, context: ToolCallContext[Any], arguments: dict[str, Any]) -> bool:
    rule = tool.attr.approval
    if not callable(rule):
        return rule
    try:
        return bool(rule(context, arguments))
    except Exception:  # noqa: BLE001 - the boundary of foreign code
        _log.exception("the approval rule of %s failed, so the person is asked", tool.name)
        return True


def _request(
    agent: Agent[Any], tool: Function, arguments: dict[str, Any], call_id: str, *, unknown: bool
) -> ChoiceRequest:
    shown = "\n".join(_argument(name, value) for name, value in arguments.items()) or "It takes no arguments."
    if len(shown) > _SHOWN:
        shown = f"{shown[:_SHOWN]}\n... {len(shown) - _SHOWN} more characters, which can't be shown here"
    notes = []  # before the arguments, which may be long
    if tool.attr.destructive:
        notes.append("What it does can't be taken back.")
    if unknown:
        notes.append("Plan mode asks because the tool does not say that it changes nothing.")
    notes.append(shown)
    options = (
        Option(GRANT, "Allow and grant", "g", available=not unknown, note="this tool, for this session"),
        Option(ONCE, "Allow this time only", "o"),
        Option(DENY, "Deny", "d"),
    )
    return ChoiceRequest(
        new_request_id(),
        "choice",
        f"Run the tool {tool.name}?",
        options,
        ONCE,
        agent=agent.name,
        tool=tool.name,
        call_id=call_id,
        message="\n".join(notes),
    )


def _argument(name: str, value: Any) -> str:
    """Return one argument as a person reads it: a text of several lines below its name, indented.

    A text that could be taken for another kind of value is quoted, and no line of a text can pass for an argument.
    """
    label = name if _NAME.fullmatch(name) else json.dumps(name)
    text = value if isinstance(value, str) and _is_plain(value) else json.dumps(value, ensure_ascii=False, default=str)
    return f"{label}:\n    " + text.replace("\n", "\n    ") if "\n" in text else f"{label}: {text}"


def _is_plain(text: str) -> bool:
    if not text.strip():
        return False
    if "\n" in text:
        return True  # any other kind of value is one line
    if text != text.strip(" \t\r"):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return True
    return False


class Approving:
    """The part of an agent that has calls approved; mixed into `Agent`."""

    def approve(
        self, box: ToolBox, tool: Function, arguments: dict[str, Any] | str, context: Any, *, call_id: str = ""
    ) -> Result[Any, Any] | None:
        """Ask, from a tool's thread, what the call of *tool* needs; return the Err of one that may not be made."""
        agent = cast("Agent[Any]", self)
        try:
            request = question_of(agent, box, tool, arguments, _context(agent, tool, context, call_id))
            if request is None or _by_count(agent, tool, request):
                return None
            return _settled(agent, request, agent.ask(request))
        except Denied as exc:
            note_decision(agent, DecisionRecord("", tool.name, tool.name, "deny", exc.source, "tool"))
            return failure(exc)

    async def aapprove(
        self, box: ToolBox, tool: Function, arguments: dict[str, Any] | str, context: Any, *, call_id: str = ""
    ) -> Result[Any, Any] | None:
        """The same as `approve`, from async code."""
        agent = cast("Agent[Any]", self)
        try:
            request = question_of(agent, box, tool, arguments, _context(agent, tool, context, call_id))
            if request is None or _by_count(agent, tool, request):
                return None
            return _settled(agent, request, await agent.aask(request))
        except Denied as exc:
            note_decision(agent, DecisionRecord("", tool.name, tool.name, "deny", exc.source, "tool"))
            return failure(exc)


def _context(agent: Agent[Any], tool: Function, value: Any, call_id: str) -> ToolCallContext[Any]:
    return ToolCallContext(agent, tool.name, value, call_id=call_id)


def _by_count(agent: Agent[Any], tool: Function, request: ChoiceRequest) -> bool:
    """Take one of the answers that ``/auto N`` gave beforehand, where the question is an ordinary one."""
    policy = agent.policy
    if policy.auto_remaining <= 0 or agent.config.auto_confirm or tool.attr.destructive:
        return False
    policy.auto_remaining -= 1
    _note(agent, request, ChoiceOutcome(ONCE, "auto", decided_by="auto"))
    return True


def _settled(agent: Agent[Any], request: ChoiceRequest, outcome: ChoiceOutcome[Any]) -> Result[Any, Any] | None:
    _note(agent, request, outcome)
    if outcome.choice == GRANT and outcome.source == "user":
        grant_tool(agent, request.tool)
    if outcome.choice in (GRANT, ONCE):
        return None
    who = "the user" if outcome.source == "user" else outcome.decided_by
    reason = f": {outcome.reason}" if outcome.reason else " (no reason given)"
    text = f"Denied by {who}{reason}. {request.tool} did not run; do something else or ask."
    return failure(Denied(text, source=outcome.decided_by, reason=outcome.reason))


def _note(agent: Agent[Any], request: ChoiceRequest, outcome: ChoiceOutcome[Any]) -> None:
    """Put the decision into the log; one that no person made into the stream too, as a front end tells its own."""
    allowed = outcome.choice in (GRANT, ONCE)
    decision, by = "allow" if allowed else "deny", outcome.decided_by
    note_decision(agent, DecisionRecord("", request.tool, subject_of(request), decision, by, "tool"))
    if outcome.source == "auto":
        agent.record(
            ApprovalResolved(
                agent=agent.name,
                request_id=request.id,
                call_id=request.call_id,
                kind=request.kind,
                choice=outcome.choice,
                subject=subject_of(request),
                source=by,
                reason=outcome.reason,
            )
        )


def grant_tool(agent: Agent[Any], tool: str) -> None:
    """Let *tool* run unasked for the rest of the session."""
    granted = set(agent.state.get(GRANTS, ())) | {tool}
    agent.state[GRANTS] = sorted(granted)
    agent.record(PolicyChanged(agent=agent.name, op="allow", list="tools", entry=tool, source="dialog"))
