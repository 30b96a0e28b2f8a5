"""Whatever a tool's schema, names and texts are, the stub is Python, and says one function for each tool."""

from __future__ import annotations

import ast
import keyword

from hypothesis import given, settings
from hypothesis import strategies as st

from xun import ToolBox
from xun.tools.exposure import code_names
from xun.tools.function import Function

TEXT = st.text(st.sampled_from("ab_1 .\"'\\\n\r\t#{}é中\u202e\u2028\x0c"), max_size=12)
NAME = st.one_of(st.sampled_from(["class", "orders.get", "x", "1", "from", "self", "é"]), TEXT.filter(bool))
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT)
LEAF = st.one_of(
    st.sampled_from([{"type": kind} for kind in ("string", "integer", "number", "boolean", "null", "array", "object")]),
    st.builds(lambda values: {"enum": values}, st.lists(PLAIN, min_size=1, max_size=3)),
    st.builds(lambda value: {"const": value}, PLAIN),
    st.just({}),
    st.just({"$ref": "#/$defs/Node"}),
    st.just({"$ref": "#/$defs/nowhere"}),
)


def _object(title: str, properties: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "title": title, "properties": properties, "required": list(properties)[:1]}


SCHEMA = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.builds(lambda item: {"type": "array", "items": item}, inner),
        st.builds(lambda items: {"anyOf": items}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda item: {"type": "object", "additionalProperties": item}, inner),
        st.builds(_object, TEXT, st.dictionaries(NAME, inner, max_size=3)),
        st.builds(lambda item, text, value: {**item, "description": text, "default": value}, inner, TEXT, PLAIN),
    ),
    max_leaves=6,
)


def _tool(name: str, text: str, properties: dict[str, object]) -> Function:
    node = _object("Node", {"next": {"$ref": "#/$defs/Node"}})
    schema = {**_object("", properties), "$defs": {"Node": node}}
    return _Described(name, text, schema)


class _Described(Function):
    """A tool with any schema, also one that no validator would take."""

    def __init__(self, name: str, text: str, schema: dict[str, object]) -> None:
        tool = Function.from_function(lambda: None)
        super().__init__(lambda: None, name=name, description=text, attr=tool.attr)
        self._given = schema

    @property
    def tool_schema(self) -> dict[str, object]:
        return self._given


@settings(max_examples=150, deadline=None)
@given(st.lists(st.builds(_tool, NAME, TEXT, st.dictionaries(NAME, SCHEMA, max_size=4)), max_size=4))
def test_a_stub_is_python(tools):
    table = code_names(tools)
    assert list(table.values()) == tools
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in table)
    from xun.tools.stub import stub_text

    text = stub_text(tools)
    tree = ast.parse(text)
    assert [node.name for node in tree.body if isinstance(node, ast.AsyncFunctionDef)] == list(table)
    for node, tool in zip((n for n in tree.body if isinstance(n, ast.AsyncFunctionDef)), tools, strict=True):
        kinds = {type(part) for part in node.body}
        assert kinds == {ast.Expr}, "a docstring and nothing that would run"
        given_names = {arg.arg for arg in node.args.kwonlyargs}
        fine = {key for key in tool.tool_schema["properties"] if key.isidentifier() and not keyword.iskeyword(key)}
        assert len(given_names) == len(fine) and not node.args.args


def test_the_same_tools_give_the_same_text():
    box = ToolBox().with_defaults()
    assert box.stub() == box.clone().stub() == ToolBox().with_defaults().stub()
