"""Noticing that a run goes in circles: the same calls with the same results, or nothing but failures."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xun.errors import Denied, LoopDetected

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.messages import Message

_WINDOW = 8
"""Steps that are looked at: a cycle of up to half as many is found in them."""

_CYCLES = {2: 6, 3: 8, 4: 8}
"""How many steps a cycle of so many must fill."""

_VOLATILE = re.compile(r'"(?:duration|duration_ms|seconds|elapsed)": *[0-9.eE+-]+')
"""What differs between two results that say the same."""

GO_ON, STOP = "go on", "stop"


class Circling:
    """The last steps of a run.

    Args:
        equal: So many equal steps in a row are a circle; 0 looks for none.
        failed: So many steps in a row all of whose calls failed are one; 0 looks for none.
    """

    def __init__(self, equal: int, failed: int) -> None:
        self._equal, self._most_failed = equal, failed
        self._steps: deque[bytes] = deque(maxlen=max(_WINDOW, equal))
        self._failed = 0

    def note(self, history: Sequence[Message], *, failed: bool) -> str:
        """Take the last step of *history* into account; return what circle it closes, in words, or ""."""
        self._failed = self._failed + 1 if failed else 0
        step, names = _last_step(history)
        self._steps.append(step)
        if self._equal and self._repeats(1, self._equal):
            return f"it made the same call of {names} {self._equal} times, with the same result"
        for size, needed in _CYCLES.items() if self._equal else ():
            if self._repeats(size, needed):
                return f"it repeats the same {size} steps, with the same results"
        if self._most_failed and self._failed >= self._most_failed:
            return f"all of its calls have failed in {self._failed} steps in a row"
        return ""

    def clear(self) -> None:
        """Begin anew: a person has looked at it, or said something."""
        self._steps.clear()
        self._failed = 0

    def _repeats(self, size: int, needed: int) -> bool:
        steps = list(self._steps)[-needed:]
        if size > 1 and len(set(steps)) == 1:
            return False
        return len(steps) == needed and all(steps[at] == steps[at - size] for at in range(size, needed))


def _last_step(history: Sequence[Message]) -> tuple[bytes, str]:
    start = next((at for at in range(len(history) - 1, -1, -1) if history[at].tool_calls), len(history))
    results = {message.tool_call_id: message.text for message in history[start:] if message.role == "tool"}
    calls = history[start].tool_calls if start < len(history) else ()
    digest = hashlib.sha256()
    for call in calls:
        result = _VOLATILE.sub("", results.get(call.id, ""))
        for text in (call.name, call.arguments, result):
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.digest(), " and ".join(dict.fromkeys(call.name for call in calls))


async def ask_to_go_on(agent: Agent[Any], circling: Circling, why: str) -> None:
    """Ask the person whether a run that goes in circles may go on; return when it may.

    Raises:
        LoopDetected: It may not, or nobody can be asked.
    """
    question = f"The model seems to go in circles: {why}. Let it go on?"
    answer = STOP
    try:
        outcome = await agent.aget_choice(question, [STOP, GO_ON], default=STOP, skip_auto_confirm=True)
        answer = str(outcome.choice)
    except Denied:
        pass
    if answer != GO_ON:
        raise LoopDetected(f"The run was stopped, since it went in circles: {why}. Say how to go on.")
    circling.clear()
