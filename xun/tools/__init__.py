"""Tools: what makes them of functions, schemas, files and classes; names load on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xun.tools.function import Function as Function
    from xun.tools.registry import ToolRegistry as ToolRegistry
    from xun.tools.stateful import StatefulTool as StatefulTool
    from xun.tools.toolbox import ToolBox as ToolBox

_WHERE = {
    "Function": "xun.tools.function",
    "StatefulTool": "xun.tools.stateful",
    "ToolBox": "xun.tools.toolbox",
    "ToolRegistry": "xun.tools.registry",
}

__all__ = [*sorted(_WHERE)]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'xun.tools' has no attribute {name!r}")
    return getattr(importlib.import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return __all__
