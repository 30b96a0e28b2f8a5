"""The life of class tools: started together, closed for certain, one loop or thread for each instance."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from tests.fakes.counting import CountArgs, Counter
from tests.fakes.runs import calls, scripted, tool_texts
from xun import (
    Agent,
    CancelledError,
    ToolBox,
    ToolCallContext,
    ToolError,
)
from xun.choice import ChoiceOutcome, ChoiceRequest
from xun.tools import StatefulTool


class Noted(Counter):
    """Notes its life in a list that is given."""

    def start(self) -> None:
        self.note("start")
        self.config.fail(self.name)
        self.total = 0

    def close(self) -> None:
        self.note("close")
        self.config.fail_close(self.name)


class Life:
    """Settings that are no model: what happened, and what is to go wrong."""

    def __init__(self, failures: dict[str, int] | None = None, bad_close: str = "") -> None:
        self.log: list[str] = []
        self.failures = failures or {}
        self.bad_close = bad_close

    def fail(self, name: str) -> None:
        if self.failures.get(name, 0) > 0:
            self.failures[name] -= 1
            raise ConnectionError(f"{name} is not there yet")

    def fail_close(self, name: str) -> None:
        if name == self.bad_close:
            raise OSError("no")


def boxed(life: Life, *names: str) -> ToolBox:
    return ToolBox(*[type(name, (Noted,), {"name": name})(life) for name in names])


def test_row_45_all_are_started_and_closed_last_first():
    life = Life()
    box = boxed(life, "a", "b")
    with box.entered():
        assert life.log == ["a start", "b start"]
        agent, other = Agent(), Agent()
        assert [box.call_tool(agent, "a", {}).unwrap() for _ in range(2)] == [1, 2]
        assert life.log == ["a start", "b start"]
        assert box.call_tool(other, "a", {}).unwrap() == 1
        assert life.log == ["a start", "b start", "a start"]
    assert life.log[3:] == ["b close", "a close"]


def test_row_45_start_is_tried_again_with_a_fresh_instance():
    life = Life({"a": 2})
    with boxed(life, "a").entered(retry=3):
        assert life.log == ["a start"] * 3
    assert life.log == ["a start"] * 3 + ["a close"]


def test_row_45_failure_closes_those_started():
    life = Life({"b": 9})
    text = r"The tool b could not be started in 2 attempts: b is not there yet"
    with pytest.raises(ToolError, match=text), boxed(life, "a", "b", "c").entered(retry=2):
        pytest.fail("not entered")
    assert life.log == ["a start", "b start", "b start", "a close"]


def test_row_45_failed_close_does_not_stop_the_others(caplog: pytest.LogCaptureFixture):
    life = Life(bad_close="b")
    with caplog.at_level(logging.ERROR, "xun.tools"), boxed(life, "a", "b", "c").entered():
        pass
    assert life.log[3:] == ["c close", "b close", "a close"]
    assert "tool b could not be closed" in caplog.text


def test_row_45_slow_start_is_given_up_and_closed_when_it_is_done():
    go, closed = threading.Event(), threading.Event()

    class Slow(Counter):
        def start(self) -> None:
            go.wait(10)

        def close(self) -> None:
            closed.set()

    with pytest.raises(ToolError, match=r"did not start within 0\.05 s"), ToolBox(Slow).entered(retry=1, timeout=0.05):
        pytest.fail("not entered")
    assert not closed.is_set()
    go.set()
    assert closed.wait(10)


def test_row_45_start_that_fails_at_the_first_call_is_an_error_of_the_call():
    result = boxed(Life({"a": 9}), "a").call_tool(Agent(), "a", {})
    assert "could not be started in 3 attempts" in result.unwrap_err().error


class Pinger(StatefulTool):
    """Ping."""

    args_model = CountArgs

    async def start(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.queue: asyncio.Queue[int] = asyncio.Queue()
        self.task = self.loop.create_task(self.feed())

    async def feed(self) -> None:
        for number in range(100):
            await self.queue.put(number)

    async def run(self, ctx: ToolCallContext[Any], args: CountArgs) -> list[Any]:
        return [await self.queue.get(), asyncio.get_running_loop() is self.loop]

    async def close(self) -> None:
        self.task.cancel()


async def test_row_45_async_tool_lives_in_one_loop_whoever_calls():
    box, agent = ToolBox(Pinger), Agent()
    async with box.entered():
        first = await box.acall_tool(agent, "Pinger", {})
        second = await asyncio.to_thread(box.call_tool, agent, "Pinger", {})
        third = box.call_tool(agent, "Pinger", {})
    assert [item.unwrap() for item in (first, second, third)] == [[0, True], [1, True], [2, True]]
    assert not [thread for thread in threading.enumerate() if thread.name == "xun-tool-Pinger"]


def test_row_45_async_tool_in_sync_code_and_runs():
    agent = scripted(calls(("Pinger", {})), calls(("Pinger", {})), {"text": "done"}, tools=[Pinger])
    agent.instruct("go").execute().unwrap()
    agent.instruct("more").execute()
    agent.finalize()
    assert tool_texts(agent) == ["[0, true]", "[1, true]"]
    with (box := ToolBox(Pinger)).entered():
        assert box.call_tool(Agent(), "Pinger", {}).unwrap() == [0, True]


async def test_row_45_cancelled_entering_closes_what_it_started():
    started, go = threading.Event(), threading.Event()
    life = Life()

    class Held(Noted):
        name = "held"

        def start(self) -> None:
            started.set()
            go.wait(10)

    box = boxed(life, "a").register(Held(life))
    task = asyncio.ensure_future(box.entered().__aenter__())
    await asyncio.to_thread(started.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    for _ in range(200):
        if len(life.log) == 3:
            break
        await asyncio.sleep(0.01)
    assert life.log == ["a start", "held close", "a close"]


class Chooser:
    """Says yes, and notes in which loop it was asked."""

    def __init__(self) -> None:
        self.loops: list[Any] = []

    async def choose(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
        self.loops.append(asyncio.get_running_loop())
        return ChoiceOutcome(True, "user")


class Asker(StatefulTool):
    """Ask."""

    args_model = CountArgs

    async def run(self, ctx: ToolCallContext[Any], args: CountArgs) -> list[bool]:
        first = await ctx.agent.aget_confirm("Sure?")
        second = await asyncio.to_thread(ctx.agent.get_confirm, "Really?")
        return [first.choice, second.choice]


@pytest.mark.timeout(20)
async def test_question_of_an_async_class_tool_is_asked_in_the_loop_of_its_caller():
    chooser = Chooser()
    agent = scripted(calls(("Asker", {})), {"text": "done"}, tools=[Asker], chooser=chooser)
    result = await agent.toolbox.acall_tool(agent, "Asker", {})
    assert result.unwrap() == [True, True] and chooser.loops == [asyncio.get_running_loop()] * 2
    await agent.instruct("go").aexecute()
    assert tool_texts(agent) == ["[true, true]"] and chooser.loops == [asyncio.get_running_loop()] * 4
    agent.finalize()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, CancelledError])
def test_what_ends_a_process_passes_through_the_loop_of_a_tool(kind: type[BaseException]):
    class Ending(Asker):
        async def run(self, ctx: ToolCallContext[Any], args: CountArgs) -> list[bool]:
            raise kind("enough")

    agent = Agent(toolbox=ToolBox(Ending)).initialize()
    with pytest.raises(kind):
        agent.tool.Ending()
    agent.finalize()


def test_class_that_can_not_be_made_is_an_error_of_the_call():
    class Unmade(Counter):
        def __init__(self, config: Any = None) -> None:
            raise OSError("no room")

    result = ToolBox(Unmade).call_tool(Agent(), "count", {})
    assert "could not be started in 3 attempts: no room" in result.unwrap_err().error
