"""A session without a loop behind it, for the tests of slash commands.

The configuration, the toolbox, the workspace, the policy and the edit state are the real ones; the
model, the run and the person are not. Answers to questions are given beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from xun.agent.config import AgentConfig
from xun.agent.hooks import Hooks
from xun.choice import ChoiceOutcome, ChoiceRequest
from xun.events import Event, Notice, PolicyChanged
from xun.messages import Image, Message, Usage
from xun.tools.toolbox import ToolBox
from xun_cli.commands.output import CommandResult
from xun_cli.commands.registry import CommandContext, default_registry
from xun_cli.places import Places
from xun_cli.session.envelope import Envelope
from xun_policies.store import PolicyState
from xun_policies.workspace import Workspace


@dataclass
class FakeModel:
    """A model that only has a name and a size."""

    name: str = "fake-model"
    capabilities: frozenset[str] = frozenset()
    context_window: int | None = 100_000
    offered: tuple[str, ...] = ("fake-model", "other-model", "big-model")

    async def models(self) -> tuple[str, ...]:
        return self.offered


@dataclass
class FakeAgent:
    """What commands use of an agent."""

    workspace: Workspace
    toolbox: ToolBox = field(default_factory=ToolBox)
    model: FakeModel | None = field(default_factory=FakeModel)
    config: AgentConfig = field(default_factory=AgentConfig)
    state: dict[str, Any] = field(default_factory=dict)
    history: list[Message] = field(default_factory=list)
    name: str = "main"
    parent: None = None
    turn: int = 0
    usage: Usage = field(default_factory=Usage)
    environment: Any = field(default_factory=lambda: SimpleNamespace(name="", wall=""))
    hooks: Hooks = field(default_factory=Hooks)

    @property
    def policy(self) -> PolicyState:
        policy: PolicyState = self.state["__builtin_tool_policy"]
        return policy

    def record(self, event: Event) -> None:
        """Take what a tool tells the run; nothing listens here."""

    def system_text(self) -> str:
        return "You are a test."


class FakeSession:
    """The surface of a session that commands use."""

    def __init__(self, cwd: Path, *, answers: Sequence[Any] = ()) -> None:
        self.id = "s-0001"
        self.name = ""
        self.cwd = cwd
        self.agent = FakeAgent(Workspace(cwd))
        self.policy = PolicyState()
        self.store = None
        self.usage = Usage()
        self.context_pct: float | None = None
        self.running = False
        self.queue: list[str] = []
        self.turn = 0
        self.todos: tuple[dict[str, str], ...] = ()
        self.model_name = "fake-model"
        self.answers = list(answers)
        self.asked: list[ChoiceRequest] = []
        self.submitted: list[str] = []
        self._history: list[Envelope] = []

    @property
    def policy(self) -> PolicyState:
        return self.agent.policy

    @policy.setter
    def policy(self, state: PolicyState) -> None:
        self.agent.state["__builtin_tool_policy"] = state

    @property
    def events(self) -> list[Event]:
        return [envelope.event for envelope in self._history]

    @property
    def policy_events(self) -> list[PolicyChanged]:
        return [event for event in self.events if isinstance(event, PolicyChanged)]

    def history(self) -> list[Envelope]:
        return list(self._history)

    def emit(self, event: Event) -> None:
        number = len(self._history) + 1
        self._history.append(Envelope(number, "2026-11-29T12:00:00Z", self.id, self.turn or None, event))

    async def choose(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
        """Give the next of the prepared answers; without one the test fails."""
        self.asked.append(request)
        assert self.answers, f"nobody prepared an answer to: {request.prompt}"
        return ChoiceOutcome(self.answers.pop(0), "user")

    async def submit(self, text: str, *, shown: str = "", images: Sequence[Image] = ()) -> None:
        self.submitted.append(text)

    def drop_queue(self, index: int | None = None) -> list[str]:
        if index is None:
            dropped, self.queue = self.queue, []
            return dropped
        return [self.queue.pop(index)]

    async def switch_model(self, name: str) -> str:
        self.model_name = name
        self.emit(Notice(text=f"The model is now {name}."))
        return name


def places(base: Path) -> Places:
    """Return places below *base*, as XUN_HOME would."""
    return Places.from_environment({"XUN_HOME": str(base)})


async def run(ctx: CommandContext, line: str) -> CommandResult:
    """Run a slash command of xun's own."""
    return await default_registry().run(ctx, line)


async def shown(ctx: CommandContext, line: str) -> str:
    """Run a slash command and return what it shows, as plain text."""
    return "\n".join(output.plain() for output in (await run(ctx, line)).outputs)
