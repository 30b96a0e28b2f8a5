"""The offline demo: everyday requests become real tool calls by rules, without any model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xun_cli.demo.model import DemoModel

__all__ = ["DemoModel"]


def __getattr__(name: str) -> Any:
    if name != "DemoModel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from xun_cli.demo.model import DemoModel

    return DemoModel
