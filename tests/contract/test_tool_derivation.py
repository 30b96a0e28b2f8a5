"""What the model sees of a function, and what it may send: statements 1 to 37 of the tool contract."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import pathlib
import uuid
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field

from xun import Agent, ToolBox, ToolCallContext, tool_attr
from xun.errors import ConfigError, ToolCallFormatError

if TYPE_CHECKING:
    from nowhere_to_be_found import Unknown


def schema_of(func: Any) -> dict[str, Any]:
    return ToolBox(func).list_tools()[0].tool_schema


def call(func: Any, **arguments: Any) -> Any:
    """Return what *func* gives for a model's arguments; a refused call raises."""
    box = ToolBox(func)
    return box.call_tool(Agent(), box.list_tools()[0].name, arguments, None).unwrap()


def refused(func: Any, **arguments: Any) -> str:
    with pytest.raises(ToolCallFormatError) as caught:
        call(func, **arguments)
    return str(caught.value)


def echo(value: Any) -> Any:
    return value


# -- deriving ---------------------------------------------------------------------------------------


def test_001_public_names():
    import xun

    names = "ToolBox ToolCallContext tool_attr Agent Result ErrorInfo Workspace ChoiceOutcome CancelledError"
    for name in [*names.split(), "defer_tool_image"]:
        assert getattr(xun, name).__name__ == name


def test_002_register_returns_the_box():
    box = ToolBox()
    assert box.register(echo) is box


def test_003_order_of_registration():
    def zeta(): ...
    def alpha(): ...

    assert [tool.name for tool in ToolBox().register(zeta, alpha, echo).list_tools()] == ["zeta", "alpha", "echo"]


def test_004_name():
    @tool_attr(name="other")
    def named(): ...

    assert [tool.name for tool in ToolBox(named, echo).list_tools()] == ["other", "echo"]


def test_005_description_is_the_docstring_as_it_is():
    def documented(a: int):
        """
        First line.

        Args:
            a: indented
        """

    assert ToolBox(documented).list_tools()[0].description == documented.__doc__.strip()
    assert "            a: indented" in ToolBox(documented).list_tools()[0].description
    assert ToolBox(echo).list_tools()[0].description == ""


def test_006_schema_is_a_closed_object():
    def tool(a: int, b: str = "x"): ...

    assert schema_of(tool) == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "a": {"title": "A", "type": "integer"},
            "b": {"title": "B", "type": "string", "default": "x"},
        },
        "required": ["a"],
    }

    def nothing(): ...

    assert schema_of(nothing) == {"type": "object", "additionalProperties": False, "properties": {}, "required": []}


def test_007_annotation_wins_over_the_default():
    def tool(a: Optional[str] = 5): ...  # noqa: UP045 - this form has to work

    assert schema_of(tool)["properties"]["a"]["anyOf"] == [{"type": "string"}, {"type": "null"}]


@pytest.mark.parametrize(("default", "kind"), [(False, "boolean"), (5, "integer"), ("x", "string"), ([], "array")])
def test_008_type_of_the_default(default: Any, kind: str):
    def tool(a=default): ...

    assert schema_of(tool)["properties"]["a"]["type"] == kind


def test_009_no_annotation_is_any():
    def tool(a, b=None): ...

    properties = schema_of(tool)["properties"]
    assert "type" not in properties["a"] and "type" not in properties["b"]


def test_010_required_and_default():
    def tool(a: int, b: int = 7): ...

    schema = schema_of(tool)
    assert schema["required"] == ["a"] and schema["properties"]["b"]["default"] == 7


def test_011_optional_with_default_none():
    def tool(a: Optional[int] = None): ...  # noqa: UP045

    schema = schema_of(tool)
    assert schema["properties"]["a"] == {
        "title": "A",
        "anyOf": [{"type": "integer"}, {"type": "null"}],
        "default": None,
    }
    assert schema["required"] == []


def test_012_optional_without_default_is_required():
    def tool(a: Optional[int]): ...  # noqa: UP045

    assert schema_of(tool)["required"] == ["a"]
    assert call(tool, a=None) is None


def test_013_literal():
    def tool(a: Literal["a", "b"]):
        return a

    assert schema_of(tool)["properties"]["a"]["enum"] == ["a", "b"]
    assert call(tool, a="b") == "b"
    assert "a" in refused(tool, a="c")


