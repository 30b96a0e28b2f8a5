"""Who sees a tool: the model in its list, code that the model writes, or the person only."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from xun.errors import ToolCallFormatError
from xun.tools.function import Function

RUN_CODE = "run_code"
"""The tool that runs code; the model sees it in code mode only."""

_NO_WORD = re.compile(r"\W")


def shown(tool: Function, *, code_mode: bool) -> bool:
    """Tell whether *tool* is in the list that the model gets."""
    if tool.name == RUN_CODE:
        return code_mode
    if code_mode:
        return tool.attr.expose == "direct" or (tool.attr.expose == "auto" and tool.attr.ends_run)
    return tool.attr.expose in ("auto", "direct")


def in_code(tool: Function) -> bool:
    """Tell whether code can call *tool*: what the model always calls directly, and operators' tools, it can't."""
    return tool.name != RUN_CODE and tool.attr.expose in ("auto", "code") and not tool.attr.ends_run


def refuse_hidden(tool: Function, *, code_mode: bool) -> None:
    """Return when the model may call *tool* in a message; one that is merely elsewhere in code mode it may.

    Raises:
        ToolCallFormatError: It may not; the text says where the tool is.
    """
    if shown(tool, code_mode=code_mode) or tool.attr.expose == "auto":
        return
    if code_mode and in_code(tool):
        [name] = code_names([tool])
        raise ToolCallFormatError(
            f"The tool {tool.name!r} is called from code only: use {RUN_CODE} with await tools.{name}(...)."
        )
    raise ToolCallFormatError(f"The tool {tool.name!r} is not for the model; use another one, or ask the person.")


def code_names(tools: Iterable[Function]) -> dict[str, Function]:
    """Return the tools that code can call under the names that they have there.

    What does not fit into a Python name becomes ``_``; where two would have one name, the later gets a number.
    """
    names: dict[str, Function] = {}
    for tool in tools:
        if not in_code(tool):
            continue
        base = _NO_WORD.sub("_", tool.name)
        if not base.isidentifier() or keyword.iskeyword(base):
            base = f"{base}_" if keyword.iskeyword(base) else f"_{base}"
        name, number = base, 2
        while name in names:
            name, number = f"{base}_{number}", number + 1
        names[name] = tool
    return names
