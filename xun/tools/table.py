"""ToolTable: names to tools, and the ways in."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import sys
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from xun.errors import ToolConflict
from xun.tools.attr import WATCHERS
from xun.tools.function import Function, kinds
from xun.tools.groups import GROUPS, OPTIONAL, load_group, load_subagent_tools

if TYPE_CHECKING:
    from typing import Self

    from xun.mcp.servers import McpServer
    from xun.tools.kinds import Registrable
    from xun.tools.living import Entered
    from xun.tools.registry import ToolRegistry

F = TypeVar("F", bound=Callable[..., Any])


class ToolTable:
    """The part of a `ToolBox` that holds the tools."""

    _gated: set[str]

    def __init__(self) -> None:
        self._tools: dict[str, Function] = {}

    def register(self, *funcs: Registrable | Function) -> Self:
        """Register tools, all or none.

        A tool is a function, sync or async; an object with name, description, parameters and invoke; a `StatefulTool`
        class; or a `Function`.

        Raises:
            ToolConflict: Two tools have one name, also as the model knows it, and neither is marked ``override``.
            TypeError: Something given is not callable.
            ConfigError: A schema, a preset or a class is not usable.
        """
        table = dict(self._tools)
        notes = []
        for func in funcs:
            note = _place(table, as_tool(func))
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
        """Register the decorated function or class and return it unchanged."""
        if func is None:

            def decorate(inner: F) -> F:
                self._watch(inner, name)
                return inner

            return decorate
        self._watch(func, name)
        return func

    def _watch(self, func: Callable[..., Any], name: str | None) -> None:
        """Register *func*, and again when `tool_attr` is applied to it afterwards."""
        held = [as_tool(func, name)]
        self.register(held[0])
        box = weakref.ref(self)

        def renew(changed: Callable[..., Any]) -> None:
            owner = box()
            if owner is not None and owner._tools.get(held[0].name) is held[0]:
                owner._replace(held[0], new := as_tool(changed, name))
                held[0] = new

        with contextlib.suppress(AttributeError):  # a bound method takes no attributes
            setattr(func, WATCHERS, (*getattr(func, WATCHERS, ()), renew))

    def _replace(self, old: Function, new: Function) -> None:
        table: dict[str, Function] = {}
        for tool in self._tools.values():
            _place(table, new if tool is old else tool)
        self._tools = table

    def pop(self, name: str) -> Function | None:
        """Take a tool out of the table and return it; None when there is none of this name."""
        tool = self.get(name)
        if tool is not None:
            self._tools = {key: kept for key, kept in self._tools.items() if kept is not tool}
        return tool

    def get(self, name: str) -> Function | None:
        """Return the tool of this name, its own or that for the model, hidden or not."""
        tool = self._tools.get(name)
        if tool is not None:
            return tool
        return next((tool for tool in self._tools.values() if tool.model_name == name), None)

    def with_defaults(self, *groups: str) -> Self:
        """Register tool groups by name: xun's own, or those of installed packages (entry points `xun.tool_groups`).

        All of xun's own when none is named.

        Raises:
            ValueError: No such group.
        """
        for group in groups or tuple(GROUPS):
            tools = load_group(group)
            self._register_gated(tools) if group in GROUPS or group in OPTIONAL else self.register(*tools)
        return self

    def _register_gated(self, things: Iterable[Registrable | Function]) -> Self:
        """Register tools that ask the person by themselves where that is due."""
        tools = [as_tool(thing) for thing in things]
        self.register(*tools)
        self._gated.update(tool.name for tool in tools)
        return self

    def with_subagent_provider(self, agent_getter: Callable[[Any], Any] | None = None, max_depth: int = 2) -> Self:
        """Register the tools for sub-agents: ``agent_run`` and its siblings.

        Args:
            agent_getter: Takes an `AgentGetterParam` and returns a sub-agent that is not initialised yet;
                None gives one with the parent's model, workspace and tools.
            max_depth: How many generations of sub-agents there may be.
        """
        return self._register_gated(load_subagent_tools(agent_getter, max_depth))

    @classmethod
    def from_specs(cls, specs: Iterable[Mapping[str, Any]], *, registry: ToolRegistry | None = None) -> Self:
        """Make a box of specifications.

        Args:
            specs: Dicts: ``name`` selects an entry of the registry, the other fields are its settings.
            registry: Where names are looked up; None: among xun's own tools, and the entry points `xun.tools` of
                installed packages.

        Raises:
            ConfigError: No such entry, or settings that it does not take; a ValueError too.
        """
        known = _registry(registry)
        return cls()._register_loaded([known.make(spec) for spec in specs])

    def with_yaml(self, path: str | PathLike[str], *, registry: ToolRegistry | None = None) -> Self:
        """Register the tools that a YAML file lists.

        Each entry of its ``tools`` is a tool file (name, yaml_path, binding, preset or extra_kwargs, deferred or
        defer_loading, search_hint; paths relative to the listing file), or, without ``yaml_path``, a specification as
        for `from_specs`.

        Raises:
            ConfigError: A file is unreadable or wrong; the text names the file and the line. A ValueError too.
        """
        from xun.tools.yaml_tools import tools_from_yaml

        return self._register_loaded(tools_from_yaml(path, _registry(registry)))

    def with_skills(self, *folders: str | PathLike[str], allowed: Collection[str] | None = None) -> Self:
        """Register the tool ``skill``, which lists and loads the skills in *folders*: folders with a SKILL.md.

        Args:
            folders: Skills, or folders that hold some; all of them in one call.
            allowed: The names of those that may be loaded; None for all.

        Raises:
            ConfigError: A folder is missing, or a SKILL.md is wrong; the text names the file and the line.
            ToolConflict: There is a tool named ``skill`` already.
        """
        from xun.tools.skills import skill_tool

        return self.register(skill_tool(folders, allowed))

    def with_mcp(self, *servers: McpServer) -> Self:
        """Register the tools of MCP servers; ``name__tool`` is the tool ``tool`` of the server ``name``.

        Each server is asked for its tools now, and left again. Afterwards every agent has a connection of its own, from
        its first call, or from `entered`, until it is finalized. A tool asks the person before each call unless its
        server says that it only reads. A tool that can't be used, such as for its schema, is left out; the log
        ``xun.tools`` says why.

        Raises:
            ConfigError: The package mcp is missing, or a server can't be reached.
            ToolConflict: There is a tool of the same name already.
        """
        # By name, as tool groups are: what speaks MCP is above this package.
        return self.register(*importlib.import_module("xun.mcp.tools").mcp_tools(servers))

    def _register_loaded(self, tools: list[Function]) -> Self:
        self.register(*tools)
        own = {tool.name for tool in tools if tool.func.__module__.partition(".")[0] == "xun_builtin_tools"}
        self._gated.update(own)
        return self

    def entered(self, *, retry: int = 3, timeout: float = 60.0) -> Entered:
        """Return a context manager, sync and async, that starts the stateful tools and closes them at its end.

        When one can't be started, those started before it are closed. One that can't be closed is logged, and does not
        stop the others. The instances serve the first agent that calls; other agents get their own.

        Args:
            retry: Attempts to start each tool, every one with a fresh instance.
            timeout: Seconds for each attempt, and for each close.

        Raises:
            ToolError: On entering: a tool could not be started.
        """
        from xun.tools.living import Entered

        # Tools of one MCP server have one connection.
        stateful = dict.fromkeys(tool.instances for tool in self._tools.values() if tool.instances is not None)
        return Entered(list(stateful), retry=retry, timeout=timeout)


def as_tool(thing: Registrable | Function, name: str | None = None) -> Function:
    """Return *thing* as a tool, under *name* if given."""
    if inspect.isroutine(thing):
        return Function.from_function(cast("Callable[..., Any]", thing), name=name)
    return cast("Function", kinds().as_function(thing, name))


def _registry(given: ToolRegistry | None) -> ToolRegistry:
    if given is not None:
        return given
    from xun.tools.registry import ToolRegistry

    return ToolRegistry()


def _place(table: dict[str, Function], tool: Function) -> str:
    """Put *tool* into *table* by the rules of names; return a note when another gave way."""
    old = table.get(tool.name) or next((old for old in table.values() if old.model_name == tool.model_name), None)
    if old is None:
        table[tool.name] = tool
        return ""
    if tool.override:
        kept = [tool if item is old else item for item in table.values()]
        table.clear()
        table.update((item.name, item) for item in kept)
        return f"xun: tool {old.name!r} replaced by an overriding one"
    if old.override:
        return f"xun: tool {tool.name!r} kept: the one registered first overrides"
    taken = "is registered already"
    if old.name != tool.name:
        taken = f"and {old.name!r} are both {tool.model_name!r} for the model"
    raise ToolConflict(
        f"Conflict tool name: {tool.name!r} {taken}; "
        "rename one with tool_attr(name=...) or mark it tool_attr(override=True)"
    )
