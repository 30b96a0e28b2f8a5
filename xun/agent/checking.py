"""What an agent is made of, checked where it is made: a wrong part would fail much later, and less clearly."""

from __future__ import annotations

from typing import Any

from xun.agent.config import AgentConfig
from xun.agent.hooks import Hooks
from xun.tools.toolbox import ToolBox
from xun_policies.workspace import Workspace


def check_parts(*, model: Any, toolbox: Any, workspace: Any, config: Any, chooser: Any, hooks: Any) -> None:
    """Return when each part of an agent is one, or None.

    Raises:
        TypeError: One is something else; the text says what it has to be.
    """
    if model is not None and not hasattr(model, "stream"):
        raise _wrong("model", model, "a model, such as OpenAIModel('gpt-5-mini') or ScriptedModel([...])")
    if toolbox is not None and not isinstance(toolbox, ToolBox):
        raise _wrong("toolbox", toolbox, "a ToolBox, such as ToolBox(function, ...)")
    if workspace is not None and not isinstance(workspace, Workspace):
        raise _wrong("workspace", workspace, "a Workspace, such as Workspace('path/to/project')")
    if config is not None and not isinstance(config, AgentConfig):
        raise _wrong("config", config, "an AgentConfig, such as AgentConfig(max_tokens=100_000)")
    if chooser is not None and not callable(getattr(chooser, "choose", None)):
        raise _wrong("chooser", chooser, "an object with `async def choose(self, request) -> ChoiceOutcome`")
    if hooks is not None and not isinstance(hooks, Hooks):
        raise _wrong("hooks", hooks, "a Hooks, to whose points handlers are added")


def _wrong(name: str, given: Any, wanted: str) -> TypeError:
    shown = repr(given) if isinstance(given, str) and len(given) < 80 else type(given).__name__
    return TypeError(f"{name} must be {wanted}, not {shown}.")