class Holder:
    start = 40

    def method(self, ctx: ToolCallContext[Any], n: int) -> int:
        return self.start + n

    @classmethod
    def of_class(cls, n: int) -> int:
        return cls.start + n


def test_014_self_cls_and_context_are_not_in_the_schema():
    assert list(schema_of(Holder().method)["properties"]) == ["n"]
    assert call(Holder().method, n=2) == 42
    assert call(Holder.of_class, n=3) == 43
    assert list(schema_of(Holder.method)["properties"]) == ["n"]


def test_015_annotations_as_text_and_many_contexts():
    def tool(
        first: ToolCallContext,
        a: Unknown,
        second: Optional[ToolCallContext],  # noqa: UP045
        *,
        third: ToolCallContext[dict],
        fourth: ToolCallContext | None = None,
    ):
        return [ctx.tool_name for ctx in (first, second, third, fourth)] + [a]

    assert schema_of(tool)["properties"] == {"a": {"title": "A"}}
    assert call(tool, a={"x": 1}) == ["tool"] * 4 + [{"x": 1}]

    def quoted(a: list[Unknown], b: int): ...

    assert schema_of(quoted)["properties"] == {"a": {"title": "A"}, "b": {"title": "B", "type": "integer"}}


def test_016_odd_parameters():
    def tool(_x: int, schema: int, json: int, model_config: int, copy: int = 5, *args: int, **kwargs: int):
        return [_x, schema, json, model_config, copy, args, kwargs]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(schema_of(tool)["properties"]) == ["_x", "schema", "json", "model_config", "copy"]
    assert call(tool, _x=1, schema=2, json=3, model_config=4) == [1, 2, 3, 4, 5, (), {}]
    refused(tool, _x=1, schema=2, json=3, model_config=4, kwargs=1)

    def positional(a: int, ctx: ToolCallContext[Any], b: int = 2, /, c: int = 3):
        return [a, ctx.tool_name, b, c]

    assert call(positional, a=1) == [1, "positional", 2, 3]
    assert call(positional, a=1, b=5, c=6) == [1, "positional", 5, 6]


def test_017_annotated():
    def tool(a: Annotated[int, Field(ge=1, description="at least one")], b: Annotated[str, "plain text"] = "x"):
        return a

    properties = schema_of(tool)["properties"]
    assert properties["a"]["minimum"] == 1 and properties["a"]["description"] == "at least one"
    assert properties["b"]["description"] == "plain text" and properties["b"]["default"] == "x"
    assert "a" in refused(tool, a=0)


def test_018_default_that_is_no_json():
    mark = object()

    def tool(a: Any = mark):
        return a is mark

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert schema_of(tool)["properties"]["a"] == {"title": "A"}
    assert call(tool) is True


def test_type_that_no_json_can_give_is_named():
    class Handle: ...

    def tool(a): ...

    tool.__annotations__["a"] = Handle
    with pytest.raises(ConfigError, match=r"Tool tool.*Handle"):
        schema_of(tool)


# -- strict validation ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (int, [3], ["3", 3.0, True]),
        (float, [3, 3.5], ["3"]),
        (bool, [True], [1, "true"]),
        (str, ["3"], [3]),
        (Any, [3, "3", None, [1], {"a": 1}], []),
        (dict[str, int], [{"a": 1}], [{"a": "1"}, [1]]),
    ],
)
def test_019_no_implicit_conversion(kind: Any, good: list[Any], bad: list[Any]):
    def tool(a):
        return a

    tool.__annotations__["a"] = kind
    for value in good:
        assert call(tool, a=value) == value
    for value in bad:
        assert "Tool tool" in refused(tool, a=value)


