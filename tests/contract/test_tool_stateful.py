"""Class tools: settings, life, state for each agent; toolboxes of specifications; the shell kept over turns."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from tests.fakes.runs import calls, scripted, tool_texts
from xun import (
    Agent,
    CancelledError,
    Hooks,
    ToolBox,
    ToolCallContext,
    ToolCallFormatError,
    ToolError,
    Workspace,
    tool_attr,
)
from xun.choice import ChoiceOutcome, ChoiceRequest
from xun.tools import StatefulTool, ToolRegistry


class CountArgs(BaseModel):
    """Not for the model."""

    by: int = Field(1, description="How much.")
    tags: list[str] = []


class CountConfig(BaseModel):
    first: int = 0
    log: list[str] = []


class Counter(StatefulTool):
    """Count on.
    Returns the sum so far."""

    name = "count"
    args_model = CountArgs
    config_model = CountConfig

    def start(self) -> None:
        self.total = self.config.first
        self.note("start")

    def run(self, ctx: ToolCallContext[Any], args: CountArgs) -> int:
        self.total += args.by
        return self.total

    def close(self) -> None:
        self.note("close")

    def note(self, what: str) -> None:
        self.config.log.append(f"{self.name} {what}")


def counting(**config: Any) -> ToolBox:
    registry = ToolRegistry()
    registry.register("slow_counter", Counter)
    return ToolBox.from_specs([{"name": "slow_counter", **config}], registry=registry)


def count(box: ToolBox, agent: Any, **arguments: Any) -> Any:
    return box.call_tool(agent, "count", arguments).unwrap()


def log_of(box: ToolBox) -> list[str]:
    instances = box.list_tools()[0].instances
    assert instances is not None
    return instances._config.log


def test_row_46_class_is_a_tool():
    box = ToolBox(Counter)
    assert box.list_tools_json()[0]["function"] == {
        "name": "count",
        "description": "Count on.\nReturns the sum so far.",
        "parameters": {
            "additionalProperties": False,
            "properties": {
                "by": {"default": 1, "description": "How much.", "title": "By", "type": "integer"},
                "tags": {"default": [], "items": {"type": "string"}, "title": "Tags", "type": "array"},
            },
            "required": [],
            "type": "object",
        },
    }
    agent = Agent()
    assert count(box, agent) == 1 and count(box, agent, by=2) == 3 and count(box, agent, tags="a, b") == 4


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"by": "1"}, "by: input should be a valid integer, got str"),
        ({"up": 1}, "up: no such parameter (it takes: by, tags)"),
        ('{"by": ', "not valid JSON"),
    ],
)
def test_row_05_arguments_of_a_class_are_checked_as_those_of_a_function(arguments: Any, text: str):
    with pytest.raises(ToolCallFormatError) as caught:
        ToolBox(Counter).call_tool(Agent(), "count", arguments)
    assert text in str(caught.value)


def test_row_46_state_is_that_of_an_agent_and_not_of_a_box():
    box = counting(first=10)
    one, two = Agent(), Agent()
    assert [count(box, one), count(box, one), count(box, two)] == [11, 12, 11]
    assert count(box.clone(), two) == 12
    assert count(box.clone(), Agent()) == 11


def test_row_46_closed_with_the_agent():
    box = counting()
    with Agent(toolbox=box) as agent:
        count(box, agent)
        assert log_of(box) == ["count start"]
    assert log_of(box) == ["count start", "count close"]
    assert len(agent.hooks.before_finalize) == 0
    # An agent that is used again gets a fresh one.
    assert count(box, agent) == 1


def test_row_46_agents_that_share_hooks_close_their_own():
    box, hooks = counting(), Hooks()
    one, two = Agent(hooks=hooks).initialize(), Agent(hooks=hooks).initialize()
    count(box, one), count(box, two)
    one.finalize()
    assert log_of(box).count("count close") == 1 and count(box, two) == 2
    two.finalize()
    assert log_of(box).count("count close") == 2


def test_row_46_collected_agent_closes_what_it_had():
    box = counting()
    agent = Agent()
    count(box, agent)
    del agent
    gc.collect()
    assert log_of(box) == ["count start", "count close"]


def test_row_46_calls_of_one_message_in_turn():
    box = ToolBox(Counter)
    assert box.list_tools()[0].attr.sequential
    agent = scripted(calls(("count", {}), ("count", {"by": 5}), ("count", {})), {"text": "done"})
    agent.toolbox = box
    agent.instruct("go").execute().unwrap()
    assert tool_texts(agent) == ["1", "6", "7"]


def test_row_46_calls_from_many_threads_lose_nothing():
    class Slow(Counter):
        def run(self, ctx: ToolCallContext[Any], args: CountArgs) -> int:
            before = self.total
            time.sleep(0.001)
            self.total = before + 1
            return self.total

    box, agent = ToolBox(Slow), Agent()
    threads = [threading.Thread(target=lambda: count(box, agent)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(box, agent) == 9


# -- names and settings ------------------------------------------------------------------------


def test_row_12_registry_name_apart_from_model_name():
    box = counting(first=4)
    assert [tool.name for tool in box.list_tools()] == ["count"] and count(box, Agent()) == 5


def test_class_without_a_name_has_that_of_its_specification_or_its_own():
    class Nameless(Counter):
        name = ""

    registry = ToolRegistry()
    registry.register("from_spec", Nameless)
    assert ToolBox.from_specs([{"name": "from_spec"}], registry=registry).list_tools()[0].name == "from_spec"
    assert ToolBox(Nameless).list_tools()[0].name == "Nameless"
    assert ToolBox(tool_attr(name="given", timeout=3)(Nameless)).list_tools()[0].name == "given"
    box = ToolBox()
    assert box.tool(name="late")(Nameless) is Nameless and box.list_tools()[0].name == "late"


def test_row_10_preset_of_a_class_tool():
    class Five(Counter):
        """Five."""

    box = ToolBox(tool_attr(preset={"by": 5})(Five))
    agent = Agent()
    assert count(box, agent) == 5 and count(box, agent, by=1) == 6
    with pytest.raises(ValueError, match="no parameter up"):
        ToolBox(tool_attr(preset={"up": 5})(Five))
    with pytest.raises(ValueError, match="JSON values"):
        ToolBox(tool_attr(preset={"by": object()})(Five))


def test_bad_specifications_are_refused():
    with pytest.raises(ValueError, match=r"first: .*integer.* \(its settings are: first, log\)"):
        counting(first="many")
    with pytest.raises(ValueError, match="colour"):
        counting(colour="red")
    registry = ToolRegistry()
    registry.register("a", Counter)
    with pytest.raises(ValueError, match="'a' in the registry already"):
        registry.register("a", Counter)
    with pytest.raises(ValueError, match="No tool named 'b' in the registry; there are xun's own, and: a"):
        ToolBox.from_specs([{"name": "b"}], registry=registry)


def test_incomplete_classes_are_refused():
    class NoArgs(StatefulTool):
        def run(self, ctx: Any, args: Any) -> None: ...

    class NoRun(StatefulTool):
        args_model = CountArgs

    for cls, text in ((NoArgs, "needs args_model"), (NoRun, "needs a run")):
        with pytest.raises(ValueError, match=text):
            ToolBox(cls)


def test_specs_from_yaml(tmp_path: Path):
    path = tmp_path / "tools.yaml"
    path.write_text("tools:\n  - name: counter\n    first: 6\n")
    registry = ToolRegistry()
    registry.register("counter", Counter)
    assert count(ToolBox().with_yaml(path, registry=registry), Agent()) == 7


def test_built_in_tools_by_specification_keep_their_gate(tmp_path: Path):
    (tmp_path / "old").write_text("old")
    path = tmp_path / "tools.yaml"
    path.write_text("tools:\n  - name: write_file\n  - name: datetime\n")
    for box in (ToolBox.from_specs([{"name": "write_file"}, {"name": "datetime"}]), ToolBox().with_yaml(path)):
        assert [tool.name for tool in box.list_tools()] == ["write_file", "datetime"]
        with Agent(toolbox=box, workspace=Workspace(tmp_path)) as agent:
            assert agent.tool.write_file(path="old", content="new").status == "denied"
            agent.policy.mode = "auto-edit"
            assert agent.tool.write_file(path="old", content="old").is_ok()
    with pytest.raises(ValueError, match="takes no settings, got colour"):
        ToolBox.from_specs([{"name": "write_file", "colour": 1}])


# -- row 45: entered ---------------------------------------------------------------------------


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
