"""ScriptedModel: a model whose answers are written beforehand. It needs no network."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

from xun.errors import ConfigError
from xun.messages import ModelReply, ToolCall, Usage
from xun.models.base import ModelEvent, ModelRequest, ReasoningDelta, TextDelta
from xun.models.script import Turn, parse_risk, parse_turn, read_script, risk_text, sequence_of


class ScriptedModel:
    """Play *turns* in order, whatever is asked.

    A turn is ``{"text"?, "reasoning"?, "tool_calls"?: [{"name", "arguments", "id"?}], "usage"?: {"input",
    "output"}, "delay"?, "pieces"?, "finish_reason"?}``; delay is in seconds, pieces says in how many parts the
    text comes. Requests with purpose "risk" are served from *risk*, a list of ``{"verdict", "reason"}``
    (or of turns, to script an assessor that misbehaves); with none left the verdict is unsure.

    Attributes:
        requests: Every request so far, in order.
        warnings: One sentence for each request that came after the last turn.
    """

    def __init__(
        self,
        turns: Iterable[Any],
        risk: Iterable[Any] | None = None,
        *,
        name: str = "scripted",
        capabilities: Iterable[str] = (),
        context_window: int | None = None,
    ) -> None:
        """Check the script.

        Raises:
            ConfigError: A turn or a risk answer is malformed; the text names its place and key.
        """
        self.name = name
        self.capabilities = frozenset(capabilities)
        self.context_window = context_window
        self.requests: list[ModelRequest] = []
        self.warnings: list[str] = []
        self._turns = [parse_turn(item, f"turns[{n}]") for n, item in enumerate(sequence_of(turns, "turns"))]
        self._risk = [parse_risk(item, f"risk[{n}]") for n, item in enumerate(sequence_of(risk or (), "risk"))]
        self._given = {call.id for turn in (*self._turns, *self._risk) for call in turn.tool_calls}
        self._played = self._judged = self._made = 0
        # Sub-agents may ask from threads of their own.
        self._lock = threading.Lock()

    @classmethod
    def from_file(cls, path: str | Path) -> ScriptedModel:
        """Read the script from a JSON file: a list of turns, or ``{"turns", "risk"}``.

        Raises:
            ConfigError: The file can't be read or is malformed; the text names it.
        """
        turns, risk = read_script(path)
        try:
            return cls(turns, risk, name=f"scripted:{Path(path).name}")
        except ConfigError as exc:
            raise ConfigError(f"The script {path}: {exc}") from None

    def __repr__(self) -> str:
        return f"ScriptedModel({len(self._turns)} turns, {len(self._risk)} risk answers, {len(self.requests)} asked)"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Play the next turn.

        Past the end the answer is empty and a sentence is added to `warnings`.
        """
        with self._lock:
            turn = self._next(request)
            calls = tuple(ToolCall(c.id or self._new_id(), c.name, c.arguments) for c in turn.tool_calls)
        if turn.delay:
            await asyncio.sleep(turn.delay)
        if turn.reasoning:
            yield ReasoningDelta(turn.reasoning)
        for piece in split(turn.text, turn.pieces):
            yield TextDelta(piece)
        yield ModelReply(
            text=turn.text,
            tool_calls=calls,
            finish_reason=turn.finish_reason or ("tool_calls" if calls else "stop"),
            usage=Usage(input=turn.input, output=turn.output, requests=1),
            reasoning=turn.reasoning,
        )

    async def aclose(self) -> None:
        """Free nothing; the script goes on where it was."""

    def _next(self, request: ModelRequest) -> Turn:
        self.requests.append(request)
        if request.purpose == "risk":
            self._judged += 1
            if self._judged > len(self._risk):
                return Turn(text=risk_text("unsure", "The script holds no further risk answer."), pieces=1)
            return self._risk[self._judged - 1]
        self._played += 1
        if self._played > len(self._turns):
            self.warnings.append(
                f"Request {self._played} came after the last of {len(self._turns)} scripted turns; the answer is empty"
            )
            return Turn()
        return self._turns[self._played - 1]

    def _new_id(self) -> str:
        while True:
            self._made += 1
            made = f"call_{self._made}"
            if made not in self._given:
                return made


def split(text: str, pieces: int) -> Iterator[str]:
    """Cut *text* into at most *pieces* parts of about equal length, none empty."""
    size = max(1, -(-len(text) // max(1, pieces)))
    for start in range(0, len(text), size):
        yield text[start : start + size]
