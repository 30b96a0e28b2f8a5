"""Code mode: what the model is told of the tools that only its code can call."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from xun.errors import PolicyError
from xun.tools.exposure import RUN_CODE, code_names
from xun.tools.groups import load_group

if TYPE_CHECKING:
    from xun.agent.config import AgentConfig
    from xun.tools.function import Function
    from xun.tools.toolbox import ToolBox
    from xun_policies.workspace import Workspace

_TEXT = """# Tools in code
Besides the tools in your list there are tools that Python code calls: {names}.
The stub file {path} holds the types and descriptions of these functions; read what you need of it before the first use.
Give {run} a program that calls them as `await tools.NAME(argument=value)`, with arguments by name: values are plain
Python data, a failure raises ToolError, and asyncio.gather makes calls side by side. Only what the program prints
comes back to you, so filter and count in the program, and print what you need."""


class CodeMode:
    """Writes the stub of a toolbox, and says where it is.

    The name of the file comes from its content, so that it stays the same while the tools do.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._tools: list[Function] = []
        self._names: list[str] = []
        self._stub = ""

    def text(self, toolbox: ToolBox, capabilities: Iterable[str]) -> str:
        """Return the paragraph for the system message; the stub file is there afterwards."""
        tools = toolbox.list_tools(capabilities)
        if tools != self._tools or not self._stub:
            self._tools, self._names, self._stub = tools, list(code_names(tools)), toolbox.stub(capabilities)
        if not self._names:
            return ""
        return _TEXT.format(names=", ".join(self._names), path=self._written(), run=RUN_CODE)

    def _written(self) -> Path:
        data = self._stub.encode()
        path = Path(self._workspace.tempdir.path) / f"tools-{hashlib.sha256(data).hexdigest()[:12]}.pyi"
        try:
            same = self._workspace.read_bytes(path) == data
        except (OSError, PolicyError):
            same = False
        if not same:
            self._workspace.write_bytes(path, data)
        return path


def with_run_code(toolbox: ToolBox, config: AgentConfig) -> ToolBox:
    """Return *toolbox*, with the tool that code mode needs where it is on and the tool is missing."""
    if not config.code_mode or toolbox.get(RUN_CODE) is not None:
        return toolbox
    return toolbox.clone().share_loaded(toolbox).register(*load_group("code"))
