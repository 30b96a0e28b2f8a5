"""A call that nobody waits for any more hears of it, also where its thread can't be stopped."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from xun import Agent, ToolBox, ToolCallContext, tool_attr
from xun.models import ScriptedModel


def boxed() -> tuple[ToolBox, threading.Event]:
    stopped = threading.Event()

    @tool_attr(timeout=0.1)
    def stubborn(ctx: ToolCallContext[Any]) -> None:
        """Go on until told."""
        while not ctx.cancelled:
            threading.Event().wait(0.01)
        stopped.set()

    return ToolBox(stubborn), stopped


@pytest.mark.parametrize("in_a_run", [False, True])
def test_a_call_that_passed_its_limit_is_told(in_a_run: bool):
    box, stopped = boxed()
    model = ScriptedModel([{"tool_calls": [{"name": "stubborn", "arguments": {}}]}, {"text": "late"}])
    with Agent(model=model, toolbox=box) as agent:
        if in_a_run:
            agent.instruct("go").execute().unwrap()
        else:
            assert box.call_tool(agent, "stubborn", {}).status == "timeout"
        assert stopped.wait(3)
