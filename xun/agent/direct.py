"""Tools called by a program: ``agent.tool.NAME(...)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from xun._serialize import to_jsonable
from xun.errors import ToolCallFormatError
from xun.result import ErrorInfo, Result

if TYPE_CHECKING:
    from xun.agent.agent import Agent


class DirectTools:
    """The tools of an agent as functions, by attribute or by ``["name"]``; they take arguments by name.

    A call is checked and gated as one of the model is, and gives a `Result`. Called with a value, this returns itself
    with that value as ``ctx.value`` of the tools: ``agent.tool(database).orders(status="open")``.
    """

    __slots__ = ("_agent", "_context")

    def __init__(self, agent: Agent[Any], context: Any = None) -> None:
        self._agent = agent
        self._context = context

    def __call__(self, context: Any) -> DirectTools:
        return DirectTools(self._agent, context)

    def __getitem__(self, name: str) -> Callable[..., Result[Any, ErrorInfo]]:
        def call(**arguments: Any) -> Result[Any, ErrorInfo]:
            try:
                plain = to_jsonable(arguments)
            except TypeError as exc:
                raise ToolCallFormatError(f"Tool {name}: the arguments are no JSON values: {exc}") from None
            return self._agent.toolbox.call_tool(self._agent, name, plain, self._context)

        return call

    def __getattr__(self, name: str) -> Callable[..., Result[Any, ErrorInfo]]:
        if name.startswith("__") or self._agent.toolbox.get(name) is None:
            known = ", ".join(tool.model_name for tool in self._agent.toolbox.list_tools()) or "none"
            raise AttributeError(f"There is no tool named {name!r}; the tools are: {known}.")
        return self[name]

    def __dir__(self) -> list[str]:
        return [tool.model_name for tool in self._agent.toolbox.list_tools()]


class DirectCalls:
    """The part of an agent whose tools a program calls; mixed into `Agent`."""

    @property
    def tool(self) -> DirectTools:
        """The tools as functions: ``agent.tool.read_file(path="a.py")`` gives a Result.

        Nothing is added to the history.

        Raises:
            ToolCallFormatError: On a call: the arguments do not fit, or the tool is disabled.
        """
        return DirectTools(cast("Agent[Any]", self))
