"""Tools that are no plain functions: given schemas, YAML, objects, presets, dotted names, generators."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Annotated, Any

import pytest

from tests.fakes.runs import calls, of, scripted, stream, tool_texts
from xun import Agent, Result, ToolBox, ToolCallContext, ToolCallFormatError, tool_attr
from xun.events import ToolOutput as Progress
from xun.tools.function import Function
from xun.tools.registry import ToolRegistry

SEARCH = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to look for."},
        "limit": {"type": "integer", "minimum": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"$ref": "#/definitions/place"},
    },
    "required": ["query"],
    "additionalProperties": False,
    "definitions": {"place": {"enum": ["web", "files"]}},
}


def search(query: str, limit: int = 3, tags: list[str] | None = None, place: str = "web", key: str = "none") -> str:
    return f"{query} {limit} {tags} {place} {key}"


def call(tool: Any, arguments: dict[str, Any] | str, name: str | None = None) -> Result[Any, Any]:
    box = ToolBox(tool)
    return box.call_tool(Agent(), name or box.list_tools()[0].name, arguments)


def refused(tool: Any, arguments: dict[str, Any] | str) -> str:
    with pytest.raises(ToolCallFormatError) as caught:
        call(tool, arguments)
    return str(caught.value)


# -- row 9: a schema that was given ------------------------------------------------------------


def given(**attr: Any) -> Function:
    return Function.from_schema("search", "Look it up.", SEARCH, search, **attr)


def test_row_09_given_schema_is_shown_as_it_is():
    assert ToolBox(given()).list_tools_json() == [
        {"type": "function", "function": {"name": "search", "description": "Look it up.", "parameters": SEARCH}}
    ]
    assert given().args_model is None


def test_row_09_arguments_arrive_by_name():
    assert call(given(), {"query": "x", "limit": 2}).unwrap() == "x 2 None web none"
    assert call(given(), '{"query": "x", "tags": ["a"], "place": "files"}').unwrap() == "x 3 ['a'] files none"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "query: required, but missing"),
        ({"query": 3}, "query: expected string, got int"),
        ({"query": "x", "limit": "3"}, "limit: expected integer, got str"),
        ({"query": "x", "limit": 0}, "limit: 0 is less than the minimum of 1"),
        ({"query": "x", "place": "moon"}, 'place: expected "web" or "files"'),
        ({"query": "x", "tags": [1]}, "tags.0: expected string, got int"),
        ({"query": "x", "deep": 1}, "deep: no such parameter (it takes: query, limit, tags, place)"),
        ("[1]", "must be a JSON object, got list"),
        ("{", "not valid JSON"),
    ],
)
def test_row_09_bad_call_is_told_how_to_repair(arguments: Any, text: str):
    message = refused(given(), arguments)
    assert message.startswith("Tool search:") and text in message and "did not run" in message


def test_row_09_all_faults_are_named_at_once():
    assert refused(given(), {"limit": "3", "deep": 1}).splitlines() == [
        "Tool search: invalid arguments; the tool did not run.",
        "query: required, but missing",
        "deep: no such parameter (it takes: query, limit, tags, place)",
        "limit: expected integer, got str",
    ]


def test_row_06_list_as_text_is_read_for_given_schemas_too():
    assert call(given(), {"query": "x", "tags": "a, b"}).unwrap() == "x 3 ['a', 'b'] web none"
    assert call(given(), {"query": "x", "tags": '["a"]'}).unwrap() == "x 3 ['a'] web none"
    assert "parameter tags" in refused(given(), {"query": "x", "tags": '["a'})


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "object", "properties": {"query": {"type": "text"}}}, "bad JSON schema at properties.query"),
        ({"type": "array"}, "must have the type object"),
        (["query"], "must be a JSON object, got list"),
        ({"type": "object", "properties": {"query": {"default": object()}}}, "no JSON"),
        ({"type": "object", "properties": {"query": {"$ref": "#/definitions/none"}}}, "refers to '#/definitions/none'"),
        ({"properties": {"query": {"$ref": "file:///etc/passwd"}}}, "nothing is fetched"),
        ({"properties": {"nobody": {}}}, "takes no parameter nobody"),
        ({"properties": {"limit": {}}}, "wants query"),
    ],
)
def test_row_09_bad_schema_is_refused_at_load(schema: Any, text: str):
    with pytest.raises(ValueError, match=r"^Tool search") as caught:
        Function.from_schema("search", "", schema, search)
    assert text in str(caught.value)


def test_row_09_other_drafts_by_their_name():
    newer = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"pair": {"type": "array", "prefixItems": [{"type": "string"}]}},
    }
    tool = Function.from_schema("pair", "", newer, lambda pair: pair)
    assert call(tool, {"pair": ["a"]}).unwrap() == ["a"]
    assert "pair.0: expected string" in refused(tool, {"pair": [1]})


def test_row_20_context_goes_to_functions_with_a_given_schema():
    def where(ctx: ToolCallContext[dict[str, int]], key: str) -> str:
        return f"{ctx.tool_name} {ctx.value[key]}"

    tool = Function.from_schema("where", "", {"properties": {"key": {"type": "string"}}}, where)
    assert ToolBox(tool).call_tool(Agent(), "where", {"key": "a"}, {"a": 5}).unwrap() == "where 5"


async def test_row_60_async_function_with_a_given_schema():
    async def wait(query: str) -> str:
        await asyncio.sleep(0)
        return query

    tool = Function.from_schema("wait", "", {"properties": {"query": {"type": "string"}}}, wait)
    assert (await ToolBox(tool).acall_tool(Agent(), "wait", {"query": "q"})).unwrap() == "q"


def test_unknown_property_of_a_tool_is_refused():
    with pytest.raises(ValueError, match=r"no property 'colour'"):
        given(colour="red")
    with pytest.raises(ValueError, match=r"auto, direct, code, command"):
        given(expose="all")


# -- row 9: YAML -------------------------------------------------------------------------------

YAML = """
type: tool
name: WebSearch
description: >-
  Search the web
  for something.
