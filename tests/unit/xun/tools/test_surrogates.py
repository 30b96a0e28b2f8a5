from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xun import Agent, ToolBox
from xun.errors import ToolCallFormatError
from xun.tools.surrogates import disguise, undisguise

ANY_TEXT = st.text(st.characters(codec=None))


@given(st.recursive(ANY_TEXT, lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner), max_leaves=8))
def test_disguised_data_is_valid_utf8_and_comes_back(data):
    hidden, changed = disguise(data)
    if changed:
        json.dumps(hidden, ensure_ascii=False).encode()
        assert undisguise(hidden) == data
    else:
        assert hidden is data


@dataclass
class Part:
    text: str


def echo(text: str, parts: list[Part] | None = None, count: int = 0) -> list[str]:
    """Give the texts back, escaped."""
    return [ascii(text), *(ascii(part.text) for part in parts or [])]


@pytest.mark.parametrize("as_text", [True, False])
def test_a_tool_gets_them_also_inside_instances(as_text):
    box, arguments = ToolBox(echo), {"text": "a\ud800", "parts": [{"text": "\udcff"}]}
    given_arguments = json.dumps(arguments) if as_text else arguments
    with Agent(toolbox=box) as agent:
        got = box.call_tool(agent, "echo", given_arguments, None).unwrap()
    assert got == ["'a\\ud800'", "'\\udcff'"]


def test_other_faults_are_still_faults():
    box = ToolBox(echo)
    with Agent(toolbox=box) as agent, pytest.raises(ToolCallFormatError, match="count"):
        box.call_tool(agent, "echo", {"text": "\ud800", "count": "x"}, None)
