"""DemoModel: answers by rules, with real tool calls, where no model is set up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from xun.messages import Message, ModelReply, ToolCall, Usage
from xun.models.base import ModelEvent, ModelRequest, TextDelta
from xun_cli.demo.results import Call, Plan, ToolResult, code, result_of

if TYPE_CHECKING:
    from xun_cli.demo.rules import RuleBook

NAME = "demo (scripted, no model)"
"""What people see as the model's name."""

_PIECES = 60
"""An answer comes in at most so many pieces, so that a long one does not take longer."""

_MAX_CALLS = 12
"""No plan makes more calls than this; one that would is broken off and says so."""


class DemoModel:
    """Plan everyday requests by rules over the history; see `xun_cli.demo.rules`.

    Each answer is a function of the history alone: the plan of the last request is run again with
    the results that the history holds, up to the next call or to its end. So a report says what
    the tools returned and nothing else, also in a session that was resumed.
    """

    def __init__(self, pace: float = 0.004) -> None:
        """Stream with *pace* seconds between the pieces of a text."""
        self.name = NAME
        self.capabilities: frozenset[str] = frozenset()
        self.context_window: int | None = None
        self._pace = pace
        self._book: RuleBook | None = None

    def __repr__(self) -> str:
        return "DemoModel()"

    def preload(self) -> None:
        """Compile the rules, which takes a tenth of a second; otherwise the first answer does it."""
        self._rules()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer *request* by the rules."""
        await asyncio.to_thread(self.preload)
        act = self._answer(request)
        text, calls = (act, ()) if isinstance(act, str) else (act.text, (_tool_call(act, request.messages),))
        size = max(12, -(-len(text) // _PIECES))
        for start in range(0, len(text), size):
            yield TextDelta(text[start : start + size])
            await asyncio.sleep(self._pace)
        yield ModelReply(text, calls, "tool_calls" if calls else "stop", Usage(requests=1))

    async def aclose(self) -> None:
        """Free nothing."""

    def _answer(self, request: ModelRequest) -> Call | str:
        if request.purpose == "risk":
            reason = "The demo has no language model to judge a command with."
            return json.dumps({"verdict": "unsure", "reason": reason})
        if request.purpose == "summary":
            return _summary(request.messages)
        text, results = _last_turn(request.messages)
        tools = frozenset(str(tool.get("function", {}).get("name")) for tool in request.tools)
        plan = self._rules().plan(text, recent=_recent_path(request.messages), tools=tools)
        act = _advance(plan, results)
        if isinstance(act, str):
            return act
        if act.tool not in tools:
            return (
                f"The tool {code(act.tool)} is not available in this session, so I can't go on; nothing more was done."
            )
        if len(results) >= _MAX_CALLS:
            return f"I stopped after {len(results)} tool calls; ask for less at once."
        return act

    def _rules(self) -> RuleBook:
        if self._book is None:
            from xun_cli.demo.rules import RuleBook

            self._book = RuleBook()
        return self._book


def _advance(plan: Plan, results: Sequence[ToolResult]) -> Call | str:
    """Run *plan* with *results* and return its next call, or its answer."""
    try:
        act = next(plan)
        for result in results:
            act = plan.send(result)
    except StopIteration as end:
        return str(end.value)
    return act


def _last_turn(messages: Sequence[Message]) -> tuple[str, list[ToolResult]]:
    """Return the person's last message and the results of the calls since, in call order."""
    last = max((n for n, message in enumerate(messages) if message.role == "user"), default=-1)
    # What was piped in stands behind the request; rules can do nothing with it.
    text = messages[last].text.partition("\n\nStandard input:\n```")[0] if last >= 0 else ""
    since = messages[last + 1 :]
    answers = {message.tool_call_id: message.text for message in since if message.role == "tool"}
    calls = [call for message in since for call in message.tool_calls]
    return text, [result_of(answers.get(call.id, "This call has no result.")) for call in calls]


def _recent_path(messages: Sequence[Message]) -> str:
    """Return the path of the last call before the person's last message, for "it" and "this file"."""
    last = max((n for n, message in enumerate(messages) if message.role == "user"), default=0)
    for message in reversed(messages[:last]):
        for call in reversed(message.tool_calls):
            path = _arguments(call).get("dst") or _arguments(call).get("path")
            if isinstance(path, str) and path not in ("", "."):
                return path
    return ""


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _tool_call(act: Call, messages: Sequence[Message]) -> ToolCall:
    taken = {call.id for message in messages for call in message.tool_calls}
    number = len(taken) + 1
    while f"demo_{number}" in taken:
        number += 1
    return ToolCall(f"demo_{number}", act.tool, json.dumps(act.arguments, ensure_ascii=False))


def _summary(messages: Sequence[Message]) -> str:
    """Return what was asked and called so far; a summary by rules can hold no more."""
    lines = ["The conversation so far, by the demo's rules (no language model summed it up):"]
    names = {"[user] ": "asked", "[call] ": "called", "[assistant] ": "answered"}
    for line in (line for message in messages if message.role == "user" for line in message.text.splitlines()):
        head = next((head for head in names if line.startswith(head)), "")
        if head:
            lines.append(f"- {names[head]}: {' '.join(line[len(head) :].split())[:200]}")
    return "\n".join(lines[:200])
