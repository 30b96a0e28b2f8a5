"""xun: ordinary functions as tools, and an agent that uses them.

Everything public is here or in `xun.models` and `xun.events`; names load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xun import events as events
    from xun.agent.agent import Agent as Agent
    from xun.agent.config import AgentConfig as AgentConfig
    from xun.agent.hooks import Hooks as Hooks
    from xun.agent.subagent import AgentGetterParam as AgentGetterParam
    from xun.choice import ChoiceOutcome as ChoiceOutcome
    from xun.errors import CancelledError as CancelledError
    from xun.errors import ToolCallFormatError as ToolCallFormatError
    from xun.errors import ToolError as ToolError
    from xun.errors import ToolFailed as ToolFailed
    from xun.errors import XunError as XunError
    from xun.result import ErrorInfo as ErrorInfo
    from xun.result import Result as Result
    from xun.tools.attr import tool_attr as tool_attr
    from xun.tools.context import ToolCallContext as ToolCallContext
    from xun.tools.images import defer_tool_image as defer_tool_image
    from xun.tools.output import ToolOutput as ToolOutput
    from xun.tools.suspend import Suspend as Suspend
    from xun.tools.toolbox import ToolBox as ToolBox
    from xun_policies.workspace import Workspace as Workspace

_WHERE = {
    "Agent": "xun.agent.agent",
    "AgentConfig": "xun.agent.config",
    "AgentGetterParam": "xun.agent.subagent",
    "CancelledError": "xun.errors",
    "ChoiceOutcome": "xun.choice",
    "ErrorInfo": "xun.result",
    "Hooks": "xun.agent.hooks",
    "Result": "xun.result",
    "Suspend": "xun.tools.suspend",
    "ToolBox": "xun.tools.toolbox",
    "ToolCallContext": "xun.tools.context",
    "ToolCallFormatError": "xun.errors",
    "ToolError": "xun.errors",
    "ToolFailed": "xun.errors",
    "ToolOutput": "xun.tools.output",
    "Workspace": "xun_policies.workspace",
    "XunError": "xun.errors",
    "defer_tool_image": "xun.tools.images",
    "tool_attr": "xun.tools.attr",
}

__all__ = [*sorted(_WHERE), "events"]


def __getattr__(name: str) -> Any:
    if name == "events":
        return importlib.import_module("xun.events")
    try:
        module = _WHERE[name]
    except KeyError:
        raise AttributeError(f"module 'xun' has no attribute {name!r}") from None
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