class Color(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int = 0


class Address(BaseModel):
    street: str
    when: dt.datetime | None = None


UNIQUE = uuid.UUID("12345678123456781234567812345678")


@pytest.mark.parametrize(
    ("kind", "sent", "got"),
    [
        (tuple[int, str], [1, "a"], (1, "a")),
        (set[int], [1, 2], {1, 2}),
        (frozenset[str], ["a"], frozenset({"a"})),
        (Color, "red", Color.RED),
        (dt.date, "2026-01-02", dt.date(2026, 1, 2)),
        (dt.datetime, "2026-01-02T03:04:05Z", dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)),
        (dt.timedelta, "PT5S", dt.timedelta(seconds=5)),
        (uuid.UUID, str(UNIQUE), UNIQUE),
        (pathlib.Path, "/a/b", pathlib.Path("/a/b")),
        (bytes, "ab", b"ab"),
        (decimal.Decimal, "1.5", decimal.Decimal("1.5")),
        (Point, {"x": 1}, Point(1)),
        (Address, {"street": "s"}, Address(street="s")),
        (dict[int, str], {"1": "a"}, {1: "a"}),
        (list[Point], [{"x": 1}, {"x": 2, "y": 3}], [Point(1), Point(2, 3)]),
    ],
)
def test_020_types_that_json_must_carry(kind: Any, sent: Any, got: Any):
    seen = []

    def tool(a):
        seen.append(a)

    tool.__annotations__["a"] = kind
    assert call(tool, a=sent) is None
    assert seen == [got] and type(seen[0]) is type(got)


# -- lists written as text --------------------------------------------------------------------------


def taking(kind: Any) -> Any:
    def tool(a):
        return a

    tool.__annotations__["a"] = kind
    return tool


def test_021_json_text():
    assert call(taking(list[str]), a='["a", "b"]') == ["a", "b"]


def test_022_commas():
    assert call(taking(list[str]), a="a, b") == ["a", "b"]


def test_023_one_item():
    assert call(taking(list[str]), a="a") == ["a"]


def test_024_empty_items_fall_out():
    assert call(taking(list[str]), a="a,,b,") == ["a", "b"]


def test_025_empty_list():
    assert call(taking(list[str]), a="[]") == []


@pytest.mark.parametrize("text", ["", "  ", ","])
def test_026_nothing_is_no_list(text: str):
    assert "a: " in refused(taking(list[str]), a=text)


def test_027_broken_array_is_never_split():
    assert "parameter a" in refused(taking(list[str]), a='["a", ')


def test_028_items_stay_strict():
    assert call(taking(list[int]), a="[1,2]") == [1, 2]
    refused(taking(list[int]), a='["1"]')


def test_029_bare_items_of_another_type():
    assert call(taking(list[int]), a="1, 2") == [1, 2]
    refused(taking(list[int]), a="1, x")


@pytest.mark.parametrize("kind", [Optional[list[int]], list[int] | None])  # noqa: UP045
def test_030_optional_list(kind: Any):
    for sent, got in (("[1,2]", [1, 2]), ("1, 2", [1, 2]), (None, None), ([1], [1])):
        assert call(taking(kind), a=sent) == got
    assert call(taking(list[str]), a="null") == ["null"]


def test_031_tuple_of_fixed_length():
    for sent in ("[1, 2]", [1, 2]):
        assert call(taking(tuple[int, int]), a=sent) == (1, 2)
    refused(taking(tuple[int, int]), a="[1]")


def test_032_tuple_of_any_length():
    assert call(taking(tuple[str, ...]), a="a, b") == ("a", "b")


def test_033_union_with_str_is_left_alone():
    tool = taking(str | list[str])
    for value in ('["a"]', "a, b", ["a"]):
        assert call(tool, a=value) == value


def test_034_union_without_str():
    assert call(taking(list[int] | dict), a="[1]") == [1]


def test_035_only_the_parameter_itself():
    assert call(taking(list[list[int]]), a="[[1],[2]]") == [[1], [2]]
    refused(taking(list[list[int]]), a=["[1]"])
    refused(taking(dict[str, list[int]]), a={"a": "[1]"})


def test_036_other_forms_of_lists():
    for kind in (list, Annotated[list[str], "texts"]):
        assert call(taking(kind), a="a, b") == ["a", "b"]
    assert call(taking(tuple), a="a, b") == ("a", "b")

    def unannotated(x=[]):  # noqa: B006 - the default that is meant
        return x

    assert call(unannotated, x="a, b") == ["a", "b"]
    refused(taking(set[str]), a="a, b")
    refused(taking(list[str]), a='{"a":1}')


def test_037_schema_says_array():
    assert schema_of(taking(list[str]))["properties"]["a"] == {
        "title": "A",
        "type": "array",
        "items": {"type": "string"},
    }
