"""A tool with the schema of another behaves as that one: the same calls are taken, with the same values."""

from __future__ import annotations

from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from xun import Agent, Result, ToolBox, ToolCallFormatError
from xun.tools import Function


def tool(
    a: int,
    b: str = "b",
    c: list[int] | None = None,
    d: bool = False,
    e: Literal["x", "y"] = "x",
    f: list[str] = [],  # noqa: B006
) -> list[Any]:
    """Show what came."""
    return [a, b, c, d, e, f]


DERIVED = Function.from_function(tool)
GIVEN = Function.from_schema("tool", "", DERIVED.tool_schema, tool)
AGENT: Agent[Any] = Agent()

scalar = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "y", "a, b", "1, 2", "[1]", "[", "{}"])
)
value = scalar | st.lists(scalar, max_size=2) | st.dictionaries(st.sampled_from("ab"), scalar, max_size=1)
arguments = st.dictionaries(st.sampled_from(["a", "b", "c", "d", "e", "f", "g"]), value, max_size=5)


def outcome(function: Function, given_arguments: dict[str, Any]) -> Result[Any, Any] | str:
    try:
        return ToolBox(function).call_tool(AGENT, "tool", given_arguments)
    except ToolCallFormatError:
        return "refused"


@settings(max_examples=150, deadline=None)
@given(arguments)
def test_same_calls_same_values(given_arguments: dict[str, Any]):
    assert outcome(GIVEN, given_arguments) == outcome(DERIVED, given_arguments)


@settings(max_examples=100, deadline=None)
@given(arguments, st.dictionaries(st.sampled_from(["b", "d", "e"]), st.sampled_from(["p", "q"]), max_size=3))
def test_preset_gives_way_to_the_call(given_arguments: dict[str, Any], preset: dict[str, Any]):
    for make in (
        Function.from_function(tool, preset=preset),
        Function.from_schema("tool", "", DERIVED.tool_schema, tool, preset=preset),
    ):
        plain, under = outcome(DERIVED, given_arguments), outcome(make, given_arguments)
        if isinstance(plain, str):
            assert under == plain
            continue
        expected = dict(zip("abcdef", plain.unwrap(), strict=True))
        expected.update({key: item for key, item in preset.items() if key not in given_arguments})
        assert not isinstance(under, str) and under.unwrap() == list(expected.values())
