"""Agent: a model, tools, a workspace, and a conversation between them."""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from xun.agent.approval import Approving
from xun.agent.checking import check_parts
from xun.agent.codemode import with_run_code
from xun.agent.compacting import Compacting
from xun.agent.config import AgentConfig
from xun.agent.direct import DirectCalls
from xun.agent.hooks import Hooks
from xun.agent.loop import Run
from xun.agent.places import Placed
from xun.agent.questions import Asking
from xun.agent.resuming import Resuming
from xun.agent.runner import CallerRunner, Portal, SyncRunner, ThreadRunner, refuse_running_loop
from xun.agent.state import RunState
from xun.agent.subagent import Nesting
from xun.choice import Chooser
from xun.errors import ToolConflict
from xun.events import Event
from xun.messages import Image, Message
from xun.models.base import ChatModel, Purpose
from xun.result import ErrorInfo, Result
from xun.tools.toolbox import ToolBox
from xun_policies.store import STATE_KEY, PolicyState
from xun_policies.workspace import Workspace

if TYPE_CHECKING:
    from types import TracebackType

    from xun.tools.function import Function
    from xun.tools.kinds import Registrable

S = TypeVar("S")
V = TypeVar("V")


class Agent(RunState, Resuming, Nesting, Asking, Approving, Placed, DirectCalls, Compacting, Generic[S]):
    """A model with tools in a workspace.

    Args:
        name: Shown with its questions and events; "main" when None.
        model: The model; None for the configured one, resolved at the first run.
        toolbox: Its tools; None for none.
        workspace: Where it may read and write; None for the current folder.
        config: Limits and habits.
        chooser: Who answers its questions; None: they are denied, with a text that says how to allow.
        hooks: User code at points of the run.
        state: Per-agent storage that tools share; the policy lives in it.
        parent: The agent that this is a sub-agent of: shares its purse, cancellation and chooser.

    Raises:
        TypeError: A part is of another kind, such as a name in the place of a model.
    """

    class T:
        """The type states of an agent: only an initialised one can run."""

        class New:
            """Made, but not initialised."""

        class Init:
            """Ready to run."""

    def __init__(  # noqa: PLR0913 - a settled public signature
        self: Agent[Agent.T.New],
        name: str | None = None,
        model: ChatModel | None = None,
        toolbox: ToolBox | None = None,
        workspace: Workspace | None = None,
        config: AgentConfig | None = None,
        chooser: Chooser | None = None,
        hooks: Hooks | None = None,
        state: dict[str, Any] | None = None,
        *,
        parent: Agent[Any] | None = None,
    ) -> None:
        check_parts(model=model, toolbox=toolbox, workspace=workspace, config=config, chooser=chooser, hooks=hooks)
        self.name = name or "main"
        self.model = model
        self.toolbox = toolbox if toolbox is not None else ToolBox()
        self.workspace = workspace if workspace is not None else Workspace()
        self._owns_workspace = workspace is None
        self.config = config if config is not None else AgentConfig()
        self.chooser = chooser
        RunState.__init__(self, hooks if hooks is not None else Hooks(), parent)
        Placed.__init__(self)
        Compacting.__init__(self)
        self.state: dict[str, Any] = state if state is not None else {}
        self.purpose: Purpose = "turn"
        self._system: list[str] = []
        self._prompt: Message | None = None
        self._portal: Portal | None = None
        self._initialized = False

    # -- life -----------------------------------------------------------------------------------

    def initialize(self) -> Agent[Agent.T.Init]:
        """Make the agent ready; a second call changes nothing."""
        if not self._initialized:
            stored = self.state.get(STATE_KEY)
            if not isinstance(stored, PolicyState):
                self.state[STATE_KEY] = PolicyState.from_json(stored) if stored else PolicyState()
            self._initialized = True
            self.hooks.after_initialize.invoke_sync(self)
        return cast("Agent[Agent.T.Init]", self)

    def finalize(self) -> None:
        """Free what the agent holds: running work, temporary folder, connections, threads."""
        if not self._initialized:
            return
        self._initialized = False
        self.cancel("the agent was finalized")
        self.hooks.before_finalize.invoke_sync(self)
        self.close_environment()
        portal, self._portal = self._portal, None
        if portal is not None:
            if self.model is not None and self.parent is None:
                portal.start(self.model.aclose())
            portal.close(patience=self.config.cancel_grace + 2.0)
        if self._owns_workspace:
            self.workspace.close()

    def __enter__(self) -> Agent[Agent.T.Init]:
        return self.initialize()

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finalize()

    @property
    def policy(self) -> PolicyState:
        """The permissions of this agent: ``state["__builtin_tool_policy"]``."""
        self.initialize()
        return cast("PolicyState", self.state[STATE_KEY])

    # -- what to say ----------------------------------------------------------------------------

    def system(self, text: str) -> Agent[S]:
        """Add *text* to the system message."""
        self._system.append(text)
        return self

    def reset_system(self, text: str) -> Agent[S]:
        """Make *text* the whole system message, from the next request on."""
        self._system = [text]
        return self

    def system_text(self) -> str:
        """Return the system message."""
        return "\n\n".join(self._system)

    def instruct(self, text: str, images: Sequence[Image] | None = None) -> Agent[S]:
        """Set what the next run is asked."""
        self._prompt = Message("user", text, tuple(images or ()))
        return self

    # -- running --------------------------------------------------------------------------------

    @overload
    def execute(
        self: Agent[Agent.T.Init],
        schema: None = None,
        max_iterations: int = 512,
        context: Any = None,
        *,
        tools: Sequence[Registrable | Function] | None = None,
    ) -> Result[str, ErrorInfo]: ...
    @overload
    def execute(
        self: Agent[Agent.T.Init],
        schema: type[V],
        max_iterations: int = 512,
        context: Any = None,
        *,
        tools: Sequence[Registrable | Function] | None = None,
    ) -> Result[V, ErrorInfo]: ...
    @overload
    def execute(
        self: Agent[Agent.T.Init],
        schema: Any,
        max_iterations: int = 512,
        context: Any = None,
        *,
        tools: Sequence[Registrable | Function] | None = None,
    ) -> Result[Any, ErrorInfo]: ...
    def execute(
        self: Agent[Agent.T.Init],
        schema: Any = None,
        max_iterations: int = 512,
        context: Any = None,
        *,
        tools: Sequence[Registrable | Function] | None = None,
    ) -> Result[Any, ErrorInfo]:
        """Run to the answer and return it; sync tools run on this thread.

        Args:
            schema: A type or JSON schema that the answer must meet; the Result then holds its value.
            max_iterations: Steps (model requests) at most.
            context: What tools see as ``ctx.value``.
            tools: More tools, for this run only.

        Raises:
            RuntimeError: Called inside a running event loop; use `aexecute` there.
            KeyboardInterrupt: Ctrl-C; the run was cancelled first.
        """
        refuse_running_loop("execute", "aexecute")
        runner = CallerRunner()
        run = self._new_run(runner, schema, max_iterations, context, tools)
        return self.block_on(run, runner)

    @overload
    async def aexecute(
        self: Agent[Agent.T.Init],
        schema: None = None,
        max_iterations: int = 512,
        context: Any = None,
        *,
        tools: Sequence[Registrable | Function] | None = None,
    ) -> Result[str, ErrorInfo]: ...
    @overload
    async def aexecute(
        self: Agent[Agent.T.Init],
        schema: type[V],
        max_iterations: int = 512,
        context: Any = None,
        *,
        tools: Sequence[Registrable | Function] | None = None,
    ) -> Result[V, ErrorInfo]: ...
    @overload
    async def aexecute(
        self: Agent[Agent.T.Init],
        schema: Any,
        max_iterations: int = 512,
        context: Any = None,
        *,
        tools: Sequence[Registrable | Function] | None = None,
    ) -> Result[Any, ErrorInfo]: ...
    async def aexecute(
        self: Agent[Agent.T.Init],
        schema: Any = None,
        max_iterations: int = 512,
        context: Any = None,
        *,
        tools: Sequence[Registrable | Function] | None = None,
    ) -> Result[Any, ErrorInfo]:
        """The same as `execute` for async callers; sync tools run in worker threads."""
        return await self.wait_on(self._new_run(ThreadRunner(), schema, max_iterations, context, tools))

    async def events(
        self: Agent[Agent.T.Init],
        schema: Any = None,
        max_iterations: int = 512,
        context: Any = None,
        *,
        tools: Sequence[Registrable | Function] | None = None,
        shown: str = "",
    ) -> AsyncGenerator[Event, None]:
        """The same run as `aexecute`, as a stream of typed events; `TurnCompleted` comes last.

        *shown* is the input as the person typed it, where that is shorter: `TurnStarted` carries it.
        """
        run = self._new_run(ThreadRunner(), schema, max_iterations, context, tools, shown)
        async with aclosing(run.events()) as stream:
            async for event in stream:
                yield event
        if run.fatal is not None:
            raise run.fatal

    def _new_run(
        self,
        runner: SyncRunner,
        schema: Any,
        max_iterations: int,
        context: Any,
        tools: Sequence[Registrable | Function] | None,
        shown: str = "",
    ) -> Run:
        self.initialize()
        toolbox, prompt = self.toolbox_with(tools), self._prompt
        run = self.begin(
            lambda: Run(
                self,
                prompt,
                toolbox=toolbox,
                runner=runner,
                context=context,
                max_iterations=max_iterations,
                schema=schema,
                shown=shown,
            )
        )
        self.turn += prompt is not None
        self._prompt = None
        return run

    # -- for the loop and the built-in tools ----------------------------------------------------

    def begin(self, make: Callable[[], Run]) -> Run:
        """Take the run that *make* makes as the one under way; what waited for a person is forgotten."""
        with self._run_lock:
            if self._run is not None:
                raise RuntimeError(f"Agent {self.name!r} is running already; wait for it, or steer() it.")
            run = self._run = make()
            self.pause(None)
        return run

    def toolbox_with(self, tools: Sequence[Registrable | Function] | None) -> ToolBox:
        """Return the tools of a run that has *tools* on top of the agent's own."""
        return with_run_code(_with_tools(self.toolbox, tools), self.config)

    def block_on(self, run: Run, runner: CallerRunner) -> Result[Any, ErrorInfo]:
        """Drive *run* to its end from sync code, its sync tools on this thread."""
        try:
            if self._portal is None:
                self._portal = Portal()
                weakref.finalize(self, self._portal.close)
            future = self._portal.start(_drive(run))
            future.add_done_callback(lambda _: runner.stop())
        except BaseException:
            self.run_ends(run)
            raise
        interrupted = runner.serve(lambda: run.token.cancel("interrupted (Ctrl-C)"))
        if interrupted:
            raise KeyboardInterrupt
        if run.fatal is not None:
            raise run.fatal
        return run.result if future.cancelled() else future.result()

    async def wait_on(self, run: Run) -> Result[Any, ErrorInfo]:
        """Drive *run* to its end."""
        result = await _drive(run)
        if run.fatal is not None:
            raise run.fatal
        return result

    async def aresolve_model(self) -> ChatModel:
        """Return the model; the configured one when none was given.

        Raises:
            ConfigError: None is configured; the text says how to.
        """
        if self.model is None:
            from xun.models.openai import OpenAIModel

            self.model = OpenAIModel()
        return self.model

    @property
    def context_window(self) -> int | None:
        """The model's context in tokens, where it is known."""
        return None if self.model is None else self.model.context_window


async def _drive(run: Run) -> Result[Any, ErrorInfo]:
    async with aclosing(run.events()) as events:
        async for _ in events:
            pass
    return run.result


def _with_tools(toolbox: ToolBox, tools: Sequence[Registrable | Function] | None) -> ToolBox:
    if not tools:
        return toolbox
    more = toolbox.clone().share_loaded(toolbox)
    names = {tool.name for tool in more.list_tools(include_disabled=True)}
    more.register(*tools)
    if len(more.list_tools(include_disabled=True)) != len(names) + len(tools):
        raise ToolConflict("Conflict tool name: a tool for this run has the name of one of the agent's")
    return more
