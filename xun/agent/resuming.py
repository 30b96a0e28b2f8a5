"""Resuming: the part of an agent that waits for a person, is saved, and goes on, also in another process."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar, cast

from xun.agent.loop import Run
from xun.agent.runner import CallerRunner, SyncRunner, ThreadRunner, refuse_running_loop
from xun.errors import ConfigError
from xun.events import Event
from xun.messages import Usage
from xun.result import ErrorInfo, Result
from xun_policies.store import STATE_KEY, PolicyState

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.agent.opencall import OpenCall
    from xun.agent.paused import Paused, PendingCall
    from xun.tools.function import Function
    from xun.tools.kinds import Registrable
    from xun.tools.toolbox import ToolBox

A = TypeVar("A", bound="Resuming")


class Resuming:
    """The part of an agent that can stop for a person; mixed into `Agent`."""

    _paused: Paused | None = None

    @property
    def pending(self) -> list[PendingCall]:
        """The calls that wait for an answer of `resume`; empty when the last run did not end with "pending"."""
        return [] if self._paused is None else self._paused.pending()

    def pause(self, paused: Paused | None) -> None:
        """Keep *paused* for `resume`; None forgets what was kept."""
        self._paused = paused

    def resume(
        self,
        answers: dict[str, Any],
        *,
        schema: Any = None,
        context: Any = None,
        tools: Sequence[Registrable | Function] | None = None,
    ) -> Result[Any, ErrorInfo]:
        """Answer pending calls and go on with the run; calls of the same message that ended are not made again.

        Args:
            answers: By call id: True or False; a text, which is the answer to a question and the reason of a denial
                for an approval; or a dict, the arguments to go on with, which are checked again.
            schema: As in `execute`; in the process that began the run it is kept.
            context: As in `execute`; in the process that began the run it is kept.
            tools: As in `execute`; in the process that began the run they are kept.

        Raises:
            ValueError: An answer is for no pending call, or fits neither its question nor its tool.
            RuntimeError: Nothing waits, or the agent is running.
        """
        refuse_running_loop("resume", "aresume")
        runner = CallerRunner()
        run = self._resumed(runner, answers, schema, context, tools)
        return cast("Agent[Any]", self).block_on(run, runner)

    async def aresume(
        self,
        answers: dict[str, Any],
        *,
        schema: Any = None,
        context: Any = None,
        tools: Sequence[Registrable | Function] | None = None,
    ) -> Result[Any, ErrorInfo]:
        """The same as `resume` for async callers; sync tools run in worker threads."""
        run = self._resumed(ThreadRunner(), answers, schema, context, tools)
        return await cast("Agent[Any]", self).wait_on(run)

    def _resumed(
        self,
        runner: SyncRunner,
        answers: dict[str, Any],
        schema: Any,
        context: Any,
        tools: Sequence[Registrable | Function] | None,
    ) -> Run:
        agent, paused = cast("Agent[Any]", self), self._paused
        if paused is None:
            raise RuntimeError(f"No run of agent {agent.name!r} waits; start one with execute().")
        if agent.running:
            raise RuntimeError(f"Agent {agent.name!r} is running already.")
        agent.initialize()
        before = paused.run
        if before is not None:
            context = before.context if context is None else context
        toolbox = before.toolbox if before is not None and tools is None else agent.toolbox_with(tools)
        names = {call.id: call.name for call in paused.calls}
        for call_id, answer in answers.items():
            if isinstance(answer, dict) and call_id in names:
                toolbox.prepare(agent, names[call_id], answer, context)
        paused.take(answers)
        return self._go_on(paused, runner, toolbox, context, schema)

    def _go_on(self, paused: Paused, runner: SyncRunner, toolbox: ToolBox, context: Any, schema: Any = None) -> Run:
        agent = cast("Agent[Any]", self)
        return agent.begin(
            lambda: Run(
                agent,
                None,
                toolbox=toolbox,
                runner=runner,
                context=context,
                max_iterations=paused.max_steps,
                schema=schema,
                paused=paused,
            )
        )

    # -- for sub-agents -----------------------------------------------------------------------

    def open_calls(self) -> list[OpenCall]:
        """Return the calls that wait for an answer, to give them one."""
        return [] if self._paused is None else [call for call in self._paused.calls if call.waits]

    async def events_on(self, context: Any) -> AsyncGenerator[Event, None]:
        """Go on with a run that waited and has answers, else begin one; as `Agent.events`."""
        agent, paused = cast("Agent[Any]", self), self._paused
        if paused is None:
            stream = agent.events(context=context)
        else:
            stream = self._go_on(paused, ThreadRunner(), agent.toolbox_with(None), context).events()
        async with aclosing(stream) as events:
            async for event in events:
                yield event

    def save(self) -> dict[str, Any]:
        """Return the agent's history, permissions, waiting run and shared state as JSON values.

        Of ``state`` it holds what is JSON; the model, the tools, the workspace and the hooks are given again.

        Raises:
            RuntimeError: The agent is running.
        """
        from xun.agent.paused import VERSION, message_json

        agent = cast("Agent[Any]", self)
        if agent.running:
            raise RuntimeError(f"Agent {agent.name!r} is running; save it when its run has ended.")
        return {
            "version": VERSION,
            "name": agent.name,
            "turn": agent.turn,
            "history": [message_json(message) for message in agent.history],
            "usage": agent.usage.to_json(),
            "policy": agent.policy.to_json(),
            "loaded": sorted(agent.toolbox.loaded),
            "state": {key: value for key, value in agent.state.items() if _is_json(value)},
            "run": None if self._paused is None else self._paused.to_json(),
        }

    def load_state(self: A, data: dict[str, Any]) -> A:
        """Take what `save` returned, so that the agent goes on where the other one stopped.

        Raises:
            ConfigError: It is no saved agent, or of another version; nothing was taken.
            PolicyError: The permissions in it are damaged; nothing was taken.
        """
        from xun.agent.paused import Paused, check_version, message_from_json

        agent, saved = cast("Agent[Any]", self), check_version(data)
        try:
            history = [message_from_json(item) for item in saved["history"]]
            paused = None if saved["run"] is None else Paused.from_json(saved["run"])
            usage, policy = Usage(**saved["usage"]), PolicyState.from_json(saved["policy"])
            turn, state, loaded, name = int(saved["turn"]), dict(saved["state"]), saved["loaded"], str(saved["name"])
        except (KeyError, TypeError, ValueError) as exc:
            if isinstance(exc, ConfigError):
                raise
            raise ConfigError(f"The saved agent is damaged: {exc!r}.") from None
        agent.history, agent.usage, agent.turn, agent.name = history, usage, turn, name
        agent.state.update(state)
        agent.state[STATE_KEY] = policy
        agent.toolbox.load(*(tool for tool in loaded if agent.toolbox.get(tool) is not None))
        self._paused = paused
        return self


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
