"""From a session's events to what an editor shows."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from acp import helpers
from acp.schema import Cost, CurrentModeUpdate, FileEditToolCallContent, ToolCallLocation, ToolKind, UsageUpdate

from xun.events import (
    ApprovalResolved,
    Error,
    Event,
    MessageCompleted,
    MessageDelta,
    Notice,
    PolicyChanged,
    ReasoningDelta,
    Retry,
    RiskAssessed,
    TodoUpdated,
    ToolCompleted,
    ToolOutput,
    ToolStarted,
    TurnCompleted,
    TurnStarted,
)
from xun_cli.plain_text import event_line
from xun_cli.render.calls import Call
from xun_cli.render.cards import whole_card
from xun_cli.render.safe import safe
from xun_cli.render.text import plain_lines

if TYPE_CHECKING:
    from xun.choice import ChoiceRequest

Update = helpers.SessionUpdate | UsageUpdate

COLUMNS = 100
"""How wide texts are drawn; an editor scrolls or wraps what does not fit."""

SHOWN = 30_000
"""Characters of a result that are sent; the model has the whole."""

OUTPUT_PACE = 0.25
"""Seconds between two updates of a command's live output."""

KINDS: Mapping[str, ToolKind] = {
    **dict.fromkeys(("read_file", "read_many_files", "list_dir", "file_info", "request_image", "read_output"), "read"),
    **dict.fromkeys(("glob", "grep", "tool_search", "history_search", "web_search"), "search"),
    **dict.fromkeys(("write_file", "replace", "multi_edit", "apply_patch", "insert_lines", "undo_edit"), "edit"),
    **dict.fromkeys(("str_replace_editor", "copy", "mkdir"), "edit"),
    **dict.fromkeys(("bash", "bash_spawn", "bash_wait", "bash_kill", "shell", "run_code"), "execute"),
    "delete": "delete",
    "move": "move",
    "web_fetch": "fetch",
    "write_todos": "think",
}
"""What kind of work a tool does, for the icon that an editor shows; any other is "other"."""

_STATUS = {"pending": "pending", "in_progress": "in_progress", "completed": "completed"}
_PATHS = ("path", "src", "dst")


