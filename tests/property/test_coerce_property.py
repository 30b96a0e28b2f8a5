"""Lists written as text: what is a list stays that list, and nothing else ever comes out."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from xun import Agent, ToolBox, ToolCallFormatError
from xun.tools.coerce import ListRule, read_list

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=6,
)
SOUP = st.text(st.sampled_from('[]{}",: ab1\n\\'), max_size=12) | st.text(max_size=8)
PLAIN = st.text(st.characters(exclude_characters=",[{", exclude_categories=("Cs", "Zs", "Cc", "Zl", "Zp")), min_size=1)


def texts(a: list[str]) -> Any:
    """Take a list."""
    return a


def numbers(a: list[int]) -> Any:
    """Take a list."""
    return a


BOX = ToolBox(texts, numbers)


@given(st.lists(VALUES, max_size=4), st.booleans())
def test_json_text_of_a_list_is_that_list(value: list[Any], items_are_json: bool):
    assert read_list(f" {json.dumps(value)} ", ListRule(items_are_json)) == value


@given(st.lists(PLAIN, min_size=1, max_size=4))
def test_plain_items_between_commas(items: list[str]):
    assert read_list(" , ".join(items), ListRule(False)) == [item.strip() for item in items]


@given(SOUP)
def test_a_call_gives_a_list_or_a_format_error(text: str):
    agent: Agent[Any] = Agent()
    for name, kind in (("texts", str), ("numbers", int)):
        for arguments in ({"a": text}, json.dumps({"a": text})):
            try:
                got = BOX.call_tool(agent, name, arguments, None).unwrap()
            except ToolCallFormatError as exc:
                assert name in str(exc)
                continue
            assert isinstance(got, list) and all(type(item) is kind for item in got)


@given(SOUP)
def test_any_text_as_arguments_is_a_call_or_a_format_error(text: str):
    try:
        BOX.call_tool(Agent(), "texts", text, None)
    except ToolCallFormatError:
        return
    assert json.loads(text)["a"] is not None
