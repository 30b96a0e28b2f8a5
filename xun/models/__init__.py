"""Chat models: the protocol, and the ones that ship.

Each name is loaded at its first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xun.models.base import ChatModel
    from xun.models.chaos import ChaosModel
    from xun.models.openai import OpenAIModel
    from xun.models.scripted import ScriptedModel

__all__ = ["ChaosModel", "ChatModel", "OpenAIModel", "ScriptedModel"]

_HOMES = {
    "ChaosModel": "xun.models.chaos",
    "ChatModel": "xun.models.base",
    "OpenAIModel": "xun.models.openai",
    "ScriptedModel": "xun.models.scripted",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
