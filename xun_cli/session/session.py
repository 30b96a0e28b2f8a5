"""Session: one conversation, and the one seam at which front ends meet it.

Output is one ordered stream of envelopes; input is a handful of methods. It imports no UI library
and prints nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xun.agent.agent import Agent
from xun.choice import ChoiceOutcome, ChoiceRequest
from xun.events import (
    STORED,
    ApprovalResolved,
    Compaction,
    Error,
    Event,
    Notice,
    QueueChanged,
    SessionEnded,
    SessionStarted,
    TodoUpdated,
    TurnCompleted,
    TurnStarted,
    UsageUpdated,
)
from xun.messages import Image, Usage
from xun_cli.session.attaching import Attaching
from xun_cli.session.beside import Beside
from xun_cli.session.broken import broken_off
from xun_cli.session.envelope import Envelope
from xun_cli.session.past import Past
from xun_cli.session.questions import Questions
from xun_cli.session.rewinding import live, rebuild
from xun_cli.session.shell import run_as_user
from xun_cli.session.store import SessionError, SessionStore, new_session_id
from xun_cli.session.tool_state import restore_tools, stored_policy
from xun_policies.store import STATE_KEY, PolicyState

if TYPE_CHECKING:
    from xun.models.base import ChatModel
    from xun_cli.extensions import Extensions

_log = logging.getLogger("xun.session")

Listener = Callable[[Envelope], None]


def shown_name(model: ChatModel) -> str:
    """Return the model's name as people see it; of a server's first model it is known after the first answer."""
    return "the server's first model" if model.name == "auto" else model.name


class Session(Past, Attaching, Beside):
    """One conversation of an agent.

    It lives in one event loop; all methods are called there, unless their text says otherwise.

    Args:
        agent: The agent, initialised; its chooser is set here.
        store: Where events are kept; None keeps them in memory only.
        model_name: As users see it.
        model_factory: Makes the model of a name, for `switch_model`; runs in a thread.
        max_steps: Model requests of one turn.
        schema: What answers must meet, for headless runs.
    """

    def __init__(
        self,
        agent: Agent[Any],
        *,
        store: SessionStore | None = None,
        model_name: str = "",
        model_factory: Callable[[str], Any] | None = None,
        max_steps: int = 512,
        schema: Any = None,
        version: str = "",
    ) -> None:
        Attaching.__init__(self)
        Beside.__init__(self)
        self.agent, self.store, self.model_name = agent, store, model_name
        self.id = store.id if store is not None else new_session_id()
        self.name = ""
        self.cwd = Path(agent.workspace.workdir)
        self.usage, self.context_pct = Usage(), None
        self.turn = 0
        self.queue: list[str] = []
        self.todos: tuple[dict[str, str], ...] = ()
        self.denied: list[dict[str, Any]] = []
        self.questions = Questions(self)
        self._model_factory, self._max_steps, self._schema, self._version = model_factory, max_steps, schema, version
        self._waiting: deque[tuple[str, str, tuple[Image, ...]]] = deque()
        self._listeners: list[Listener] = []
        self._history: list[Envelope] = []
        self._seq = 0
        self._task: asyncio.Task[None] | None = None
        self._store_failed = False
        self._closed = False
        self.extensions: Extensions | None = None
        self.last_stop = ""
        self.last_result: Any = None
        agent.chooser = self.questions
        agent.listener = self.emit
        agent.hooks.before_compaction.add(self._keep_todos)

    usage: Usage
    context_pct: float | None

    # -- the stream -----------------------------------------------------------------------------

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call *listener* with every envelope from now on, in order; returns how to stop that."""
        self._listeners.append(listener)

        def stop() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return stop

    def history(self) -> list[Envelope]:
        """Return the stored events so far, those before a resume included."""
        return list(self._history)

    def emit(self, event: Event) -> None:
        """Number *event*, store it, and give it to every subscriber."""
        self._note(event)
        self._seq += 1
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        envelope = Envelope(self._seq, stamp, self.id, self.turn or None, event)
        if event.type in STORED:
            self._history.append(envelope)
        self._save(envelope)
        for listener in tuple(self._listeners):
            listener(envelope)

    def _note(self, event: Event) -> None:
        if isinstance(event, UsageUpdated):
            self.usage += Usage(event.input, event.output, event.cached, event.cost_usd, 1)
            if event.context_pct is not None and event.agent == self.agent.name:
                self.context_pct = event.context_pct
        elif isinstance(event, TodoUpdated) and event.agent == self.agent.name:
            self.todos = event.items
        elif isinstance(event, Compaction) and event.agent == self.agent.name:
            self.context_pct = None
        elif (
            isinstance(event, ApprovalResolved)
            and event.source in ("headless", "none", "risk")
            and event.choice != "allow"
        ):
            self.denied.append(
                {"call_id": event.call_id, "kind": event.kind, "subject": event.subject, "source": event.source}
            )
        elif isinstance(event, TurnStarted) and event.agent == self.agent.name:
            self.turn = self.agent.turn

    def _save(self, envelope: Envelope) -> None:
        if self.store is None:
            return
        try:
            self.store.append(envelope)
            if isinstance(envelope.event, TurnCompleted | SessionEnded):
                self.store.flush()
        except SessionError as exc:
            # Said once per trouble; the conversation goes on, and each later record is tried again.
            if not self._store_failed:
                self._store_failed = True
                self.emit(Notice(level="warning", text=str(exc)))
        else:
            self._store_failed = False

    # -- starting and resuming --------------------------------------------------------------------

    def start(self, *, resumed: Sequence[Envelope] = (), dropped: Sequence[str] = ()) -> None:
        """Begin, or go on where *resumed* ended; *dropped* says what could not be read."""
        self._history = list(resumed)
        damage = [*dropped, *(self._restore(resumed) if resumed else ())]
        self.emit(
            SessionStarted(
                cwd=str(self.cwd),
                model=self.model_name,
                version=self._version,
                mode=self.policy.mode,
                resumed=bool(resumed),
                name=self.name,
            )
        )
        for text in damage:
            self.emit(Notice(level="warning", text=f"This session was damaged: {text}."))
        if text := broken_off([envelope.event for envelope in live(resumed)], self.agent.name):
            self.emit(Notice(level="warning", text=text))

    def _restore(self, envelopes: Sequence[Envelope]) -> list[str]:
        self._seq = max(envelope.seq for envelope in envelopes)
        events = [envelope.event for envelope in live(envelopes)]
        rebuild(self.agent, envelopes)
        self.agent.turn = self.turn = max((envelope.turn or 0 for envelope in envelopes), default=0)
        for event in events:
            if isinstance(event, UsageUpdated | TodoUpdated):
                self._note(event)
            elif isinstance(event, SessionStarted) and event.name:
                self.name = event.name
        policy, problems = stored_policy(events)
        if policy is not None:
            self.agent.state[STATE_KEY] = policy
        restore_tools(self.agent, events)
        self.agent.usage = replace(self.usage)
        return problems

    @property
    def policy(self) -> PolicyState:
        """What is allowed in this session."""
        return self.agent.policy

    # -- turns ------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether a turn is under way."""
        return self._task is not None

    async def submit(self, text: str, *, shown: str = "", images: Sequence[Image] = ()) -> None:
        """Start a turn and return at once; while one runs, the text waits in the queue. Attached images go along."""
        item = (text, shown, self.with_attached(images))
        if self._task is not None:
            self._waiting.append(item)
            self._queue_changed()
            return
        self._begin(*item)

    def _begin(self, text: str, shown: str, images: tuple[Image, ...]) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(text, shown, images))

    async def _run(self, text: str, shown: str, images: tuple[Image, ...]) -> None:
        self.agent.instruct(text, images)
        stop = "error"
        try:
            async for event in self.agent.events(self._schema, self._max_steps, shown=shown):
                if isinstance(event, TurnCompleted) and event.agent == self.agent.name:
                    event = self._stopped(event)
                    stop = event.stop
                self.emit(event)
        except Exception as exc:  # noqa: BLE001 - the driver's edge: a bug of ours must not end the conversation
            self.report(exc)
            self.emit(TurnCompleted(agent=self.agent.name, stop="error"))
        finally:
            self._task = None
            self.last_stop, self.last_result = stop, self.agent.last_result
            if self.agent.model is not None:
                self.model_name = shown_name(self.agent.model)
        # After a failure the queue waits: the next message may depend on what failed.
        if stop != "error":
            self.begin_next()

    def begin_next(self) -> None:
        """Begin with the message that has waited longest."""
        if self._waiting and not self._closed and self._task is None:
            item = self._waiting.popleft()
            self._queue_changed()
            self._begin(*item)

    def _stopped(self, event: TurnCompleted) -> TurnCompleted:
        if self.questions.failed and event.stop == "interrupted":
            return TurnCompleted(agent=event.agent, stop="denied", steps=event.steps, duration_ms=event.duration_ms)
        return event

    async def wait_idle(self) -> None:
        """Return when no turn runs and no message waits that would run by itself."""
        while (task := self._task) is not None:
            await asyncio.shield(task)

    def steer(self, text: str) -> bool:
        """Speak into the running turn; False when none runs."""
        return self.agent.steer(text)

    def interrupt(self, reason: str = "interrupted by the user") -> bool:
        """End the running turn, keeping its partial text; False when none runs."""
        if self._task is None:
            return False
        self.agent.cancel(reason)
        self._stop_compacting()
        return True

    def drop_queue(self, index: int | None = None) -> list[str]:
        """Take a message (from 0), or all, out of the queue; returns the texts."""
        if index is None:
            dropped = [item[1] or item[0] for item in self._waiting]
            self._waiting.clear()
        else:
            item = self._waiting[index]
            del self._waiting[index]
            dropped = [item[1] or item[0]]
        self._queue_changed()
        return dropped

    def _queue_changed(self) -> None:
        self.queue = [shown or text for text, shown, _ in self._waiting]
        self.emit(QueueChanged(items=tuple(self.queue)))

    # -- questions --------------------------------------------------------------------------------

    def pending(self) -> list[ChoiceRequest]:
        """Return the open questions, oldest first."""
        return self.questions.pending()

    def answer(self, request_id: str, outcome: ChoiceOutcome[Any]) -> bool:
        """Answer a question; False when it is not open (any more)."""
        return self.questions.answer(request_id, outcome)

    async def choose(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
        """Ask a question that no run asks, such as a command's confirmation."""
        return await self.questions.choose(request)

    # -- other input ------------------------------------------------------------------------------

    async def run_shell(self, command: str) -> dict[str, Any]:
        """Run a command as the user (``!cmd``): no question; its output goes into the conversation too."""
        return await run_as_user(self, command)

    async def switch_model(self, name: str) -> str:
        """Go on with another model; returns its name.

        Raises:
            ConfigError: It can't be used; the old one stays.
            RuntimeError: A turn runs.
        """
        if self.running:
            raise RuntimeError("The model can be changed after this turn.")
        if self._model_factory is None:
            raise RuntimeError("This session can't change its model.")
        model = await asyncio.to_thread(self._model_factory, name)
        old, self.agent.model = self.agent.model, model
        if old is not None:
            await old.aclose()
        self.model_name = shown_name(model)
        self.emit(Notice(text=f"The model is now {self.model_name}."))
        return self.model_name

    async def close(self, exit_code: int = 0, result: Any = None) -> None:
        """End the running turn and everything that it started, and close the file; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._waiting.clear()
        if self._task is not None:
            self.agent.cancel("the session is closing")
            self._stop_compacting()
            await asyncio.wait({self._task}, timeout=10)
        self.questions.withdraw_all()
        await self.settle()
        if self.agent.model is not None:
            await self.agent.model.aclose()
        await asyncio.to_thread(self.agent.finalize)
        await asyncio.to_thread(self.agent.workspace.close)
        used, denied = self.usage.to_json(), tuple(self.denied)
        self.emit(SessionEnded(exit_code=exit_code, result=result, usage=used, denied=denied))
        if self.store is not None:
            with suppress(SessionError):
                self.store.close()

    def report(self, error: BaseException) -> None:
        """Tell subscribers of an error of ours, and keep its traceback in the log."""
        _log.error("internal error", exc_info=error)
        self.emit(Error(kind="internal", message=f"{type(error).__name__}: {error}"))
