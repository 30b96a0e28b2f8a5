"""ToolBox: names to tools, and the one way to call them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from xun.errors import ToolCallFormatError
from xun.result import Result
from xun.tools.context import CallScope, ToolCallContext
from xun.tools.deferred import Deferring
from xun.tools.exposure import refuse_hidden, shown
from xun.tools.formats import provider_form
from xun.tools.function import Function
from xun.tools.guards import Guarding, guard
from xun.tools.running import run_async, run_sync
from xun.tools.table import ToolTable

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.tools.kinds import Registrable

SUBAGENT_TOOLS = ("agent_run", "agent_run_parallel", "agent_spawn", "agent_wait", "agent_list", "agent_resume")
"""The tools that `ToolBox.disable_subagent` turns off."""


class ToolBox(ToolTable, Guarding, Deferring):
    """A table of tools. Every tool call of xun goes through `call_tool` or `acall_tool`.

    Args:
        funcs: Tools to register.
        timeout: Seconds for a call of a tool that has no limit of its own; None for no limit.
        raise_unexpected: Raise the bugs of tools; only errors of xun's own kinds, such as `ToolError`, become Err.
    """

    def __init__(
        self, *funcs: Registrable | Function, timeout: float | None = None, raise_unexpected: bool = False
    ) -> None:
        Guarding.__init__(self, timeout, raise_unexpected)
        ToolTable.__init__(self)
        self._disabled: set[str] = set()
        self._loaded: set[str] = set()
        self._deferred: set[str] = set()
        if funcs:
            self.register(*funcs)

    # -- visibility ---------------------------------------------------------------------------

    def disable(self, *names: str) -> ToolBox:
        """Hide tools by name or fnmatch pattern; they stay registered.

        A pattern covers the tools registered now, an exact name also one registered later.
        """
        for name in names:
            self._disabled |= self._matching(name) or {name}
        return self

    def enable(self, *names: str) -> ToolBox:
        """Show tools again that `disable` hid."""
        for name in names:
            self._disabled -= {hidden for hidden in self._disabled if _fits(hidden, name)} | {name}
        return self

    def _matching(self, pattern: str) -> set[str]:
        return {name for name in self._tools if _fits(name, pattern)}

    def _is_hidden(self, tool: Function) -> bool:
        return tool.name in self._disabled or tool.model_name in self._disabled

    def disable_subagent(self) -> ToolBox:
        """Hide the sub-agent tools only."""
        return self.disable(*SUBAGENT_TOOLS)

    def enable_subagent(self) -> ToolBox:
        """Show the sub-agent tools again."""
        return self.enable(*SUBAGENT_TOOLS)

    def is_disabled(self, name: str) -> bool:
        """Tell whether a tool of this name is hidden."""
        tool = self.get(name)
        return name in self._disabled or (tool is not None and self._is_hidden(tool))

    def offers(self, name: str) -> bool:
        """Tell whether there is a tool of this name that is not hidden."""
        tool = self.get(name)
        return tool is not None and not self._is_hidden(tool)

    def list_tools(
        self, model_capabilities: Iterable[str] | None = None, *, include_disabled: bool = False
    ) -> list[Function]:
        """Return the tools in the order of registration.

        Args:
            model_capabilities: Only tools whose required capabilities are among these; None for no filter.
            include_disabled: Hidden tools too.
        """
        have = None if model_capabilities is None else frozenset(model_capabilities)
        return [
            tool
            for tool in self._tools.values()
            if (include_disabled or not self._is_hidden(tool)) and (have is None or tool.required_capabilities <= have)
        ]

    def list_tools_json(
        self,
        model_capabilities: Iterable[str] | None = None,
        *,
        format: str = "openai",
        compact: bool = False,
        code_mode: bool = False,
        include_disabled: bool = False,
    ) -> list[dict[str, Any]]:
        """Return the tools array that is handed to the model. Deferred tools are in it once they were loaded.

        Args:
            model_capabilities: Only tools whose required capabilities are among these; None for no filter.
            format: The form of the provider: openai, anthropic or gemini.
            compact: Without what says nothing new to a model, such as the titles of parameters.
            code_mode: Only what is exposed as "direct", and ``run_code``; the others are in `stub`.
            include_disabled: Hidden tools too.

        Raises:
            ValueError: No such format.
        """
        form = provider_form(format)
        listed = self.list_tools(model_capabilities, include_disabled=include_disabled)
        tools = [tool for tool in listed if self.is_offered(tool) and shown(tool, code_mode=code_mode)]
        return [form(tool.to_json(compact=compact)) for tool in tools]

    def refuse_hidden(self, name: str, *, code_mode: bool = False) -> None:
        """Return when the model may name *name* in a message, or when there is no such tool.

        Raises:
            ToolCallFormatError: It is for code or for the person only.
        """
        tool = self.get(name)
        if tool is not None:
            refuse_hidden(tool, code_mode=code_mode)

    def stub(self, model_capabilities: Iterable[str] | None = None) -> str:
        """Return the text of a ``.pyi`` file with one async function per tool that code in `run_code` can call."""
        from xun.tools.stub import stub_text

        return stub_text(self.list_tools(model_capabilities))

    # -- calling ------------------------------------------------------------------------------

    def call_tool(
        self, agent: Agent[Any], tool_name: str, arguments: dict[str, Any] | str, context: Any = None
    ) -> Result[Any, Any]:
        """Call a tool and return its Result.

        Args:
            agent: The agent that the tool sees as ``ctx.agent``.
            tool_name: The registered name.
            arguments: A dict, or JSON text; "" is no arguments.
            context: What the tool sees as ``ctx.value``.

        Raises:
            ToolCallFormatError: The call is wrong (unknown, disabled, malformed, invalid); the tool did not run.
        """
        scope = self._scope_of(tool_name)
        tool, call = self.prepare(agent, tool_name, arguments, context, scope=scope)
        if self.may_ask(agent, tool) and (refused := agent.approve(self, tool, arguments, context)) is not None:
            return refused
        return run_sync(tool, call, self.timeout if tool.is_plain else self.limit(tool), scope)

    async def acall_tool(
        self, agent: Agent[Any], tool_name: str, arguments: dict[str, Any] | str, context: Any = None
    ) -> Result[Any, Any]:
        """The same as `call_tool` for async callers; a sync tool runs in a worker thread."""
        scope = self._scope_of(tool_name)
        tool, call = self.prepare(agent, tool_name, arguments, context, scope=scope)
        if self.may_ask(agent, tool) and (refused := await agent.aapprove(self, tool, arguments, context)) is not None:
            return refused
        return await run_async(tool, call, self.limit(tool), scope)

    def _scope_of(self, name: str) -> CallScope | None:
        tool = self.get(name)
        return CallScope() if tool is not None and tool.wants_context else None

    def prepare(
        self,
        agent: Agent[Any],
        tool_name: str,
        arguments: dict[str, Any] | str,
        context: Any,
        *,
        call_id: str = "",
        scope: CallScope | None = None,
    ) -> tuple[Function, Callable[[], Any]]:
        """Check a call and return the tool and the call, ready to be made once.

        Raises:
            ToolCallFormatError: The call is wrong.
        """
        tool = self._lookup(tool_name)
        quick = tool.is_plain and not self._watched and tool.name not in self._deferred
        if not quick:
            scope = self._noted(tool, scope)
        ctx = None
        if tool.wants_context:
            ctx = ToolCallContext(agent, tool.name, context, call_id=call_id, scope=scope)
        call = tool.prepare(ctx, arguments)
        return tool, call if quick else guard(self, tool, call, arguments, scope)

    def _noted(self, tool: Function, scope: CallScope | None) -> CallScope | None:
        """Note a call that is not simply made; return what it may use of its run."""
        if self.is_deferred(tool):
            self._loaded.add(tool.name)
        if self.dry_run:
            scope = scope or CallScope()
            scope.dry_run = True
        return scope

    def _lookup(self, name: str) -> Function:
        tool = self.get(name)
        if tool is None:
            names = [item.name for item in self.list_tools()]
            import difflib

            near = difflib.get_close_matches(name, names, 3)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            known = ", ".join(names) or "none"
            raise ToolCallFormatError(f"There is no tool named {name!r}.{hint} The tools are: {known}.")
        if self._disabled and self._is_hidden(tool):
            raise ToolCallFormatError(f"The tool {name!r} is disabled in this session; use another one.")
        return tool

    def clone(self) -> ToolBox:
        """Return a copy of the table and of the hidden names; the tools themselves are shared."""
        copy = ToolBox()
        copy._tools = dict(self._tools)
        copy._disabled = set(self._disabled)
        copy._loaded = set(self._loaded)
        copy._deferred = set(self._deferred)
        copy._take_settings(self)
        return copy


def _fits(name: str, pattern: str) -> bool:
    """Tell whether a pattern covers a tool by its name, or by the one that the model knows."""
    return fnmatchcase(name, pattern) or fnmatchcase(name.replace(".", "_"), pattern)
