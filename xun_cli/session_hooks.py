"""The hooks of the settings in a session: commands of the user at named points.

They can deny a call, never allow one.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from xun.agent.calls import decoded
from xun.agent.outcome import as_text
from xun.errors import CancelledError
from xun.events import Notice, TurnCompleted
from xun_cli.hook_process import HookOutcome, run_hook

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.agent.hooks import HookedCall
    from xun.agent.subagent import AgentGetterParam
    from xun_cli.session.envelope import Envelope
    from xun_cli.session.session import Session
    from xun_cli.settings import HookSettings

T = TypeVar("T")

_log = logging.getLogger("xun.hooks")

POINTS = ("session_start", "before_tool", "after_tool", "turn_end", "session_end")
"""The names of the points, in the order in which they come."""

_RESULT = 20_000  # characters of a result or an answer that a hook is told


class SessionHooks:
    """The hooks of one session.

    Args:
        settings: The lines, by point.
        folder: Where they run.
        shell: The bash that runs them; "" for that of the system.
    """

    def __init__(self, settings: HookSettings, folder: Path, shell: str = "") -> None:
        self.settings, self._folder, self._shell = settings, folder, shell
        self._session: Session | None = None

    def lines(self, point: str) -> list[str]:
        """Return the commands of a point."""
        hooks = self.settings
        return {
            "session_start": hooks.session_start,
            "before_tool": hooks.before_tool,
            "after_tool": hooks.after_tool,
            "turn_end": hooks.turn_end,
            "session_end": hooks.session_end,
        }[point]

    @property
    def limit(self) -> float:
        """The seconds that one may take: ``hooks.timeout`` of the settings."""
        return self.settings.timeout

    @property
    def any(self) -> bool:
        """Whether there is a hook at all."""
        return any(self.lines(point) for point in POINTS)

    # -- where they are attached ------------------------------------------------------------------

    def guard(self, agent: Agent[Any]) -> None:
        """Have the calls of *agent* go through the hooks before and after a tool; once for each agent."""
        if self.lines("before_tool"):

            async def before(calls: list[HookedCall]) -> None:
                await asyncio.gather(*(self._before(agent, call) for call in calls))

            agent.hooks.before_tool_call.add(before)
        if self.lines("after_tool"):

            async def after(call: HookedCall, result: Any) -> None:
                await self._after(agent, call, result)

            agent.hooks.after_tool_call.add(after)

    def make_child(self, param: AgentGetterParam) -> Agent[Any]:
        """Make a sub-agent as the tools do, whose calls go through the hooks as well."""
        from xun_builtin_tools.subagents import inherit

        child = inherit(param)
        self.guard(child)
        return child

    def attach(self, session: Session, *, resumed: bool) -> None:
        """Run what belongs to the start of *session*, and have the rest run in it; blocks until the first are done."""
        self._session = session
        if self.lines("turn_end"):
            session.subscribe(self._on)
        if self.lines("session_end"):
            session.agent.hooks.before_finalize.add(lambda agent: self._at_end())
        self._run("session_start", {"resumed": resumed, "model": session.model_name})

    # -- running them -----------------------------------------------------------------------------

    def _payload(self, point: str, values: dict[str, Any]) -> dict[str, Any]:
        session = self._session
        about = {"session": session.id, "turn": session.turn} if session is not None else {}
        return {"hook": point, "cwd": str(self._folder), **about, **values}

    def _outcomes(self, point: str, values: dict[str, Any], stop: threading.Event | None = None) -> list[HookOutcome]:
        payload, limit = self._payload(point, values), self.limit
        return [
            run_hook(line, self._folder, payload, limit, self._shell, stop)
            for line in self.lines(point)
            if stop is None or not stop.is_set()
        ]

    def _run(self, point: str, values: dict[str, Any]) -> None:
        self._warn(point, self._outcomes(point, values))

    def _warn(self, point: str, outcomes: Iterable[HookOutcome]) -> None:
        for outcome in outcomes:
            if not outcome.ok and self._session is not None:
                text = f"{point}: {outcome.described(self.limit)}"
                self._session.emit(Notice(level="warning", text=text))

    def _at_end(self) -> None:
        # In a thread beside the session, which may be shown no more: the log has to do.
        for outcome in self._outcomes("session_end", {}):
            if not outcome.ok:
                _log.warning("session_end: %s", outcome.described(self.limit))

    async def _before(self, agent: Agent[Any], call: HookedCall) -> None:
        values = {"agent": agent.name, "call_id": call.id, "tool": call.name, "arguments": decoded(call.arguments)}
        payload, limit = self._payload("before_tool", values), self.limit
        # Fail closed: until every hook has ended well the call is a denied one, whatever else happens here.
        earlier, call.denied = call.denied, "its hooks did not come to an end"
        for line in self.lines("before_tool"):
            outcome = await _unless_cancelled(agent, partial(run_hook, line, self._folder, payload, limit, self._shell))
            if not outcome.ok:
                call.deny(outcome.described(limit))
                return
        call.denied = earlier

    async def _after(self, agent: Agent[Any], call: HookedCall, result: Any) -> None:
        _, text, _ = as_text(result)
        values = {
            "agent": agent.name,
            "call_id": call.id,
            "tool": call.name,
            "arguments": decoded(call.arguments),
            "ok": result.is_ok(),
            "status": result.status,
            "result": text[:_RESULT],
        }
        outcomes = await _unless_cancelled(agent, partial(self._outcomes, "after_tool", values))
        said = [outcome.described(self.limit) for outcome in outcomes if not outcome.ok]
        if said:
            call.add_note(f"After the call of {call.name} {'; '.join(said)}")

    def _on(self, envelope: Envelope) -> None:
        event, session = envelope.event, self._session
        if not isinstance(event, TurnCompleted) or session is None or event.agent != session.agent.name:
            return
        values = {"stop": event.stop, "text": event.text[:_RESULT], "steps": event.steps}
        session.spawn(self._turn_end(values))

    async def _turn_end(self, values: dict[str, Any]) -> None:
        stop = threading.Event()
        try:
            outcomes = await asyncio.to_thread(self._outcomes, "turn_end", values, stop)
        finally:
            stop.set()  # xun ends, and has waited long enough
        self._warn("turn_end", outcomes)


async def _unless_cancelled(agent: Agent[Any], work: Callable[[threading.Event], T]) -> T:
    """Return what *work* gives in a thread; a cancellation of the turn does not wait for it, and tells it to stop.

    Raises:
        CancelledError: The turn was cancelled.
    """
    stop = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        while True:
            done, _ = await asyncio.wait({task}, timeout=0.1)
            if done:
                return task.result()
            token = agent.current_token()
            if token is not None and token.reason is not None:
                raise CancelledError(token.reason)
    finally:
        stop.set()  # else the thread, which the end of xun waits for, would take all the time that a hook may take
