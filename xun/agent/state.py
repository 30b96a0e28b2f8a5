"""What an agent and its run tell each other: the run under way, steers, usage, events."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xun.agent.cancel import CancelToken
from xun.agent.history import Normaliser
from xun.agent.hooks import Hooks
from xun.events import Event
from xun.messages import Message, Usage
from xun.result import ErrorInfo, Result
from xun.tools.running import HOME

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.agent.loop import Run


class RunState:
    """The part of an agent that its runs read and write; mixed into `Agent`.

    Attributes:
        history: The conversation so far; it may be replaced between runs.
        normaliser: Makes the messages of a request from it.
        usage: Tokens and money of all runs, those of sub-agents included.
        turn: How many inputs there were.
        listener: Gets the events that are recorded while nothing runs.
        last_result: How the last run ended.
        background: The sub-agents that work beside its runs.
    """

    def __init__(self, hooks: Hooks, parent: Agent[Any] | None) -> None:
        self.hooks = hooks
        self.parent = parent
        self.history: list[Message] = []
        self.normaliser = Normaliser()
        self.usage = Usage()
        self.turn = 0
        self.listener: Callable[[Event], None] | None = None
        self.last_result: Result[Any, ErrorInfo] = Result.Err(ErrorInfo("No run has ended yet."))
        self.background: list[Agent[Any]] = []
        self._steers: list[str] = []
        self._run: Run | None = None
        self._run_lock = threading.Lock()

    @property
    def running(self) -> bool:
        """Whether a run is under way."""
        return self._run is not None

    def steer(self, text: str) -> bool:
        """Speak into the running turn; False when none runs."""
        if self._run is None:
            return False
        self._steers.append(text)
        return True

    def has_steers(self) -> bool:
        """Tell whether a steer waits."""
        return bool(self._steers)

    def take_steers(self) -> list[str]:
        """Return the steers that wait, and forget them."""
        texts, self._steers = self._steers, []
        return texts

    def cancel(self, reason: str = "cancelled") -> None:
        """End the running turn, from any thread; sub-agents end with it, those in the background too."""
        run = self._run
        if run is not None:
            run.token.cancel(reason)
        for child in tuple(self.background):
            child.cancel(reason)

    def new_token(self) -> CancelToken:
        """Return a token for a new run; the parent's cancellation reaches it."""
        return CancelToken(None if self.parent is None else self.parent.current_token())

    def current_token(self) -> CancelToken | None:
        """Return the token of the running turn."""
        return None if self._run is None else self._run.token

    def current_loop(self) -> asyncio.AbstractEventLoop | None:
        """Return the event loop of the running turn."""
        run = self._run
        return run.loop if run is not None and run.begun else None

    def current_run(self) -> Run | None:
        """Return the run that is under way."""
        return self._run

    def run_ends(self, run: Run) -> None:
        """Forget the run and what was meant for it only."""
        self._run = None
        self.last_result = run.result
        self.hooks.after_execution_step.drop_run(run)

    def add_usage(self, usage: Usage, run: Run | None = None) -> None:
        """Count *usage* here, for the run, and in the purse of every parent."""
        self.usage += usage
        current = run or self._run
        if current is not None:
            current.usage += usage
        if self.parent is not None:
            self.parent.add_usage(usage)

    def record(self, event: Event) -> None:
        """Put *event* into the running stream, or give it to the listener outside a run; from any thread.

        From the worker thread of a tool the listener is called in the event loop that waits for the tool.
        """
        run = self._run
        if run is not None and run.begun:
            run.channel.put(event)
        elif self.listener is not None:
            home = HOME.get()
            if home is None or home.is_closed() or _running() is home:
                self.listener(event)
            else:
                home.call_soon_threadsafe(self.listener, event)


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
