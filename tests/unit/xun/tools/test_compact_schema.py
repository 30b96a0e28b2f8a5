"""What goes with every request: the same schema in fewer bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from xun import Agent, ToolBox
from xun.tools.compact import compact_schema, without_titles


def test_titles_go_and_a_parameter_of_that_name_stays():
    schema = {
        "type": "object",
        "title": "T",
        "properties": {
            "title": {"type": "string", "title": "Title", "default": "title"},
            "x": {"$ref": "#/$defs/title"},
        },
        "$defs": {"title": {"title": "D", "enum": ["title", {"title": 1}]}},
        "anyOf": [{"title": "A", "type": "null"}],
    }
    assert without_titles(schema) == {
        "type": "object",
        "properties": {"title": {"type": "string", "default": "title"}, "x": {"$ref": "#/$defs/title"}},
        "$defs": {"title": {"enum": ["title", {"title": 1}]}},
        "anyOf": [{"type": "null"}],
    }


@dataclass
class Step:
    """One step."""

    what: str
    after: str | None = None


@dataclass
class Tree:
    """Holds itself."""

    inside: list[Tree] | None = None


def plan(
    steps: list[Step],
    either: str | int | None = None,
    must: int | None = 3,
    kind: Literal["a", "b"] | None = None,
    any_of_it: Any = None,
) -> list[Any]:
    """Plan it."""
    return [steps, either, must, kind, any_of_it]


def parameters(func: Any, *, compact: bool) -> dict[str, Any]:
    entry: dict[str, Any] = ToolBox(func).list_tools_json(compact=compact)[0]["function"]["parameters"]
    return entry


def test_null_unless_given_and_a_definition_of_one_use():
    assert parameters(plan, compact=True) == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "steps": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"what": {"type": "string"}, "after": {"type": "string"}},
                    "required": ["what"],
                },
            },
            # More than one type besides null, and a default that is not null, stay as they are.
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}], "default": None},
            "must": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 3},
            "kind": {"enum": ["a", "b"], "type": "string"},
            "any_of_it": {"default": None},
        },
        "required": ["steps"],
    }


def test_the_full_schema_and_what_is_accepted_stay():
    box = ToolBox(plan)
    before = parameters(plan, compact=False)
    box.list_tools_json(compact=True)
    assert box.list_tools_json()[0]["function"]["parameters"] == before
    assert before["properties"]["kind"]["default"] is None and "$defs" in before
    arguments = {"steps": [{"what": "x", "after": None}], "kind": None, "either": None}
    value = box.call_tool(Agent(), "plan", arguments).unwrap()
    assert value == [[Step("x")], None, 3, None, None]


def test_a_definition_of_two_uses_or_of_itself_stays():
    def twice(a: Step, b: Step) -> str:
        return ""

    def grow(tree: Tree) -> str:
        return ""

    assert "$defs" in parameters(twice, compact=True)
    assert parameters(grow, compact=True)["$defs"]["Tree"]["properties"]["inside"]["items"] == {"$ref": "#/$defs/Tree"}


def test_no_required_names_are_not_listed():
    assert compact_schema({"type": "object", "properties": {}, "required": []}) == {"type": "object", "properties": {}}


def test_a_given_schema_travels_as_it_was_given():
    from xun.tools.function import Function

    schema = {"type": "object", "title": "Kept", "properties": {"q": {"type": "string", "title": "Q"}}, "required": []}
    tool = Function.from_schema("ask", "", schema, lambda q: q)
    assert ToolBox(tool).list_tools_json(compact=True)[0]["function"]["parameters"] == schema
