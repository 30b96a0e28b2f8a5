"""Put the pieces of a streamed answer together.

Servers differ in how they send tool calls: with or without an index, the id in the first piece
only or in each, several calls in one chunk, all calls under index 0, arguments as text, null or
an object. What is settled here: no call is lost, none is joined with another, ids are unique
within the answer, and a call of an answer that was cut comes out with a finish reason that says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from xun.errors import ModelReplyInvalid
from xun.messages import ModelReply, ToolCall, Usage
from xun.models.base import COMPLETE, ReasoningDelta, TextDelta
from xun.models.textcalls import find_calls

_BROKEN = frozenset({"error", "abort", "aborted", "network_error", "insufficient_system_resource", "timeout"})
"""Finish reasons by which a server says that it gave up: of vLLM, OpenRouter, Z.ai and DeepSeek, among others."""

_SLACK = 100
"""How many blanks may stand around an object that is said again, in characters."""

_COUNTS = ("prompt_tokens", "completion_tokens")
_TEXT_KEYS = ("content", "refusal")
_REASONING_KEYS = ("reasoning_content", "reasoning")


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: str = ""
    size: int = 0

    def is_complete(self) -> bool:
        """Whether the arguments are an object already, so that another name means another call."""
        try:
            return isinstance(json.loads("".join(self.arguments)), dict)
        except (ValueError, RecursionError):
            return False

    def add(self, piece: str) -> None:
        """Take a piece of the arguments.

        Two things are told apart from the rest: an empty object that stood for arguments yet to come (Bedrock, Gemini
        and proxies of Anthropic), and a piece that says the whole object again (proxies, at the end of the stream).
        """
        # What is much longer than the piece can be neither, and is not joined for each of many.
        if self.size <= len(piece) + _SLACK and piece.lstrip()[:1] == "{":
            whole = "".join(self.arguments).strip()
            if whole == "{}":
                self.arguments.clear()
                self.size = 0
            elif whole and piece.strip() == whole and self.is_complete():
                return
        self.arguments.append(piece)
        self.size += len(piece)


class ReplyAssembler:
    """Collect the chunks of one answer.

    Attributes:
        usage: The token figures as the server sent them last, or None.
        finish_reason: The server's word, in lower case, or None while the answer goes on.
        model: The name of the model that answers, as the server gave it, or "".
    """

    def __init__(self) -> None:
        self.usage: dict[str, Any] | None = None
        self.finish_reason: str | None = None
        self.model = ""
        self._text = Pieces()
        self._reasoning = Pieces()
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    @property
    def begun(self) -> bool:
        """Whether there is a piece of text, of notes or of a call."""
        return bool(self._calls or self._text or self._reasoning)

    def add(self, chunk: dict[str, Any]) -> list[TextDelta | ReasoningDelta]:
        """Take one chunk (or one whole answer) and return the pieces to show.

        Raises:
            ModelReplyInvalid: The chunk has not the form of one.
        """
        self._count(chunk)
        if isinstance(chunk.get("model"), str):
            self.model = chunk["model"]
        choices = chunk.get("choices")
        if choices is None or choices == []:
            return []
        if not isinstance(choices, list) or not isinstance(choices[0], dict):
            raise ModelReplyInvalid("The model's answer has no proper list of choices")
        # Only the first of several answers was asked for.
        choice = next((item for item in choices if isinstance(item, dict) and item.get("index") in (None, 0)), None)
        if choice is None:
            return []
        delta = choice.get("delta")
        if not delta and not (self._calls or self._text.whole()):
            delta = choice.get("message")
        events = self._delta(delta) if isinstance(delta, dict) else []
        if isinstance(choice.get("finish_reason"), str):
            self.finish_reason = choice["finish_reason"].lower()
        return events

    def _count(self, chunk: dict[str, Any]) -> None:
        groq = chunk.get("x_groq")
        for holder in (chunk, groq if isinstance(groq, dict) else {}):
            usage = holder.get("usage")
            # The last one counts, as some servers send the sum so far with each chunk; zeros at the end say nothing.
            if isinstance(usage, dict) and (self.usage is None or any(usage.get(key) for key in _COUNTS)):
                self.usage = usage

    def _delta(self, delta: dict[str, Any]) -> list[TextDelta | ReasoningDelta]:
        events: list[TextDelta | ReasoningDelta] = []
        # Some servers send the same notes under both keys.
        notes = next((text for key in _REASONING_KEYS if (text := _as_text(delta.get(key)))), "")
        if piece := self._reasoning.add(notes):
            events.append(ReasoningDelta(piece))
        for key in _TEXT_KEYS:
            if piece := self._text.add(_as_text(delta.get(key))):
                events.append(TextDelta(piece))
        calls = delta.get("tool_calls")
        for entry in calls if isinstance(calls, list) else (calls,):
            if isinstance(entry, dict):
                self._add_call(entry)
        if isinstance(delta.get("function_call"), dict):
            self._add_call({"index": 0, "function": delta["function_call"]})
        return events

    def _add_call(self, entry: dict[str, Any]) -> None:
        function = entry.get("function", entry)
        function = function if isinstance(function, dict) else {}
        call_id, name = _as_text(entry.get("id")), _as_text(function.get("name"))
        call = self._slot(entry.get("index"), call_id, name)
        call.id = call.id or call_id
        if name and name != call.name:
            call.name += name
        arguments = function.get("arguments")
        if isinstance(arguments, dict | list):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if isinstance(arguments, str) and arguments:
            call.add(arguments)
        if isinstance(entry.get("extra_content"), dict):
            call.extra = json.dumps(entry["extra_content"])

    def _slot(self, index: object, call_id: str, name: str) -> _Call:
        """Find the call that a piece belongs to, or begin one."""
        if isinstance(index, str) and index.isdecimal() and len(index) < 6:
            index = int(index)
        number = index if isinstance(index, int) and not isinstance(index, bool) else None
        found: _Call | None
        if number is not None:
            found = self._by_index.get(number)
        else:
            same = [call for call in self._calls if call_id and call.id == call_id]
            found = same[-1] if same else (self._calls[-1] if self._calls and not call_id else None)
        if found is None or _begins_another(found, call_id, name, number is not None):
            found = _Call()
            self._calls.append(found)
            if number is not None:
                self._by_index[number] = found
        return found

    def finish(
        self, *, complete: bool, names: Collection[str] = ()
    ) -> tuple[ModelReply, list[TextDelta | ReasoningDelta]]:
        """Return the answer and the pieces still held back.

        *complete* says that the server marked the end of its stream; *names* are the tools on offer, for calls
        written as text. The reply's usage counts the request only; the caller adds the tokens.

        Raises:
            ModelReplyInvalid: The stream ended before the answer did.
        """
        if not complete and self.finish_reason is None:
            raise ModelReplyInvalid("The model's stream ended before its answer was complete (no finish reason came)")
        finish = self.finish_reason or ""
        if finish in _BROKEN or "malformed" in finish:
            raise ModelReplyInvalid(f"The model's answer broke off: its server gave the reason {finish[:60]!r}")
        rest: list[TextDelta | ReasoningDelta] = []
        if piece := self._reasoning.flush():
            rest.append(ReasoningDelta(piece))
        if piece := self._text.flush():
            rest.append(TextDelta(piece))
        text = self._text.whole()
        # Those of an answer that was cut come along: the run answers them, so that the model sends them again.
        calls = self._unique()
        if finish in COMPLETE:
            calls = calls or tuple(_with_id(call) for call in find_calls(text, names))
            finish = "tool_calls" if calls else "stop"
        return ModelReply(text, calls, finish, Usage(requests=1), self._reasoning.whole()), rest

    def _unique(self) -> tuple[ToolCall, ...]:
        calls: list[ToolCall] = []
        seen: set[str] = set()
        for call in self._calls:
            if not call.name and not call.arguments:
                continue
            made = ToolCall(call.id, joined(call.name), joined("".join(call.arguments)), call.extra)
            calls.append(made if made.id and made.id not in seen else _with_id(made))
            seen.add(calls[-1].id)
        return tuple(calls)


class Pieces:
    """Text that arrives in pieces; surrogate pairs that JSON escapes cut in two are joined."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._held = ""

    def __bool__(self) -> bool:
        return bool(self._parts or self._held)

    def add(self, text: str) -> str:
        """Take a piece and return what can be shown of it now."""
        if not text:
            return ""
        text = self._held + text
        self._held = ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        text = joined(text)
        self._parts.append(text)
        return text

    def flush(self) -> str:
        """Return what was held back."""
        rest, self._held = joined(self._held), ""
        self._parts.append(rest)
        return rest

    def whole(self) -> str:
        """Return all that was returned so far."""
        return "".join(self._parts)


def joined(text: str) -> str:
    """Join the surrogate pairs of *text*; a lone one becomes U+FFFD, so that the text can be stored and sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _begins_another(call: _Call, call_id: str, name: str, numbered: bool) -> bool:
    if not name or not call.name:
        return False
    if call_id and call.id:
        # Servers with one index for all calls send each whole; others change the id in mid call.
        return call_id != call.id and (not call.arguments or call.is_complete())
    if call.is_complete():
        return True
    return name != call.name and (bool(call.arguments) or not numbered)


def _with_id(call: ToolCall) -> ToolCall:
    return replace(call, id=f"call_{os.urandom(12).hex()}")


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(str(part.get("text") or "") for part in value if isinstance(part, dict))
    return ""
