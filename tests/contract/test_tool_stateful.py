"""Class tools: settings, state for each agent; toolboxes of specifications."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.counting import CountArgs, Counter, count, counting, log_of
from tests.fakes.runs import calls, scripted, tool_texts
from xun import (
    Agent,
    Hooks,
    ToolBox,
    ToolCallContext,
    ToolCallFormatError,
    ToolError,
    Workspace,
    tool_attr,
)
from xun.tools import StatefulTool, ToolRegistry


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


class Table(StatefulTool):
    """Count rows of a database, which its library binds to the thread that opened it."""

    name = "count"
    args_model = CountArgs

    def start(self) -> None:
        self.database = sqlite3.connect(":memory:")
        self.database.execute("create table t (n)")

    def run(self, ctx: ToolCallContext[Any], args: CountArgs) -> int:
        self.database.execute("insert into t values (?)", [args.by])
        return int(self.database.execute("select count(*) from t").fetchone()[0])

    def close(self) -> None:
        self.database.close()


async def test_row_46_plain_tool_stays_on_one_thread_whoever_calls():
    agent = scripted(calls(("count", {})), {"text": "done"}, tools=[Table])
    with agent:
        assert count(agent.toolbox, agent) == 1
        assert await asyncio.to_thread(count, agent.toolbox, agent) == 2
        assert (await agent.toolbox.acall_tool(agent, "count", {})).unwrap() == 3
        await agent.instruct("go").aexecute()
        assert tool_texts(agent) == ["4"]


@pytest.mark.timeout(20)
def test_row_46_agent_that_is_collected_on_the_thread_of_its_tool():
    box = counting()
    agents = [Agent()]
    count(box, agents[0])
    instances = box.list_tools()[0].instances
    assert instances is not None
    live = instances.known(agents[0])
    assert live is not None
    live._home.submit(lambda: (agents.clear(), gc.collect())).result()
    for _ in range(200):
        if log_of(box) == ["count start", "count close"]:
            break
        time.sleep(0.01)
    assert log_of(box) == ["count start", "count close"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("is_async", [False, True])
def test_row_46_call_that_is_overtaken_by_the_end_of_its_agent_is_an_error(is_async: bool):
    running, go = threading.Event(), threading.Event()

    class Plain(Counter):
        def run(self, ctx: ToolCallContext[Any], args: CountArgs) -> int:
            running.set()
            go.wait(10)
            return 1

    class Late(Counter):
        async def run(self, ctx: ToolCallContext[Any], args: CountArgs) -> int:  # type: ignore[override]
            running.set()
            await asyncio.sleep(60)
            return 1

    results: list[Any] = []
    agent = Agent(toolbox=ToolBox(Late if is_async else Plain)).initialize()
    caller = threading.Thread(target=lambda: results.append(agent.tool.count()))
    caller.start()
    running.wait(10)
    ender = threading.Thread(target=agent.finalize)
    ender.start()
    time.sleep(0.1)
    go.set()
    for thread in (caller, ender):
        thread.join(10)
        assert not thread.is_alive()
    (result,) = results
    assert "was closed" in result.unwrap_err().error if is_async else result.unwrap() == 1
    # A closed instance serves no more.
    instances = agent.toolbox.list_tools()[0].instances
    assert instances is not None
    live = instances.launch(1, 5)
    live.close()
    with pytest.raises(ToolError, match="was closed"):
        live.run(ToolCallContext(agent, "count", None), CountArgs())


@pytest.mark.timeout(20)
@pytest.mark.parametrize("is_async", [False, True])
def test_row_46_tool_that_calls_itself_does_not_wait_for_itself(is_async: bool):
    class Plain(Counter):
        def run(self, ctx: ToolCallContext[Any], args: CountArgs) -> int:
            return args.by if args.by < 1 else 1 + int(ctx.agent.tool.count(by=args.by - 1).unwrap())

    class Late(Counter):
        async def run(self, ctx: ToolCallContext[Any], args: CountArgs) -> int:  # type: ignore[override]
            if args.by < 1:
                return 0
            inner = await ctx.agent.toolbox.acall_tool(ctx.agent, "count", {"by": args.by - 1})
            return 1 + int(inner.unwrap())

    with Agent(toolbox=ToolBox(Late if is_async else Plain)) as agent:
        assert agent.tool.count(by=3).unwrap() == 3


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