search_hint: internet
input_schema:
  type: object
  properties:
    query:
      type: string
  required: [query]
  additionalProperties: false
"""


@pytest.fixture
def yaml(tmp_path: Path) -> Path:
    path = tmp_path / "WebSearch.tool.yaml"
    path.write_text(YAML)
    return path


def test_row_09_yaml_tool(yaml: Path):
    tool = Function.from_yaml(yaml, search)
    assert (tool.name, tool.description) == ("WebSearch", "Search the web for something.")
    assert tool.attr.search_hint == "internet" and not tool.attr.deferred
    assert call(tool, {"query": "x"}).unwrap() == "x 3 None web none"
    assert "limit: no such parameter (it takes: query)" in refused(tool, {"query": "x", "limit": 1})


def test_row_09_binding_as_text(yaml: Path):
    yaml.write_text(YAML.replace("query", "s") + "binding: shlex:quote\n")
    assert call(Function.from_yaml(yaml), {"s": "a b"}).unwrap() == "'a b'"
    assert call(Function.from_yaml(yaml, lambda s: s * 2), {"s": "a"}).unwrap() == "aa"
    yaml.write_text(YAML)
    for binding in ("nowhere.at_all:f", "json:nothing", "json", "xun:__all__", ":dumps"):
        with pytest.raises(ValueError, match="binding"):
            Function.from_yaml(yaml, binding)
    with pytest.raises(ValueError, match="bound to no function"):
        Function.from_yaml(yaml)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\ncolour: red\n", "line 2: unknown key 'colour'"),
        ("name: a\ndescription: b\nname: c\n", "line 3: the key 'name' is given twice"),
        ("- a\n", "line 1: expected a mapping"),
        ("", "line 1: expected a mapping"),
        ("name: a\ninput_schema: {type: [}\n", "line 2: no valid YAML"),
        ("name: a\ninput_schema: {type: array}\n", "line 2: Tool a: the schema must have the type object"),
        ("name: a\ntimeout: soon\n", "line 2: timeout must be int or float"),
        ("name: a\nsequential: 1\n", "line 2: sequential must be bool"),
        ("name: a\ntype: agent\n", "line 2: the type must be tool"),
        ("name: a\ndeferred: true\ndefer_loading: true\n", "line 3: deferred and defer_loading are the same"),
        ("description: b\n", "a tool needs a name"),
        ("name: [a]\n", "line 1: name must be text"),
        ("name: !!python/object/apply:os.getcwd []\n", "no valid YAML"),
        ("name: a\nextra_kwargs: {self: 1}\n", "self is reserved"),
    ],
)
def test_row_09_bad_yaml_is_refused_with_its_line(tmp_path: Path, text: str, message: str):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"bad\.yaml") as caught:
        Function.from_yaml(path, lambda **more: more)
    assert message in str(caught.value)


def test_row_09_missing_file_is_named(tmp_path: Path):
    with pytest.raises(ValueError, match=r"none\.yaml: can't be read"):
        Function.from_yaml(tmp_path / "none.yaml", search)


def test_row_18_deferred_by_either_name(yaml: Path):
    yaml.write_text(YAML + "defer_loading: true\n")
    assert Function.from_yaml(yaml, search).attr.deferred
    assert not Function.from_yaml(yaml, search, deferred=False).attr.deferred


def test_row_11_one_file_and_function_under_two_names(yaml: Path):
    box = ToolBox(
        Function.from_yaml(yaml, search, name="one", preset={"key": "k1"}),
        Function.from_yaml(yaml, search, name="two", preset={"key": "k2", "limit": 9}),
    )
    assert [tool.name for tool in box.list_tools()] == ["one", "two"]
    assert box.call_tool(Agent(), "one", {"query": "x"}).unwrap() == "x 3 None web k1"
    assert box.call_tool(Agent(), "two", {"query": "x"}).unwrap() == "x 9 None web k2"


def test_row_09_list_of_tools_in_yaml(yaml: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "bound_for_test.py").write_text("def look(query, key='-'):\n    return query + key\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "agents"
    folder.mkdir()
    listing = folder / "tools.yaml"
    listing.write_text(
        dedent("""
        tools:
          - name: web_search
            yaml_path: ../WebSearch.tool.yaml
            binding: bound_for_test:look
            extra_kwargs: {key: "!"}
          - name: later
            yaml_path: ../WebSearch.tool.yaml
            binding: bound_for_test:look
            defer_loading: true
            search_hint: slow
          - name: plain
        """)
    )
    registry = ToolRegistry()
    registry.register("plain", search)
    box = ToolBox().with_yaml(listing, registry=registry)
    assert [tool.name for tool in box.list_tools()] == ["web_search", "later", "search"]
    assert box.call_tool(Agent(), "web_search", {"query": "q"}).unwrap() == "q!"
    later = box.get("later")
    assert later is not None and later.attr.deferred and later.attr.search_hint == "slow"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tool: []\n", "line 1: unknown key 'tool'"),
        ("tools: {}\n", "line 1: the file needs tools, a list"),
        ("tools:\n  - name: a\n    yaml_path: WebSearch.tool.yaml\n    url: b\n", "line 4: unknown key 'url'"),
        ("tools:\n  - name: nobody\n", "line 2: No tool named 'nobody' in the registry"),
        ("tools:\n  - a\n", "line 2: expected a mapping"),
    ],
)
def test_row_09_bad_list_is_refused_with_its_line(tmp_path: Path, yaml: Path, text: str, message: str):
    path = tmp_path / "list.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"list\.yaml") as caught:
        ToolBox().with_yaml(path)
    assert message in str(caught.value)


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
    with pytest.raises(ValueError, match=r"No tool named 'none' in the registry; there are: .*hello_tool"):
        ToolBox.from_specs([{"name": "none"}])
    with pytest.raises(ValueError, match="takes no settings, got colour"):
        ToolBox.from_specs([{"name": "hello_tool", "colour": 1}])
    with pytest.raises(ValueError, match="can't be loaded"):
        ToolBox.from_specs([{"name": "broken_tool"}])
    with pytest.raises(ValueError, match="needs a name"):
        ToolBox.from_specs([{"colour": 1}])
