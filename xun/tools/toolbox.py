"""ToolBox: names to tools, and the one way to call them."""

from __future__ import annotations

import contextlib
import os
import sys
import weakref
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeVar, overload

from xun.errors import ToolCallFormatError, ToolConflict
from xun.result import Result
from xun.tools.attr import WATCHERS
from xun.tools.context import CallScope, ToolCallContext
from xun.tools.exposure import refuse_hidden, shown
from xun.tools.function import Function
from xun.tools.groups import GROUPS, load_group, load_subagent_tools
from xun.tools.running import run_async, run_sync

if TYPE_CHECKING:
    from xun.agent.agent import Agent

F = TypeVar("F", bound=Callable[..., Any])

SUBAGENT_TOOLS = ("agent_run", "agent_run_parallel")
"""The tools that `ToolBox.disable_subagent` turns off."""


class ToolBox:
    """A table of tools. Every tool call of xun goes through `call_tool` or `acall_tool`."""

    def __init__(self, *funcs: Callable[..., Any] | Function) -> None:
        self._tools: dict[str, Function] = {}
        self._disabled: set[str] = set()
        if funcs:
            self.register(*funcs)

    # -- registering --------------------------------------------------------------------------

    def register(self, *funcs: Callable[..., Any] | Function) -> ToolBox:
        """Register functions as tools, all or none.

        Raises:
            ToolConflict: Two tools have one name, and neither is marked ``override``.
            TypeError: Something given is not callable.
        """
        table = dict(self._tools)
        notes = []
        for func in funcs:
            tool = func if isinstance(func, Function) else Function.from_function(func)
            note = _place(table, tool)
            if note:
                notes.append(note)
        self._tools = table
        if notes and os.environ.get("_XUN_INFO_TOOL_OVERRIDE") == "1":
            sys.stdout.write("".join(f"{note}\n" for note in notes))
        return self

    @overload
    def tool(self, func: F) -> F: ...
    @overload
    def tool(self, func: None = None, *, name: str | None = None) -> Callable[[F], F]: ...
    def tool(self, func: F | None = None, *, name: str | None = None) -> F | Callable[[F], F]:
        """Register the decorated function and return it unchanged."""
        if func is None:

            def decorate(inner: F) -> F:
                self._watch(inner, name)
                return inner

            return decorate
        self._watch(func, name)
        return func

    def _watch(self, func: Callable[..., Any], name: str | None) -> None:
        """Register *func*, and again when `tool_attr` is applied to it afterwards."""
        held = [_renamed(func, name)]
        self.register(held[0])
        box = weakref.ref(self)

        def renew(changed: Callable[..., Any]) -> None:
            owner = box()
            if owner is not None and owner._tools.get(held[0].name) is held[0]:
                owner._replace(held[0], new := _renamed(changed, name))
                held[0] = new

        with contextlib.suppress(AttributeError):  # a bound method takes no attributes
            setattr(func, WATCHERS, (*getattr(func, WATCHERS, ()), renew))

    def _replace(self, old: Function, new: Function) -> None:
        table: dict[str, Function] = {}
        for tool in self._tools.values():
            _place(table, new if tool is old else tool)
        self._tools = table

    def with_defaults(self, *groups: str) -> ToolBox:
        """Register built-in tool groups; all of them when none is named.

        Raises:
            ValueError: No such group.
        """
        for group in groups or tuple(GROUPS):
            self.register(*load_group(group))
        return self

    def with_subagent_provider(self, agent_getter: Callable[[Any], Any] | None = None, max_depth: int = 2) -> ToolBox:
        """Register ``agent_run`` and ``agent_run_parallel``.

        Args:
            agent_getter: Takes an `AgentGetterParam` and returns a sub-agent that is not initialised yet;
                None gives one with the parent's model, workspace and tools.
            max_depth: How many generations of sub-agents there may be.
        """
        return self.register(*load_subagent_tools(agent_getter, max_depth))

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
            self._disabled -= {hidden for hidden in self._disabled if fnmatchcase(hidden, name)} | {name}
        return self

    def _matching(self, pattern: str) -> set[str]:
        return {name for name in self._tools if fnmatchcase(name, pattern)}

    def disable_subagent(self) -> ToolBox:
        """Hide the sub-agent tools only."""
        return self.disable(*SUBAGENT_TOOLS)

    def enable_subagent(self) -> ToolBox:
        """Show the sub-agent tools again."""
        return self.enable(*SUBAGENT_TOOLS)

    def is_disabled(self, name: str) -> bool:
        """Tell whether a tool of this name is hidden."""
        return name in self._disabled

    def offers(self, name: str) -> bool:
        """Tell whether there is a tool of this name that is not hidden."""
        return name in self._tools and name not in self._disabled

    def get(self, name: str) -> Function | None:
        """Return the tool of this name, hidden or not."""
        return self._tools.get(name)

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
            for name, tool in self._tools.items()
            if (include_disabled or name not in self._disabled) and (have is None or tool.required_capabilities <= have)
        ]

    def list_tools_json(
        self, model_capabilities: Iterable[str] | None = None, *, compact: bool = False, code_mode: bool = False
    ) -> list[dict[str, Any]]:
        """Return the tools array that is handed to the model; *compact* without the titles of parameters.

        With *code_mode* it holds what is exposed as "direct", and ``run_code``; the others are in `stub`.
        """
        tools = self.list_tools(model_capabilities)
        return [tool.to_json(compact=compact) for tool in tools if shown(tool, code_mode=code_mode)]

    def refuse_hidden(self, name: str, *, code_mode: bool = False) -> None:
        """Return when the model may name *name* in a message, or when there is no such tool.

        Raises:
            ToolCallFormatError: It is for code or for the person only.
        """
        tool = self._tools.get(name)
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
        tool, call = self.prepare(agent, tool_name, arguments, context)
        return run_sync(tool, call)

    async def acall_tool(
        self, agent: Agent[Any], tool_name: str, arguments: dict[str, Any] | str, context: Any = None
    ) -> Result[Any, Any]:
        """The same as `call_tool` for async callers; a sync tool runs in a worker thread."""
        tool, call = self.prepare(agent, tool_name, arguments, context)
        return await run_async(tool, call)

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
        ctx = None
        if tool.wants_context:
            ctx = ToolCallContext(agent, tool_name, context, call_id=call_id, scope=scope)
        return tool, tool.prepare(ctx, arguments)

    def _lookup(self, name: str) -> Function:
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(item.name for item in self.list_tools()) or "none"
            raise ToolCallFormatError(f"There is no tool named {name!r}; the tools are: {known}.")
        if name in self._disabled:
            raise ToolCallFormatError(f"The tool {name!r} is disabled in this session; use another one.")
        return tool

    def clone(self) -> ToolBox:
        """Return a copy of the table and of the hidden names; the tools themselves are shared."""
        copy = ToolBox()
        copy._tools = dict(self._tools)
        copy._disabled = set(self._disabled)
        return copy


def _renamed(func: Callable[..., Any], name: str | None) -> Function:
    tool = Function.from_function(func)
    return tool if name is None else Function(func, name=name, description=tool.description, attr=tool.attr)


def _place(table: dict[str, Function], tool: Function) -> str:
    """Put *tool* into *table* by the rules of names; return a note when another gave way."""
    old = table.get(tool.name)
    if old is None:
        table[tool.name] = tool
        return ""
    if tool.override:
        table[tool.name] = tool
        return f"xun: tool {tool.name!r} replaced by an overriding one"
    if old.override:
        return f"xun: tool {tool.name!r} kept: the one registered first overrides"
    raise ToolConflict(
        f"Conflict tool name: {tool.name!r} is registered already; "
        "rename one with tool_attr(name=...) or mark it tool_attr(override=True)"
    )
