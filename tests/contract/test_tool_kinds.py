"""Tools that are no plain functions: objects, presets, dotted names, generators."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from tests.fakes.fake_session import FakeSession, places
from tests.fakes.given_schema import SEARCH, call, given, refused, search
from tests.fakes.runs import calls, of, scripted, stream, tool_texts
from xun import Agent, ToolBox, ToolCallContext, ToolCallFormatError, tool_attr
from xun.events import ToolOutput as Progress
from xun.tools import StatefulTool
from xun.tools.function import Function
from xun_cli.commands.registry import CommandContext, default_registry
from xun_cli.settings import Settings

# -- row 8: any object -------------------------------------------------------------------------


class Words:
    name = "words"
    description = "Count words."
    parameters: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}  # noqa: RUF012

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []

    def invoke(self, arguments: dict[str, Any]) -> int:
        self.got.append(arguments)
        return len(arguments["text"].split())


class LateWords(Words):
    name = "late_words"

    async def invoke(self, arguments: dict[str, Any]) -> int:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().invoke(arguments)


class SecretlyLate(Words):
    """As a compiled module may be: nothing says that invoke gives an awaitable."""

    def invoke(self, arguments: dict[str, Any]) -> Any:
        async def later() -> int:
            await asyncio.sleep(0)
            return 7

        return later()


def test_row_08_any_object_is_a_tool():
    words = Words()
    box = ToolBox(words)
    assert box.list_tools_json()[0]["function"] == {
        "name": "words",
        "description": "Count words.",
        "parameters": Words.parameters,
    }
    assert box.call_tool(Agent(), "words", {"text": "a b c"}).unwrap() == 3
    assert words.got == [{"text": "a b c"}]
    assert "text: expected string, got int" in refused(words, {"text": 3})


async def test_row_08_async_invoke():
    assert (await ToolBox(LateWords()).acall_tool(Agent(), "late_words", {"text": "a b"})).unwrap() == 2
    assert call(LateWords(), {"text": "a"}).unwrap() == 1
    assert (await ToolBox(SecretlyLate()).acall_tool(Agent(), "words", {"text": "a b"})).unwrap() == 7
    assert call(SecretlyLate(), {"text": "a"}).unwrap() == 7


def test_row_08_object_in_a_run_and_for_one_run():
    agent = scripted(calls(("words", {"text": "a b"})), {"text": "done"})
    assert agent.instruct("go").execute(tools=[Words()]).unwrap() == "done"
    assert tool_texts(agent) == ["2"]


def test_row_56_compiled_callable_without_signature():
    class Compiled:
        name, description = "greatest", ""
        parameters: dict[str, Any] = {"type": "object"}  # noqa: RUF012
        invoke = staticmethod(max)  # says nothing about its parameters

    assert call(Compiled(), {"a": 1, "b": 2}).unwrap() == "b"


def test_row_08_object_with_a_bad_schema_is_refused_at_register():
    class Bad(Words):
        parameters: dict[str, Any] = {"type": "nothing"}  # noqa: RUF012

    with pytest.raises(ValueError, match="Tool words: bad JSON schema"):
        ToolBox(Bad())


# -- rows 10, 11: presets ----------------------------------------------------------------------


@tool_attr(preset={"key": "secret", "limit": 7})
def fetch(url: str, key: str, limit: int = 1, note: Annotated[str, "A note."] = "") -> str:
    """Fetch."""
    return f"{url} {key} {limit} {note}"


def test_row_10_preset_is_under_the_call():
    assert call(fetch, {"url": "u"}).unwrap() == "u secret 7 "
    assert call(fetch, {"url": "u", "key": "mine", "limit": 2}).unwrap() == "u mine 2 "


def test_row_10_preset_is_not_required_and_not_shown():
    schema = ToolBox(fetch).list_tools()[0].tool_schema
    assert schema["required"] == ["url"] and set(schema["properties"]) == {"url", "key", "limit", "note"}
    assert "secret" not in json.dumps(schema) and "7" not in json.dumps(schema)


def test_row_10_preset_stays_checked_when_the_call_gives_it():
    assert "limit: input should be a valid integer" in refused(fetch, {"url": "u", "limit": "2"})


def test_row_10_preset_need_not_be_in_a_given_schema():
    tool = given(preset={"key": "k"})
    assert "key" not in tool.tool_schema["properties"]
    assert call(tool, {"query": "x"}).unwrap() == "x 3 None web k"
    required = given(preset={"query": "always"})
    assert required.tool_schema["required"] == [] and SEARCH["required"] == ["query"]
    assert call(required, {}).unwrap() == "always 3 None web none"


def test_row_10_preset_of_keyword_positional_and_object_tools():
    def anything(**more: int) -> dict[str, int]:
        return more

    def by_place(first: int, second: int, /) -> list[int]:
        return [first, second]

    assert call(Function.from_function(anything, preset={"a": 1}), {}).unwrap() == {"a": 1}
    assert call(Function.from_function(by_place, preset={"first": 1}), {"second": 2}).unwrap() == [1, 2]
    assert call(Function.from_function(by_place, preset={"first": 1}), {"first": 5, "second": 2}).unwrap() == [5, 2]
    words = tool_attr(preset={"text": "a b"})(Words())
    assert call(words, {}).unwrap() == 2


@pytest.mark.parametrize("name", ["ctx", "self", "cls", "agent_state", "global_storage", "nobody", 3])
def test_row_10_reserved_and_unknown_names_raise_at_load(name: Any):
    def tool(ctx: ToolCallContext[Any], query: str) -> str:
        return query

    with pytest.raises(ValueError, match=r"Tool tool: "):
        ToolBox(tool_attr(preset={name: 1})(tool))


def test_row_11_one_function_two_tools():
    box = ToolBox(
        Function.from_function(fetch, name="first", preset={"key": "a"}),
        Function.from_function(fetch, name="second", preset={"key": "b"}, description="Other."),
    )
    assert [(tool.name, tool.description) for tool in box.list_tools()] == [("first", "Fetch."), ("second", "Other.")]
    assert box.call_tool(Agent(), "first", {"url": "u"}).unwrap() == "u a 1 "
    assert box.call_tool(Agent(), "second", {"url": "u"}).unwrap() == "u b 1 "


# -- row 12: dotted names ----------------------------------------------------------------------


@tool_attr(name="math.add")
def add(ctx: ToolCallContext[Any], a: int, b: int) -> str:
    """Add."""
    return f"{ctx.tool_name} {a + b}"


def test_row_12_dots_are_kept_for_lookup_and_replaced_for_the_model():
    box = ToolBox(add)
    assert box.list_tools()[0].name == "math.add"
    assert box.list_tools_json()[0]["function"]["name"] == "math_add"
    for name in ("math.add", "math_add"):
        assert box.get(name) is box.list_tools()[0]
        assert box.call_tool(Agent(), name, {"a": 1, "b": 2}).unwrap() == "math.add 3"


def test_row_12_model_calls_by_its_name():
    agent = scripted(calls(("math_add", {"a": 1, "b": 2})), {"text": "done"}, tools=[add])
    agent.instruct("go").execute().unwrap()
    assert tool_texts(agent) == ["math.add 3"]


def test_row_12_two_names_with_one_alias_conflict():
    def math_add(a: int) -> int:
        return a

    for pair in ((add, math_add), (math_add, add)):
        with pytest.raises(ValueError, match=r"^Conflict tool name: .*math_add"):
            ToolBox(*pair)
    box = ToolBox(add, tool_attr(override=True)(math_add))
    assert [tool.name for tool in box.list_tools()] == ["math_add"]


@pytest.mark.parametrize("name", ["math.add", "math_add", "math.*", "math_*"])
def test_row_12_either_name_disables(name: str):
    box = ToolBox(add).disable(name)
    assert box.list_tools() == [] and box.is_disabled("math.add") and box.is_disabled("math_add")
    with pytest.raises(ToolCallFormatError, match="disabled"):
        box.call_tool(Agent(), "math_add", {"a": 1, "b": 2})
    assert len(box.enable(name).list_tools()) == 1


async def test_row_12_the_person_calls_by_either_name(tmp_path: Path):
    session = FakeSession(tmp_path)
    session.agent.toolbox.register(add)
    ctx = CommandContext(session, places(tmp_path / "home"), Settings())  # type: ignore[arg-type]
    for name in ("math.add", "math_add"):
        result = await default_registry().run(ctx, f"/tool {name} a=1 b=2")
        assert result.ok and result.outputs[0].plain() == "math.add 3"


def test_row_12_name_disabled_beforehand():
    assert ToolBox().disable("math_add").register(add).list_tools() == []


# -- rows 13, 57 and the table -----------------------------------------------------------------


def test_pop_takes_a_tool_out():
    box = ToolBox(add, search)
    tool = box.get("search")
    assert box.pop("search") is tool and box.pop("search") is None
    assert [tool.name for tool in box.list_tools()] == ["math.add"]
    assert box.pop("math_add") is not None and box.list_tools() == []


def test_row_57_forms_of_the_providers():
    box = ToolBox(given())
    assert box.list_tools_json() == box.list_tools_json(format="openai")
    assert box.list_tools_json(format="anthropic") == [
        {"name": "search", "description": "Look it up.", "input_schema": SEARCH}
    ]
    assert box.list_tools_json(format="gemini") == [
        {
            "name": "search",
            "description": "Look it up.",
            "parameters": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "What to look for."},
                    "limit": {"type": "integer", "minimum": 1},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "place": {"enum": ["web", "files"]},
                },
                "required": ["query"],
            },
        }
    ]
    with pytest.raises(ValueError, match="openai, anthropic, gemini"):
        box.list_tools_json(format="other")


def test_row_57_gemini_has_no_null_type_and_no_references():
    def tool(a: int | None = None, b: list[int] | str = "") -> None:
        """T."""

    def bare() -> None:
        """B."""

    found = ToolBox(tool, bare).list_tools_json(format="gemini")
    assert found[0]["parameters"]["properties"] == {
        "a": {"nullable": True, "type": "integer"},
        "b": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}]},
    }
    assert found[1] == {"name": "bare", "description": "B."}
    nested = Function.from_schema(
        "tree",
        "",
        {
            "properties": {"node": {"$ref": "#/$defs/node"}},
            "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        },
        lambda node: node,
    )
    assert ToolBox(nested).list_tools_json(format="gemini")[0]["parameters"]["properties"] == {
        "node": {"type": "object", "properties": {"next": {"type": "object"}}}
    }


def test_list_with_the_disabled_ones():
    box = ToolBox(search).disable("search")
    assert box.list_tools_json() == [] and len(box.list_tools_json(include_disabled=True)) == 1


# -- generators: progress ----------------------------------------------------------------------


async def test_generator_yields_progress_and_returns_the_result():
    closed = []

    def work(steps: int) -> Iterator[Any]:
        """Work."""
        try:
            for step in range(steps):
                yield {"step": step}
            return f"{steps} done"
        finally:
            closed.append(True)

    async def awork(ctx: ToolCallContext[Any], steps: int) -> AsyncIterator[str]:
        for step in range(steps):
            yield f"{ctx.tool_name} {step}"

    agent = scripted(calls(("work", {"steps": 2}), ("awork", {"steps": 2})), {"text": "done"}, tools=[work, awork])
    events = await stream(agent)
    shown = sorted(event.text for event in of(events, Progress))
    assert shown == ["awork 0", "awork 1", '{"step": 0}', '{"step": 1}']
    assert tool_texts(agent) == ["2 done", "awork 1"] and closed == [True]
    box = ToolBox(work)
    assert box.list_tools_json()[0]["function"]["parameters"]["required"] == ["steps"]
    assert box.call_tool(Agent(), "work", {"steps": 0}).unwrap() == "0 done"


async def test_generators_of_objects_and_classes():
    class Args(BaseModel):
        pass

    class Plain(StatefulTool):
        """Plain."""

        args_model = Args

        def run(self, ctx: ToolCallContext[Any], args: Any) -> Iterator[str]:
            yield "plain 1"
            return "plain done"

    class Late(StatefulTool):
        """Late."""

        args_model = Args

        async def run(self, ctx: ToolCallContext[Any], args: Any) -> AsyncIterator[str]:  # type: ignore[override]
            yield "late 1"
            yield "late done"

    class Thing(Words):
        def invoke(self, arguments: dict[str, Any]) -> Iterator[str]:  # type: ignore[override]
            yield "thing 1"
            return arguments["text"]

    agent = scripted(calls(("Plain", {}), ("Late", {}), ("words", {"text": "x"})), {"text": "done"})
    agent.toolbox.register(Plain, Late, Thing())
    shown = [event.text for event in of(await stream(agent), Progress)]
    agent.finalize()
    assert sorted(shown) == ["late 1", "late done", "plain 1", "thing 1"]
    assert tool_texts(agent) == ["plain done", "late done", "x"]


def test_generator_has_no_type_of_its_result_in_the_stub():
    def work(steps: int) -> Iterator[str]:
        """Work."""
        yield ""

    assert "async def work(*, steps: int) -> Any:" in ToolBox(work).stub()


def test_generator_that_raises_is_an_error():
    def broken() -> Iterator[str]:
        yield "begun"
        raise ValueError("stuck")

    assert call(broken, {}).unwrap_err().error == "stuck"


# -- entry points ------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with a tool group and a tool."""
    (tmp_path / "thirdparty_group.py").write_text(
        "def hello() -> str:\n    'Say hello.'\n    return 'hello'\n\ndef tools():\n    return [hello]\n"
    )
    info = tmp_path / "thirdparty-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thirdparty\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[xun.tool_groups]\ngreeting = thirdparty_group\nbroken = thirdparty_nothing\nodd = thirdparty_group:hello\n"
        "[xun.tools]\nhello_tool = thirdparty_group:hello\nbroken_tool = thirdparty_group:nothing\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("installed")
