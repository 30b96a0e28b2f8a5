"""ToolCallContext: what a tool may know about the call that it serves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from xun._serialize import to_jsonable
from xun.errors import CancelledError
from xun.messages import Usage
from xun.tools.suspend import CALL

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.environment.base import Environment
    from xun.tools.ledger import Ledger
    from xun.tools.suspend import CallJournal

T = TypeVar("T")


class CallScope:
    """The private side of one call: what the run gives to it and collects from it."""

    __slots__ = (
        "cancelled",
        "code_mode",
        "dry_run",
        "emit",
        "files",
        "given_up",
        "journal",
        "ledger",
        "lock",
        "record",
        "run",
        "turn",
        "usage",
    )

    def __init__(
        self,
        *,
        cancelled: Callable[[], str | None] = lambda: None,
        emit: Callable[[str, str], None] = lambda text, stream: None,
        record: Callable[[Any], None] = lambda event: None,
        usage: Usage | None = None,
        turn: int = 0,
        run: object = None,
        code_mode: bool = False,
    ) -> None:
        self.code_mode = code_mode
        self.cancelled = cancelled
        self.emit = emit
        self.record = record
        self.usage = usage or Usage()
        self.turn = turn
        self.run = run
        self.dry_run = False
        self.given_up: str | None = None
        self.ledger: Ledger | None = None
        self.journal: CallJournal | None = None
        self.files: list[dict[str, Any]] = []
        self.lock = threading.Lock()

    def stopped(self) -> str | None:
        """Return why the call is to stop: nobody waits for it any more, or its run was cancelled."""
        return self.given_up or self.cancelled()


class ToolCallContext(Generic[T]):
    """The context of one tool call; declare a parameter of this type to get it.

    It never appears in the tool's schema. All attributes are read-only.
    """

    __slots__ = ("_agent", "_call_id", "_scope", "_tool_name", "_value")

    def __init__(
        self, agent: Agent[Any], tool_name: str, value: T, *, call_id: str = "", scope: CallScope | None = None
    ) -> None:
        self._agent = agent
        self._tool_name = tool_name
        self._value = value
        self._call_id = call_id
        self._scope = scope or CallScope()

    @property
    def agent(self) -> Agent[Any]:
        """The agent that makes the call."""
        return self._agent

    @property
    def tool_name(self) -> str:
        """The registered name of the tool; may differ from the Python function's name."""
        return self._tool_name

    @property
    def value(self) -> T:
        """What the caller gave to ``execute(context=...)``; the same object in every tool of the run."""
        return self._value

    @property
    def call_id(self) -> str:
        """The id of this call; "" when no model made it."""
        return self._call_id

    @property
    def usage(self) -> Usage:
        """Tokens used by the run so far."""
        return self._scope.usage

    @property
    def turn(self) -> int:
        """The number of the turn, from 1; 0 outside a run."""
        return self._scope.turn

    @property
    def run(self) -> object:
        """The run that makes the call, as an opaque token; None outside a run."""
        return self._scope.run

    @property
    def environment(self) -> Environment:
        """Where the agent's commands and code run."""
        return self._agent.environment

    @property
    def code_mode(self) -> bool:
        """Whether code of the model makes the call, through ``run_code``."""
        return self._scope.code_mode

    @property
    def cancelled(self) -> bool:
        """Whether the run was cancelled; `check_cancel` raises then."""
        return self._scope.stopped() is not None

    def check_cancel(self) -> None:
        """Return when the run goes on.

        Raises:
            CancelledError: The run was cancelled; let it pass.
        """
        reason = self._scope.stopped()
        if reason is not None:
            raise CancelledError(reason)

    def emit(self, text: str, stream: str = "progress") -> None:
        """Show *text* to the person now; the model does not get it."""
        self._scope.emit(text, stream)

    def record(self, event: Any) -> None:
        """Add a typed event to the run's stream; for the built-in tools."""
        self._scope.record(event)

    @property
    def dry_run(self) -> bool:
        """Whether nothing may be changed: what would change is returned instead."""
        return self._scope.dry_run

    def step(self, key: str, func: Callable[..., Any], *args: Any) -> Any:
        """Return what ``func(*args)`` gives, as JSON values, and run it once only: not again when a call that waited
        for a person goes on, nor in another process. *key* names it within the call.

        Raises:
            TypeError: The value can't be stored as JSON; *func* did run.
        """
        journal = CALL.get()
        return to_jsonable(func(*args)) if journal is None else journal.step(key, func, args)

    def changed_file(self, path: str, action: str, added: int = 0, removed: int = 0) -> None:
        """Note that this call changed *path* (absolute); front ends and ``/undo`` read it."""
        with self._scope.lock:
            self._scope.files.append({"path": path, "action": action, "added": added, "removed": removed})

    def ask(self, question: str, choices: list[str] | None = None) -> str:
        """Ask the person and return the answer; a free text when *choices* is None.

        Raises:
            Denied: Nobody can be asked.
        """
        outcome = self._agent.get_choice(question, choices or [], allow_extra=not choices, skip_auto_confirm=True)
        return str(outcome.choice)
