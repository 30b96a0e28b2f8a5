"""Tools with a schema that was given, and tools from YAML."""

from __future__ import annotations

import asyncio
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.fakes.given_schema import SEARCH, call, given, refused, search
from xun import Agent, ToolBox, ToolCallContext
from xun.tools.function import Function
from xun.tools.registry import ToolRegistry

# -- row 9: a schema that was given ------------------------------------------------------------


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


def test_row_09_given_schema_may_be_changed_afterwards():
    schema: dict[str, Any] = {"properties": {"query": {"type": "string"}}, "required": ("query",)}
    tool = Function.from_schema("search", "", schema, search)
    schema["properties"]["query"]["type"] = "integer"
    assert call(tool, {"query": "x"}).is_ok() and tool.tool_schema["required"] == ["query"]
    with pytest.raises(ValueError, match="quote them as text"):
        Function.from_schema("search", "", {"properties": {"query": {"enum": [{1: 2}]}}}, search)


def test_row_09_other_drafts_by_their_name():
    newer = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"pair": {"type": "array", "prefixItems": [{"type": "string"}]}},
    }
    tool = Function.from_schema("pair", "", newer, lambda pair: pair)
    assert call(tool, {"pair": ["a"]}).unwrap() == ["a"]
    assert "pair.0: expected string" in refused(tool, {"pair": [1]})


def test_row_09_faults_of_unions_patterns_and_open_parameters():
    tool = Function.from_schema(
        "tool",
        "",
        {
            "properties": {"either": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "any": True},
            "patternProperties": {"^x": {"type": "integer"}},
            "additionalProperties": False,
        },
        lambda **more: more,
    )
    assert call(tool, {"x1": 1, "any": [], "either": 2}).unwrap() == {"x1": 1, "any": [], "either": 2}
    assert refused(tool, {"x1": 1, "either": [1] * 99, "y": 1}).splitlines()[1:] == [
        "y: no such parameter (it takes: either, any)",
        "either: expected string or integer, got list",
    ]
    assert "async def tool(*, either: str | int = ..., any: Any = ...)" in ToolBox(tool).stub()


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
    yaml.write_text(YAML + "binding: nowhere.at_all:f\n")
    with pytest.raises(ValueError, match=r"WebSearch\.tool\.yaml, line 15: the binding 'nowhere\.at_all:f' can't be"):
        Function.from_yaml(yaml)
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
        ("name: a\nextra_kwargs: {self: 1}\n", "line 2: Tool a: self is reserved"),
        ("name: a\ntype: tool\npreset: {self: 1}\n", "line 3: Tool a: self is reserved"),
        ("name: a\nexpose: all\n", "line 2: expose must be one of auto, direct, code, command"),
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
