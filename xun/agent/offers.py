"""The tools of one request: without those that are deferred, hidden, or switched off for it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from xun.tools.context import ToolCallContext

if TYPE_CHECKING:
    from xun.agent.loop import Run
    from xun.tools.function import Function

_log = logging.getLogger("xun.tools")

SEARCH = "tool_search"
"""The tool whose description ends with the names of the deferred tools."""


def offered(run: Run, capabilities: Iterable[str]) -> list[dict[str, Any]]:
    """Return the tools array of the next request of *run*."""
    box, have = run.toolbox, frozenset(capabilities)
    names = {tool.model_name: tool for tool in box.list_tools()}
    entries = []
    for entry in box.list_tools_json(have, compact=True, code_mode=run.code_mode):
        tool = names[entry["function"]["name"]]
        if not _is_enabled(run, tool):
            continue
        if tool.name == SEARCH and box.deferred():
            entry = _with_index(entry, box.deferred_index(have))
        entries.append(entry)
    return entries


def _is_enabled(run: Run, tool: Function) -> bool:
    rule = tool.attr.enabled
    if rule is None:
        return True
    context = ToolCallContext(run.agent, tool.name, run.context, scope=run.scope(""))
    try:
        return bool(rule(context))
    except Exception:  # noqa: BLE001 - the boundary of foreign code
        _log.exception("the enabled rule of %s failed, so it is not offered", tool.name)
        return False


def _with_index(entry: dict[str, Any], index: str) -> dict[str, Any]:
    function = entry["function"]
    text = f"{function['description']}\n\nTools to be found:\n{index}"
    return {**entry, "function": {**function, "description": text}}