def test_row_14_groups_of_installed_packages():
    box = ToolBox().with_defaults("greeting")
    assert box.call_tool(Agent(), "hello", "").unwrap() == "hello"
    with pytest.raises(ValueError, match=r"No tool group named 'none'; the groups are system, .*greeting"):
        ToolBox().with_defaults("none")
    with pytest.raises(ValueError, match="'broken' of thirdparty_nothing can't be loaded"):
        ToolBox().with_defaults("broken")
    with pytest.raises(ValueError, match="must be a list of tools"):
        ToolBox().with_defaults("odd")


@pytest.mark.usefixtures("installed")
def test_specs_of_installed_packages():
    box = ToolBox.from_specs([{"name": "hello_tool"}])
    assert [tool.name for tool in box.list_tools()] == ["hello"]
    with pytest.raises(
        ValueError, match=r"No tool named 'none' in the registry; there are xun's own, and: .*hello_tool"
    ):
        ToolBox.from_specs([{"name": "none"}])
    with pytest.raises(ValueError, match="takes no settings, got colour"):
        ToolBox.from_specs([{"name": "hello_tool", "colour": 1}])
    with pytest.raises(ValueError, match="can't be loaded"):
        ToolBox.from_specs([{"name": "broken_tool"}])
    with pytest.raises(ValueError, match="needs a name"):
        ToolBox.from_specs([{"colour": 1}])