def fenced(text: str) -> str:
    """Return *text* as a block of code that nothing in it can end."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def clipped(text: str) -> str:
    """Return *text*, or its two ends when it is very long."""
    if len(text) <= SHOWN:
        return text
    half = SHOWN // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters more …\n{text[-half:]}"


class Updates:
    """What has been shown of one session.

    Args:
        cwd: The folder that paths are relative to.
        window: Gives the tokens that the model can take; None where that is unknown.
        clock: Gives seconds.
    """

    def __init__(
        self,
        cwd: str,
        window: Callable[[], int | None] = lambda: None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cwd, self._window, self._clock = cwd, window, clock
        self._calls: dict[str, Call] = {}
        self._sent: dict[str, float] = {}
        self._diffs: dict[str, list[FileEditToolCallContent]] = {}
        self._streamed = False
        self._makers: dict[type[Event], Callable[[Any], Iterator[Update]]] = {
            MessageDelta: self._delta,
            ReasoningDelta: self._reasoning,
            MessageCompleted: self._message,
            ToolStarted: self._started,
            ToolOutput: self._output,
            ToolCompleted: self._completed,
            ApprovalResolved: self._resolved,
            RiskAssessed: self._assessed,
            TodoUpdated: self._todos,
            PolicyChanged: self._policy,
            Notice: self._notice,
            Retry: self._retry,
        }

    def of(self, event: Event) -> list[Update]:
        """Return what *event* adds, nothing for most kinds."""
        maker = self._makers.get(type(event))
        return [] if maker is None else list(maker(event))

    def replayed(self, event: Event) -> list[Update]:
        """Return the same for an event of an earlier run, in which the person's words are no news to the editor yet."""
        if isinstance(event, TurnStarted):
            return [helpers.update_user_message_text(event.shown or event.input)]
        if isinstance(event, Error):
            return [self.said(event_line(event))]
        return [] if isinstance(event, Notice | TurnCompleted) else self.of(event)

    def usage(self, used: int, cost: float) -> UsageUpdate | None:
        """Return how full the model's window is; None where its size is unknown."""
        size = self._window()
        if not size:
            return None
        spent = Cost(amount=cost, currency="USD") if cost else None
        return UsageUpdate(session_update="usage_update", used=used, size=size, cost=spent)

    def asked(self, request: ChoiceRequest, diffs: Iterable[FileEditToolCallContent]) -> None:
        """Keep what a question about a call has shown: it stays with the call when that is done."""
        key = call_key(request.agent, request.call_id)
        if key in self._calls:
            self._calls[key].files = request.files
            self._diffs[key] = list(diffs)

    # -- the model's words --------------------------------------------------------------------

    def _delta(self, event: MessageDelta) -> Iterator[Update]:
        if event.agent == "main" and event.text:
            self._streamed = True
            yield helpers.update_agent_message_text(event.text)

    def _reasoning(self, event: ReasoningDelta) -> Iterator[Update]:
        if event.agent == "main" and event.text:
            yield helpers.update_agent_thought_text(event.text)

    def _message(self, event: MessageCompleted) -> Iterator[Update]:
        if event.agent != "main":
            return
        if event.text and not self._streamed:
            yield helpers.update_agent_message_text(event.text)
        self._streamed = False

    def said(self, text: str) -> Update:
        """Return words of xun itself, apart from the model's."""
        return helpers.update_agent_message_text(f"\n\n{safe(text)}\n\n")

    def _notice(self, event: Notice) -> Iterator[Update]:
        if event.level == "warning":
            yield self.said(event_line(event))

    def _retry(self, event: Retry) -> Iterator[Update]:
        yield helpers.update_agent_thought_text(f"\n{safe(event_line(event))}\n")

    # -- tools ----------------------------------------------------------------------------------

    def _started(self, event: ToolStarted) -> Iterator[Update]:
        key = call_key(event.agent, event.call_id)
        call = self._calls[key] = Call(event.call_id, event.tool, event.args, event.agent)
        yield helpers.start_tool_call(
            key,
            self.title(call),
            kind=KINDS.get(event.tool, "other"),
            status="in_progress",
            locations=self._locations(event.args),
            raw_input=event.args,
        )

    def title(self, call: Call) -> str:
        """Return in one line what a call does."""
        what = call.title(self._cwd)
        name = f"{safe(call.tool, multiline=False)}: {what}" if what and call.tool != "bash" else what or call.tool
        return name if call.agent == "main" else f"{safe(call.agent, multiline=False)}: {name}"

    def _locations(self, args: Any) -> list[ToolCallLocation] | None:
        if not isinstance(args, dict):
            return None
        paths = [args[name] for name in _PATHS if isinstance(args.get(name), str) and args[name]]
        return [ToolCallLocation(path=os.path.join(self._cwd, path)) for path in paths] or None

    def _output(self, event: ToolOutput) -> Iterator[Update]:
        key = call_key(event.agent, event.call_id)
        call = self._calls.get(key)
        if call is None:
            return
        call.add_output(event.stream, event.text)
        now = self._clock()
        if now - self._sent.get(key, float("-inf")) >= OUTPUT_PACE:
            self._sent[key] = now
            text = call.output or call.progress
            yield helpers.update_tool_call(key, content=[helpers.tool_content(helpers.text_block(fenced(safe(text))))])

    def _resolved(self, event: ApprovalResolved) -> Iterator[Update]:
        key = call_key(event.agent, event.call_id)
        if key in self._calls:
            self._calls[key].resolved = event
            if event.edited is not None:
                self._diffs.pop(key, None)
        yield from ()

    def _assessed(self, event: RiskAssessed) -> Iterator[Update]:
        key = call_key(event.agent, event.call_id)
        if key in self._calls:
            self._calls[key].risk = event
        yield from ()

    def _completed(self, event: ToolCompleted) -> Iterator[Update]:
        key = call_key(event.agent, event.call_id)
        self._sent.pop(key, None)
        diffs = self._diffs.pop(key, [])
        call = self._calls.pop(key, None)
        if call is None:
            return
        call.done = event
        whole = clipped(plain_lines(whole_card(call, COLUMNS, self._cwd)))
        # Where the editor compares both versions itself, the same diff as text would be there twice.
        shown = diffs if event.ok and diffs else [helpers.tool_content(helpers.text_block(fenced(whole)))]
        files = [str(file["path"]) for file in event.files if file.get("path")]
        yield helpers.update_tool_call(
            key,
            status="completed" if event.ok else "failed",
            content=shown,
            locations=[ToolCallLocation(path=os.path.join(self._cwd, path)) for path in files] or None,
        )

    # -- state ----------------------------------------------------------------------------------

    def _todos(self, event: TodoUpdated) -> Iterator[Update]:
        if event.agent == "main":
            yield helpers.update_plan(
                helpers.plan_entry(
                    str(item.get("description", "")),
                    status=_STATUS.get(str(item.get("status")), "pending"),  # type: ignore[arg-type]
                )
                for item in event.items
                if item.get("status") != "cancelled"
            )

    def _policy(self, event: PolicyChanged) -> Iterator[Update]:
        if event.op == "mode":
            yield CurrentModeUpdate(session_update="current_mode_update", current_mode_id=event.entry)


def call_key(agent: str, call_id: str) -> str:
    """Return the id of a tool call for the editor: those of sub-agents are their own."""
    return call_id if agent == "main" else f"{agent}/{call_id}"
